/** What the user did last: statements and visited pages of this browser, saved queries and boards. */
import { gate, may, user } from '../gate.ts'
import { server } from '../server.ts'
import { Icon, type IconName, Section, Time, useLoad } from '../ui/index.ts'
import { href } from './router.ts'
import { readVisits } from './visits.ts'

interface Recent {
  readonly id: string
  readonly title: string
  readonly about: string
  readonly icon: IconName
  readonly href: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly isCode?: boolean
}

const MOST = 6

const KINDS = {
  board: { about: 'Board', icon: 'board' },
  query: { about: 'Saved query', icon: 'query' },
  table: { about: 'Table', icon: 'table' },
} as const

export function RecentWork() {
  const { data: saved = [], loading } = useLoad(readSaved, [])
  const visited = readVisits().map(
    ({ kind, title, href: to, at }): Recent => ({ id: to, title, ...KINDS[kind], href: to, at }),
  )
  const known = new Set(visited.map(({ href: to }) => to))
  const found = [...readHistory(), ...visited, ...saved.filter(({ href: to }) => !known.has(to))]
    .sort((one, other) => other.at - one.at)
    .slice(0, MOST)
  if (found.length === 0) return loading ? null : <NothingYet />
  return (
    <Section title="Recent work">
      <ul class="recent">
        {found.map(({ id, title, about, icon, href: to, at, isCode = false }) => (
          <li key={id}>
            <a href={to}>
              <Icon name={icon} />
              <span class={isCode ? 'recent-title recent-code' : 'recent-title'}>{title}</span>
              <span class="recent-about">{about}</span>
              <Time at={at} as="relative" />
            </a>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function NothingYet() {
  const canQuery = server.services.includes('query') && may('Platform/')
  return (
    <Section title="Recent work">
      <p class="quiet">
        {canQuery ? (
          <>
            Nothing yet. <a href={href('boards')}>Open a board</a> or <a href={href('query')}>run a first statement</a>:
            what you do is listed here.
          </>
        ) : (
          'Nothing yet. What you do is listed here.'
        )}
      </p>
    </Section>
  )
}

/** As the area Query stores it (areas/query/history.ts). */
function readHistory(): readonly Recent[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(`gatehouse.query.history.${user.peek()?.sub}`) ?? '[]')
    if (!Array.isArray(stored)) return []
    return stored.slice(0, MOST).flatMap((entry: unknown) => {
      const { text, at } = (entry ?? {}) as { readonly text?: unknown; readonly at?: unknown }
      if (typeof text !== 'string' || typeof at !== 'number') return []
      const title = text.replace(/\s+/g, ' ').slice(0, 120)
      return [
        { id: text, title, about: 'Statement', icon: 'history', href: href('query', { q: text }), at, isCode: true },
      ]
    })
  } catch {
    return []
  }
}

async function readSaved(signal: AbortSignal): Promise<readonly Recent[]> {
  if (!server.services.includes('query') || !may('Platform/')) return []
  const found: Recent[] = []
  for await (const { id, kind, name, username, updated } of gate.saved.list({ limit: LISTED }, { signal })) {
    // What others have shared is not this user's work, nor is what the demonstration comes with.
    if (username !== user.peek()?.preferred_username || id.startsWith('demo-')) continue
    const isBoard = kind === 'board'
    found.push({
      id,
      title: name,
      ...KINDS[isBoard ? 'board' : 'query'],
      href: isBoard ? href('boards', id) : href('query', 'saved', id),
      at: Date.parse(updated),
    })
    if (found.length === LISTED) break
  }
  return found
}

/** A page of the list, which is ordered by name. */
const LISTED = 50

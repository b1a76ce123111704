/** What the palette finds on the server, by the rights of the user: tables, boards, saved queries, people, applications, settings, documentation. */
import { gate, may } from '../gate.ts'
import { server } from '../server.ts'
import type { IconName } from '../ui/index.ts'
import type { Command } from './commands.ts'
import { go, href } from './router.ts'

interface Finder {
  readonly group: string
  readonly icon: IconName
  readonly isAllowed: () => boolean
  readonly find: (text: string, signal: AbortSignal) => Promise<readonly Hit[]>
}

interface Hit {
  readonly id: string
  readonly title: string
  /** Shown behind the title. */
  readonly about?: string | undefined
  readonly act: () => void
}

/** Of each kind; a longer list would hide the others. */
const MOST = 5

const mayQuery = () => server.services.includes('query') && may('Platform/')

const FINDERS: readonly Finder[] = [
  { group: 'Tables', icon: 'table', isAllowed: mayQuery, find: findTables },
  { group: 'Boards', icon: 'board', isAllowed: mayQuery, find: (text, signal) => findSaved('board', text, signal) },
  {
    group: 'Saved queries',
    icon: 'query',
    isAllowed: mayQuery,
    find: (text, signal) => findSaved('query', text, signal),
  },
  { group: 'People', icon: 'user', isAllowed: () => may('Identity/Admin'), find: findPeople },
  { group: 'Applications', icon: 'application', isAllowed: () => may('Identity/Admin'), find: findApplications },
  { group: 'Documentation', icon: 'book', isAllowed: () => true, find: findPages },
  { group: 'Settings', icon: 'settings', isAllowed: () => may('Platform/Admin'), find: findSettings },
]

/** Calls `onFound` with what each kind has, as it arrives; one that fails has nothing. */
export function findEverywhere(
  text: string,
  signal: AbortSignal,
  onFound: (group: string, found: readonly Command[]) => void,
): Promise<unknown> {
  return Promise.all(
    FINDERS.filter(({ isAllowed }) => isAllowed()).map(async ({ group, icon, find }) => {
      const hits = await find(text, signal).catch(() => [])
      if (signal.aborted) return
      onFound(
        group,
        hits.slice(0, MOST).map(({ id, ...hit }) => ({ ...hit, id: `found-${group}-${id}`, group, icon })),
      )
    }),
  )
}

/** In the order in which they are shown. */
export const FOUND_GROUPS: readonly string[] = FINDERS.map(({ group }) => group)

async function findTables(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const search = new URLSearchParams({ prefix: text, limit: String(MOST), system: 'false' })
  const { items } = (await gate.json(`/catalogue/tables?${search}`, { signal })) as Items<{
    readonly name: string
    readonly description: string | null
  }>
  return items.map(({ name, description }) => ({
    id: name,
    title: name,
    about: description ?? undefined,
    act: () => go(href('tables', name)),
  }))
}

/** Names are searched by their beginning; the first hundred also by any part. */
const LISTED = 100

async function findSaved(kind: 'board' | 'query', text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const found = new Map<string, Hit>()
  const add = async (query: { readonly limit: number; readonly prefix?: string }) => {
    let listed = 0
    for await (const { id, name, username } of gate.saved.list({ kind, ...query }, { signal })) {
      if (name.toLowerCase().includes(text.toLowerCase()))
        found.set(id, {
          id,
          title: name,
          about: username ?? undefined,
          act: () => go(kind === 'board' ? href('boards', id) : href('query', 'saved', id)),
        })
      if (++listed === query.limit) return true
    }
    return false
  }
  if (await add({ limit: LISTED })) await add({ limit: MOST, prefix: text })
  return [...found.values()]
}

interface Items<T> {
  readonly items: readonly T[]
}

async function findPeople(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const search = new URLSearchParams({ search: text, limit: String(MOST) })
  const { items } = (await gate.json(`/admin/users?${search}`, { signal })) as Items<{
    readonly id: string
    readonly username: string
    readonly email?: string
  }>
  return items.map(({ id, username, email }) => ({
    id,
    title: username,
    about: email,
    act: () => go(href('people', id)),
  }))
}

async function findApplications(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const search = new URLSearchParams({ search: text, limit: String(MOST) })
  const { items } = (await gate.json(`/admin/clients?${search}`, { signal })) as Items<{
    readonly client_id: string
    readonly client_name?: string
  }>
  return items.map(({ client_id: id, client_name: name }) => ({
    id,
    title: name ?? id,
    about: id,
    act: () => go(href('applications', id)),
  }))
}

async function findSettings(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const { items } = (await gate.json('/admin/settings', { signal })) as Items<{
    readonly name: string
    readonly description?: string
  }>
  const wanted = text.toLowerCase().replaceAll(/[\s-]/g, '_')
  return items
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .map(({ name, description }) => ({
      id: name,
      title: name,
      about: description,
      act: () => go(href('operations', 'settings', { search: name })),
    }))
}

async function findPages(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const path = `/docs/search?${new URLSearchParams({ q: text })}`
  const { hits } = (await gate.json(path, { signal, headers: { accept: 'application/json' } })) as {
    readonly hits: readonly { readonly url: string; readonly page: string; readonly heading?: string | null }[]
  }
  return hits.map(({ url, page, heading }) => ({
    id: url,
    title: heading ?? page,
    about: heading === undefined || heading === null ? undefined : page,
    act: () => void window.open(url, '_blank', 'noopener'),
  }))
}

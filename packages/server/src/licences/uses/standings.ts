/** What callers have of products now: read once for each user and client, and again when it may have changed. */
import type { Clock, GateEvent, Principal } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import type { Licences, Standing, SubjectFacts } from '../service.ts'

export interface SubjectStandings {
  /** Undefined for a user or client that exists no longer. */
  readonly facts: SubjectFacts | undefined
  /** By product. */
  readonly standings: ReadonlyMap<string, Standing>
}

export interface StandingsEnv {
  readonly licences: Licences
  readonly bus: Pick<Bus, 'subscribe'>
  readonly clock: Clock
  /** What these users and clients have may have changed; undefined: of all. Resolves when nobody goes on with more than they have. */
  readonly onChanged: (keys: ReadonlySet<string> | undefined) => Promise<void>
}

interface Known {
  readonly reading: Promise<SubjectStandings>
  /** Once it has been read. */
  found: SubjectStandings | undefined
  /** Milliseconds. */
  changesAt: number
}

const CHECK_EVERY_MS = 100
const MOST_KNOWN = 100_000

export type Standings = ReturnType<typeof openStandings>

export function subjectKey({ kind, subject, clientId }: Pick<Principal, 'kind' | 'subject' | 'clientId'>): string {
  return kind === 'user' ? `user:${subject}` : `client:${clientId}`
}

export function openStandings({ licences, bus, clock, onChanged }: StandingsEnv) {
  const known = new Map<string, Known>()
  const unsubscribe = bus.subscribe((event) => {
    const concerned = concernedSubjects(event)
    return concerned === 'none' ? undefined : forget(concerned)
  })
  const timer = setInterval(() => {
    const now = clock()
    const due = new Set([...known].filter(([, { changesAt }]) => changesAt <= now).map(([key]) => key))
    if (due.size > 0) void forget(due)
  }, CHECK_EVERY_MS).unref()

  function forget(keys: ReadonlySet<string> | undefined): Promise<void> {
    if (keys === undefined) known.clear()
    else for (const key of keys) known.delete(key)
    return onChanged(keys)
  }

  async function read(principal: Principal, entry: () => Known | undefined): Promise<SubjectStandings> {
    const subject = await licences.subjectOf(principal)
    if (subject === undefined) return { facts: undefined, standings: new Map() }
    const facts = await licences.facts(subject)
    const { products } = await licences.definitions()
    const all = await licences.standings(facts, [...products.values()])
    const own = entry()
    if (own !== undefined) own.changesAt = Math.min(...all.map(({ changesAt }) => changesAt), Infinity)
    return { facts, standings: new Map(all.map((standing) => [standing.product.name, standing])) }
  }

  return {
    /** As of a moment after the call, or of an earlier one since which nothing has changed. */
    read(principal: Principal): Promise<SubjectStandings> {
      const key = subjectKey(principal)
      const before = known.get(key)
      if (before !== undefined) return before.reading
      const entry: Known = { reading: read(principal, () => entry), found: undefined, changesAt: Infinity }
      known.set(key, entry)
      if (known.size > MOST_KNOWN) {
        const [oldest] = known.keys()
        if (oldest !== undefined) known.delete(oldest)
      }
      entry.reading.then(
        (found) => {
          entry.found = found
        },
        () => {
          if (known.get(key) === entry) known.delete(key)
        },
      )
      return entry.reading
    },

    /** Undefined while it is not known. */
    current: (principal: Principal): SubjectStandings | undefined => known.get(subjectKey(principal))?.found,

    /** Whether nothing has changed since it was read. */
    isCurrent: (principal: Principal, reading: Promise<SubjectStandings>): boolean =>
      known.get(subjectKey(principal))?.reading === reading,

    forget,

    close(): void {
      unsubscribe()
      clearInterval(timer)
    },
  }
}

/** Whose decisions the event can change; undefined: those of all. */
function concernedSubjects(event: GateEvent): ReadonlySet<string> | undefined | 'none' {
  switch (event.kind) {
    case 'licences-changed':
    case 'roles-changed':
    case 'attributes-changed':
      return undefined
    case 'user-changed':
    case 'rights-changed':
    case 'subject-cut':
      return new Set([`user:${event.subject}`, `client:${event.subject}`])
    case 'subjects-cut':
      return new Set(event.subjects.map((subject) => `user:${subject}`))
    case 'client-cut':
      return new Set([`client:${event.clientId}`])
    case 'clients-changed':
      return event.clientId === undefined ? undefined : new Set([`client:${event.clientId}`])
    default:
      return 'none'
  }
}

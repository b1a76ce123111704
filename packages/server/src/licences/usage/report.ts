/**
 * The usage report of a month, from the audit log alone: who had a session of which product. The same rows give the same report, on a
 * server and from an exported file.
 */
import type { Month } from './month.ts'

/** A row of the audit log, as far as the report reads it. */
export interface UsageEvent {
  readonly seq: number
  /** Milliseconds. */
  readonly at: number
  readonly event: string
  readonly actor: string
  readonly client: string
  readonly target: string
  readonly details: Readonly<Record<string, unknown>>
}

export interface UsageRow {
  readonly month: string
  readonly product: string
  readonly type: 'user' | 'client'
  readonly subject: string
  readonly firm: string
  readonly status: 'professional' | 'non_professional'
  readonly kind: Kind
  readonly access: 'realtime' | 'delayed'
  readonly sessions: number
  /** The most real-time places at one instant. */
  readonly peak: number
  readonly first: string
  readonly last: string
  readonly clients: readonly string[]
  readonly units: number
}

const KINDS = ['billable', 'trial', 'exempt'] as const
type Kind = (typeof KINDS)[number]

interface Session {
  /** Of its row. */
  readonly seq: number
  readonly product: string
  readonly subject: string
  readonly type: UsageRow['type']
  readonly client: string
  readonly place: string
  readonly isRealtime: boolean
  readonly isProfessional: boolean
  readonly kind: Kind
  readonly count: string
  readonly firm: string
  readonly opened: number
}

/** Of a session that has ended, or goes on at the head of the log. */
interface Use extends Session {
  readonly ended: number
}

export const USAGE_EVENTS: readonly string[] = ['licence.opened', 'licence.closed']

export class UsageReport {
  readonly #month: Month
  readonly #product: string | undefined
  readonly #open = new Map<string, Session>()
  readonly #uses: Use[] = []

  constructor(month: Month, product?: string) {
    this.#month = month
    this.#product = product
  }

  /** In the order of the log. */
  add(event: UsageEvent): void {
    const { details } = event
    const id = String(details.session)
    if (event.event === 'licence.opened') {
      if (this.#product === undefined || event.target === this.#product) this.#open.set(id, readSession(event))
      return
    }
    const session = event.event === 'licence.closed' ? this.#open.get(id) : undefined
    if (session === undefined) return
    this.#open.delete(id)
    this.#use(session, Date.parse(String(details.last)))
  }

  /** Sessions that go on last until the head of the log. */
  rows(headAt: number): UsageRow[] {
    for (const session of this.#open.values()) this.#use(session, headAt)
    this.#open.clear()
    const groups = Map.groupBy(this.#uses, ({ product, subject }) => `${product}\0${subject}`)
    return [...groups]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, uses]) => {
        const [first] = uses
        return first === undefined ? [] : [summarize(first, uses, this.#month)]
      })
  }

  #use(session: Session, ended: number): void {
    const { start, end } = this.#month
    if (session.opened < end && ended >= start) this.#uses.push({ ...session, ended: Math.max(ended, session.opened) })
  }
}

function readSession({ seq, at, actor, client, target, details }: UsageEvent): Session {
  return {
    seq,
    product: target,
    subject: actor,
    type: actor.startsWith('usr_') ? 'user' : 'client',
    client,
    place: String(details.place),
    isRealtime: details.access === 'realtime',
    isProfessional: details.status !== 'non_professional',
    kind: KINDS.find((kind) => kind === details.kind) ?? 'billable',
    count: details.count === 'place' ? 'place' : 'user',
    firm: typeof details.firm === 'string' ? details.firm : '',
    opened: at,
  }
}

function summarize({ product, subject, type }: Use, uses: readonly Use[], { name, start, end }: Month): UsageRow {
  const realtime = uses.filter(({ isRealtime }) => isRealtime)
  const peak = mostPlaces(realtime)
  // The session that was opened last says what is counted, and for which firm.
  const latest = uses.reduce((one, other) => (other.seq > one.seq ? other : one))
  const kind = KINDS.find((each) => uses.some((use) => use.kind === each)) ?? 'billable'
  const isBilled = realtime.length > 0 && kind === 'billable'
  return {
    ...{ month: name, product, type, subject, firm: latest.firm },
    status: uses.some(({ isProfessional }) => isProfessional) ? 'professional' : 'non_professional',
    ...{ kind, access: realtime.length > 0 ? 'realtime' : 'delayed', sessions: uses.length, peak },
    first: instant(Math.max(start, Math.min(...uses.map(({ opened }) => opened)))),
    last: instant(Math.min(end - 1, Math.max(...uses.map(({ ended }) => ended)))),
    clients: [...new Set(uses.map(({ client }) => client))].sort(),
    units: isBilled ? (latest.count === 'place' ? peak : 1) : 0,
  }
}

/** A place counts at both ends of its use. */
function mostPlaces(uses: readonly Use[]): number {
  const steps = uses.flatMap(({ place, opened, ended }) => [
    { at: opened, step: 1, place },
    { at: ended, step: -1, place },
  ])
  // At one instant uses begin before others end.
  steps.sort((a, b) => a.at - b.at || b.step - a.step)
  const held = new Map<string, number>()
  let most = 0
  for (const { place, step } of steps) {
    const count = (held.get(place) ?? 0) + step
    if (count === 0) held.delete(place)
    else held.set(place, count)
    most = Math.max(most, held.size)
  }
  return most
}

function instant(time: number): string {
  return new Date(time).toISOString()
}

const COLUMNS = [
  ...(['month', 'product', 'type', 'subject', 'firm', 'status', 'kind', 'access'] as const),
  ...(['sessions', 'peak', 'first', 'last', 'clients', 'units'] as const),
] satisfies readonly (keyof UsageRow)[]

/** RFC 4180 with line feeds; fields are quoted where they must be. */
export function writeUsageCsv(rows: readonly UsageRow[]): string {
  const lines = rows.map((row) =>
    COLUMNS.map((column) => csvField(column === 'clients' ? row.clients.join(' ') : String(row[column]))).join(','),
  )
  return [COLUMNS.join(','), ...lines, ''].join('\n')
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Counts repeated events of the audit log: anyone can cause refusals again and again, and must not fill the log with them. */

import { type AuditEvent, type AuditEventName, auditOutcome } from 'gatehouse-protocol'
import { addressNetwork } from '../../lib/network.ts'
import type { UnchainedRow } from './chain.ts'

/** A count is written when its interval is over, and then once per interval while the events continue. */
const INTERVAL_MS = 10 * 60_000
/** How many refusals of one kind get a row each before they are counted: more than people cause by mistake. */
const OWN_ROWS = 10
/** A page gets tokens each time it is loaded; the first row already names the user and the client. */
const COUNTED_FROM_SECOND: ReadonlySet<AuditEventName> = new Set(['authorization.granted', 'token.issued'])
/** What a caller asks for again and again, although it is no refusal. */
const ALSO_COUNTED: ReadonlySet<AuditEventName> = new Set(['stepup.asked'])
/** Their actor is the user whom a stranger has named. */
const NAMES_ACTOR: ReadonlySet<AuditEventName> = new Set(['signin.refused', 'signin.delayed'])
/**
 * Beyond these, refusals are counted by their name and network alone, then by their name. Authenticated callers have such limits of their
 * own: strangers cannot make the log omit whose token was used.
 */
const KINDS_OF_NETWORK = 100
const MOST_KINDS = 10_000
/** The details that distinguish kinds: words that this program chooses. Others are numbers, ids, or texts of the caller. */
const TELLING = new Set(
  'reason error grant_type scope method methods path needs kind what provider resource'.split(' '),
)

/** Events that are counted together. */
interface Kind {
  /** The network that it is counted for. */
  readonly network: string | undefined
  /** Members that a count omits because different events are counted together. */
  readonly omitted: Partial<UnchainedRow> | undefined
  began: number
  ownRows: number
  count: number
  since: number
  last: UnchainedRow | undefined
}

export class AuditRepeats {
  readonly #authenticated = new KindCounts()
  readonly #others = new KindCounts()

  /** The rows to write now: a count that is due, then the event's own row unless it is only counted. */
  take(event: AuditEvent, row: UnchainedRow): readonly UnchainedRow[] {
    const isAuthenticated = row.actor !== null && !NAMES_ACTOR.has(event.event)
    return (isAuthenticated ? this.#authenticated : this.#others).take(event, row)
  }

  /** The counts of the intervals that are over. */
  due(now: number): readonly UnchainedRow[] {
    return [...this.#authenticated.due(now), ...this.#others.due(now)]
  }

  /** All counts, including those of the current intervals. */
  all(now: number): readonly UnchainedRow[] {
    return [...this.#authenticated.all(now), ...this.#others.all(now)]
  }
}

class KindCounts {
  readonly #kinds = new Map<string, Kind>()
  readonly #ofNetwork = new Map<string, number>()

  take(event: AuditEvent, row: UnchainedRow): readonly UnchainedRow[] {
    const ownRows = countOwnRows(event.event)
    const kind = ownRows === undefined ? undefined : this.#findKind(event, row)
    if (ownRows === undefined || kind === undefined) return [row]
    const counted = isOver(kind, row.at) ? restart(kind, row.at) : []
    if (kind.omitted === undefined && kind.ownRows < ownRows) {
      kind.ownRows += 1
      return [...counted, row]
    }
    if (kind.count === 0) kind.since = row.at
    kind.count += 1
    kind.last = row
    return counted
  }

  due(now: number): readonly UnchainedRow[] {
    const rows: UnchainedRow[] = []
    for (const [key, kind] of this.#kinds) {
      if (!isOver(kind, now)) continue
      if (kind.count === 0) this.#forget(key, kind)
      rows.push(...restart(kind, now))
    }
    return rows
  }

  all(now: number): readonly UnchainedRow[] {
    return [...this.#kinds.values()].flatMap((kind) => restart(kind, now))
  }

  /** Undefined where there is no room to count it. */
  #findKind(event: AuditEvent, row: UnchainedRow): Kind | undefined {
    const network = row.address === null ? '' : addressNetwork(row.address)
    const telling = Object.entries(event.details ?? {}).filter(([name]) => TELLING.has(name))
    const exact = JSON.stringify([row.event, network, row.actor, row.client, row.target, telling])
    const known = this.#kinds.get(exact)
    if (known !== undefined) return known
    const isFull = this.#kinds.size >= MOST_KINDS
    // The recipient of a grant or token is never omitted.
    if (row.outcome === 'success') return isFull ? undefined : this.#add(exact, undefined, undefined, row.at)
    const ofNetwork = this.#ofNetwork.get(network) ?? 0
    if (!isFull && ofNetwork < KINDS_OF_NETWORK) {
      this.#ofNetwork.set(network, ofNetwork + 1)
      return this.#add(exact, network, undefined, row.at)
    }
    const omitted = { actor: null, client: null, target: null, request_id: null, details: '{}' }
    const byNetwork = JSON.stringify([row.event, network])
    if (!isFull || this.#kinds.has(byNetwork))
      return this.#kinds.get(byNetwork) ?? this.#add(byNetwork, undefined, omitted, row.at)
    return this.#kinds.get(row.event) ?? this.#add(row.event, undefined, { ...omitted, address: null }, row.at)
  }

  #add(key: string, network: string | undefined, omitted: Kind['omitted'], now: number): Kind {
    const kind = { network, omitted, began: now, ownRows: 0, count: 0, since: now, last: undefined }
    this.#kinds.set(key, kind)
    return kind
  }

  #forget(key: string, { network }: Kind): void {
    this.#kinds.delete(key)
    if (network === undefined) return
    const left = (this.#ofNetwork.get(network) ?? 1) - 1
    if (left === 0) this.#ofNetwork.delete(network)
    else this.#ofNetwork.set(network, left)
  }
}

/** Undefined for events that are never counted. */
function countOwnRows(name: AuditEventName): number | undefined {
  if (COUNTED_FROM_SECOND.has(name)) return 1
  return auditOutcome(name) === 'refused' || ALSO_COUNTED.has(name) ? OWN_ROWS : undefined
}

/** Also when the clock was set back. */
function isOver({ began }: Kind, now: number): boolean {
  return now >= began + INTERVAL_MS || now < began
}

/** Begins the next interval; after an interval without a count, each event gets a row again. */
function restart(kind: Kind, now: number): UnchainedRow[] {
  const { last, count, since, omitted } = kind
  kind.began = now
  kind.count = 0
  if (last === undefined || count === 0) {
    kind.ownRows = 0
    return []
  }
  kind.last = undefined
  const row = { ...last, ...omitted, at: now }
  const details = { ...JSON.parse(row.details), count, since: new Date(since).toISOString() }
  return [{ ...row, details: JSON.stringify(details) }]
}

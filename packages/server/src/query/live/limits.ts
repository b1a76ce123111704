/** The limits of live queries, the count of live statements of each connection and user, and the refusals. */
import type { Refusal } from 'gatehouse-protocol'
import { decrement, increment } from '../../lib/counts.ts'
import { refuse } from '../errors.ts'

export type LiveLimits = Readonly<typeof DEFAULT_LIVE_LIMITS>

export const DEFAULT_LIVE_LIMITS = {
  /** Live statements at the same time. */
  perConnection: 100,
  perUser: 1000,
  perNode: 20_000,
  /** The rows of one result. */
  rows: 100_000,
  /** The memory of all results of this node. */
  bytes: 256 * 1024 * 1024,
  /** A result without subscribers is kept this long, for clients that reconnect. */
  keepMs: 600_000,
  /** A Progress message with the current position is sent this long after the last message. */
  progressMs: 15_000,
}

export class StatementCounts {
  readonly #limits: LiveLimits
  readonly #byConnection = new Map<string, number>()
  readonly #byUser = new Map<string, number>()
  #total = 0

  constructor(limits: LiveLimits) {
    this.#limits = limits
  }

  /** Counts one more, or refuses it. */
  add(connection: string, user: string): void {
    const { perConnection, perUser, perNode } = this.#limits
    check(this.#byConnection.get(connection) ?? 0, perConnection, 'This connection has')
    check(this.#byUser.get(user) ?? 0, perUser, 'You have')
    check(this.#total, perNode, 'The server has')
    this.#total++
    increment(this.#byConnection, connection)
    increment(this.#byUser, user)
  }

  remove(connection: string, user: string): void {
    this.#total--
    decrement(this.#byConnection, connection)
    decrement(this.#byUser, user)
  }
}

function check(count: number, limit: number, who: string): void {
  if (count < limit) return
  throw refuse('Limit.Live', `${who} ${count} live statements, which is the limit`)
}

export function tooManyRows({ rows }: LiveLimits): Refusal {
  return refuse('Limit.Rows', `The result has more than ${rows} rows, which is the limit of a live statement`)
}

/** The most memory that one owner may use, so that some is always left for others. */
export function ownerShare({ bytes }: LiveLimits): number {
  return bytes / 2
}

export function tooManyBytes(): Refusal {
  return refuse('Limit.Memory', 'The live results of this server use too much memory, and yours use the most')
}

export function tooManyOwnBytes(): Refusal {
  return refuse('Limit.Memory', 'Your live results use more than half of the memory for live results on this server')
}

export function shuttingDown(): Refusal {
  return refuse('Limit.Overload', 'The service is shutting down')
}

/** For a server fault; the log has the details. */
export function failed(): Refusal {
  return refuse('Limit.Overload', 'The statement could not be evaluated')
}

/** The last writes that this node has acknowledged: whether another primary has them. */
import type { ClientBase } from 'pg'
import { readLsn } from './identity.ts'

/** Sent as the last statement of a transaction that writes: its number, and a position in the log that its commit will be after. */
export const WITNESS = 'SELECT pg_current_xact_id_if_assigned()::text AS xid, pg_current_wal_insert_lsn()::text AS lsn'

interface Acknowledged {
  readonly xid: string
  readonly lsn: bigint
  /** By the monotonic clock. */
  readonly at: number
}

/** One transaction, from before its witness is sent until its commit is acknowledged. */
export class Witness {
  readonly sql = WITNESS
  readonly parameters = []
  readonly #sentAt = performance.now()
  readonly #writes: AcknowledgedWrites
  #xid: string | null = null
  #lsn = 0n

  constructor(writes: AcknowledgedWrites) {
    this.#writes = writes
  }

  readonly onRow = ([xid, lsn]: readonly (string | null)[]): void => {
    this.#xid = xid ?? null
    this.#lsn = readLsn(lsn ?? '0/0')
  }

  /** The database has committed. */
  acknowledge(): void {
    if (this.#xid !== null) this.#writes.add({ xid: this.#xid, lsn: this.#lsn, at: performance.now() }, this.#sentAt)
  }
}

/**
 * A commit is lost if the new primary took over before its position in the log, or does not know it as committed. The second alone
 * would not do: the new primary gives the numbers of transactions that it has never heard of to others.
 */
export class AcknowledgedWrites {
  #last: Acknowledged[] = []

  begin(): Witness {
    return new Witness(this)
  }

  /** Writes that were acknowledged before this one was sent are before it in the log: if it is there, so are they. */
  add(write: Acknowledged, sentAt: number): void {
    this.#last = this.#last.filter(({ at }) => at >= sentAt)
    this.#last.push(write)
  }

  clear(): void {
    this.#last = []
  }

  /** The position of the last write that is missing; undefined if none is. `takenOverAt` is where the primary took over, if known. */
  async missingFrom(client: ClientBase, takenOverAt: bigint | undefined): Promise<bigint | undefined> {
    const writes = this.#last
    if (writes.length === 0) return undefined
    const { rows } = await client.query<{ state: string | null }>(
      // A number that this server has not used yet would be an error. Of very old ones the state is no longer kept.
      `SELECT CASE WHEN x::xid8 < pg_snapshot_xmax(pg_current_snapshot())
         THEN coalesce(pg_xact_status(x::xid8), 'committed') END AS state
       FROM unnest($1::text[]) WITH ORDINALITY AS w (x, n) ORDER BY n`,
      [writes.map(({ xid }) => xid)],
    )
    const missing = writes.filter(
      ({ lsn }, index) => (takenOverAt !== undefined && lsn > takenOverAt) || rows[index]?.state !== 'committed',
    )
    return missing.reduce<bigint | undefined>(
      (last, { lsn }) => (last === undefined || lsn > last ? lsn : last),
      undefined,
    )
  }
}

/** Only connections to a database that can fail over are here. */
const WRITES_OF = new WeakMap<ClientBase, AcknowledgedWrites>()

export function trackWrites(client: ClientBase, writes: AcknowledgedWrites): void {
  WRITES_OF.set(client, writes)
}

export function canFailOver(client: ClientBase): boolean {
  return WRITES_OF.has(client)
}

/** Undefined where no caller needs to know. */
export function beginWitness(client: ClientBase): Witness | undefined {
  return WRITES_OF.get(client)?.begin()
}

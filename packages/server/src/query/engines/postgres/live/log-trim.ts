/** Deletes old rows of the change logs of PostgreSQL. */
import type { Pool, PoolClient } from 'pg'
import { COPIES } from '../../delayed-copies.ts'
import { KEPT_STATES, type ViewsByLog } from '../../kept-state-sql.ts'
import type { LogLimits } from '../../live-source.ts'
import { parsePosition } from '../dialect/positions.ts'
import { withClient } from '../pool.ts'
import { SCHEMA } from '../representation.ts'
import { EXISTING_LOGS, LOGS } from './log-heads.ts'

/** One node at a time trims. */
const LOCK = 'SELECT pg_try_advisory_lock(7301945120367) AS locked'
const UNLOCK = 'SELECT pg_advisory_unlock(7301945120367)'

/** The number of rows that are kept at any age, without values: they cost little, and positions of rarely changed tables stay valid. */
const ALWAYS_KEPT = 1000

export class LogTrim {
  readonly #owner: Pool
  readonly #limits: LogLimits
  /** The oldest transaction that was running at some times: those before it had ended by then. */
  #notes: { readonly at: number; readonly xmin: bigint }[] = []

  /** The approximate number of changes in each log. */
  logged: readonly number[] = []

  /** The keys of the materialized views of each table, by the name of its log. */
  views: ViewsByLog = new Map()

  constructor(owner: Pool, limits: LogLimits) {
    this.#owner = owner
    this.#limits = limits
  }

  async run(): Promise<void> {
    await withClient(this.#owner, async (client) => {
      const { rows } = await client.query<{ locked: boolean }>(LOCK)
      if (rows[0]?.locked !== true) return
      try {
        await this.#trimAll(client)
      } finally {
        await client.query(UNLOCK)
      }
    })
  }

  async #trimAll(client: PoolClient): Promise<void> {
    const { milliseconds, changes } = this.#limits
    const now = performance.now()
    const current = await readXmin(client)
    this.#notes.push({ at: now, xmin: current })
    const due = this.#notes.findLastIndex(({ at }) => at <= now - milliseconds)
    // Older records are no longer needed.
    if (due > 0) this.#notes.splice(0, due)
    const old = due === -1 ? 0n : (this.#notes[0]?.xmin ?? 0n)
    const { rows } = await client.query<{ log: string; former: string[]; needed: string | null }>(
      `SELECT l.log, ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attname ~ '^[on][0-9]+$') AS former,
         (SELECT min(pg_snapshot_xmin(split_part(p.position, '.', 2)::pg_snapshot))::text FROM ${SCHEMA}.${COPIES} AS p
          WHERE p.base = l.name) AS needed
       FROM ${EXISTING_LOGS}`,
    )
    const logged: number[] = []
    for (const { log, former, needed } of rows) {
      // Copies are moved by what follows.
      const kept = needed === null ? current : smaller(current, BigInt(needed))
      const unread = await this.#firstUnread(client, log)
      const surplus = await keptFrom(client, log, changes)
      const aged = await keptFrom(client, log, Math.min(ALWAYS_KEPT, changes))
      // Positions made from now on must not be before the floor, so it stays below every running transaction.
      const before = smaller(kept, larger(surplus, smaller(unread, smaller(old, aged))))
      if (before > 0n) await deleteBefore(client, log, before)
      const forgotten = smaller(kept, smaller(unread, old))
      if (forgotten > 0n) await forgetBefore(client, log, former, forgotten)
      logged.push(await measureSpan(client, log))
    }
    this.logged = logged
  }

  /** The first transaction whose changes some view of the table has perhaps not read. */
  async #firstUnread(client: PoolClient, log: string): Promise<bigint> {
    const views = this.views.get(log)
    if (views === undefined) return NONE
    const { rows } = await client.query<{ position: string | null }>(
      `SELECT position FROM ${SCHEMA}.${KEPT_STATES} WHERE key = ANY ($1)`,
      [[...views]],
    )
    return rows.map(({ position }) => parsePosition(position ?? '')?.xmin ?? 0n).reduce(smaller, NONE)
  }
}

/** Later than every transaction. */
const NONE = 2n ** 64n

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

async function readXmin(client: PoolClient): Promise<bigint> {
  const { rows } = await client.query<{ xmin: string }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin')
  return BigInt(rows[0]?.xmin ?? 0)
}

/** The transaction of the oldest row that is kept by number; 0 if there are fewer rows. */
async function keptFrom(client: PoolClient, log: string, count: number): Promise<bigint> {
  const table = `${SCHEMA}.${log}`
  if ((await measureSpan(client, log)) <= count) return 0n
  const { rows } = await client.query<{ xid: string }>(
    `SELECT xid::text FROM ${table} ORDER BY xid DESC OFFSET $1 LIMIT 1`,
    [Math.max(0, count - 1)],
  )
  return BigInt(rows[0]?.xid ?? 0)
}

/** The numbers of the first and the last row bound how many there are, without counting them. */
async function measureSpan(client: PoolClient, log: string): Promise<number> {
  const table = `${SCHEMA}.${log}`
  const { rows } = await client.query<{ span: string | null }>(
    `SELECT ((SELECT seq FROM ${table} ORDER BY xid DESC LIMIT 1) - (SELECT seq FROM ${table} ORDER BY xid LIMIT 1) + 1)::text AS span`,
  )
  return Math.max(0, Number(rows[0]?.span ?? 0))
}

/** The floor is right after the last row that is deleted: positions in a log where nothing more happens stay valid. */
async function deleteBefore(client: PoolClient, log: string, before: bigint): Promise<void> {
  const table = `${SCHEMA}.${log}`
  const { rows } = await client.query<{ last: string | null }>(
    `SELECT (SELECT xid FROM ${table} WHERE xid < $1::text::xid8 ORDER BY xid DESC LIMIT 1)::text AS last`,
    [String(before)],
  )
  const last = rows[0]?.last
  if (typeof last !== 'string') return
  const floor = String(BigInt(last) + 1n)
  // One statement, so that a reader that sees the rows gone sees the floor too.
  await client.query(
    `WITH raised AS (UPDATE ${LOGS} SET floor = $2::text::xid8 WHERE log = $1 AND floor < $2::text::xid8)
     DELETE FROM ${table} WHERE xid < $2::text::xid8`,
    [log, floor],
  )
}

/** Values of rows that were changed or deleted are not kept longer than the log. */
async function forgetBefore(client: PoolClient, log: string, former: readonly string[], before: bigint): Promise<void> {
  const values = former.map((name) => `, ${name} = NULL`).join('')
  await client.query(`UPDATE ${SCHEMA}.${log} SET kept = false${values} WHERE xid < $1::text::xid8 AND kept`, [
    String(before),
  ])
}

/** Bounds the rows that unauthenticated requests create: a new one removes the oldest of the same browser or network, never those of others. */
import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { LruMap } from '../../lib/lru-map.ts'
import type { Database } from '../database/database.ts'

export interface OpenRowLimits {
  readonly browser: number
  readonly network: number
  readonly server: number
}

export interface OpenRow {
  readonly digest: string
  readonly network: string
  /** Within its network: one that opens too many loses its own. */
  readonly browser?: string | undefined
}

/** A page left open matters less than one opened now, so the oldest rows are dropped. */
export const OPEN_ROWS: OpenRowLimits = { browser: 50, network: 1_000, server: 20_000 }

/** Rows are counted in the database when this part of a limit has been added on this node, so that few requests pay for it. */
const COUNTED_AFTER = 0.1
const COUNTED_OWNERS = 10_000

/** `table` has `digest`, `network` and `created_at`; rows that are not `disposable` stay, and are not counted. */
export function boundOpenRows(
  { db, engine }: Pick<Database, 'db' | 'engine'>,
  {
    table,
    limits,
    disposable = sql<boolean>`true`,
  }: {
    readonly table: 'interactions' | 'device_codes'
    readonly limits: OpenRowLimits
    readonly disposable?: RawBuilder<boolean>
  },
) {
  const added = new LruMap<{ rows: number }>(COUNTED_OWNERS)
  // Nodes that prune at the same time must not wait for each other.
  const lock = engine === 'postgres' ? sql`for update skip locked` : sql``
  const rows = sql.table(table)

  return {
    /** Call it after inserting a row. That row stays, even if a clock was set back and others seem newer. */
    async added({ digest, network, browser }: OpenRow): Promise<void> {
      const others = sql`digest <> ${digest} and ${disposable}`
      const neighbours = sql`network = ${network} and ${others}`
      if (browser !== undefined && isDue(`browser ${network} ${browser}`, limits.browser))
        await removeSurplus(sql`browser = ${browser} and ${neighbours}`, limits.browser)
      if (isDue(`network ${network}`, limits.network)) await removeSurplus(neighbours, limits.network)
      if (isDue('server', limits.server)) await removeFromLargest(others)
    },
  }

  function isDue(owner: string, limit: number): boolean {
    const known = added.get(owner) ?? { rows: 0 }
    known.rows = (known.rows + 1) % Math.ceil(limit * COUNTED_AFTER)
    added.set(owner, known)
    return known.rows === 0
  }

  /** With the added row there is one more than the rows that match. */
  function removeSurplus(where: RawBuilder<unknown>, limit: number): Promise<void> {
    return remove(sql`select digest from ${rows} where ${where}
      order by created_at desc, digest limit ${limits.server} offset ${limit - 1}`)
  }

  /** Every network keeps its newest rows: the networks with the most rows lose their oldest, until all have equally many or the limit holds. */
  async function removeFromLargest(where: RawBuilder<unknown>): Promise<void> {
    const counted = await sql<{ count: number }>`select count(*) as count from ${rows} where ${where}`.execute(db)
    const surplus = Number(counted.rows[0]?.count ?? 0) + 1 - limits.server
    if (surplus <= 0) return
    await remove(sql`select digest from (
        select digest, created_at, row_number() over (partition by network order by created_at desc, digest) as place
        from ${rows} where ${where}) as placed
      order by place desc, created_at limit ${surplus}`)
  }

  async function remove(surplus: RawBuilder<unknown>): Promise<void> {
    await sql`delete from ${rows} where digest in (
      select digest from ${rows} where digest in (${surplus}) ${lock})`.execute(db)
  }
}

/** Counts without scans: each reads a bounded number of index entries, and says when there are more. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Schema } from './schema.ts'

export interface BoundedCount {
  readonly count: number
  /** There are more than were counted. */
  readonly more: boolean
}

/** The last of the rows that a count reads says whether there are more. */
export const COUNTED_ROWS = 10_001

export async function countRows(db: Kysely<Schema>, table: 'users' | 'clients' | 'roles'): Promise<BoundedCount> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from
    (select 1 from ${sql.table(table)} limit ${COUNTED_ROWS}) as counted`.execute(db)
  const read = rows[0]?.count ?? 0
  return boundedCount(read, read)
}

/** The matching ones among the newest open sessions or valid grants. */
export async function countNewest(
  db: Kysely<Schema>,
  [table, endedAt]: readonly ['sessions', 'ended_at'] | readonly ['grants', 'revoked_at'],
  isCounted: RawBuilder<boolean>,
): Promise<BoundedCount> {
  const newest = sql`select * from ${sql.table(table)} where ${sql.ref(endedAt)} is null
    order by created_at desc, id desc limit ${COUNTED_ROWS}`
  const { rows } = await sql<{ read: number; matching: number }>`select count(*) as read,
    count(case when ${isCounted} then 1 end) as matching from (${newest}) as newest`.execute(db)
  return boundedCount(rows[0]?.read ?? 0, rows[0]?.matching ?? 0)
}

/** Of the rows that were read, only `matching` are counted. */
export function boundedCount(read: number, matching: number): BoundedCount {
  return { count: Math.min(Number(matching), COUNTED_ROWS - 1), more: Number(read) === COUNTED_ROWS }
}

/** Counts without scans: each reads a bounded number of index entries, and says when there are more. */
import { type Kysely, sql } from 'kysely'
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

/** Of the rows that were read, only `matching` are counted. */
export function boundedCount(read: number, matching: number): BoundedCount {
  return { count: Math.min(Number(matching), COUNTED_ROWS - 1), more: Number(read) === COUNTED_ROWS }
}

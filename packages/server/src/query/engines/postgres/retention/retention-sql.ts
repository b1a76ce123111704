/** How PostgreSQL deletes the rows of a retention. */
import type { RetentionSql } from '../../retention-rows.ts'
import { POSTGRES } from '../dialect/dialect.ts'

/** A transaction that has written to a table holds one of these locks up to its end, also if it is prepared. */
const WRITING = "'RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'"

export const RETENTION_SQL: RetentionSql = {
  identifier: POSTGRES.identifier,
  // With IN, the planner may read the whole table.
  isOneOf: (_table, rows) => `ctid = ANY (ARRAY(${rows('ctid')}))`,
  micros: (value) => `(extract(epoch from ${value}) * 1000000)::bigint`,
  writers: (table) => `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
    WHERE locktype = 'relation' AND granted AND mode IN (${WRITING}) AND relation = '${table.replaceAll("'", "''")}'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
}

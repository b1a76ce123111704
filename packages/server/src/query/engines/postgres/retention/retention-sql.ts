/** How PostgreSQL deletes the rows of a retention. */
import type { RetentionSql } from '../../retention-rows.ts'
import { POSTGRES } from '../dialect/dialect.ts'

/** A transaction that has written to a table holds one of these locks up to its end, also if it is prepared. */
const WRITING = "'RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'"

const EARLIEST = "timestamp '0001-01-01'"
const LATEST = "timestamp '9999-12-31 23:59:59.999999'"

export const RETENTION_SQL: RetentionSql = {
  identifier: POSTGRES.identifier,
  // With IN, the planner may read the whole table.
  isOneOf: (_table, rows) => `ctid = ANY (ARRAY(${rows('ctid')}))`,
  // Other programs may write infinite times, and those of years that IQL does not have.
  micros: (value) => `CASE WHEN ${value} IS NOT NULL THEN
    (extract(epoch from greatest(least(${value}, ${LATEST}), ${EARLIEST})) * 1000000)::bigint END`,
  leavesEntries: true,
  writers: (table) => `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
    WHERE locktype = 'relation' AND granted AND mode IN (${WRITING}) AND relation = '${table.replaceAll("'", "''")}'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
}

/** About how many rows a table has: what the planner of PostgreSQL believes. */
import type { SizeSql } from '../table-sizes.ts'
import { POSTGRES } from './dialect/dialect.ts'

/** Counted as far as this where the table was never analyzed, or when it had few rows. */
const COUNTED = 10_000

export const tableSize: SizeSql = (table) => {
  const name = POSTGRES.tableName(table)
  return `SELECT CASE WHEN c.reltuples > ${COUNTED} THEN c.reltuples::bigint
      ELSE greatest(c.reltuples::bigint, (SELECT count(*) FROM (SELECT 1 FROM ${name} LIMIT ${COUNTED}) AS t)) END AS n
    FROM pg_class AS c WHERE c.oid = '${name.replaceAll("'", "''")}'::regclass`
}

/** About how many rows a table has: by the first and the last identifier of a row, and how dense the first ones are. */
import type { SizeSql } from '../table-sizes.ts'
import { SQLITE } from './dialect/dialect.ts'
import { rowId } from './dialect/row-id.ts'

/** Tables with fewer rows are counted. */
const SAMPLE = 1_000

export const tableSize: SizeSql = (table) => {
  const id = rowId(table.columns.map(({ name }) => name))
  if (id === undefined) return undefined
  const rows = SQLITE.tableName(table)
  return `WITH ids AS (SELECT (SELECT min(${id}) FROM ${rows}) AS low, (SELECT max(${id}) FROM ${rows}) AS high,
      (SELECT ${id} FROM ${rows} ORDER BY ${id} LIMIT 1 OFFSET ${SAMPLE}) AS next)
    SELECT CASE WHEN next IS NULL THEN (SELECT count(*) FROM ${rows})
      ELSE ${SAMPLE}.0 * (high - low + 1.0) / (next - low) END AS n FROM ids`
}

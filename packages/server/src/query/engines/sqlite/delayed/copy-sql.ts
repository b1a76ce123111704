/** How the copies of delayed tables are moved on SQLite. A position is the number of a row of the log; a mark has one for each log. */
import { keyColumns, LOG_OP, logName, newColumns } from '../../change-log.ts'
import type { CopySql } from '../../delayed-rows.ts'
import type { Sql } from '../../emit/dialect.ts'
import type { BuildSql } from '../../service-store.ts'
import { SQLITE } from '../dialect/dialect.ts'

/** Changes that are applied on the event loop: they take some milliseconds. */
const MAX_INLINE_CHANGES = 500
/** SQLite takes 500 parts of a UNION ALL. */
const PARTS = 400

export function sqliteCopies(runApart: (builds: readonly BuildSql[]) => Promise<number>): CopySql {
  return {
    identifier: SQLITE.identifier,
    truth: SQLITE.truth,
    runApart,
    isLong: (from, to) => Number(to) - Number(from) > MAX_INLINE_CHANGES,
    async readMark(tables, last, isNeeded, store) {
      const parts = tables.map(({ name }): Sql => {
        const log = logName(name)
        return `SELECT '${log}' AS log, (SELECT max(seq) FROM main.${log}) AS seq`
      })
      const groups: Sql[] = []
      for (let start = 0; start < parts.length; start += PARTS)
        groups.push(`SELECT * FROM (${parts.slice(start, start + PARTS).join(' UNION ALL ')})`)
      const [row] = await store.read<{ position: string }>(
        () => `SELECT json_group_object(log, seq) AS position FROM (${groups.join(' UNION ALL ')})`,
      )
      return row === undefined || (row.position === last && !isNeeded) ? undefined : row.position
    },
    positionAt(mark, { name }, { position }) {
      const heads: Readonly<Record<string, number>> = JSON.parse(mark)
      const found = new Map(Object.entries(heads)).get(logName(name))
      // The copy has begun after the mark.
      return found === undefined || found < Number(position) ? undefined : String(found)
    },
    changes(table, from, to) {
      const keys = keyColumns(table)
      const outputs = [
        ...keys.map(({ name }, index) => `k${index} AS ${SQLITE.identifier(name)}`),
        ...newColumns(table).map(({ name }, index) => `n${index} AS ${SQLITE.identifier(name)}`),
      ]
      const key = keys.map((_key, index) => `k${index}`).join(', ')
      // The other columns are those of the row with the greatest number.
      const last = `SELECT *, max(seq) FROM main.${logName(table.name)}
        WHERE seq > CAST(${from} AS INTEGER) AND seq <= CAST(${to} AS INTEGER) GROUP BY ${key}`
      return `SELECT ${outputs.join(', ')}, op = ${LOG_OP.delete} AS gone FROM (${last})`
    },
  }
}

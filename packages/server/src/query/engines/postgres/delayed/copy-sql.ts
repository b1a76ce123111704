/**
 * How the copies of delayed tables are moved on PostgreSQL. A mark is a snapshot; a position also has the epoch of the log. Both are stored
 * in the database whose transactions they name, so that a failover or a restored backup takes from all or from none.
 */
import type { TableDefinition } from '../../../catalogue/definition.ts'
import { keyColumns, LOG_OP, logName, newColumns } from '../../change-log.ts'
import type { CopySql } from '../../delayed-rows.ts'
import type { Sql } from '../../emit/dialect.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { LOG_EPOCH, LOGS } from '../live/log-heads.ts'
import { SCHEMA } from '../representation.ts'

/** How far the log of a table is now. */
export function headSql({ name }: Pick<TableDefinition, 'name'>): Sql {
  return `(SELECT ${LOG_EPOCH} || '.' || pg_current_snapshot()::text FROM ${LOGS} AS l WHERE l.log = '${logName(name)}')`
}

export const POSTGRES_COPIES: CopySql = {
  identifier: POSTGRES.identifier,
  truth: POSTGRES.truth,
  async readMark(tables, last, isNeeded, store) {
    const [row] = await store.read<{ position: string; changed: boolean }>((value) => {
      const before = last === undefined ? undefined : `${value(last)}::text::pg_snapshot`
      const changes = tables.map(({ name }): Sql => {
        if (before === undefined) return 'TRUE'
        const rows = `SELECT 1 FROM ${SCHEMA}.${logName(name)} WHERE xid`
        return `EXISTS (${rows} >= pg_snapshot_xmax(${before})) OR EXISTS (${rows} IN (SELECT pg_snapshot_xip(${before})))`
      })
      return `SELECT pg_current_snapshot()::text AS position, ${changes.join(' OR ')} AS changed`
    })
    return row !== undefined && (isNeeded || row.changed) ? row.position : undefined
  },
  positionAt(mark, _table, { position }) {
    const [epoch = '', snapshot = ''] = position.split('.')
    // The copy has begun after the mark.
    return lastTransaction(mark) < lastTransaction(snapshot) ? undefined : `${epoch}.${mark}`
  },
  async findLost(states, store) {
    const rows = await store.read<{ base: string; epoch: string }>(
      () => `SELECT l.name AS base, ${LOG_EPOCH} AS epoch FROM ${LOGS} AS l`,
    )
    const epochs = new Map(rows.map(({ base, epoch }) => [base, epoch]))
    return states.filter(({ base, position }) => position.split('.')[0] !== epochs.get(base))
  },
  head: headSql,
  changes(table, from, to) {
    const keys = keyColumns(table)
    const outputs = [
      ...keys.map(({ name }, index) => `k${index} AS ${POSTGRES.identifier(name)}`),
      ...newColumns(table).map(({ name }, index) => `n${index} AS ${POSTGRES.identifier(name)}`),
    ]
    const key = keys.map((_key, index) => `k${index}`).join(', ')
    const [seen, wanted] = [from, to].map((position) => `(SELECT split_part(${position}::text, '.', 2)::pg_snapshot)`)
    const last = `SELECT DISTINCT ON (${key}) * FROM ${SCHEMA}.${logName(table.name)}
      WHERE xid >= pg_snapshot_xmin(${seen}) AND xid < pg_snapshot_xmax(${wanted})
        AND pg_visible_in_snapshot(xid, ${wanted}) AND NOT pg_visible_in_snapshot(xid, ${seen}) ORDER BY ${key}, seq DESC`
    return `SELECT ${outputs.join(', ')}, op NOT IN (${LOG_OP.insert}, ${LOG_OP.became}) AS gone FROM (${last}) AS l`
  },
}

/** The second part of a snapshot: the transaction after the last one that it has seen. */
function lastTransaction(snapshot: string): bigint {
  return BigInt(snapshot.split(':')[1] ?? 0)
}

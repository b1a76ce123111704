/** How SQLite deletes the rows of a retention. */
import type { RetentionSql } from '../../retention-rows.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { rowId } from '../dialect/row-id.ts'

export const RETENTION_SQL: RetentionSql = {
  identifier: SQLITE.identifier,
  isOneOf({ columns }, rows) {
    const id = rowId(columns.map(({ name }) => name))
    return id === undefined ? undefined : `${id} IN (${rows(id)})`
  },
  micros: (value, { kind }) => (kind === 'Date' ? `${value} * 86400000000` : value),
  leavesEntries: false,
  writers: undefined,
}

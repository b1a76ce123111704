/** The tag of CommandComplete for a statement of IQL. */
import type { BoundStatement } from 'gatehouse-iql'

export function tagOf(statement: BoundStatement, rows: number): string {
  switch (statement.kind) {
    case 'query':
      return `SELECT ${rows}`
    case 'insert':
      return `INSERT 0 ${rows}`
    case 'update':
      return `UPDATE ${rows}`
    case 'delete':
      return `DELETE ${rows}`
    case 'explain':
    case 'explain-live':
      return 'EXPLAIN'
    case 'describe':
    case 'show-tables':
      return 'SHOW'
    case 'create-table':
      return statement.query === undefined ? 'CREATE TABLE' : `SELECT ${rows}`
    case 'drop-table':
    case 'create-view':
    case 'drop-view':
    case 'create-index':
    case 'drop-index':
      return statement.kind.replace('-', ' ').toUpperCase()
    default:
      return 'ALTER TABLE'
  }
}

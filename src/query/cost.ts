/** Proves from the bound plan that a statement is cheap: that it touches few rows and does little with each. */
import { AUDIT_LOG } from './catalogue/system-tables.ts'
import type { DefaultValue, Delete, Insert, Query, TableSource, Update } from './iql/bound.ts'
import type { BoundExpression } from './iql/bound-expression.ts'
import type { TableView } from './iql/catalogue-view.ts'

/** Rows that may be read or written on the event loop by one statement. */
export const FEW_ROWS = 100

/** How much a statement touches, as far as its plan proves it. */
export type Reach =
  | 'one row'
  | 'few rows'
  /** Nobody knows how many, but each comes at little cost: it can be begun here and left to others when it grows long. */
  | 'row by row'
  | 'anything'

export function isShort(reach: Reach): boolean {
  return reach === 'one row' || reach === 'few rows'
}

/** One row by its key, the first few of a table, the catalogue, or the rows under one value of an index. */
export function reachOf(query: Query, indexesOf: (table: TableView) => readonly (readonly string[])[]): Reach {
  const { body } = query
  if (query.with.length > 0 || body.kind !== 'select' || body.distinct || body.grouped) return 'anything'
  if (
    !body.outputs.every(({ expression }) => isSimple(expression)) ||
    !query.orderBy.every(({ expression }) => isSimple(expression)) ||
    (body.where !== undefined && !isSimple(body.where))
  )
    return 'anything'
  const source = body.from
  if (source === undefined) return 'one row'
  // Filtered tables are read through a fence, which hides the key.
  if (source.kind !== 'table' || source.filter !== undefined) return 'anything'
  const { id, table } = source
  if (table.isSystem && table.name !== AUDIT_LOG) return 'few rows'
  if (body.where !== undefined && fixesKey(body.where, id, table)) return 'one row'
  // Past this point a sort, or rows passed over, would make the first row a long way off.
  if (query.orderBy.length > 0 || query.offset !== undefined) return 'anything'
  if (body.where === undefined) return isFew(query.limit) ? 'few rows' : 'anything'
  return indexesOf(table).some((index) => isWithin(conjuncts(body.where), id, index)) ? 'row by row' : 'anything'
}

/** Rows given one by one, or the one row of a key. */
export function isShortWrite(statement: Insert | Update | Delete): boolean {
  if (!statement.returning.every(({ expression }) => isSimple(expression))) return false
  if (statement.kind === 'insert') {
    if (statement.rows.kind === 'query' || statement.rows.rows.length > 1000) return false
    return statement.rows.rows.flat().every(isSimpleValue) && isSimpleConflict(statement.onConflict)
  }
  const { where } = statement
  if (where === undefined || !isSimple(where) || !fixesKey(where, statement.source, statement.table)) return false
  return statement.kind === 'delete' || statement.set.every(({ value }) => isSimpleValue(value))
}

function isSimpleConflict(conflict: Insert['onConflict']): boolean {
  if (conflict === undefined || conflict.kind === 'nothing') return true
  return (
    conflict.set.every(({ value }) => isSimpleValue(value)) &&
    (conflict.where === undefined || isSimple(conflict.where))
  )
}

function isSimpleValue(value: BoundExpression | DefaultValue): boolean {
  return value.kind === 'default' || isSimple(value)
}

/** Whether the condition holds for one row at most: every column of a key equals a value. */
function fixesKey(where: BoundExpression, source: TableSource['id'], table: TableView): boolean {
  const fixed = new Set(conjuncts(where).map((condition) => fixedColumn(condition, source)))
  const keys = [table.primaryKey, ...table.uniques].filter((key) => key.length > 0)
  return keys.some((key) => key.every((column) => fixed.has(column)))
}

/** Whether the conditions fix the first columns of the index and ask for nothing else: every entry that is looked at is a row. */
function isWithin(
  conditions: readonly BoundExpression[],
  source: TableSource['id'],
  index: readonly string[],
): boolean {
  const fixed = new Set(conditions.map((condition) => fixedColumn(condition, source)))
  // A second condition on a column would be a filter.
  if (fixed.has(undefined) || fixed.size < conditions.length) return false
  return fixed.size <= index.length && index.slice(0, fixed.size).every((column) => fixed.has(column))
}

/** The column that the condition sets equal to a value. */
function fixedColumn(condition: BoundExpression, source: TableSource['id']): string | undefined {
  if (condition.kind !== 'compare' || condition.operator !== '=') return undefined
  const { left, right } = condition
  if (left.kind === 'column' && left.source === source && isValue(right)) return left.name
  if (right.kind === 'column' && right.source === source && isValue(left)) return right.name
  return undefined
}

function conjuncts(where: BoundExpression | undefined): readonly BoundExpression[] {
  if (where === undefined) return []
  return where.kind === 'logic' && where.operator === 'and' ? where.operands.flatMap(conjuncts) : [where]
}

function isFew(limit: BoundExpression | undefined): boolean {
  return limit?.kind === 'literal' && typeof limit.value === 'bigint' && limit.value <= BigInt(FEW_ROWS)
}

function isValue(node: BoundExpression): boolean {
  return node.kind === 'literal' || node.kind === 'parameter' || node.kind === 'claim'
}

/** Work that is bounded by the size of its operands: no sub-query, no function that could make much out of little. */
export function isSimple(node: BoundExpression): boolean {
  switch (node.kind) {
    case 'column':
    case 'output':
    case 'literal':
    case 'parameter':
    case 'claim':
      return true
    case 'compare':
      return isSimple(node.left) && isSimple(node.right)
    case 'arithmetic':
      return isSimple(node.left) && isSimple(node.right)
    case 'logic':
      return node.operands.every(isSimple)
    case 'not':
    case 'is-null':
    case 'widen':
    case 'fit':
    case 'negate':
    case 'claim-in':
      return isSimple(node.operand)
    case 'between':
      return isSimple(node.operand) && isSimple(node.low) && isSimple(node.high)
    case 'in-list':
      return isSimple(node.operand) && node.items.length <= FEW_ROWS && node.items.every(isSimple)
    case 'call':
      return node.function === 'now' || node.function === 'current_date' || node.function === 'gen_uuid'
    default:
      return false
  }
}

/** Proves from the bound plan that a statement is cheap: that it touches few rows and does little with each. */
import { AUDIT_LOG } from './catalogue/system-tables.ts'
import type { DefaultValue, Delete, Insert, Query, TableSource, Update } from './iql/bound.ts'
import type { BoundExpression } from './iql/bound-expression.ts'
import type { TableView } from './iql/catalogue-view.ts'

/** Rows that may be read or written on the event loop by one statement. */
const FEW_ROWS = 100

/** One row by its key, the first few of a table, or the catalogue. */
export function isCheap(query: Query): boolean {
  const { body } = query
  if (query.with.length > 0 || body.kind !== 'select' || body.distinct || body.grouped) return false
  if (body.from === undefined) return body.outputs.every(({ expression }) => isSimple(expression))
  if (body.from.kind !== 'table') return false
  if (
    !body.outputs.every(({ expression }) => isSimple(expression)) ||
    !query.orderBy.every(({ expression }) => isSimple(expression))
  )
    return false
  if (body.where !== undefined && !isSimple(body.where)) return false
  const source = body.from
  // Filtered tables are read through a fence, which hides the key.
  if (source.filter !== undefined) return false
  if (source.table.isSystem && source.table.name !== AUDIT_LOG) return true
  if (body.where !== undefined && fixesKey(body.where, source.id, source.table)) return true
  return body.where === undefined && query.orderBy.length === 0 && isFew(query.limit) && query.offset === undefined
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
  const fixed = new Set<string>()
  for (const condition of conjuncts(where)) {
    if (condition.kind !== 'compare' || condition.operator !== '=') continue
    for (const [column, value] of [
      [condition.left, condition.right],
      [condition.right, condition.left],
    ] as const) {
      if (column.kind === 'column' && column.source === source && isValue(value)) fixed.add(column.name)
    }
  }
  const keys = [table.primaryKey, ...table.uniques].filter((key) => key.length > 0)
  return keys.some((key) => key.every((column) => fixed.has(column)))
}

function conjuncts(where: BoundExpression): readonly BoundExpression[] {
  return where.kind === 'logic' && where.operator === 'and' ? where.operands.flatMap(conjuncts) : [where]
}

function isFew(limit: BoundExpression | undefined): boolean {
  return limit?.kind === 'literal' && typeof limit.value === 'bigint' && limit.value <= BigInt(FEW_ROWS)
}

function isValue(node: BoundExpression): boolean {
  return node.kind === 'literal' || node.kind === 'parameter' || node.kind === 'claim'
}

/** Work that is bounded by the size of its operands: no sub-query, no function that could make much out of little. */
function isSimple(node: BoundExpression): boolean {
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

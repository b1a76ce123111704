/** Proves from a bound statement how its rows are found, and that it touches few of them and does little with each. */

import {
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  concatOperands,
  conjuncts,
  type DefaultValue,
  type Delete,
  directOperands,
  type FindIndexes,
  findVolatility,
  type Insert,
  isLongType,
  isSmallText,
  type TableSource,
  type Update,
} from 'gatehouse-iql'
import { AUDIT_LOG, POLLED } from '../catalogue/system-tables.ts'
import { BOUNDED_ROWS, type CostClass } from '../model/cost-class.ts'

/** Values of any length that a query of one row may read to compare them: each is read as a whole, and again for each use. */
const MAX_LONG_READS = 4

/** How the rows of a table are found: by a key, in an index, or by reading the table. */
export type AccessPath =
  | { readonly kind: 'key' | 'index'; readonly columns: readonly string[] }
  | { readonly kind: 'scan' }

/** `findAscending` are the indexes all of whose columns are in ascending order. */
export function estimateCost(
  query: BoundQuery,
  findIndexes: FindIndexes,
  findAscending: FindIndexes = () => [],
): CostClass {
  const { body } = query
  if (query.with.length > 0 || body.kind !== 'select' || body.distinct || body.grouped || body.latest !== undefined)
    return 'unbounded'
  if (
    !body.outputs.every(({ expression }) => isSimple(expression)) ||
    !query.orderBy.every(({ expression }) => isSimple(expression)) ||
    (body.where !== undefined && !isSimple(body.where))
  )
    return 'unbounded'
  const source = body.from
  if (source === undefined) return 'point'
  const inOutputs = body.outputs.map(({ expression }) => (expression.kind === 'column' ? 0 : longReads(expression)))
  if (source.kind !== 'table' || source.filter !== undefined) return 'unbounded'
  const { table } = source
  if (table.isSystem && !POLLED.has(table.name)) return 'bounded'
  if (table.isSystem && table.name !== AUDIT_LOG) return 'unbounded'
  const path = accessPath(source, body.where, findIndexes)
  if (path.kind === 'key') {
    const conditions = conjuncts(body.where).filter((condition) => !isFixedBy(path, condition, source.id))
    const elsewhere = [...conditions, ...query.orderBy.map(({ expression }) => expression)].map(longReads)
    return sum([...inOutputs, ...elsewhere]) <= MAX_LONG_READS ? 'point' : 'unbounded'
  }
  if (sum(inOutputs) > 0) return 'unbounded'
  // A sort or an offset reads many rows before the first one is returned.
  if (query.offset !== undefined) return 'unbounded'
  if (query.orderBy.length > 0) {
    if (isBoundedLimit(query.limit) && isInKeyOrder(body, query.orderBy, source, findIndexes)) return 'bounded'
    const inOrder = path.kind === 'index' && isInIndexOrder(query.orderBy, body, source, { findIndexes, findAscending })
    return inOrder ? 'indexed' : 'unbounded'
  }
  if (path.kind === 'index') return 'indexed'
  return body.where === undefined && isBoundedLimit(query.limit) ? 'bounded' : 'unbounded'
}

/** A write of the rows listed in the statement, or of the one row with a key. */
export function isBoundedWrite(statement: Insert | Update | Delete): boolean {
  if (!statement.returning.every(({ expression }) => isSimple(expression)) || !isShortReturn(statement)) return false
  if (statement.kind === 'insert') {
    if (statement.rows.kind === 'query' || statement.rows.rows.length > 1000) return false
    return statement.rows.rows.flat().every(isSimpleValue) && isSimpleConflict(statement.onConflict)
  }
  const { where } = statement
  if (where === undefined || !isSimple(where)) return false
  const path = accessPath(targetSource(statement), where)
  if (path.kind !== 'key') return false
  const conditions = conjuncts(where).filter((condition) => !isFixedBy(path, condition, statement.source))
  const set = statement.kind === 'delete' ? [] : statement.set.map(({ value }) => value)
  return set.every(isSimpleValue) && comparesFew([...conditions, ...set])
}

/** A returned row is about as long as the stored one, because no value is repeated in it. */
function isShortReturn({ returning, table }: Insert | Update | Delete): boolean {
  const longColumns = table.columns.filter(({ type }) => isLongType(type)).length
  return sum(returning.map(({ expression }) => longReads(expression))) <= longColumns
}

function comparesFew(values: readonly (BoundExpression | DefaultValue)[]): boolean {
  const reads = values.map((value) => (value.kind === 'default' || value.kind === 'column' ? 0 : longReads(value)))
  return sum(reads) <= MAX_LONG_READS
}

/** The rows that an UPDATE or DELETE looks at. Its row filter is part of its WHERE, so it hides no key. */
export function targetSource({ table, source }: Update | Delete): TableSource {
  return { kind: 'table', id: source, table, filter: undefined }
}

export function accessPath(
  { id, table, filter }: TableSource,
  where: BoundExpression | undefined,
  findIndexes: FindIndexes = () => [],
): AccessPath {
  // The database evaluates the conditions of the statement after the row filter, so it cannot use a key for them.
  if (where === undefined || filter !== undefined) return { kind: 'scan' }
  const conditions = conjuncts(where)
  const fixed = new Set(conditions.map((condition) => fixedColumn(condition, id)).filter((name) => name !== undefined))
  const key = [table.primaryKey, ...table.uniques].find(
    (columns) => columns.length > 0 && columns.every((column) => fixed.has(column)),
  )
  if (key !== undefined) return { kind: 'key', columns: key }
  // An index counts if the conditions fix its first columns, bound the next one, and nothing else: then every entry visited is a row
  // of the result.
  const bounds = conditions.filter((condition) => fixedColumn(condition, id) === undefined)
  const bounded = new Set(bounds.map((condition) => boundedColumn(condition, id)))
  const [range] = bounded
  if (bounded.has(undefined) || bounded.size > 1 || fixed.size + bounds.length < conditions.length)
    return { kind: 'scan' }
  const used = fixed.size + bounded.size
  const index = findIndexes(table).find(
    (columns) =>
      used <= columns.length &&
      columns.slice(0, fixed.size).every((column) => fixed.has(column)) &&
      (range === undefined || columns[fixed.size] === range),
  )
  return index === undefined || used === 0 ? { kind: 'scan' } : { kind: 'index', columns: index.slice(0, used) }
}

/** The column that the condition compares with a value, or two. */
function boundedColumn(condition: BoundExpression, source: TableSource['id']): string | undefined {
  const isColumn = (node: BoundExpression) => node.kind === 'column' && node.source === source
  if (condition.kind === 'between') {
    const { operand, low, high, negated } = condition
    return !negated && operand.kind === 'column' && isColumn(operand) && isValue(low) && isValue(high)
      ? operand.name
      : undefined
  }
  if (condition.kind !== 'compare' || !RANGES.has(condition.operator)) return undefined
  const { left, right } = condition
  if (left.kind === 'column' && isColumn(left) && isValue(right)) return left.name
  return right.kind === 'column' && isColumn(right) && isValue(left) ? right.name : undefined
}

const RANGES: ReadonlySet<string> = new Set(['<', '<=', '>', '>='])

/**
 * Whether an index gives the rows in the order of the query, without a sort: conditions fix its first columns, and the order is that of
 * the next ones; a primary key that is a single Integer follows the last one. No other index may begin with a column that is fixed,
 * because the database might find the rows there.
 */
function isInIndexOrder(
  orderBy: BoundQuery['orderBy'],
  { outputs, where }: BoundSelect,
  { id, table }: TableSource,
  { findIndexes, findAscending }: { readonly findIndexes: FindIndexes; readonly findAscending: FindIndexes },
): boolean {
  const fixed = new Set(conjuncts(where).map((condition) => fixedColumn(condition, id)))
  fixed.delete(undefined)
  const order = orderBy.map(({ expression: written }) => {
    const expression = written.kind === 'output' ? outputs[written.ordinal]?.expression : written
    // NULLs are elsewhere in indexes.
    return expression?.kind === 'column' && expression.source === id && !expression.nullable
      ? expression.name
      : undefined
  })
  if (orderBy.some(({ descending }) => descending !== orderBy[0]?.descending)) return false
  const all = findIndexes(table)
  const [index, other] = [table.primaryKey, ...table.uniques, ...all].filter(([first = '']) => fixed.has(first))
  if (index === undefined || other !== undefined || !all.some((columns) => sameColumns(columns, index))) return false
  const rest = index.slice(fixed.size)
  const [key, ...further] = table.primaryKey
  const isNumbered = further.length === 0 && table.columns.find(({ name }) => name === key)?.type.kind === 'Integer'
  const entries = isNumbered && key !== undefined ? [...rest, key] : rest
  const isAscending = findAscending(table).some((columns) => sameColumns(columns, index))
  return (order.length === 1 && rest.length > 0) || isAscending
    ? order.every((column, place) => column !== undefined && column === entries[place])
    : false
}

function sameColumns(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((column, place) => column === b[place])
}

/**
 * Whether the primary key gives the rows in the order of the query, without a sort: conditions fix its first columns, and the order
 * is that of the next ones. Nothing else is certain: without conditions SQLite may prefer to sort the table, unless the key is a
 * single Integer, and with them it may find the rows in another index.
 */
function isInKeyOrder(
  { outputs, where }: BoundSelect,
  orderBy: BoundQuery['orderBy'],
  { id, table }: TableSource,
  findIndexes: FindIndexes,
): boolean {
  const { primaryKey, uniques, columns } = table
  const fixed = new Set(conjuncts(where).map((condition) => fixedColumn(condition, id)))
  if (!primaryKey.slice(0, fixed.size).every((column) => fixed.has(column))) return false
  if (fixed.size === 0) {
    const type = columns.find(({ name }) => name === primaryKey[0])?.type
    if (primaryKey.length !== 1 || type?.kind !== 'Integer') return false
  } else if ([...uniques, ...findIndexes(table)].some(([first]) => fixed.has(first))) return false
  return orderBy.every(({ expression: written, descending }, index) => {
    const expression = written.kind === 'output' ? outputs[written.ordinal]?.expression : written
    const column = expression?.kind === 'column' && expression.source === id ? expression.name : undefined
    return column !== undefined && column === primaryKey[fixed.size + index] && descending === orderBy[0]?.descending
  })
}

/** The column that the condition requires to equal a value. */
function fixedColumn(condition: BoundExpression, source: TableSource['id']): string | undefined {
  if (condition.kind !== 'compare' || condition.operator !== '=') return undefined
  const { left, right } = condition
  if (left.kind === 'column' && left.source === source && isValue(right)) return left.name
  if (right.kind === 'column' && right.source === source && isValue(left)) return right.name
  return undefined
}

function isFixedBy(path: AccessPath, condition: BoundExpression, source: TableSource['id']): boolean {
  const column = fixedColumn(condition, source)
  return path.kind !== 'scan' && column !== undefined && path.columns.includes(column)
}

function isBoundedLimit(limit: BoundExpression | undefined): boolean {
  return limit?.kind === 'literal' && typeof limit.value === 'bigint' && limit.value <= BigInt(BOUNDED_ROWS)
}

function isValue(node: BoundExpression): boolean {
  return node.kind === 'literal' || node.kind === 'parameter' || node.kind === 'claim'
}

function isSimpleConflict(conflict: Insert['onConflict']): boolean {
  if (conflict === undefined || conflict.kind === 'nothing') return true
  const set = conflict.set.map(({ value }) => value)
  const where = conflict.where === undefined ? [] : [conflict.where]
  return [...set, ...where].every(isSimpleValue) && comparesFew([...set, ...where])
}

function isSimpleValue(value: BoundExpression | DefaultValue): boolean {
  return value.kind === 'default' || isSimple(value)
}

/**
 * Whether the work is bounded by the size of the operands: no sub-query, and no operation whose result can be much larger. A
 * concatenation of values is as long as they are together, and `sizeOfAll` measures them when the statement runs.
 */
export function isSimple(node: BoundExpression): boolean {
  switch (node.kind) {
    case 'call':
      return findVolatility(node.function) !== undefined && node.arguments.length === 0
    case 'arithmetic':
      if (node.operator === 'text||text') return isSimpleConcat(node, concatOperands(node))
      break
    case 'in-list':
      if (node.items.length > BOUNDED_ROWS) return false
  }
  return SIMPLE_KINDS.has(node.kind) && directOperands(node).every(isSimple)
}

/** The operands of a whole chain are looked at together: a test of each link would take quadratic time. */
function isSimpleConcat(node: BoundExpression, operands: readonly BoundExpression[]): boolean {
  return operands.every(isValue) || (isSmallText(node) && operands.every(isSimple))
}

const SIMPLE_KINDS: ReadonlySet<BoundExpression['kind']> = new Set<BoundExpression['kind']>([
  ...([
    'column',
    'output',
    'literal',
    'parameter',
    'claim',
    'claim-in',
    'arithmetic',
    'negate',
    'compare',
    'logic',
  ] as const),
  ...(['not', 'is-null', 'widen', 'fit', 'between', 'in-list'] as const),
])

/** The uses of columns whose values can have any length, in an expression that is simple. */
function longReads(node: BoundExpression): number {
  const own = (node.kind === 'column' || node.kind === 'output') && isLongType(node.type) ? 1 : 0
  return own + sum(directOperands(node).map(longReads))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

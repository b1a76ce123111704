/**
 * Merges a view or a query in FROM that only renames, computes and filters the rows of one table into the query around it, so that
 * this reads the table itself: costs, keys of rows and live queries then are those of the table. Both databases do the same before
 * they run a statement. It happens after binding, so that errors refer to what was written.
 */
import { isGivenValue } from '../bound/bound-leaf.ts'
import { mapClauses, mapOrder, type Replace } from '../bound/bound-map.ts'
import type { BoundExpression, BoundQuery, BoundSelect, DerivedSource, TableSource } from '../bound/bound-query.ts'
import { combineConditions, directOperands, selectExpressions } from '../bound/bound-walk.ts'
import { isPlain } from '../bound/copied-operands.ts'
import { findVolatility } from '../functions/functions.ts'

/** The expressions that a merge may add, because the query uses a computed column more than once. */
const MAX_ADDED_EXPRESSIONS = 500
/** How deep a merged expression may be nested. SQLite refuses 1000 levels, and the SQL of an operation has up to a few. */
const MAX_HEIGHT = 200

export function mergeQueries(query: BoundQuery): BoundQuery {
  const { body } = query
  if (body.kind !== 'select' || body.from?.kind !== 'derived') return query
  const { from } = body
  const inner = mergeQueries(from.query)
  const merged = isSimple(inner) ? merge(query, body, from.id, inner.body) : undefined
  return merged ?? (inner === from.query ? query : { ...query, body: { ...body, from: { ...from, query: inner } } })
}

interface SimpleQuery extends BoundQuery {
  readonly body: BoundSelect & { readonly from: TableSource }
}

/** Whether each of its rows is one of the table, and its columns can be computed anywhere and any number of times. */
function isSimple(query: BoundQuery): query is SimpleQuery {
  const { body, orderBy, limit, offset } = query
  if (query.with.length > 0 || orderBy.length > 0 || limit !== undefined || offset !== undefined) return false
  if (body.kind !== 'select' || body.distinct || body.grouped || body.latest !== undefined) return false
  return body.from?.kind === 'table' && body.outputs.every(({ expression }) => isRepeatable(expression))
}

function isRepeatable(node: BoundExpression): boolean {
  if (node.kind === 'window' || node.kind === 'scalar-query' || node.kind === 'exists' || node.kind === 'in-query')
    return false
  if ((node.kind === 'call' && findVolatility(node.function) === 'volatile') || repeatsValue(node)) return false
  return directOperands(node).every(isRepeatable)
}

/** Undefined if it would be much larger, or sort or group by a constant, which databases take for the number of a column. */
function merge(
  query: BoundQuery,
  select: BoundSelect,
  id: DerivedSource['id'],
  inner: SimpleQuery['body'],
): BoundQuery | undefined {
  const sizes = new Map<number, number>()
  let added = 0
  const replace: Replace = (column) => {
    if (column.source !== id) return column
    const expression = inner.outputs[column.ordinal]?.expression
    if (expression === undefined) throw new Error(`A query in FROM has no column ${column.name}`)
    const size = sizes.get(column.ordinal)
    if (size !== undefined) added += size
    else sizes.set(column.ordinal, isPlain(expression) ? 0 : countNodes(expression))
    // Not one of the literals that become parameters: as an output, its type depends on its digits.
    if (expression.kind === 'literal') return { ...expression, written: undefined }
    // LATEST ON knows more than the definition.
    return column.nullable || !expression.nullable ? expression : { ...expression, nullable: false }
  }
  const clauses = mapClauses(select, replace)
  const orderBy = mapOrder(query.orderBy, replace)
  const keys = [...clauses.groupBy, ...orderBy.map(({ expression }) => expression)]
  if (added > MAX_ADDED_EXPRESSIONS || keys.some(isGivenValue)) return undefined
  if (sizes.size > 0 && [...selectExpressions(clauses), ...keys].some((node) => expressionHeight(node) > MAX_HEIGHT))
    return undefined
  return {
    ...query,
    body: { ...clauses, from: inner.from, where: combineConditions(inner.where, clauses.where) },
    orderBy,
  }
}

function countNodes(node: BoundExpression): number {
  return directOperands(node).reduce((size, operand) => size + countNodes(operand), 1)
}

/** Infinite where the SQL would repeat a merged expression, because that could double it at each level. */
function expressionHeight(node: BoundExpression): number {
  if (repeatsValue(node)) return Number.POSITIVE_INFINITY
  const height = directOperands(node).reduce((most, operand) => Math.max(most, expressionHeight(operand)), 0)
  return height + (node.kind === 'logic' ? node.operands.length : 1)
}

/** Whether the SQL holds an operand twice (emitNullIf). */
function repeatsValue(node: BoundExpression): boolean {
  return node.kind === 'nullif' && node.compared !== 'value' && !isPlain(node.value)
}

/** Walks bound queries: the operands of an expression, and everything that a query consists of. */
import { BOOLEAN } from '../types/types.ts'
import type { BoundBody, BoundExpression, BoundOrder, BoundQuery, Source } from './bound-query.ts'

type BoundSelect = Extract<BoundBody, { kind: 'select' }>

/** The direct operands, without the queries of sub-queries. */
export function directOperands(node: BoundExpression): readonly BoundExpression[] {
  const operands: BoundExpression[] = []
  withOperands(node, (operand) => {
    operands.push(operand)
    return operand
  })
  return operands
}

/** The expression with other operands, which `map` is called for in their order. The queries of sub-queries stay. */
export function withOperands(
  node: BoundExpression,
  map: (operand: BoundExpression) => BoundExpression,
): BoundExpression {
  const optional = (operand: BoundExpression | undefined) => operand && map(operand)
  switch (node.kind) {
    case 'literal':
    case 'parameter':
    case 'claim':
    case 'column':
    case 'output':
    case 'scalar-query':
    case 'exists':
      return node
    case 'group-key':
      return { ...node, expression: map(node.expression) }
    case 'claim-in':
    case 'widen':
    case 'fit':
    case 'cast':
    case 'negate':
    case 'not':
    case 'is-null':
    case 'in-query':
      return { ...node, operand: map(node.operand) }
    case 'arithmetic':
    case 'compare':
      return { ...node, left: map(node.left), right: map(node.right) }
    case 'logic':
      return { ...node, operands: node.operands.map(map) }
    case 'like':
      return { ...node, operand: map(node.operand), pattern: map(node.pattern), escape: optional(node.escape) }
    case 'between':
      return { ...node, operand: map(node.operand), low: map(node.low), high: map(node.high) }
    case 'in-list':
      return { ...node, operand: map(node.operand), items: node.items.map(map) }
    case 'case': {
      const operand = optional(node.operand)
      const branches = node.branches.map(({ when, result }) => ({ when: map(when), result: map(result) }))
      return { ...node, operand, branches, otherwise: optional(node.otherwise) }
    }
    case 'coalesce':
    case 'call':
      return { ...node, arguments: node.arguments.map(map) }
    case 'nullif':
      return { ...node, value: map(node.value), right: map(node.right) }
    case 'aggregate': {
      const [args, orderBy] = [node.arguments.map(map), withKeys(node.orderBy, map)]
      return { ...node, arguments: args, orderBy, filter: optional(node.filter) }
    }
    case 'window': {
      const [args, filter] = [node.arguments.map(map), optional(node.filter)]
      const partitionBy = node.partitionBy.map(map)
      return { ...node, arguments: args, filter, partitionBy, orderBy: withKeys(node.orderBy, map) }
    }
  }
}

/** The conditions that are given, which must all hold; undefined if none is given. */
export function combineConditions(
  ...conditions: readonly (BoundExpression | undefined)[]
): BoundExpression | undefined {
  const operands = conditions.filter((condition) => condition !== undefined)
  return operands.length < 2 ? operands[0] : conjunction(operands)
}

/** The operands of AND, or the condition itself. */
export function conjuncts(where: BoundExpression | undefined): readonly BoundExpression[] {
  if (where === undefined) return []
  return where.kind === 'logic' && where.operator === 'and' ? where.operands.flatMap(conjuncts) : [where]
}

export function conjunction(operands: readonly BoundExpression[]): BoundExpression {
  const nullable = operands.some((operand) => operand.nullable)
  return { kind: 'logic', operator: 'and', operands, type: BOOLEAN, nullable }
}

/** The sort keys with other expressions. */
export function withKeys(
  items: readonly BoundOrder[],
  map: (key: BoundExpression) => BoundExpression,
): readonly BoundOrder[] {
  return items.map((item) => ({ ...item, expression: map(item.expression) }))
}

export type QueryPart =
  /** `isExists`: its rows are not read, it only matters whether there is one. */
  | { readonly kind: 'query'; readonly query: BoundQuery; readonly isExists: boolean }
  | { readonly kind: 'expression'; readonly expression: BoundExpression; readonly isOfRowFilter: boolean }

/** The query, its sub-queries and all their expressions, those of row filters too. */
export function* walkQuery(query: BoundQuery, isExists = false): Generator<QueryPart, void> {
  yield { kind: 'query', query, isExists }
  for (const cte of query.with) yield* walkQuery(cte.query)
  yield* walkBody(query.body)
  for (const expression of orderAndLimitExpressions(query)) yield* walkExpression(expression)
}

/** What sorts and cuts the rows of a query. */
export function orderAndLimitExpressions({ orderBy, limit, offset }: BoundQuery): BoundExpression[] {
  return [...orderExpressions(orderBy), ...present(limit), ...present(offset)]
}

/** The expressions of a SELECT, without those of FROM. */
export function selectExpressions({ outputs, where, latest, groupBy, having }: BoundSelect): BoundExpression[] {
  const last = latest === undefined ? [] : [...latest.partitionBy, ...orderExpressions(latest.order)]
  return [...outputs.map(({ expression }) => expression), ...present(where), ...last, ...groupBy, ...present(having)]
}

/** The expressions of a source itself, without those of the sources in it. */
export function sourceExpressions(source: Source): BoundExpression[] {
  switch (source.kind) {
    case 'table':
      return present(source.filter)
    case 'cte':
    case 'derived':
      return []
    case 'series':
      return [source.start, source.stop, source.step, ...present(source.zone)]
    case 'join':
      return present(source.on)
    case 'asof':
      return [...source.keys.flatMap(({ left, right }) => [left, right]), source.near.left, source.near.right]
  }
}

function* walkBody(body: BoundBody): Generator<QueryPart, void> {
  switch (body.kind) {
    case 'query':
      yield* walkQuery(body)
      return
    case 'set':
      yield* walkBody(body.left)
      yield* walkBody(body.right)
      return
    case 'select':
      if (body.from !== undefined) yield* partsOfSource(body.from)
      for (const expression of selectExpressions(body)) yield* walkExpression(expression)
  }
}

function* partsOfSource(source: Source): Generator<QueryPart, void> {
  if (source.kind === 'derived') yield* walkQuery(source.query)
  if (source.kind === 'join' || source.kind === 'asof') {
    yield* partsOfSource(source.left)
    yield* partsOfSource(source.right)
  }
  for (const expression of sourceExpressions(source)) yield* walkExpression(expression, source.kind === 'table')
}

function* walkExpression(expression: BoundExpression, isOfRowFilter = false): Generator<QueryPart, void> {
  yield { kind: 'expression', expression, isOfRowFilter }
  for (const operand of directOperands(expression)) yield* walkExpression(operand, isOfRowFilter)
  if (expression.kind === 'exists') yield* walkQuery(expression.query, true)
  if (expression.kind === 'scalar-query' || expression.kind === 'in-query') yield* walkQuery(expression.query)
}

function orderExpressions(items: readonly BoundOrder[]): BoundExpression[] {
  return items.map(({ expression }) => expression)
}

function present(expression: BoundExpression | undefined): BoundExpression[] {
  return expression === undefined ? [] : [expression]
}

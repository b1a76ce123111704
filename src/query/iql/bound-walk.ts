/** Walks bound queries: the operands of an expression, and everything that a query consists of. */
import type { Body, BoundExpression, BoundOrder, Query, Source } from './bound-query.ts'

/** The direct operands, without the queries of sub-queries. */
export function operandsOf(node: BoundExpression): readonly BoundExpression[] {
  switch (node.kind) {
    case 'literal':
    case 'parameter':
    case 'claim':
    case 'column':
    case 'output':
    case 'scalar-query':
    case 'exists':
      return []
    case 'group-key':
      return [node.expression]
    case 'claim-in':
    case 'widen':
    case 'fit':
    case 'cast':
    case 'negate':
    case 'not':
    case 'is-null':
    case 'in-query':
      return [node.operand]
    case 'arithmetic':
    case 'compare':
      return [node.left, node.right]
    case 'logic':
      return node.operands
    case 'like':
      return [node.operand, node.pattern, ...present(node.escape)]
    case 'between':
      return [node.operand, node.low, node.high]
    case 'in-list':
      return [node.operand, ...node.items]
    case 'case': {
      const branches = node.branches.flatMap(({ when, result }) => [when, result])
      return [...present(node.operand), ...branches, ...present(node.otherwise)]
    }
    case 'coalesce':
    case 'call':
      return node.arguments
    case 'nullif':
      return [node.value, node.right]
    case 'aggregate':
      return [...node.arguments, ...keysOf(node.orderBy), ...present(node.filter)]
    case 'window':
      return [...node.arguments, ...present(node.filter), ...node.partitionBy, ...keysOf(node.orderBy)]
  }
}

export type QueryPart =
  /** `isExists`: its rows are not read, it only matters whether there is one. */
  | { readonly kind: 'query'; readonly query: Query; readonly isExists: boolean }
  | { readonly kind: 'expression'; readonly expression: BoundExpression; readonly isOfRowFilter: boolean }

/** The query, its sub-queries and all their expressions, those of row filters too. */
export function* partsOf(query: Query, isExists = false): Generator<QueryPart, void> {
  yield { kind: 'query', query, isExists }
  for (const cte of query.with) yield* partsOf(cte.query)
  yield* partsOfBody(query.body)
  for (const expression of [...keysOf(query.orderBy), ...present(query.limit), ...present(query.offset)])
    yield* partsOfExpression(expression)
}

function* partsOfBody(body: Body): Generator<QueryPart, void> {
  switch (body.kind) {
    case 'query':
      yield* partsOf(body)
      return
    case 'set':
      yield* partsOfBody(body.left)
      yield* partsOfBody(body.right)
      return
    case 'select': {
      const { outputs, from, where, latest, groupBy, having } = body
      if (from !== undefined) yield* partsOfSource(from)
      const last = latest === undefined ? [] : [...latest.partitionBy, ...keysOf(latest.order)]
      const expressions = [...outputs.map(({ expression }) => expression), ...present(where), ...last, ...groupBy]
      for (const expression of [...expressions, ...present(having)]) yield* partsOfExpression(expression)
    }
  }
}

function* partsOfSource(source: Source): Generator<QueryPart, void> {
  switch (source.kind) {
    case 'table':
      if (source.filter !== undefined) yield* partsOfExpression(source.filter, true)
      return
    case 'cte':
      return
    case 'series':
      for (const value of [source.start, source.stop, source.step]) yield* partsOfExpression(value)
      return
    case 'derived':
      yield* partsOf(source.query)
      return
    case 'join':
      yield* partsOfSource(source.left)
      yield* partsOfSource(source.right)
      if (source.on !== undefined) yield* partsOfExpression(source.on)
      return
    case 'asof': {
      yield* partsOfSource(source.left)
      yield* partsOfSource(source.right)
      const keys = source.keys.flatMap(({ left, right }) => [left, right])
      for (const expression of [...keys, source.near.left, source.near.right]) yield* partsOfExpression(expression)
    }
  }
}

function* partsOfExpression(expression: BoundExpression, isOfRowFilter = false): Generator<QueryPart, void> {
  yield { kind: 'expression', expression, isOfRowFilter }
  for (const operand of operandsOf(expression)) yield* partsOfExpression(operand, isOfRowFilter)
  if (expression.kind === 'exists') yield* partsOf(expression.query, true)
  if (expression.kind === 'scalar-query' || expression.kind === 'in-query') yield* partsOf(expression.query)
}

function keysOf(items: readonly BoundOrder[]): BoundExpression[] {
  return items.map(({ expression }) => expression)
}

function present(expression: BoundExpression | undefined): BoundExpression[] {
  return expression === undefined ? [] : [expression]
}

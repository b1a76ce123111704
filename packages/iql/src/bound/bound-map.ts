/** Replaces the columns in bound expressions and queries; everything else stays as it is. */
import type { Column } from './bound-leaf.ts'
import type {
  BoundBody,
  BoundExpression,
  BoundLatest,
  BoundOrder,
  BoundQuery,
  BoundSelect,
  Source,
} from './bound-query.ts'

/** What takes the place of a column; the column itself where it stays. */
export type Replace = (column: Column) => BoundExpression

export function mapExpression(node: BoundExpression, replace: Replace): BoundExpression {
  const map = (operand: BoundExpression): BoundExpression => mapExpression(operand, replace)
  const mapIf = (operand: BoundExpression | undefined) => (operand === undefined ? undefined : map(operand))
  switch (node.kind) {
    case 'column':
      return replace(node)
    case 'literal':
    case 'parameter':
    case 'claim':
    case 'output':
      return node
    case 'scalar-query':
    case 'exists':
      return { ...node, query: mapQuery(node.query, replace) }
    case 'group-key':
      return { ...node, expression: map(node.expression) }
    case 'claim-in':
    case 'widen':
    case 'fit':
    case 'cast':
    case 'negate':
    case 'not':
    case 'is-null':
      return { ...node, operand: map(node.operand) }
    case 'in-query':
      return { ...node, operand: map(node.operand), query: mapQuery(node.query, replace) }
    case 'arithmetic':
    case 'compare':
      return { ...node, left: map(node.left), right: map(node.right) }
    case 'logic':
      return { ...node, operands: node.operands.map(map) }
    case 'like':
      return { ...node, operand: map(node.operand), pattern: map(node.pattern), escape: mapIf(node.escape) }
    case 'between':
      return { ...node, operand: map(node.operand), low: map(node.low), high: map(node.high) }
    case 'in-list':
      return { ...node, operand: map(node.operand), items: node.items.map(map) }
    case 'case': {
      const branches = node.branches.map(({ when, result }) => ({ when: map(when), result: map(result) }))
      return { ...node, operand: mapIf(node.operand), branches, otherwise: mapIf(node.otherwise) }
    }
    case 'coalesce':
    case 'call':
      return { ...node, arguments: node.arguments.map(map) }
    case 'nullif':
      return { ...node, value: map(node.value), right: map(node.right) }
    case 'aggregate': {
      const orderBy = mapOrder(node.orderBy, replace)
      return { ...node, arguments: node.arguments.map(map), orderBy, filter: mapIf(node.filter) }
    }
    case 'window': {
      const partitionBy = node.partitionBy.map(map)
      const orderBy = mapOrder(node.orderBy, replace)
      return { ...node, arguments: node.arguments.map(map), filter: mapIf(node.filter), partitionBy, orderBy }
    }
  }
}

export function mapQuery(query: BoundQuery, replace: Replace): BoundQuery {
  return {
    ...query,
    with: query.with.map((cte) => ({ ...cte, query: mapQuery(cte.query, replace) })),
    body: mapBody(query.body, replace),
    orderBy: mapOrder(query.orderBy, replace),
  }
}

function mapBody(body: BoundBody, replace: Replace): BoundBody {
  switch (body.kind) {
    case 'query':
      return mapQuery(body, replace)
    case 'set':
      return { ...body, left: mapBody(body.left, replace), right: mapBody(body.right, replace) }
    case 'select':
      return {
        ...mapClauses(body, replace),
        from: body.from === undefined ? undefined : mapSource(body.from, replace),
      }
  }
}

/** Everything but FROM. */
export function mapClauses(select: BoundSelect, replace: Replace): BoundSelect {
  const map = (expression: BoundExpression): BoundExpression => mapExpression(expression, replace)
  const { where, having, latest } = select
  const mapped: BoundSelect = {
    ...select,
    outputs: select.outputs.map(({ name, expression }) => ({ name, expression: map(expression) })),
    where: where === undefined ? undefined : map(where),
    groupBy: select.groupBy.map(map),
    having: having === undefined ? undefined : map(having),
  }
  return latest === undefined ? mapped : { ...mapped, latest: mapLatest(latest, replace) }
}

function mapLatest({ names, on, partitionBy, order }: BoundLatest, replace: Replace): BoundLatest {
  return {
    names,
    on: mapExpression(on, replace),
    partitionBy: partitionBy.map((part) => mapExpression(part, replace)),
    order: mapOrder(order, replace),
  }
}

function mapSource(source: Source, replace: Replace): Source {
  const map = (expression: BoundExpression): BoundExpression => mapExpression(expression, replace)
  switch (source.kind) {
    // A row filter has no columns but those of its table.
    case 'table':
    case 'cte':
    case 'series':
      return source
    case 'derived':
      return { ...source, query: mapQuery(source.query, replace) }
    case 'join': {
      const on = source.on === undefined ? undefined : map(source.on)
      return { ...source, left: mapSource(source.left, replace), right: mapSource(source.right, replace), on }
    }
    case 'asof': {
      const { right, near } = source
      return {
        ...source,
        left: mapSource(source.left, replace),
        right: right.kind === 'derived' ? { ...right, query: mapQuery(right.query, replace) } : right,
        keys: source.keys.map((key) => ({ left: map(key.left), right: map(key.right) })),
        near: { ...near, left: map(near.left), right: map(near.right) },
        tie: mapOrder(source.tie, replace),
      }
    }
  }
}

export function mapOrder(items: readonly BoundOrder[], replace: Replace): BoundOrder[] {
  return items.map((item) => ({ ...item, expression: mapExpression(item.expression, replace) }))
}

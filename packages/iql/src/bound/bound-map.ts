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
import { withKeys, withOperands } from './bound-walk.ts'

/** What takes the place of a column; the column itself where it stays. */
export type Replace = (column: Column) => BoundExpression

export function mapExpression(node: BoundExpression, replace: Replace): BoundExpression {
  if (node.kind === 'column') return replace(node)
  const mapped = withOperands(node, (operand) => mapExpression(operand, replace))
  const isSubquery = mapped.kind === 'scalar-query' || mapped.kind === 'exists' || mapped.kind === 'in-query'
  return isSubquery ? { ...mapped, query: mapQuery(mapped.query, replace) } : mapped
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

export function mapOrder(items: readonly BoundOrder[], replace: Replace): readonly BoundOrder[] {
  return withKeys(items, (key) => mapExpression(key, replace))
}

/** The conditions of a statement by which rows are found beside a row filter: they may see hidden rows, since they say nothing of them. */
import {
  type BoundBody,
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  combineConditions,
  conjuncts,
  type DerivedSource,
  directOperands,
  mapExpression,
} from 'gatehouse-iql'

/** Of a list: such a condition is written twice. */
const MAX_ITEMS = 1_000

/** Those that compare columns of the source with values. They have a result for every row, where others could fail. */
export function findingConditions(where: BoundExpression | undefined, source: number): readonly BoundExpression[] {
  return conjuncts(where).filter((condition) => isComparison(condition, source))
}

/** The query of a source, with those of its own: where it has rows of tables with row filters, one after the other, they find these. */
export function restrictDerived({ id, query }: DerivedSource, conditions: readonly BoundExpression[]): BoundQuery {
  const finding = conditions.flatMap((condition) => findingConditions(condition, id))
  if (finding.length === 0 || query.with.length > 0 || query.limit !== undefined || query.offset !== undefined)
    return query
  const body = restrictBody(query.body, id, finding)
  return body === undefined ? query : { ...query, body }
}

/** Undefined where it has other rows. */
function restrictBody(body: BoundBody, id: number, finding: readonly BoundExpression[]): BoundBody | undefined {
  if (body.kind === 'select') return restrictSelect(body, id, finding)
  if (body.kind !== 'set' || body.operator !== 'union' || !body.all) return undefined
  const [left, right] = [restrictBody(body.left, id, finding), restrictBody(body.right, id, finding)]
  return left === undefined || right === undefined ? undefined : { ...body, left, right }
}

function restrictSelect(select: BoundSelect, id: number, finding: readonly BoundExpression[]): BoundSelect | undefined {
  const { from, outputs, where, distinct, grouped, latest } = select
  if (from?.kind !== 'table' || from.filter === undefined || distinct || grouped || latest !== undefined)
    return undefined
  if (outputs.some(({ expression }) => expression.kind !== 'column')) return undefined
  const own = finding.map((condition) =>
    mapExpression(condition, (column) =>
      column.source === id ? (outputs[column.ordinal]?.expression ?? column) : column,
    ),
  )
  return { ...select, where: combineConditions(where, ...own) }
}

function isComparison(node: BoundExpression, source: number): boolean {
  switch (node.kind) {
    case 'literal':
    case 'parameter':
      return true
    case 'column':
      return node.source === source
    case 'compare':
    case 'between':
    case 'is-null':
    case 'logic':
    case 'not':
    case 'widen':
      return directOperands(node).every((operand) => isComparison(operand, source))
    case 'in-list':
      return node.items.length <= MAX_ITEMS && directOperands(node).every((operand) => isComparison(operand, source))
    default:
      return false
  }
}

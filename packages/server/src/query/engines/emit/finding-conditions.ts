/** The conditions of a statement by which rows are found beside a row filter: they may see hidden rows, since they say nothing of them. */
import { type BoundExpression, conjuncts, directOperands } from 'gatehouse-iql'

/** Those that compare columns of the source with values. They have a result for every row, where others could fail. */
export function findingConditions(where: BoundExpression | undefined, source: number): readonly BoundExpression[] {
  return conjuncts(where).filter((condition) => isComparison(condition, source))
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
    case 'in-list':
    case 'is-null':
    case 'logic':
    case 'not':
    case 'widen':
      return directOperands(node).every((operand) => isComparison(operand, source))
    default:
      return false
  }
}

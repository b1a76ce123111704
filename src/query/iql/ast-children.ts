/** Walks the expressions within an expression, without its sub-queries. */
import type { Expression, OrderItem } from './ast-query.ts'

export function childrenOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'unary':
    case 'is-null':
    case 'is-truth':
    case 'cast':
    case 'in-query':
      return [expression.operand]
    case 'binary':
      return [expression.left, expression.right]
    case 'like':
      return [expression.operand, expression.pattern, ...present(expression.escape)]
    case 'between':
      return [expression.operand, expression.low, expression.high]
    case 'in-list':
      return [expression.operand, ...expression.items]
    case 'case': {
      const branches = expression.branches.flatMap(({ when, result }) => [when, result])
      return [...present(expression.operand), ...branches, ...present(expression.otherwise)]
    }
    case 'call': {
      const { arguments: args, orderBy, filter, over } = expression
      const window = over === undefined ? [] : [...over.partitionBy, ...keysOf(over.orderBy)]
      return [...args, ...keysOf(orderBy), ...present(filter), ...window]
    }
    default:
      return []
  }
}

/** Whether the test holds for the expression or any expression within it. */
export function someWithin(expression: Expression, test: (expression: Expression) => boolean): boolean {
  return test(expression) || childrenOf(expression).some((child) => someWithin(child, test))
}

/**
 * The number of expressions it consists of; expressions with the same meaning have the same size. It is NaN with a
 * sub-query, since no sub-query equals another.
 */
export function sizeOf(expression: Expression, sizes: Map<Expression, number>): number {
  const known = sizes.get(expression)
  if (known !== undefined) return known
  const { kind } = expression
  let size = kind === 'subquery' || kind === 'exists' || kind === 'in-query' ? Number.NaN : 1
  for (const child of childrenOf(expression)) size += sizeOf(child, sizes)
  sizes.set(expression, size)
  return size
}

function keysOf(items: readonly OrderItem[]): Expression[] {
  return items.map(({ expression }) => expression)
}

function present(expression: Expression | undefined): Expression[] {
  return expression === undefined ? [] : [expression]
}

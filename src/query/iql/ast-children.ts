/** The expressions directly within an expression, sub-queries left aside. */
import type { Expression, OrderItem } from './ast-expression.ts'

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

/** Whether the expression or anything within it, sub-queries left aside, is as described. */
export function someWithin(expression: Expression, test: (expression: Expression) => boolean): boolean {
  return test(expression) || childrenOf(expression).some((child) => someWithin(child, test))
}

/**
 * How many expressions it is made of; two that mean the same are of one size. With a sub-query it is NaN, which equals
 * nothing: a sub-query is never the same as another.
 */
export function sizeOf(expression: Expression): number {
  const known = SIZES.get(expression)
  if (known !== undefined) return known
  const { kind } = expression
  let size = kind === 'subquery' || kind === 'exists' || kind === 'in-query' ? Number.NaN : 1
  for (const child of childrenOf(expression)) size += sizeOf(child)
  SIZES.set(expression, size)
  return size
}

const SIZES = new WeakMap<Expression, number>()

function keysOf(items: readonly OrderItem[]): Expression[] {
  return items.map(({ expression }) => expression)
}

function present(expression: Expression | undefined): Expression[] {
  return expression === undefined ? [] : [expression]
}

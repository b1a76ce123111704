/** Walks the expressions within an expression, without its sub-queries. */
import type { Expression, OrderItem } from './ast-query.ts'

export function childExpressions(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    // Most expressions are one of these.
    case 'column':
    case 'number':
    case 'text':
    case 'parameter':
      return NONE
    case 'binary':
      return [expression.left, expression.right]
  }
  const children: Expression[] = []
  withChildren(expression, (child) => {
    children.push(child)
    return child
  })
  return children
}

const NONE: readonly Expression[] = []

/** The expression with its children replaced by `map`, which is called in their order. An expression without children is returned as is. */
export function withChildren(expression: Expression, map: (child: Expression) => Expression): Expression {
  const orders = (items: readonly OrderItem[]) => items.map((item) => ({ ...item, expression: map(item.expression) }))
  const optional = (child: Expression | undefined) => child && map(child)
  switch (expression.kind) {
    case 'unary':
    case 'is-null':
    case 'is-truth':
    case 'cast':
    case 'in-query':
      return { ...expression, operand: map(expression.operand) }
    case 'binary':
      return { ...expression, left: map(expression.left), right: map(expression.right) }
    case 'like': {
      const { operand, pattern } = expression
      return { ...expression, operand: map(operand), pattern: map(pattern), escape: optional(expression.escape) }
    }
    case 'between': {
      const { operand, low, high } = expression
      return { ...expression, operand: map(operand), low: map(low), high: map(high) }
    }
    case 'in-list':
      return { ...expression, operand: map(expression.operand), items: expression.items.map(map) }
    case 'case': {
      const operand = optional(expression.operand)
      const branches = expression.branches.map(({ when, result }) => ({ when: map(when), result: map(result) }))
      return { ...expression, operand, branches, otherwise: optional(expression.otherwise) }
    }
    case 'call': {
      const { arguments: args, orderBy, filter, over } = expression
      return {
        ...expression,
        arguments: args.map(map),
        orderBy: orders(orderBy),
        filter: optional(filter),
        over: over && { ...over, partitionBy: over.partitionBy.map(map), orderBy: orders(over.orderBy) },
      }
    }
    default:
      return expression
  }
}

/** Whether the test holds for the expression or any expression within it. */
export function someWithin(expression: Expression, test: (expression: Expression) => boolean): boolean {
  return test(expression) || childExpressions(expression).some((child) => someWithin(child, test))
}

/**
 * The number of expressions it consists of; expressions with the same meaning have the same size. It is NaN with a
 * sub-query, since no sub-query equals another.
 */
export function expressionSize(expression: Expression, sizes: Map<Expression, number>): number {
  const known = sizes.get(expression)
  if (known !== undefined) return known
  const { kind } = expression
  let size = kind === 'subquery' || kind === 'exists' || kind === 'in-query' ? Number.NaN : 1
  for (const child of childExpressions(expression)) size += expressionSize(child, sizes)
  sizes.set(expression, size)
  return size
}

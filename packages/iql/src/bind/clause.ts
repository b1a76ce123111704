/** Binds what several clauses have in common: conditions, and the items of ORDER BY. */

import type { BoundExpression, BoundOrder } from '../bound/bound-query.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import type { Scope } from '../scope/scope.ts'
import type { Expression, OrderItem } from '../syntax/ast-query.ts'
import { BOOLEAN, isComparable, typeName } from '../types/types.ts'

/** A condition: WHERE, ON, HAVING, FILTER. */
export function bindCondition(binding: Binding, scope: Scope, expression: Expression): BoundExpression {
  const bound = binding.expression(scope, expression, BOOLEAN)
  if (bound.type.kind === 'Boolean') return bound
  throw binding.fail(
    'TypeMismatch',
    startPosition(expression),
    `${scope.clause.name} takes a condition, not ${typeName(bound.type)}`,
  )
}

/** One item of ORDER BY inside a window or an aggregate. */
export function bindOrder(binding: Binding, scope: Scope, item: OrderItem): BoundOrder {
  return toBoundOrder(binding, item, binding.expression(scope, item.expression))
}

/** By default NULLs sort last ascending and first descending. */
export function toBoundOrder(binding: Binding, item: OrderItem, expression: BoundExpression): BoundOrder {
  if (!isComparable(expression.type)) {
    throw binding.fail(
      'TypeMismatch',
      startPosition(item.expression),
      `ORDER BY cannot compare ${typeName(expression.type)}`,
    )
  }
  const { descending } = item
  return { expression, descending, nulls: item.nulls ?? (descending ? 'first' : 'last') }
}

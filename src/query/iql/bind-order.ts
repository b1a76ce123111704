/** Binds one item of ORDER BY inside a window or an aggregate: an expression, its direction, and where NULLs go. */
import type { OrderItem } from './ast-expression.ts'
import { bindExpression } from './bind-expression.ts'
import { type Binding, startOf } from './binding.ts'
import type { BoundExpression, BoundOrder } from './bound-expression.ts'
import type { Scope } from './scope.ts'
import { isComparable, typeName } from './types.ts'

export function bindOrder(binding: Binding, scope: Scope, item: OrderItem): BoundOrder {
  return orderOf(binding, item, bindExpression(binding, scope, item.expression))
}

/** NULLs sort last ascending and first descending, unless the statement says otherwise. */
export function orderOf(binding: Binding, item: OrderItem, expression: BoundExpression): BoundOrder {
  if (!isComparable(expression.type)) {
    throw binding.fail('TypeMismatch', startOf(item.expression), `ORDER BY cannot compare ${typeName(expression.type)}`)
  }
  const { descending } = item
  return { expression, descending, nulls: item.nulls ?? (descending ? 'first' : 'last') }
}

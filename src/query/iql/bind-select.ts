/** Binds one SELECT: its sources, conditions, groups and outputs. */
import type { Select } from './ast.ts'
import { sizeOf, someWithin } from './ast-children.ts'
import type { Expression, OrderItem } from './ast-expression.ts'
import { bindCondition, bindExpression, fingerprintOf } from './bind-expression.ts'
import { bindFrom } from './bind-from.ts'
import { bindItems } from './bind-items.ts'
import { isConstant } from './bind-literal.ts'
import { type Binding, startOf } from './binding.ts'
import type * as Bound from './bound.ts'
import { functionsNamed } from './functions.ts'
import { sameName } from './names.ts'
import { CLAUSES, type GroupingKey, Scope } from './scope.ts'
import { isComparable, TEXT, typeName } from './types.ts'

export interface BoundSelect {
  readonly select: Bound.Select
  /** In which ORDER BY may be bound. */
  readonly scope: Scope
}

/** `orderBy` is what follows the select: an aggregate in it makes the select a grouped one. */
export function bindSelect(
  binding: Binding,
  outer: Scope,
  written: Select,
  orderBy: readonly OrderItem[],
): BoundSelect {
  const scope = new Scope(outer)
  const from = written.from === undefined ? undefined : bindFrom(binding, outer, scope, written.from)
  const where = bindClause(binding, scope, 'where', written.where)
  const keys = bindGroupBy(binding, scope, written)
  const grouped = keys.length > 0 || written.having !== undefined || usesAggregate(written, orderBy)
  if (grouped) scope.grouping = keys
  scope.clause = CLAUSES.select
  const outputs = bindItems(binding, scope, written.items)
  const having = bindClause(binding, scope, 'having', written.having)
  const columns = outputs.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable }))
  const { distinct } = written
  if (distinct) refuseIncomparable(binding, written.at, columns)
  const groupBy = keys.map(({ expression }) => expression)
  return { select: { kind: 'select', distinct, outputs, from, where, grouped, groupBy, having, columns }, scope }
}

function bindClause(binding: Binding, scope: Scope, clause: 'where' | 'having', written: Expression | undefined) {
  if (written === undefined) return undefined
  scope.clause = CLAUSES[clause]
  return bindCondition(binding, scope, written)
}

function bindGroupBy(binding: Binding, scope: Scope, written: Select): GroupingKey[] {
  scope.clause = CLAUSES.groupBy
  return written.groupBy.map((key) => {
    const meant = keyMeant(binding, scope, written, key)
    const expression = bindExpression(binding, scope, meant, TEXT)
    if (isConstant(expression)) {
      throw binding.fail('NotGrouped', startOf(key), 'GROUP BY takes columns and expressions over them, not a constant')
    }
    if (!isComparable(expression.type)) {
      throw binding.fail('TypeMismatch', startOf(key), `GROUP BY cannot compare ${typeName(expression.type)}`)
    }
    return { expression, fingerprint: fingerprintOf(expression), size: sizeOf(meant) }
  })
}

/** GROUP BY 1 means the first output; a name that is no column of the sources means the output of that alias. */
function keyMeant(binding: Binding, scope: Scope, { items }: Select, key: Expression): Expression {
  if (key.kind === 'number' && /^\d+$/.test(key.text)) {
    const item = items[Number(key.text) - 1]
    if (item?.kind === 'item') return item.expression
    throw binding.fail('NotGrouped', key.at, `There is no output number ${key.text} that could be grouped by`)
  }
  if (key.kind !== 'column' || key.table !== undefined || scope.candidates(undefined, key.name.text).length > 0)
    return key
  for (const item of items) {
    if (item.kind === 'item' && item.alias !== undefined && sameName(item.alias.text, key.name.text))
      return item.expression
  }
  return key
}

function usesAggregate({ items }: Select, orderBy: readonly OrderItem[]): boolean {
  const written = items.flatMap((item) => (item.kind === 'item' ? [item.expression] : []))
  return [...written, ...orderBy.map(({ expression }) => expression)].some((expression) =>
    someWithin(expression, isAggregate),
  )
}

function isAggregate(expression: Expression): boolean {
  if (expression.kind !== 'call' || expression.over !== undefined) return false
  return functionsNamed(expression.name.text.toLowerCase())[0]?.kind === 'aggregate'
}

function refuseIncomparable(binding: Binding, at: number, columns: readonly Bound.ResultColumn[]): void {
  const column = columns.find(({ type }) => type.kind !== 'Null' && !isComparable(type))
  if (column === undefined) return
  throw binding.fail('TypeMismatch', at, `DISTINCT cannot compare ${column.name}, which is ${typeName(column.type)}`)
}

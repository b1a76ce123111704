/** Binds the row filter of a table: a condition over its own columns and the caller's claims. */
import { Refusal } from 'gatehouse-protocol'
import type { Constraint } from '../bound/bound.ts'
import type { BoundExpression } from '../bound/bound-query.ts'
import type { TableView } from '../bound/catalogue-view.ts'
import type { Binding } from '../scope/binding.ts'
import { CLAUSES, Scope, type ScopeColumn } from '../scope/scope.ts'
import type { Expression } from '../syntax/ast-query.ts'
import { attributesWithin } from '../syntax/attributes.ts'
import { BOOLEAN } from '../types/types.ts'
import { checkAttributeUses } from './attribute.ts'
import { bindCondition } from './clause.ts'
import { literal } from './literal.ts'

/** The row filter over the source with the id. */
export function bindRowFilter(binding: Binding, table: TableView, id: number): BoundExpression | undefined {
  return bindFilter(binding, table, id, table.rowFilter)
}

/** What rows must be that are inserted. */
export function bindInsertFilter(binding: Binding, table: TableView, id: number): BoundExpression | undefined {
  return bindFilter(binding, table, id, table.insertFilter ?? table.rowFilter)
}

/** What licences allow of the rows that are inserted. */
export function bindUnlicensed(binding: Binding, table: TableView, id: number): Constraint[] {
  return (table.unlicensed ?? []).map(({ condition, products, reason }) => {
    const operand = bindFilterText(binding, table.name, table.columns, condition, id)
    const allowed = { kind: 'not', operand, type: BOOLEAN, nullable: operand.nullable } as const
    return { name: '', text: '', condition: allowed, missing: { products, reason } }
  })
}

function bindFilter(
  binding: Binding,
  table: TableView,
  id: number,
  filter: Expression | undefined,
): BoundExpression | undefined {
  if (filter === undefined) return undefined
  // An attribute that was removed while the filter was defined has no values: no row is shown.
  const { attributes } = binding.catalogue
  if ([...attributesWithin(filter)].some((name) => !attributes.has(name))) return literal(BOOLEAN, false)
  try {
    return bindFilterText(binding, table.name, table.columns, filter, id)
  } catch (error) {
    // The filter was checked when the table was defined, so this is our bug, and the caller must not see its text.
    if (error instanceof Refusal) throw new Error(`The row filter of ${table.name} cannot be bound`, { cause: error })
    throw error
  }
}

export function bindFilterText(
  binding: Binding,
  tableName: string,
  columns: readonly ScopeColumn[],
  filter: Expression,
  id: number,
): BoundExpression {
  const scope = new Scope(undefined, CLAUSES.rowFilter)
  scope.sources.push({ id, name: tableName, columns, mayBeAbsent: false })
  const outer = binding.bindsRowFilter
  binding.bindsRowFilter = true
  try {
    checkAttributeUses(binding, filter)
    return bindCondition(binding, scope, filter)
  } finally {
    binding.bindsRowFilter = outer
  }
}

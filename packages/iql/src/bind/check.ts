/** Binds CHECK constraints: conditions over the columns of a table, which depend on nothing else. */
import { Refusal } from 'gatehouse-protocol'
import type * as Bound from '../bound/bound.ts'
import type { BoundExpression, BoundQuery } from '../bound/bound-query.ts'
import type { TableView } from '../bound/catalogue-view.ts'
import { functionsNamed } from '../functions/functions.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import { CLAUSES, Scope, type ScopeColumn } from '../scope/scope.ts'
import type { CheckDefinition } from '../syntax/ast.ts'
import { someWithin } from '../syntax/ast-children.ts'
import type { Expression } from '../syntax/ast-query.ts'
import { sameName } from '../syntax/names.ts'
import { printExpression } from '../syntax/print-query.ts'
import { BOOLEAN, INTEGER } from '../types/types.ts'
import { bindCondition } from './clause.ts'
import { literal } from './literal.ts'

interface CheckedTable {
  readonly name: string
  readonly columns: readonly ScopeColumn[]
  readonly taken: readonly string[]
}

/** A constraint without a name is named after its column, or after the table. */
export function bindChecks(
  binding: Binding,
  table: CheckedTable,
  written: readonly CheckDefinition[],
): Bound.NamedCheck[] {
  const taken = [...table.taken]
  return written.map(({ name, column, condition }) => {
    const isTaken = (other: string) => taken.some((known) => sameName(known, other))
    if (name !== undefined && isTaken(name.text))
      throw binding.fail('BadDefinition', name.at, `${table.name} already has a constraint ${name.text}`)
    refuseUnstable(binding, condition)
    bindCheck(binding, table.name, table.columns, condition, binding.nextSource())
    const chosen = name?.text ?? freeName(`${column?.text ?? table.name}_check`, isTaken)
    taken.push(chosen)
    return { name: chosen, condition: printExpression(condition) }
  })
}

function freeName(base: string, isTaken: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}${number}`
    if (!isTaken(name)) return name
  }
}

/** What was true when a row was written must stay true. */
function refuseUnstable(binding: Binding, condition: Expression): void {
  const isUnstable = (node: Expression): boolean => {
    if (['parameter', 'subquery', 'exists', 'in-query'].includes(node.kind)) return true
    if (node.kind !== 'call') return false
    return functionsNamed(node.name.text.toLowerCase()).some(({ volatility }) => volatility !== undefined)
  }
  if (!someWithin(condition, isUnstable)) return
  const message = 'A CHECK takes the columns of its row: no parameters, no sub-queries, and no functions of the time'
  throw binding.fail('BadDefinition', startPosition(condition), message)
}

function bindCheck(
  binding: Binding,
  tableName: string,
  columns: readonly ScopeColumn[],
  condition: Expression,
  id: number,
): BoundExpression {
  const scope = new Scope(undefined, CLAUSES.check)
  scope.sources.push({ id, name: tableName, columns, mayBeAbsent: false })
  return bindCondition(binding, scope, condition)
}

/** The constraints that a write must meet. */
export function bindConstraints(binding: Binding, table: TableView, source: number): Bound.Constraint[] {
  return (table.checks ?? []).map(({ name, condition: written }) => {
    try {
      const condition = bindCheck(binding, table.name, table.columns, written, source)
      return { name, text: printExpression(written), condition }
    } catch (error) {
      // It was checked when it was defined, so this is our bug.
      if (error instanceof Refusal)
        throw new Error(`The check ${name} of ${table.name} cannot be bound`, { cause: error })
      throw error
    }
  })
}

/** A row of the table for which the condition is false. */
export function violationQuery(binding: Binding, table: TableView, condition: Expression): BoundQuery {
  const id = binding.nextSource()
  const operand = bindCheck(binding, table.name, table.columns, condition, id)
  const columns = [{ name: 'found', type: INTEGER, nullable: false }]
  return {
    kind: 'query',
    with: [],
    body: {
      kind: 'select',
      distinct: false,
      outputs: [{ name: 'found', expression: literal(INTEGER, 1n) }],
      from: { kind: 'table', id, table, filter: undefined },
      where: { kind: 'not', operand, type: BOOLEAN, nullable: operand.nullable },
      grouped: false,
      groupBy: [],
      having: undefined,
      columns,
    },
    orderBy: [],
    limit: literal(INTEGER, 1n),
    offset: undefined,
    columns,
  }
}

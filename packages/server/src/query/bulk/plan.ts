/** The statements of a bulk insert: planned with the rights of the caller, like every other insert. */
import { AT, binary, buildInsert, buildName, type Expression, type TableView } from 'gatehouse-iql'
import { constraintText } from '../engines/constraint-text.ts'
import type { BulkEmission } from '../engines/emit/emission.ts'
import { boundParameter, type PlanParameter, type RunValues } from '../engines/emit/parameters.ts'
import { isChecked } from '../engines/emit/write.ts'
import type { BulkParameter, BulkStatement, BulkStatements, ConstraintText, Duplicates } from '../engines/engine.ts'
import type { PlanRights } from '../plan/plan-caches.ts'
import type { Planned } from '../plan/planner.ts'
import type { ExecutionEnv } from '../run/call.ts'

export interface BulkPlan {
  /** Has the rights and the demands of all statements. */
  readonly planned: Planned
  readonly constraints: readonly ConstraintText[] | undefined
  /** `given`: the values that all rows share. */
  readonly statements: (given: RunValues) => BulkStatements
}

export interface PlanRequest {
  readonly rights: PlanRights
  readonly table: TableView
  /** Names of its columns. */
  readonly columns: readonly string[]
  readonly duplicates: Duplicates
  readonly fillsDefaults: BulkEmission['fillsDefaults']
}

type Conflict = ReturnType<typeof buildInsert>['onConflict']

export function planBulk(request: PlanRequest, env: ExecutionEnv): BulkPlan {
  const { table, columns, duplicates } = request
  const skip: Conflict = { target: [], action: { kind: 'nothing' }, ...AT }
  const covering = env.licences.covers(table.name.toLowerCase())?.column?.toLowerCase()
  const replace = duplicates === 'replace' ? replacing(table, columns, covering) : undefined
  if (env.engine.kind === 'postgres') {
    const conflict = duplicates === 'skip' ? skip : duplicates === 'replace' ? (replace ?? skip) : undefined
    const insert = plan(request, env, true, conflict)
    return toBulkPlan(insert, (given) => ({ insert: buildStatement(insert, given, env) }))
  }
  const [insert, insertOne] = [plan(request, env, true, undefined), plan(request, env, false, undefined)]
  const unlessTaken = duplicates === 'reject' ? undefined : plan(request, env, false, skip)
  const replaceOne = replace === undefined ? undefined : plan(request, env, false, replace)
  return toBulkPlan(insert, (given) => ({
    insert: buildStatement(insert, given, env),
    insertOne: buildStatement(insertOne, given, env),
    unlessTaken: unlessTaken && buildStatement(unlessTaken, given, env),
    replace: replaceOne && buildStatement(replaceOne, given, env),
  }))
}

function toBulkPlan(planned: Planned, statements: BulkPlan['statements']): BulkPlan {
  const { statement } = planned.bound
  if (statement.kind !== 'insert') throw new Error('A bulk insert that is none')
  const constraints = isChecked(statement) ? statement.constraints.map(constraintText) : undefined
  return { planned, constraints, statements }
}

function plan(request: PlanRequest, env: ExecutionEnv, fromTable: boolean, onConflict: Conflict): Planned {
  const { rights, table, columns, fillsDefaults } = request
  const action = onConflict?.action.kind ?? 'none'
  return env.planner.plan(rights, env.catalogue.snapshot, '', {
    key: `bulk ${JSON.stringify([fromTable, action, fillsDefaults, table.name, ...columns])}`,
    statement: () => ({ ...buildInsert(table.name, columns, 1, []), onConflict }),
    bulk: { fromTable, fillsDefaults },
  })
}

/**
 * Every given column takes the new value; undefined if only the key is given. A row that another product covers than the new one, by the
 * column `covering`, stays as it is.
 */
function replacing(table: TableView, columns: readonly string[], covering: string | undefined): Conflict {
  const others = columns.filter((name) => !table.primaryKey.includes(name) && name.toLowerCase() !== covering)
  if (others.length === 0) return undefined
  const given = columns.find((name) => name.toLowerCase() === covering && !table.primaryKey.includes(name))
  const where = given === undefined ? undefined : binary('=', ofRow(table.name, given), ofRow('excluded', given))
  const set = others.map((name) => ({
    column: buildName(name),
    value: ofRow('excluded', name),
  }))
  return { target: table.primaryKey.map(buildName), action: { kind: 'update', set, where }, ...AT }
}

function ofRow(table: string, column: string): Expression {
  return { kind: 'column', table: buildName(table), name: buildName(column) }
}

function buildStatement({ emitted }: Planned, given: RunValues, env: ExecutionEnv): BulkStatement {
  if (emitted === undefined) throw new Error('A bulk insert without a plan')
  const { sql, parameters, shared } = emitted
  const bind = (parameter: PlanParameter) => boundParameter(parameter, given, env.engine.bind)
  const bound = parameters.map((parameter): BulkParameter => {
    const { source } = parameter
    return source.kind === 'parameter' ? { column: source.index } : { value: bind(parameter) }
  })
  if (shared === undefined) return { sql, parameters: bound }
  const named = Array.from(shared, ([name, parameter]) => {
    if (parameter.source.kind === 'parameter') throw new Error('A bulk insert uses a value twice')
    return [name, bind(parameter)] as const
  })
  return { sql, parameters: bound, shared: Object.fromEntries(named) }
}

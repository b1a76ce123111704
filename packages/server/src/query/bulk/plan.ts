/** The statements of a bulk insert: planned with the rights of the caller, like every other insert. */
import { AT, insertOf, nameOf, type TableView } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import type { BulkEmission } from '../engines/emit/emission.ts'
import { boundParameter, type EmittedSql, type RunValues } from '../engines/emit/parameters.ts'
import { isChecked } from '../engines/emit/write.ts'
import type { BulkParameter, BulkStatement, BulkStatements, ConstraintText, Duplicates } from '../engines/engine.ts'
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
  readonly principal: Principal
  readonly table: TableView
  /** Names of its columns. */
  readonly columns: readonly string[]
  readonly duplicates: Duplicates
  readonly fillsDefaults: BulkEmission['fillsDefaults']
}

const GROUP_ROWS = 50
/** SQLite allows 32,766. */
const MAX_PARAMETERS = 10_000

type Conflict = ReturnType<typeof insertOf>['onConflict']

export function planBulk(request: PlanRequest, env: ExecutionEnv): BulkPlan {
  const { table, columns, duplicates } = request
  const skip: Conflict = { target: [], action: { kind: 'nothing' }, ...AT }
  const replace = duplicates === 'replace' ? replacing(table, columns) : undefined
  if (env.engine.kind === 'postgres') {
    const conflict = duplicates === 'skip' ? skip : duplicates === 'replace' ? (replace ?? skip) : undefined
    const group = plan(request, env, 1, conflict)
    return planOf(group, (given) => ({ group: statementOf(group, given, env, 0), groupRows: 1 }))
  }
  const groupRows = Math.max(1, Math.min(GROUP_ROWS, Math.floor(MAX_PARAMETERS / columns.length)))
  const [group, single] = [plan(request, env, groupRows, undefined), plan(request, env, 1, undefined)]
  const unlessTaken = duplicates === 'reject' ? undefined : plan(request, env, 1, skip)
  const replaceOne = replace === undefined ? undefined : plan(request, env, 1, replace)
  const width = columns.length
  return planOf(single, (given) => ({
    group: statementOf(group, given, env, width),
    groupRows,
    single: statementOf(single, given, env, width),
    unlessTaken: unlessTaken && statementOf(unlessTaken, given, env, width),
    replace: replaceOne && statementOf(replaceOne, given, env, width),
  }))
}

function planOf(planned: Planned, statements: BulkPlan['statements']): BulkPlan {
  const { statement } = planned.bound
  if (statement.kind !== 'insert') throw new Error('A bulk insert that is none')
  const constraints = isChecked(statement) ? statement.constraints.map(({ name, text }) => ({ name, text })) : undefined
  return { planned, constraints, statements }
}

function plan(request: PlanRequest, env: ExecutionEnv, rows: number, onConflict: Conflict): Planned {
  const { principal, table, columns, fillsDefaults } = request
  const bulk: BulkEmission = { fromTable: env.engine.kind === 'postgres', fillsDefaults }
  const action = onConflict?.action.kind ?? 'none'
  return env.planner.plan(principal, env.catalogue.snapshot, '', {
    key: `bulk ${JSON.stringify([rows, action, fillsDefaults, table.name, ...columns])}`,
    statement: () => ({ ...insertOf(table.name, columns, rows, []), onConflict }),
    bulk,
  })
}

/** Every given column takes the new value; undefined if only the key is given. */
function replacing(table: TableView, columns: readonly string[]): Conflict {
  const others = columns.filter((name) => !table.primaryKey.includes(name))
  if (others.length === 0) return undefined
  const set = others.map((name) => ({
    column: nameOf(name),
    value: { kind: 'column' as const, table: nameOf('excluded'), name: nameOf(name) },
  }))
  return { target: table.primaryKey.map(nameOf), action: { kind: 'update', set, where: undefined }, ...AT }
}

/** `width`: the columns of a row, if its values are parameters. */
function statementOf({ emitted }: Planned, given: RunValues, env: ExecutionEnv, width: number): BulkStatement {
  if (emitted === undefined) throw new Error('A bulk insert without a plan')
  const { sql, parameters, shared } = emitted
  const bound = parameters.map((parameter) => bulkParameter(parameter, given, env, width))
  if (shared === undefined) return { sql, parameters: bound }
  const named = Array.from(shared, ([name, parameter]) => {
    if (parameter.source.kind === 'parameter') throw new Error('A bulk insert uses a value twice')
    return [name, boundParameter(parameter, given, env.engine.bind)] as const
  })
  return { sql, parameters: bound, shared: Object.fromEntries(named) }
}

function bulkParameter(
  parameter: EmittedSql['parameters'][number],
  given: RunValues,
  env: ExecutionEnv,
  width: number,
): BulkParameter {
  const { source } = parameter
  if (source.kind !== 'parameter') return { value: boundParameter(parameter, given, env.engine.bind) }
  return { row: Math.floor(source.index / width), column: source.index % width }
}

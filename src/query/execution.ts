/** Runs planned statements for a caller: reads, writes, definitions and looks, each to a result that can be sent. */
import type { Audit } from '../protocol/audit-events.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Principal } from '../protocol/principal.ts'
import { type AuditTable, readsAuditLog } from './audit-table.ts'
import type { Catalogue } from './catalogue/catalogue.ts'
import { writeToCatalogue } from './catalogue/catalogue-table.ts'
import { changeOf } from './catalogue/change.ts'
import { recordChanges } from './catalogue/record-change.ts'
import { isShort, isSimple } from './cost.ts'
import { fill, type RunValues } from './engines/emit/slots.ts'
import { touchingOf } from './engines/emit/write.ts'
import type {
  Engine,
  Once,
  ReadLimits,
  ReadOutcome,
  ReadRequest,
  Stoppable,
  WholeRead,
  WriteOutcome,
} from './engines/engine.ts'
import { explain } from './explain.ts'
import type { BoundStatement, ResultColumn } from './iql/bound.ts'
import type { IqlValue } from './iql/types.ts'
import { typeName } from './iql/types.ts'
import type { Planned, Planner } from './planner.ts'
import { readRows } from './read-rows.ts'
import { type Cell, type Encoding, saysWhatIsMissing } from './result/encoding.ts'
import { viewFor } from './rights.ts'

export interface ExecutionEnv {
  readonly engine: Engine
  readonly catalogue: Catalogue
  readonly planner: Planner
  readonly clock: Clock
  readonly audit: Audit
  readonly auditTable: AuditTable
}

/** A statement with all that it needs to run. */
export interface Call {
  readonly principal: Principal
  readonly requestId: string
  readonly address: string
  readonly planned: Planned
  /** A set of values for each time the statement runs; one for all but bulk inserts. */
  readonly valueSets: readonly (readonly IqlValue[])[]
  readonly encoding: Encoding
  readonly limits: ReadLimits
  readonly once?: Once | undefined
  /** Rows of an insert that name other columns than the first ones. */
  readonly further?: readonly { readonly planned: Planned; readonly valueSets: Call['valueSets'] }[]
}

/** One run of a statement, which can be stopped. */
export interface Run extends Call {
  readonly running: Stoppable
}

export type Result =
  /** Bytes but for the end, as they come. */
  | { readonly kind: 'stream'; readonly chunks: AsyncGenerator<Uint8Array, ReadOutcome, void> }
  /** Everything but the end, small. */
  | { readonly kind: 'whole'; readonly read: WholeRead }
  /** Rows in memory, few: of a write, of a look. */
  | {
      readonly kind: 'rows'
      readonly columns: readonly ResultColumn[]
      readonly rows: readonly (readonly Cell[])[]
      readonly rowsAffected?: number
      readonly isTruncated: boolean
    }

/** Rows that may be written on the event loop at once. */
const MOST_SHORT_ROWS = 1000

/** The result of a query that is answered on the spot; undefined for whatever else, and for one that is not small after all. */
export function readAtOnce(call: Call, env: ExecutionEnv): WholeRead | undefined {
  const { bound } = call.planned
  if (bound.statement.kind !== 'query' || !isPerhapsSmall(call) || readsAuditLog(bound)) return undefined
  return env.engine.readAtOnce?.(readRequest(call, env))
}

/** Whether the result may turn out small, and is a text. */
function isPerhapsSmall({ planned, encoding }: Call): boolean {
  return planned.reach !== 'anything' && encoding.format !== 'arrow'
}

export async function execute(run: Run, env: ExecutionEnv): Promise<Result> {
  const { bound } = run.planned
  const { statement } = bound
  if (readsAuditLog(bound)) await env.auditTable.catchUp(run.running.signal)
  switch (statement.kind) {
    case 'query':
      return read(run, env)
    case 'insert':
    case 'update':
    case 'delete':
      if (statement.table.isSystem) return written(run, await writeToCatalogue(statement, run, env))
      return written(run, await write(run, env))
    case 'explain':
    case 'describe':
    case 'show-tables':
    case 'show-columns':
      return look(statement, run)
    default:
      await define(statement, run, env)
      return { kind: 'rows', columns: [], rows: [], rowsAffected: 0, isTruncated: false }
  }
}

export function runValues(call: Call, values: readonly IqlValue[], env: ExecutionEnv): RunValues {
  const { subject, clientId, roles, scopes } = call.principal
  return { parameters: values, subject, clientId, roles, scopes, milliseconds: env.clock() }
}

async function read(run: Run, env: ExecutionEnv): Promise<Result> {
  const whole = isPerhapsSmall(run) ? await env.engine.readSoon?.(readRequest(run, env)) : undefined
  if (whole !== undefined) return { kind: 'whole', read: whole }
  return { kind: 'stream', chunks: env.engine.read({ ...readRequest(run, env), signal: run.running.signal }) }
}

function readRequest(call: Call, env: ExecutionEnv): Omit<ReadRequest, 'signal'> {
  const { planned, valueSets, encoding, limits } = call
  const { plan, bound, keyColumns, reach } = planned
  if (plan === undefined) throw new Error('A query without a plan')
  const parameters = fill(plan, runValues(call, valueSets[0] ?? [], env), env.engine.bind)
  return { sql: plan.sql, parameters, columns: bound.columns, keyColumns, encoding, limits, reach }
}

async function write(run: Run, env: ExecutionEnv): Promise<WriteOutcome> {
  const { statement, columns } = run.planned.bound
  const isChecked = (statement.kind === 'insert' || statement.kind === 'update') && statement.check !== undefined
  const parts = [run, ...(run.further ?? [])]
  const steps = parts.map(({ planned: { plan }, valueSets }) => {
    if (plan === undefined) throw new Error('A write without a plan')
    return {
      sql: plan.sql,
      parameterSets: valueSets.map((values) => fill(plan, runValues(run, values, env), env.engine.bind)),
    }
  })
  const times = parts.reduce((sum, { valueSets }) => sum + valueSets.length, 0)
  const reply = await env.engine.write({
    steps,
    returning: columns,
    isChecked,
    notesRows: statement.kind === 'insert' && touchingOf(statement, env.engine.dialect) !== undefined,
    isShort: parts.every(({ planned }) => isShort(planned.reach)) && times <= MOST_SHORT_ROWS,
    rowLimit: run.limits.rows,
    mustBeWhole: columns.length > 0 && !saysWhatIsMissing(run.encoding),
    running: run.running,
    once: run.once,
  })
  return reply.outcome
}

function written(run: Run, outcome: WriteOutcome): Result {
  return {
    kind: 'rows',
    columns: outcome.columns ?? run.planned.bound.columns,
    rows: outcome.rows,
    rowsAffected: outcome.rowsAffected,
    isTruncated: outcome.isTruncated,
  }
}

async function define(statement: BoundStatement, run: Run, env: ExecutionEnv): Promise<void> {
  const now = BigInt(env.clock()) * 1000n
  const change = changeOf(statement, run.planned.snapshot, now)
  if (change === undefined) return
  const value = statement.kind === 'add-column' ? await fillOf(statement, run, env) : null
  await env.catalogue.change([{ change, fill: value }], { signal: run.running.signal })
  recordChanges(env.audit, run, [change])
}

/** The default of a new column, worked out once for all the rows that exist. */
async function fillOf(statement: Extract<BoundStatement, { kind: 'add-column' }>, run: Run, env: ExecutionEnv) {
  const { column } = statement
  if (column.default === undefined) return null
  const { expression } = column.default
  const plan = env.planner.emitValue(expression)
  const rows = await readRows(env.engine, {
    sql: plan.sql,
    parameters: fill(plan, runValues(run, [], env), env.engine.bind),
    columns: [{ name: column.name, type: column.type, nullable: true }],
    reach: isSimple(expression) ? 'one row' : 'anything',
    signal: run.running.signal,
  })
  return env.engine.bind(rows[0]?.[0] ?? null, column.type)
}

function look(statement: BoundStatement, run: Run): Result {
  return { kind: 'rows', columns: run.planned.bound.columns, rows: lookRows(statement, run), isTruncated: false }
}

function lookRows(statement: BoundStatement, run: Run): Cell[][] {
  const { snapshot } = run.planned
  switch (statement.kind) {
    case 'explain':
      return explain(statement.statement).map((line) => [line])
    case 'show-tables':
      return [...viewFor(snapshot, run.principal.scopes).tableNames()].map((name) => [
        name,
        snapshot.table(name)?.isSystem ?? false,
        snapshot.definitionOf(name)?.description ?? null,
      ])
    case 'describe':
    case 'show-columns': {
      const definition = snapshot.definitionOf(statement.table.name)
      return (definition?.columns ?? []).map((column, ordinal) => [
        column.name,
        typeName(column.type),
        BigInt(ordinal),
        column.nullable,
        definition?.primaryKey.includes(column.name) ?? false,
        column.default ?? null,
      ])
    }
    default:
      return []
  }
}

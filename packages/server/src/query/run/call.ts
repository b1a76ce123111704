/** One call: caller, plan, values. Reads the result on the event loop if that is cheap. */

import type { IqlValue } from 'gatehouse-iql'
import type { Audit, Clock, Principal } from 'gatehouse-protocol'
import type { StepUp } from '../../step-up/step-up.ts'
import type { AttributeValues } from '../../store/accounts/user.ts'
import { type AttributeInputs, type AttributeSource, attributeInputs } from '../catalogue/attributes.ts'
import type { ResultLabels } from '../catalogue/licence-labels.ts'
import type { HeldTables } from '../catalogue/licences.ts'
import { visibleViews } from '../catalogue/snapshot.ts'
import {
  bindParameters,
  type EmittedSql,
  type PartsPlan,
  type RunValues,
  type SqlStatement,
  sizeOfAll,
} from '../engines/emit/parameters.ts'
import type { Engine, IdempotencyKey, ReadLimits, ReadRun, Stoppable, WholeRead } from '../engines/engine.ts'
import type { PartsRun } from '../engines/parts-run.ts'
import type { KeptViews } from '../kept/kept-views.ts'
import { type Cell, type Encoding, isText, type ReadOutcome } from '../model/result.ts'
import type { PlanRights } from '../plan/plan-caches.ts'
import type { Planned, Planner } from '../plan/planner.ts'
import type { TextEncoders } from '../results/encoders.ts'
import type { AuditTable } from './audit-table.ts'
import type { LicensedEnv } from './licensed.ts'
import type { NodeCatalogue } from './node-catalogue.ts'

export interface ExecutionEnv extends LicensedEnv {
  readonly engine: Engine
  readonly catalogue: NodeCatalogue
  readonly planner: Planner
  readonly clock: Clock
  readonly audit: Audit
  readonly auditTable: AuditTable
  readonly attributes: AttributeSource
  readonly stepUp: StepUp
  /** Materialized views. */
  readonly kept: KeptViews
}

export interface QueryCall {
  readonly principal: Principal
  readonly requestId: string
  readonly address: string
  readonly planned: Planned
  /** One set of values for each time the statement runs. Only bulk inserts have several. */
  readonly valueSets: readonly (readonly IqlValue[])[]
  /** What further statements of the call are planned with. */
  readonly rights: PlanRights
  /** Set if it uses tables that products cover. */
  readonly held?: HeldTables | undefined
  /** What the caller is told of rows that are delayed or left out. */
  readonly labels?: ResultLabels | undefined
  /** Set if row filters use attributes of the caller: see withAttributes. */
  readonly attributes?: AttributeInputs | undefined
  readonly encoding: Encoding
  readonly limits: ReadLimits
  readonly idempotencyKey?: IdempotencyKey | undefined
  /** The table whose closed rows the call may delete: an erasure. */
  readonly erases?: string | undefined
  /** Further parts of one write: rows that name other columns than the first ones, or other tables of a transaction block. */
  readonly further?: readonly CallPart[]
}

/** A statement and its values. */
export type CallPart = Pick<QueryCall, 'planned' | 'valueSets'>

/** A call that is running and can be stopped. */
export interface RunningCall extends QueryCall {
  readonly running: Stoppable
}

export type QueryResult =
  /** The encoded rows, without the trailer, in chunks. */
  | { readonly kind: 'stream'; readonly chunks: AsyncGenerator<Uint8Array, ReadOutcome, void> }
  /** The encoded rows, without the trailer, of a small result. */
  | { readonly kind: 'whole'; readonly read: WholeRead }
  /** The few rows that a write or an introspection statement returns. */
  | {
      readonly kind: 'rows'
      readonly encoders: TextEncoders
      readonly rows: readonly (readonly Cell[])[]
      readonly rowsAffected?: number
      readonly isTruncated: boolean
    }

export function runValues(call: QueryCall, values: readonly IqlValue[], env: ExecutionEnv): RunValues {
  const { subject, username, clientId, roles, scopes } = call.principal
  const { literals, snapshot } = call.planned
  return {
    parameters: values,
    literals,
    subject,
    username,
    clientId,
    roles,
    scopes,
    attributes: call.attributes,
    views: () => visibleViews(snapshot, scopes),
    milliseconds: env.clock(),
  }
}

/** Everything that the call runs, in order. */
export function listParts(call: Pick<QueryCall, 'planned' | 'valueSets' | 'further'>): readonly CallPart[] {
  return call.further === undefined || call.further.length === 0 ? [call] : [call, ...call.further]
}

/** The call with the current values of the attributes that the row filters of its parts use. Most use none. */
export function withAttributes<Call extends QueryCall>(call: Call, { attributes }: ExecutionEnv): Call | Promise<Call> {
  const names = attributeNames(call)
  if (names.size === 0 || call.attributes !== undefined) return call
  const withValues = (values: AttributeValues): Call => ({
    ...call,
    attributes: attributeInputs(values, names, call.planned.snapshot.attributes),
  })
  const found = attributes.currentValues(call.principal)
  return found instanceof Promise ? found.then(withValues) : withValues(found)
}

function attributeNames(call: QueryCall): ReadonlySet<string> {
  const { planned, further } = call
  if (further === undefined || further.length === 0) return planned.bound.attributes
  return new Set(listParts(call).flatMap((part) => [...part.planned.bound.attributes]))
}

/** Refuses a caller whose sign-in is not enough for the tables of every part. */
export function requireStepUp(call: StepUpCall, env: Pick<ExecutionEnv, 'stepUp'>): void {
  requireForPart(call.planned, call, env)
  if (call.further !== undefined) for (const { planned } of call.further) requireForPart(planned, call, env)
}

type StepUpCall = Pick<QueryCall, 'principal' | 'requestId' | 'address' | 'planned' | 'further'>

function requireForPart(planned: Planned, call: StepUpCall, { stepUp }: Pick<ExecutionEnv, 'stepUp'>): void {
  if (planned.stepUp !== undefined)
    stepUp.require(call.principal, planned.stepUp, { ...call, resource: joinTableNames(planned) })
}

export function joinTableNames({ bound }: Planned): string {
  return bound.tables.map(({ name }) => name).join(' ')
}

/** The caller, as the owner of queries, of memory and of stored responses. */
export function callOwner({ kind, subject }: Principal): string {
  return `${kind}:${subject}`
}

/** The length of all parameters of a query that is answered on the event loop, or together with others. */
const MAX_SMALL_LENGTH = 64 * 1024

/** The result of a query that can be answered immediately on the event loop; undefined for every other statement. */
export function readSmall(call: QueryCall, env: ExecutionEnv): WholeRead | undefined {
  const { read, readsAuditLog } = call.planned
  if (read?.readInline === undefined || readsAuditLog || !mayBeSmall(call)) return undefined
  const run = readRun(call, env)
  return isSmall(run) ? read.readInline(run) : undefined
}

export function isSmall({ parameters }: ReadRun): boolean {
  return sizeOfAll(parameters) <= MAX_SMALL_LENGTH
}

/** Whether the statement is a query whose result may be small, in a format that needs no chunks. */
export function mayBeSmall({ planned, encoding }: QueryCall): boolean {
  return planned.read !== undefined && planned.cost !== 'unbounded' && (isText(encoding) || encoding.format === 'wire')
}

export function readRun(call: QueryCall, env: ExecutionEnv): ReadRun {
  const { planned, valueSets, encoding, limits } = call
  const { emitted } = planned
  if (emitted === undefined) throw new Error('A query without a plan')
  const values = runValues(call, valueSets[0] ?? [], env)
  const parameters = bindParameters(emitted, values, env.engine.bind)
  const run = { owner: callOwner(call.principal), parameters, encoding, limits }
  if (emitted.parts === undefined) return run
  return { ...run, parts: bindParts(emitted.parts, (emitted) => bindStatement(emitted, values, env)) }
}

export function bindStatement(emitted: EmittedSql, values: RunValues, env: ExecutionEnv): SqlStatement {
  return { sql: emitted.sql, parameters: bindParameters(emitted, values, env.engine.bind) }
}

export function bindParts(
  { part, whole, found, columns, ...table }: PartsPlan,
  bound: (emitted: EmittedSql) => SqlStatement,
): PartsRun {
  const ofColumns =
    'why' in columns
      ? undefined
      : {
          plan: columns.plan,
          expressions: columns.expressions.map(bound),
          joinedRows: columns.joinedRows && bound(columns.joinedRows),
          ownRows: columns.ownRows && { ...columns.ownRows, rows: bound(columns.ownRows.rows) },
        }
  return { ...table, part: bound(part), whole: bound(whole), found: bound(found), columns: ofColumns }
}

/** What a live statement means for its caller: the plan, its values, and the identity of the result that callers share. */
import { createHash } from 'node:crypto'
import { type IqlValue, readParameters, storedName, type TableView } from 'gatehouse-iql'
import type { Principal, StepUpNeed, TableNeed } from 'gatehouse-protocol'
import type { AttributeValues } from '../../store/accounts/user.ts'
import { type AttributeInputs, attributeInputs } from '../catalogue/attributes.ts'
import { describeLicences, type LicenceLabel, listTimes } from '../catalogue/licence-labels.ts'
import { type CopyTimes, NO_COPIES, type TableRights } from '../catalogue/licences.ts'
import { type CatalogueSnapshot, visibleViews } from '../catalogue/snapshot.ts'
import { POLLED } from '../catalogue/system-tables.ts'
import type { ParameterSource } from '../engines/emit/parameter-source.ts'
import {
  type Bindable,
  bindParameters,
  type EmittedSql,
  type PlanParameter,
  type RunValues,
} from '../engines/emit/parameters.ts'
import type { Engine } from '../engines/engine.ts'
import { type LiveReadRequest, type Positions, type Since, sincePositions } from '../engines/live-source.ts'
import { findNeeds } from '../plan/licensed-parts.ts'
import { type LivePlan, planLive } from '../plan/live.ts'
import type { LiveFamily, PositionedSql } from '../plan/live-family.ts'
import type { LiveMethod } from '../plan/live-method.ts'
import type { Planned, Planner } from '../plan/planner.ts'
import { describeColumns } from '../results/encoders.ts'
import type { LiveEncoding } from '../results/live-rows.ts'
import { callOwner } from '../run/call.ts'
import type { NodeCatalogue } from '../run/node-catalogue.ts'
import type { LiveRequest } from './contract.ts'

export interface LiveTarget {
  /** Statements with the same identity have the same result, for every caller. */
  readonly identity: string
  readonly fingerprint: string
  readonly method: LiveMethod
  readonly plan: LivePlan
  /** The tables with positions, in a fixed order. */
  readonly tables: readonly string[]
  /** Set for the method `keys`. */
  readonly family: FamilyTarget | undefined
  /** The JSON text of `Columns`. */
  readonly columns: string
  readonly encoding: LiveEncoding
  /** The statement as it was sent. */
  readonly text: string
  /** The covered tables that it reads, and which parts of them. */
  readonly needs: readonly TableNeed[]
  /** What is said of rows that are delayed or left out, without times. */
  readonly labels: readonly LicenceLabel[]
  /** As of when its delayed rows are, with the times of the copies before they were read. */
  asOf(times: CopyTimes): string | undefined
  /** The owner of the query when it runs. */
  readonly owner: string
  /** Whether row filters use attributes of the caller. */
  readonly usesAttributes: boolean
  readonly stepUp?: StepUpNeed | undefined
  readonly readsSystemTables: boolean
  /** Whether it reads tables whose changes nothing announces. */
  readonly isPolled: boolean
  readonly readsAuditLog: boolean
  /** The whole result. */
  read(): ReadParts
  /** The whole result as it was at these positions; undefined if that cannot be read. */
  readFormer(positions: Positions): ReadParts | undefined
}

export interface FamilyTarget {
  readonly identity: string
  readonly table: string
  /** Undefined: no row belongs to the statement. */
  readonly route: string | undefined
  /** The rows that have changed since a position of the table. */
  read(position: string): ReadParts
  /** Their keys and routes as they were. */
  readFormer(position: string): ReadParts
}

type ReadParts = Pick<LiveReadRequest, 'owner' | 'tables' | 'statement' | 'parameters' | 'encoding' | 'since'>

export interface TargetEnv {
  readonly engine: Engine
  readonly planner: Planner
  readonly clock: () => number
  readonly catalogue: Pick<NodeCatalogue, 'snapshot'>
}

/**
 * Throws a Refusal if the statement does not bind, or cannot be live, and a PlanPending while it is not known what the caller has of covered
 * tables. `values` are those of the caller's attributes.
 */
export function planTarget(
  request: Pick<LiveRequest, 'statement' | 'parameters' | 'encoding'>,
  principal: Principal,
  snapshot: CatalogueSnapshot,
  env: TargetEnv,
  values: AttributeValues = {},
  licensed?: TableRights,
): LiveTarget {
  const { statement: text, encoding } = request
  const rights = { scopes: principal.scopes, tables: licensed }
  const planned = env.planner.planWithLiterals(rights, snapshot, text)
  const parameters = readParameters(text, planned.bound, request.parameters)
  const plan = findLivePlan(planned, env.engine)
  const owner = callOwner(principal)
  const tables = plan.tables
    .filter(({ isSystem }) => !isSystem)
    .map(storedName)
    .sort()
  const attributes = attributeInputs(values, planned.bound.attributes, snapshot.attributes)
  const run = createRunValues(principal, parameters, attributes, env)
  const columns = describeColumns(plan.statement.columns)
  const parts = ({ statement, emitted }: PositionedSql, since?: Since): ReadParts => {
    const parameters = bindParameters(emitted, { ...run(), since: sincePositions(since) }, env.engine.bind)
    return { owner, tables, statement, parameters, encoding, since }
  }
  const labels = planned.licensed.length === 0 ? [] : describeLicences(plan.tables, NO_COPIES)
  const shape = [encoding.rows, encoding.integers, plan.keyNames, columns, ...labels]
  const family = plan.family === undefined ? undefined : createFamily(plan.family)
  const identity = JSON.stringify(
    family === undefined
      ? [plan.method, plan.emitted.sql, fixedParameters(plan.emitted, run(), env), ...shape]
      : ['keys', family.identity, family.route ?? null],
  )
  return {
    identity,
    fingerprint: createHash('sha256').update(identity).digest('base64url'),
    method: plan.method,
    plan,
    tables,
    family,
    columns,
    encoding,
    text,
    needs: planned.licensed.length === 0 ? [] : findNeeds(planned, parameters),
    labels,
    asOf: (times) => (labels.length === 0 ? undefined : earliest(planned.bound.tables, times)),
    owner,
    usesAttributes: planned.bound.attributes.size > 0,
    stepUp: planned.stepUp,
    readsSystemTables: plan.tables.some(({ isSystem }) => isSystem),
    isPolled: plan.tables.some(({ isSystem, name }) => isSystem && POLLED.has(name)),
    readsAuditLog: planned.readsAuditLog,
    read: () => parts(plan),
    readFormer(positions) {
      const former = plan.former()
      return former && parts(former, { of: 'former result', positions })
    },
  }

  function createFamily({ changed, former, table, findRoute }: LiveFamily): FamilyTarget {
    return {
      identity: JSON.stringify([changed.emitted.sql, fixedParameters(changed.emitted, run(), env), ...shape]),
      table,
      route: findRoute(run(), encoding),
      read: (position) => parts(changed, { of: 'changed rows', table, position }),
      readFormer: (position) => parts(former(), { of: 'changed rows', table, position }),
    }
  }
}

function earliest(tables: readonly TableView[], times: CopyTimes): string | undefined {
  const [first] = listTimes(tables, times).sort()
  return first === undefined ? undefined : new Date(Number(first / 1000n)).toISOString()
}

/** Callers with the same statement and the same scopes share its plan. */
const livePlans = new WeakMap<Planned, LivePlan>()

function findLivePlan(planned: Planned, engine: Engine): LivePlan {
  const known = livePlans.get(planned)
  if (known !== undefined) return known
  const plan = planLive(planned, engine)
  livePlans.set(planned, plan)
  return plan
}

function createRunValues(
  principal: Principal,
  parameters: readonly IqlValue[],
  attributes: AttributeInputs,
  env: TargetEnv,
): () => RunValues {
  const { subject, username, clientId, roles, scopes } = principal
  const claims = { subject, username, clientId, roles, scopes, attributes }
  // A system table is read again whenever the catalogue changes.
  const views = () => visibleViews(env.catalogue.snapshot, scopes)
  return () => ({ parameters, ...claims, views, milliseconds: env.clock() })
}

/** Values that can differ between two runs. The views follow from the scopes, which are fixed, and the catalogue. */
const CHANGING: ReadonlySet<ParameterSource['kind']> = new Set<ParameterSource['kind']>([
  'now',
  'today',
  'since',
  'views',
])

/** The values that do not change from one run to the next, in a form that JSON can write. */
function fixedParameters(emitted: EmittedSql, values: RunValues, { engine }: TargetEnv): unknown[] {
  const parameters = emitted.parameters.filter(({ source: { kind } }) => !CHANGING.has(kind)).map(withZoneName)
  return bindParameters({ ...emitted, parameters }, values, engine.bind).map(written)
}

/** The arrays of a zone are long, and its name says as much. */
function withZoneName(parameter: PlanParameter): PlanParameter {
  const { source } = parameter
  return source.kind === 'zone' ? { ...parameter, source: { ...source, part: 'name' } } : parameter
}

function written(value: Bindable): unknown {
  if (typeof value === 'bigint') return { integer: String(value) }
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  // JSON has no NaN and no infinity, and one zero.
  if (typeof value === 'number') return { double: Object.is(value, -0) ? '-0' : String(value) }
  if (typeof value === 'object' && value !== null)
    return { shared: Object.entries(value).map(([name, shared]) => [name, written(shared)]) }
  return value
}

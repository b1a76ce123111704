/**
 * One run of statements, from the plan to what operators learn of it. Every protocol calls it: a protocol turns bytes into a call, and
 * rows into bytes, and nothing else.
 */
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { OpenSpan } from '../../telemetry/trace.ts'
import { type LicenceLabel, ResultLabels } from '../catalogue/licence-labels.ts'
import type { HeldTables } from '../catalogue/licences.ts'
import { type CatalogueSnapshot, viewFor } from '../catalogue/snapshot.ts'
import type { Encoding } from '../model/result.ts'
import { whenPlanned } from '../plan/long-plans.ts'
import type { BuiltStatement, Planned, Planner } from '../plan/planner.ts'
import { asUnavailable } from '../unavailable.ts'
import {
  callOwner,
  type ExecutionEnv,
  listParts,
  type QueryCall,
  type QueryResult,
  readSmall,
  requireStepUp,
  withAttributes,
} from './call.ts'
import { execute } from './execution.ts'
import { CallerRights, holdTables, isPlannedWith, requireLicences } from './licensed.ts'
import { type Observe, OTEL_SYSTEMS } from './observe.ts'
import type { RunningQueries, RunningQuery } from './running.ts'

export interface RunEnv extends ExecutionEnv {
  readonly running: RunningQueries
  readonly observe: Observe
}

/** Work for a caller, as it is listed, stopped and observed. */
export interface Work {
  readonly principal: Principal
  readonly requestId: string
  /** What lists of running queries and the log of slow statements show. */
  readonly shown: string
  readonly span?: OpenSpan | undefined
  /** The outcome of an error that only the protocol knows; undefined for a fault. */
  readonly errorOutcome?: (error: unknown) => string | undefined
  /** Called when it is listed and can be stopped, which work that ends in one turn never is. What this returns is called at the end. */
  readonly onBegin?: (running: RunningQuery) => () => void
}

export interface StatementCall<Parts extends CallParts = CallParts>
  extends Work,
    Pick<QueryCall, 'address' | 'encoding'> {
  /** Plans the statements and reads their values. Called again once the plan of a long statement is made. */
  readonly plan: (planning: Planning) => Parts | Promise<Parts>
}

/** The statements of a call, which run as one. */
export type CallParts = Pick<QueryCall, 'planned' | 'valueSets' | 'limits' | 'idempotencyKey' | 'further' | 'erases'>

export interface Ran<Parts extends CallParts = CallParts> {
  readonly parts: Parts
  readonly result: QueryResult
  /** Goes on until the caller has its rows, or not: `succeed` or `fail` must be called. */
  readonly run: Run
}

/** A cheap query is answered in this turn. Everything else is awaited. */
export function run<Parts extends CallParts>(
  call: StatementCall<Parts>,
  env: RunEnv,
): Ran<Parts> | Promise<Ran<Parts>> {
  const run = new Run(call, env)
  try {
    env.running.check(call.principal, call.requestId)
    const ready = prepare(call, env)
    const small = ready instanceof Promise ? undefined : readSmall(ready.query, env)
    if (small !== undefined && !(ready instanceof Promise)) run.useLicences(ready.query)
    if (ready instanceof Promise || small === undefined) return runLater(run, ready, env)
    return { parts: ready.parts, result: { kind: 'whole', read: small }, run }
  } catch (error) {
    run.fail(error)
    throw error
  }
}

/** A call that the caller may make, with all values that it uses. */
interface Ready<Parts> {
  readonly parts: Parts
  readonly query: QueryCall
}

/** Plans with the rights of the caller; then step-up for every part, licences, and the attributes of the caller. */
function prepare<Parts extends CallParts>(
  call: StatementCall<Parts>,
  env: RunEnv,
): Ready<Parts> | Promise<Ready<Parts>> {
  const { principal, requestId, address, encoding, plan } = call
  const planning = new Planning(call, env)
  const { rights } = planning
  const makeReady = (parts: Parts): Ready<Parts> | Promise<Ready<Parts>> => {
    const asked = { principal, requestId, address, encoding, rights, ...parts }
    requireStepUp(asked, env)
    const held = env.licences.version === 0 ? undefined : holdTables(rights.caller, listParts(asked), env)
    if (held instanceof Promise) return held.then((held) => withLicences(parts, asked, held))
    return withLicences(parts, asked, held)
  }
  const withLicences = (parts: Parts, asked: QueryCall, held: HeldTables | undefined) => {
    if (held !== undefined) {
      const plans = listParts(asked).map(({ planned }) => planned)
      if (!isPlannedWith(plans, held, env)) {
        rights.hold(held)
        const again = whenPlanned(() => plan(planning))
        return again instanceof Promise ? again.then(makeReady) : makeReady(again)
      }
      requireLicences(plans, held, env)
    }
    const query = withAttributes(held === undefined ? asked : withLabels(asked, held, env), env)
    return query instanceof Promise ? query.then((query) => ({ parts, query })) : { parts, query }
  }
  const parts = whenPlanned(() => plan(planning))
  return parts instanceof Promise ? parts.then(makeReady) : makeReady(parts)
}

type PlanningEnv = Pick<ExecutionEnv, 'planner' | 'catalogue' | 'licences' | 'way'>

/** Files, and NDJSON that begins with its columns, have what is said of licences inside. */
function withLabels(asked: QueryCall, held: HeldTables, { copies }: RunEnv): QueryCall {
  const tables = listParts(asked).flatMap(({ planned }) => planned.bound.tables)
  const labels = new ResultLabels(tables, copies)
  if (labels.all.length === 0) return { ...asked, held }
  const { format, header } = asked.encoding
  const isInside = format === 'arrow' || format === 'parquet' || (format === 'ndjson' && header === 'columns')
  return { ...asked, held, labels, encoding: isInside ? encodeLabels(asked.encoding, labels) : asked.encoding }
}

/** Engines look at it when the rows begin to be read. */
function encodeLabels(encoding: Encoding, labels: ResultLabels): Encoding {
  return {
    ...encoding,
    get licence() {
      return JSON.stringify(labels.all)
    },
  }
}

/** What a call plans its statements with: the rights of its caller, and the tables of this moment. */
export class Planning {
  readonly rights: CallerRights
  readonly #env: PlanningEnv

  constructor({ principal, address }: Pick<StatementCall, 'principal' | 'address'>, env: PlanningEnv) {
    this.rights = new CallerRights({ principal, address, way: env.way }, env.licences)
    this.#env = env
  }

  /** The tables that the caller can see: their definitions, not their rows. */
  get view(): ReturnType<typeof viewFor> {
    return viewFor(this.snapshot, this.rights.scopes)
  }

  get snapshot(): CatalogueSnapshot {
    return this.#env.catalogue.snapshot
  }

  get limits(): Planner['limits'] {
    return this.#env.planner.limits
  }

  /** `text` is empty for a built statement. Throws a PlanPending while the plan of a long statement is being made. */
  plan(text: string, built?: BuiltStatement): Planned {
    const { caller } = this.rights
    return this.#env.planner.planInTurns(callOwner(caller.principal), this.rights, this.snapshot, text, built)
  }

  /** Also a long statement. Throws a PlanPending while it is not known what the caller has of covered tables. */
  planAtOnce(text: string, built?: BuiltStatement): Planned {
    return this.#env.planner.plan(this.rights, this.snapshot, text, built)
  }

  /** Whether a plan that was made before is what it would be now. Throws a PlanPending as `planAtOnce` does. */
  isCurrent(planned: Planned): boolean {
    return this.#env.planner.isCurrent(planned, this.rights, this.snapshot)
  }
}

/**
 * What the caller may run, for statements that are written later, and for rows that are asked for in parts: refuses everything else. Its
 * plan shows nothing of licensed tables: licences are asked for when it runs.
 */
export function permit<Parts extends CallParts>(
  {
    plan,
    ...call
  }: Pick<StatementCall, 'principal' | 'requestId' | 'address' | 'encoding'> & {
    readonly plan: (planning: Planning) => Parts
  },
  env: RunEnv,
): Parts {
  const planning = new Planning(call, env)
  planning.rights.renounce()
  const parts = plan(planning)
  requireStepUp({ ...call, ...parts }, env)
  return parts
}

/** Admission, then the engine, which waits for a slot and keeps to the limits of time and memory. */
async function runLater<Parts extends CallParts>(
  run: Run,
  pending: Ready<Parts> | Promise<Ready<Parts>>,
  env: RunEnv,
): Promise<Ran<Parts>> {
  try {
    const running = run.begin()
    const { parts, query } = pending instanceof Promise ? await pending : pending
    running.tables = query.planned.bound.tables
    run.useLicences(query)
    const { labels } = query
    if (labels !== undefined) running.onRead = () => labels.renew()
    run.watch()
    if (pending instanceof Promise) running.signal.throwIfAborted()
    const result = await execute({ ...query, running }, env)
    // Nothing runs any more, and what is written cannot be stopped.
    if (result.kind !== 'stream') run.end()
    return { parts, result, run }
  } catch (error) {
    run.fail(error)
    throw error
  }
}

/** Other work that is listed, can be stopped and is observed as a statement is: rows of a bulk insert, statements on the catalogue. */
export async function runWork<Result>(
  work: Work,
  env: Pick<RunEnv, 'engine' | 'running' | 'observe'>,
  act: (running: RunningQuery) => Promise<Result>,
): Promise<Result> {
  const run = new Run(work, env)
  try {
    const result = await act(run.begin())
    run.succeed(0)
    return result
  } catch (error) {
    run.fail(error)
    throw error
  }
}

/** A run from its call until its rows are sent: listed while it can be stopped, and observed once. */
export class Run {
  readonly #work: Work
  readonly #env: Pick<RunEnv, 'engine' | 'running' | 'observe'>
  readonly #started = performance.now()
  /** Of tables that products cover. */
  held: HeldTables | undefined
  #labels: ResultLabels | undefined
  #running: RunningQuery | undefined
  #onEnd: (() => void) | undefined
  #unwatch: (() => void) | undefined
  #isObserved = false

  constructor(work: Work, env: Pick<RunEnv, 'engine' | 'running' | 'observe'>) {
    this.#work = work
    this.#env = env
  }

  /** What the result says of rows that are delayed or left out: as of when they began to be read. */
  get labels(): readonly LicenceLabel[] {
    return this.#labels?.all ?? []
  }

  /** In milliseconds. */
  get elapsed(): number {
    return performance.now() - this.#started
  }

  /** Undefined before it is listed, and after its end. */
  get running(): RunningQuery | undefined {
    return this.#running
  }

  /** It is listed, and counts as running, from now on. */
  begin(): RunningQuery {
    const { principal, requestId, shown, onBegin } = this.#work
    const running = this.#env.running.begin(principal, requestId, shown)
    this.#running = running
    this.#onEnd = onBegin?.(running)
    return running
  }

  useLicences({ held, labels }: QueryCall): void {
    this.held = held
    this.#labels = labels
  }

  /** It is stopped when its licences end. */
  watch(): void {
    this.#unwatch = this.held?.onLowered((reason) => this.#running?.stop(reason))
  }

  succeed(rows: number): void {
    this.#finish('ok', rows)
  }

  fail(error: unknown, rows = 0): void {
    const known = asUnavailable(error) ?? error
    const outcome = known instanceof Refusal ? known.code : this.#work.errorOutcome?.(known)
    this.#finish(outcome ?? 'server.fault', rows)
  }

  /** `outcome` is `ok` or a code. Only the first one counts. */
  #finish(outcome: string, rows: number): void {
    this.end()
    if (this.#isObserved) return
    this.#isObserved = true
    const { observe, engine } = this.#env
    const { principal, requestId, shown, span } = this.#work
    observe({ statement: shown, ms: this.elapsed, outcome, rows, requestId, principal })
    span?.end(
      { 'db.system.name': OTEL_SYSTEMS[engine.kind], 'gatehouse.outcome': outcome, 'gatehouse.rows': rows },
      outcome === 'server.fault',
    )
  }

  /** Nothing of it runs any more. */
  end(): void {
    this.#onEnd?.()
    this.#onEnd = undefined
    this.#unwatch?.()
    this.#unwatch = undefined
    this.#running?.end()
    this.#running = undefined
  }
}

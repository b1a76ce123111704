/** Runs the statements of a session: the only file here that has the query service run anything, as HTTP does. */
import { limitedCaller } from '../../http/limits/rate-limits.ts'
import { type BulkRun, checkBulk, runBulk } from '../../query/codecs.ts'
import {
  type CallPart,
  type Encoding,
  type Planned,
  Planning,
  permit,
  type QueryResult,
  Run,
  type RunningQuery,
  refuse,
  run,
  runWork,
  type Work,
  whenPlanned,
} from '../../query/index.ts'
import type { OpenSpan, StatementTrace } from '../../telemetry/trace.ts'
import type { Settings } from './commands/settings.ts'
import type { Later, SessionCaller, SessionEnv, SessionOutput } from './contract.ts'
import { Cancellation, Execution, type ExecutionEnv, tooLarge } from './execution.ts'
import { errorOutcome, type SentText } from './failure.ts'
import { RowStream, streamRows } from './portal/row-stream.ts'
import { type BoundPortal, TEXT_ROWS } from './statement/iql-statement.ts'

export class Runner {
  readonly #env: SessionEnv
  readonly #caller: SessionCaller
  readonly #settings: Settings
  readonly #executionEnv: ExecutionEnv
  readonly #cancellation = new Cancellation()
  readonly #id: string
  #count = 0
  #hasEnded = false
  /** The statement that errors are about. */
  sent: SentText | undefined

  constructor(
    env: SessionEnv,
    caller: SessionCaller,
    settings: Settings,
    { watchStall }: Pick<SessionOutput, 'watchStall'>,
    id: string,
  ) {
    this.#env = env
    this.#caller = caller
    this.#settings = settings
    this.#executionEnv = { env, caller, cancellation: this.#cancellation, watchStall }
    this.#id = id
  }

  get requestId(): string {
    return `${this.#id}-${this.#count}`
  }

  /** The connection is gone. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  cancel(reason: string): void {
    this.#cancellation.cancel(refuse('Limit.Cancelled', reason))
  }

  /** The connection is gone: what runs is stopped, and nothing begins any more. */
  end(): void {
    this.#hasEnded = true
    this.cancel(GONE)
  }

  /** Counts a statement, as HTTP counts a request, unless it was counted before. */
  admit(isCounted = false): void {
    this.#count++
    const { rateLimits } = this.#env
    if (rateLimits !== undefined && !isCounted)
      rateLimits.countCaller('query', this.#caller.address, limitedCaller(this.#caller.principal))
  }

  // ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The rights of the caller and the tables of this moment. */
  get planning(): Planning {
    return new Planning(this.#caller, this.#env)
  }

  /** Acts again once the plan of a long statement is made. */
  whenPlanned(act: () => Later): Later {
    const later = whenPlanned(() => (this.#hasEnded ? undefined : act()))
    return later instanceof Promise ? later : undefined
  }

  // ── Calls ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Runs a statement: a small result is there at once, a long one is read while it is sent. */
  execute(portal: BoundPortal, shown: string): Execution | Promise<Execution> {
    const { encoding, statement, lengths } = portal
    const work = this.#work(shown)
    const plan = (planning: Planning) => this.#parts(portal, planning, () => statement.plan(planning, lengths))
    const ran = run({ ...work, ...this.#call(encoding), plan }, this.#env)
    return ran instanceof Promise
      ? ran.then(async ({ run, result }) => this.#open(run, work, () => streamRows(result, encoding), result))
      : new Execution(ran.run, smallRows(ran.result), work.principal.scopes, this.#executionEnv)
  }

  /** The same for work that no engine runs, such as statements on the catalogue. */
  executeWork(shown: string, act: (signal: AbortSignal) => Promise<RowStream>): Promise<Execution> {
    const work = this.#work(shown)
    const run = new Run(work, this.#env)
    return this.#open(run, work, async () => {
      const rows = await act(run.begin().signal)
      run.end()
      return rows
    })
  }

  async #open(run: Run, { principal }: Work, read: () => Promise<RowStream>, result?: QueryResult): Promise<Execution> {
    try {
      const written = result?.kind === 'rows' ? result : undefined
      if (written?.isTruncated) throw tooLarge()
      const rows = await read()
      // What notices say is known once the rows have begun to be read.
      if (run.labels.length > 0) await rows.begin()
      const execution = new Execution(run, rows, principal.scopes, this.#executionEnv, written?.rowsAffected)
      execution.countRows()
      return execution
    } catch (error) {
      run.fail(error)
      throw error
    }
  }

  /** Refuses what the caller may not run now: a statement that is written later, or a portal that goes on. */
  permit(portal: BoundPortal): Planned {
    const { encoding, statement, lengths } = portal
    const { principal } = this.#caller
    const plan = (planning: Planning) => this.#parts(portal, planning, () => statement.planAtOnce(planning, lengths))
    return permit({ ...this.#call(encoding), principal, requestId: this.requestId, plan }, this.#env).planned
  }

  /** Writes all parts, or nothing. */
  async write(shown: string, parts: (planning: Planning) => Promise<readonly CallPart[]>): Promise<void> {
    const plan = async (planning: Planning) => {
      const [first, ...further] = await parts(planning)
      if (first === undefined) throw new Error('A write without a part')
      return { ...first, further, limits: this.#limits }
    }
    const written = await run({ ...this.#work(shown), ...this.#call(TEXT_ROWS), plan }, this.#env)
    written.run.succeed(0)
  }

  /** Inserts the rows of a COPY; returns their number. */
  async insert(shown: string, bulk: Pick<BulkRun, 'table' | 'columns' | 'format' | 'source'>): Promise<number> {
    const { address } = this.#caller
    const recheck = async () => this.#caller.principal
    const call = { ...this.#work(shown), address, ...bulk, ...COPIED, recheck }
    const { rowsAffected } = await runBulk(call, this.#env)
    return rowsAffected
  }

  /** Refuses a COPY before its rows arrive. */
  permitInsert(bulk: Pick<BulkRun, 'table' | 'columns' | 'format'>): void {
    const { principal, address } = this.#caller
    checkBulk({ principal, address, requestId: this.requestId, ...bulk, ...COPIED }, this.#env)
  }

  /** Work that is no statement of an engine, but is listed, can be cancelled and is observed like one. */
  work<Result>(shown: string, act: (running: RunningQuery) => Promise<Result>): Promise<Result> {
    return runWork(this.#work(shown), this.#env, act)
  }

  /** Reads rows that COMMIT writes: it is listed and can be cancelled, but observed only if it fails, since COMMIT is observed. */
  async defer<Result>(shown: string, act: (running: RunningQuery) => Promise<Result>): Promise<Result> {
    const run = new Run(this.#work(shown), this.#env)
    try {
      const running = run.begin()
      running.beginImport()
      const result = await act(running)
      run.end()
      return result
    } catch (error) {
      run.fail(error)
      throw error
    }
  }

  // ── What calls are made of ────────────────────────────────────────────────────────────────────────────────────────

  #work(shown: string): Work {
    if (this.#hasEnded) throw refuse('Limit.Cancelled', GONE)
    const { requestId } = this
    const { trace } = this.#env
    return {
      principal: this.#caller.principal,
      requestId,
      shown,
      errorOutcome,
      span: trace && openSpan(trace, requestId, shown),
      onBegin: (running) => this.#cancellation.begin(running, Number(this.#settings.get('statement_timeout'))),
    }
  }

  #call(encoding: Encoding) {
    return { address: this.#caller.address, encoding }
  }

  /** Between Bind and Execute, rights and tables can change. */
  #parts({ planned, values }: BoundPortal, planning: Planning, plan: () => Planned) {
    const current = planning.isCurrent(planned) ? planned : plan()
    return { planned: current, valueSets: [values], limits: this.#limits }
  }

  get #limits() {
    const { resultBytes } = this.#env.limits
    // A write is refused before its commit if the connection has no memory for what it returns.
    const returnedBytes = this.#caller.memory.available
    return { rows: Number.MAX_SAFE_INTEGER, bytes: resultBytes, skip: 0, returnedBytes }
  }
}

const GONE = 'The client closed the connection'
/** As COPY inserts rows. */
const COPIED = { duplicates: 'reject', fillsDefaults: 'never' } as const
/** Instrumented clients write the trace in a comment of the statement, as sqlcommenter does. */
const TRACE_PARENT = /\/\*[^*]*\btraceparent='([^']*)'/

/** Nothing but a small result is there at once. */
function smallRows(result: QueryResult): RowStream {
  if (result.kind !== 'whole') throw new Error('A result that should have been awaited')
  return new RowStream(result.read.bytes, result.read.outcome.rowCount)
}

function openSpan(trace: StatementTrace, requestId: string, shown: string): OpenSpan {
  const started = performance.now()
  return {
    end(attributes, isFailed) {
      const all = { ...attributes, 'network.protocol.name': 'postgresql', 'gatehouse.request_id': requestId }
      trace.noteStatement(TRACE_PARENT.exec(shown)?.[1], performance.now() - started, all, isFailed)
    },
  }
}

/** Runs statements of a session: the only file here that talks to the query service, whose rights, slots and limits are those of HTTP. */
import { callerOf } from '../../http/limits/rate-limits.ts'
import {
  type CallPart,
  type Encoding,
  execute,
  type Planned,
  type QueryCall,
  type RunningQuery,
  readSmall,
  refuse,
  requireStepUp,
  whenPlanned,
} from '../../query/index.ts'
import type { Settings } from './commands/settings.ts'
import type { Later, SessionCaller, SessionEnv, SessionOutput } from './contract.ts'
import { Cancellation, Execution, type ExecutionEnv, tooLarge } from './execution.ts'
import type { SentText } from './failure.ts'
import { streamRows } from './portal/row-stream.ts'
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

  /** Acts again once the plan of a long statement is made. */
  whenPlanned(act: () => Later): Later {
    const later = whenPlanned(() => (this.#hasEnded ? undefined : act()))
    return later instanceof Promise ? later : undefined
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
      rateLimits.countCaller('query', this.#caller.address, callerOf(this.#caller.principal))
  }

  execution(shown: string): Execution {
    if (this.#hasEnded) throw refuse('Limit.Cancelled', GONE)
    return new Execution(this.requestId, shown, this.#executionEnv)
  }

  /** The call with the plan of this moment. */
  call(bound: BoundPortal, requestId: string, encoding: Encoding): QueryCall {
    const { address, principal } = this.#caller
    const planned = this.#plan(bound)
    return { principal, requestId, address, planned, valueSets: [bound.values], encoding, limits: this.#limits }
  }

  /** Between Bind and Execute, rights and tables can change. */
  #plan({ planned, statement, lengths }: BoundPortal): Planned {
    const { principal } = this.#caller
    const isCurrent = planned.snapshot === this.#env.catalogue.snapshot && planned.scopes === principal.scopes
    return isCurrent ? planned : statement.plan(principal, this.#env, lengths)
  }

  get #limits() {
    const { resultBytes } = this.#env.limits
    // A write is refused before its commit if the connection has no memory for what it returns.
    const returnedBytes = this.#caller.memory.available
    return { rows: Number.MAX_SAFE_INTEGER, bytes: resultBytes, skip: 0, returnedBytes }
  }

  requireStepUp(call: QueryCall): void {
    requireStepUp(call, this.#env)
  }

  /** Rows of a small result, at once; otherwise undefined. */
  readSmall(call: QueryCall): { readonly bytes: Uint8Array; readonly rowCount: number } | undefined {
    this.#env.running.check(call.principal, call.requestId)
    const small = readSmall(call, this.#env)
    return small && { bytes: small.bytes ?? NO_BYTES, rowCount: small.outcome.rowCount }
  }

  /** Runs the call; its rows are those of the execution, read while they are sent. */
  async start(call: QueryCall, execution: Execution): Promise<void> {
    const running = this.#begin(execution)
    const result = await this.#cancellation.watch(running, async () => {
      const ran = await execute({ ...call, running }, this.#env)
      const isCommitted = ran.kind === 'rows' && ran.rowsAffected !== undefined
      execution.setRows(await streamRows(ran, call.encoding), isCommitted)
      return ran
    })
    if (result.kind === 'whole') execution.rowCount = result.read.outcome.rowCount
    if (result.kind !== 'rows') return
    if (result.rowsAffected !== undefined) execution.endWrite()
    if (result.isTruncated) throw tooLarge()
    execution.rowCount = result.rows.length
    execution.affected = result.rowsAffected
  }

  /** Writes all parts, or nothing. */
  async write([first, ...further]: readonly [CallPart, ...CallPart[]], shown: string): Promise<void> {
    const { address, principal } = this.#caller
    const execution = this.execution(shown)
    const { requestId } = execution
    try {
      const common = { principal, requestId, address, encoding: TEXT_ROWS, limits: this.#limits }
      await this.start({ ...common, ...first, further }, execution)
      execution.finish('ok', 0)
    } catch (error) {
      execution.fail(error)
      throw error
    }
  }

  /** Runs work that is no statement of an engine, but is listed, can be cancelled and is observed like one. */
  async run<Result>(shown: string, act: (running: RunningQuery) => Promise<Result>): Promise<Result> {
    const execution = this.execution(shown)
    try {
      const result = await this.runIn(execution, act)
      execution.finish('ok', 0)
      return result
    } catch (error) {
      execution.fail(error)
      throw error
    }
  }

  /** The same as a part of an execution. */
  runIn<Result>(execution: Execution, act: (running: RunningQuery) => Promise<Result>): Promise<Result> {
    const running = this.#begin(execution)
    return this.#cancellation.watch(running, () => act(running))
  }

  #begin(execution: Execution): RunningQuery {
    return execution.begin(Number(this.#settings.get('statement_timeout')))
  }
}

const GONE = 'The client closed the connection'
const NO_BYTES = new Uint8Array(0)

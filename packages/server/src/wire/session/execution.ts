/** The execution of a statement, from its first message to its last row: listed while it runs, sent as fast as the client reads, observed at its end. */
import type { Refusal } from 'gatehouse-protocol'
import { logSlow, OTEL_SYSTEMS, type RunningQuery, refuse } from '../../query/index.ts'
import type { RowOutput, SessionCaller, SessionEnv, SessionOutput } from './contract.ts'
import { outcomeOf, WireError } from './failure.ts'
import { freeChunks, type RowStream } from './portal/row-stream.ts'

/** Chunks that are remembered until the socket has sent all. */
const MOST_UNFREED = 16

/** What a CancelRequest stops. */
export class Cancellation {
  #running: RunningQuery | undefined

  async watch<Result>(running: RunningQuery, act: () => Promise<Result>): Promise<Result> {
    this.#running = running
    try {
      return await act()
    } finally {
      this.#running = undefined
    }
  }

  cancel(error: Refusal): void {
    this.#running?.stop(error)
  }
}

export interface ExecutionEnv {
  readonly env: SessionEnv
  readonly caller: SessionCaller
  readonly cancellation: Cancellation
  readonly watchStall: SessionOutput['watchStall']
}

export class Execution {
  readonly requestId: string
  readonly #env: ExecutionEnv
  readonly #shown: string
  readonly #started = performance.now()
  /** Of the caller when it began. */
  readonly #scopes: ReadonlySet<string>
  #rows: RowStream | undefined
  #running: RunningQuery | undefined
  #timeout: NodeJS.Timeout | undefined
  /** The memory that its rows take while they are not sent. */
  #rowBytes = 0
  /** Why it was stopped while its portal was suspended. */
  #stopped: unknown
  #endSuspension: (() => void) | undefined
  #hasEnded = false
  /** Rows of a result that is known as a whole. */
  rowCount = 0
  /** Rows that were sent. */
  sent = 0
  /** By a write. */
  affected: number | undefined

  constructor(requestId: string, shown: string, env: ExecutionEnv) {
    this.requestId = requestId
    this.#shown = shown
    this.#env = env
    this.#scopes = env.caller.principal.scopes
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** It is listed from now on. */
  begin(statementTimeout: number): RunningQuery {
    const { env, caller } = this.#env
    const running = env.running.begin(caller.principal, this.requestId, this.#shown)
    this.#running = running
    if (statementTimeout > 0) {
      const text = `The statement ran for ${statementTimeout} ms, which is the limit (the setting statement_timeout)`
      this.#timeout = setTimeout(() => running.reachLimit(text), statementTimeout).unref()
    }
    return running
  }

  /** The rows, of which those that are ready take memory. */
  setRows(rows: RowStream, isCommitted = false): void {
    const { memory } = this.#env.caller
    this.#rows = rows
    if (isCommitted) memory.takeAnyway(rows.readyBytes)
    else memory.take(rows.readyBytes)
    this.#rowBytes = rows.readyBytes
  }

  /** A write is committed: a request to stop, or a time limit, must not make an error of it while its rows are sent. */
  endWrite(): void {
    clearTimeout(this.#timeout)
    this.#running?.end()
    this.#running = undefined
  }

  /**
   * Sends rows, at most `maxRows` of them, as fast as the client reads. Resolves to their number; the execution is at its end if that is
   * less than `maxRows`, or all rows were asked for.
   */
  async send(maxRows: number, output: RowOutput): Promise<number> {
    const rows = this.#rows
    if (rows === undefined) return 0
    if (this.#stopped !== undefined) throw this.#stopped
    const send = () => this.#send(rows, maxRows, output)
    const count = await (this.#running === undefined ? send() : this.#env.cancellation.watch(this.#running, send))
    this.sent += count
    return count
  }

  async #send(rows: RowStream, maxRows: number, output: RowOutput): Promise<number> {
    const unfreed: Uint8Array[] = []
    let count = 0
    let isExport = false
    let coming: ReturnType<RowStream['next']> | undefined
    while (maxRows === 0 || count < maxRows) {
      const next = await (coming ?? rows.next(maxRows === 0 ? 0 : maxRows - count))
      if (next === undefined) break
      if (maxRows > 0) count += next.rows
      if (!isExport && !rows.isDone) {
        isExport = true
        this.#running?.beginExport()
      }
      const hasRoom = output.write(next.bytes)
      if (maxRows === 0) {
        // Read while these are sent. A part of a chunk, as where the rows are limited, cannot be freed.
        coming = rows.next(0)
        coming.catch(() => {})
        unfreed.push(next.bytes)
        if (unfreed.length > MOST_UNFREED) unfreed.shift()
      }
      if (!hasRoom) await this.#drained(output)
      // Left to the garbage collector, they would cost more than to send them: three full collections for a million rows.
      if (!hasRoom || output.hasSentAll()) freeChunks(unfreed)
    }
    const { outcome } = rows
    if (outcome !== undefined && outcome.truncated !== 'no') throw tooLarge()
    return maxRows === 0 ? (outcome?.rowCount ?? this.rowCount) - this.sent : count
  }

  /** A client that does not read must not occupy a reader that others wait for. */
  async #drained(output: RowOutput): Promise<void> {
    const { limits, engine } = this.#env.env
    const running = this.#running
    const stop = (): void => {
      if (engine.load.waiting > 0)
        running?.stop(refuse('Limit.Cancelled', 'The client did not read the result while other queries waited'))
    }
    const end = limits.stallMs === 0 ? undefined : this.#env.watchStall(limits.stallMs, stop)
    try {
      await output.drained()
    } finally {
      end?.()
    }
    running?.signal.throwIfAborted()
  }

  /** The client has not asked for the rest yet: it ends when it is stopped, as by an operator or its time limit, or when others wait. */
  suspend(): void {
    clearTimeout(this.#timeout)
    if (this.#rows?.isDone) this.#close()
    else if (this.#running !== undefined) this.#watchSuspended(this.#running.signal)
  }

  #watchSuspended(signal: AbortSignal): void {
    const end = (reason: unknown): void => {
      this.#stopped = reason
      this.#close()
    }
    if (signal.aborted) {
      end(signal.reason)
      return
    }
    const { limits, engine } = this.#env.env
    const check = (): void => {
      if (engine.load.waiting > 0)
        end(refuse('Limit.Cancelled', 'The portal was not continued while other queries waited'))
    }
    const stop = (): void => end(signal.reason)
    const timer = limits.stallMs === 0 ? undefined : setInterval(check, limits.stallMs).unref()
    signal.addEventListener('abort', stop, { once: true })
    this.#endSuspension = () => {
      clearInterval(timer)
      signal.removeEventListener('abort', stop)
    }
  }

  /** Throws if the caller may not read the rest: the rows were read with the rights of the beginning. `check` is what else must be met. */
  resume(check: () => void): void {
    this.#endSuspension?.()
    try {
      if (this.#scopes !== this.#env.caller.principal.scopes)
        throw new WireError('57014', 'Your rights have changed since the portal began', 'Run the statement again')
      check()
    } catch (error) {
      this.fail(error)
      throw error
    }
  }

  fail(error: unknown): void {
    this.finish(outcomeOf(error), this.sent)
  }

  /** Its end, for the metrics and the log of slow statements. Further calls do nothing. */
  finish(outcome: string, rows: number): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const { observe, slowLog } = this.#env.env
    const ms = performance.now() - this.#started
    observe(outcome, ms, rows)
    this.#noteSpan(outcome, ms, rows)
    if (ms >= slowLog.limits.slowMs) {
      const { subject, kind, clientId } = this.#env.caller.principal
      const user = kind === 'user' ? subject : undefined
      logSlow(slowLog, { reqId: this.requestId, user, client: clientId, ms, outcome, statement: this.#shown })
    }
    this.#close()
  }

  /** Where traces are configured. */
  #noteSpan(outcome: string, ms: number, rows: number): void {
    const { trace, engine } = this.#env.env
    if (trace === undefined) return
    const attributes = {
      'db.system.name': OTEL_SYSTEMS[engine.kind],
      'network.protocol.name': 'postgresql',
      'gatehouse.request_id': this.requestId,
      'gatehouse.outcome': outcome,
      'gatehouse.rows': rows,
    }
    trace.noteStatement(TRACE_PARENT.exec(this.#shown)?.[1], ms, attributes, outcome === 'server.fault')
  }

  /** Nothing of it runs or is in memory any more. */
  #close(): void {
    clearTimeout(this.#timeout)
    this.#endSuspension?.()
    this.#env.caller.memory.give(this.#rowBytes)
    this.#rowBytes = 0
    if (this.#rows !== undefined && !this.#rows.isDone) {
      this.#running?.stop(refuse('Limit.Cancelled', 'The portal was closed'))
      this.#rows.close().catch(() => {})
    }
    this.#running?.end()
    this.#running = undefined
  }
}

/** Instrumented clients write the trace in a comment of the statement, as sqlcommenter does. */
const TRACE_PARENT = /\/\*[^*]*\btraceparent='([^']*)'/

export function tooLarge(): Refusal {
  return refuse('Limit.Bytes', 'The result is larger than the limit (the setting query_result_bytes)')
}

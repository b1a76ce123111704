/** The execution of a statement, until its last row: sends rows as fast as the client reads, and waits while its portal is suspended. */
import type { Refusal } from 'gatehouse-protocol'
import { catchUpHeld, type Run, type RunningQuery, refuse, writeLicences } from '../../query/index.ts'
import { noticeResponse } from '../protocol/replies.ts'
import type { RowOutput, SessionCaller, SessionEnv, SessionOutput } from './contract.ts'
import { WireError } from './failure.ts'
import { freeChunks, type RowStream } from './portal/row-stream.ts'

/** Chunks that are remembered until the socket has sent all. */
const MOST_UNFREED = 16

/** What a CancelRequest stops, and statement_timeout. */
export class Cancellation {
  #running: RunningQuery | undefined
  #timeout: NodeJS.Timeout | undefined

  /** Until the returned function is called. */
  begin(running: RunningQuery, statementTimeout: number): () => void {
    this.resume(running)
    if (statementTimeout > 0) {
      const text = `The statement ran for ${statementTimeout} ms, which is the limit (the setting statement_timeout)`
      this.#timeout = setTimeout(() => running.reachLimit(text), statementTimeout).unref()
    }
    return () => this.suspend(running)
  }

  /** It waits for its client, who may send other statements. */
  suspend(running: RunningQuery): void {
    if (this.#running !== running) return
    clearTimeout(this.#timeout)
    this.#running = undefined
  }

  resume(running: RunningQuery): void {
    this.#running = running
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
  readonly #run: Run
  readonly #rows: RowStream
  readonly #env: ExecutionEnv
  /** Of the caller when it began. */
  readonly #scopes: ReadonlySet<string>
  /** By a write. */
  readonly affected: number | undefined
  /** The memory that its rows take while they are not sent. */
  #rowBytes = 0
  #sent = 0
  #end: 'none' | 'succeeded' | 'failed' = 'none'
  /** Why it was stopped while its portal was suspended. */
  #stopped: unknown
  #endSuspension: (() => void) | undefined

  constructor(run: Run, rows: RowStream, scopes: ReadonlySet<string>, env: ExecutionEnv, affected?: number) {
    this.#run = run
    this.#rows = rows
    this.#scopes = scopes
    this.#env = env
    this.affected = affected
  }

  /** What the client is told of rows that are delayed or left out. */
  get notices(): readonly string[] {
    const { labels } = this.#run
    return labels.length === 0 ? [] : writeLicences(labels)
  }

  get hasEnded(): boolean {
    return this.#end !== 'none'
  }

  /** Of a result that is known as a whole. */
  get rowCount(): number {
    return this.#rows.rowCount
  }

  /** Rows that are ready take memory until they are sent. After a write, an error would say that it did not happen. */
  countRows(): void {
    const { memory } = this.#env.caller
    const { readyBytes } = this.#rows
    try {
      if (this.affected === undefined) memory.take(readyBytes)
      else memory.takeAnyway(readyBytes)
      this.#rowBytes = readyBytes
    } catch (error) {
      this.fail(error)
      throw error
    }
  }

  /** The rows that are ready, where those are all and are sent at once. */
  takeAll(): Uint8Array {
    return this.#rows.take(0).bytes
  }

  /**
   * Sends rows, at most `maxRows` of them, as fast as the client reads. Resolves to their number; the execution is at its end if that is
   * less than `maxRows`, or all rows were asked for.
   */
  async send(maxRows: number, output: RowOutput): Promise<number> {
    if (this.#stopped !== undefined) throw this.#stopped
    const { running } = this.#run
    if (running !== undefined) this.#env.cancellation.resume(running)
    const count = await this.#send(maxRows, output)
    this.#sent += count
    return count
  }

  async #send(maxRows: number, output: RowOutput): Promise<number> {
    const rows = this.#rows
    const unfreed: Uint8Array[] = []
    let count = 0
    let isExport = false
    let coming: ReturnType<RowStream['next']> | undefined
    while (maxRows === 0 || count < maxRows) {
      const next = await (coming ?? rows.next(maxRows === 0 ? 0 : maxRows - count))
      if (next === undefined) break
      const catchingUp = catchUpHeld(this.#run.held, this.#run.running)
      if (catchingUp !== undefined) await catchingUp
      if (maxRows > 0) count += next.rows
      if (!isExport && !rows.isDone) {
        isExport = true
        this.#run.running?.beginExport()
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
    if (rows.isTruncated) throw tooLarge()
    return maxRows === 0 ? rows.rowCount - this.#sent : count
  }

  /** A client that does not read must not occupy a reader that others wait for. */
  async #drained(output: RowOutput): Promise<void> {
    const { limits, engine } = this.#env.env
    const { running } = this.#run
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
    const { running } = this.#run
    if (running !== undefined) {
      this.#env.cancellation.suspend(running)
      if (this.#rows.isDone) this.#close()
      else this.#watchSuspended(running.signal)
    }
    if (running === undefined || this.#rows.isDone) this.#watchLicences()
  }

  /** The rest of its rows is in memory, and is not sent when its licences have ended. */
  #watchLicences(): void {
    this.#endSuspension = this.#run.held?.onLowered((reason) => {
      this.#stopped = reason
    })
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
    if (this.#end === 'failed')
      throw new WireError('55000', 'The portal ended with an error', 'Run the statement again')
    this.#endSuspension?.()
    if (this.#end === 'succeeded') return
    try {
      if (this.#scopes !== this.#env.caller.principal.scopes)
        throw new WireError('57014', 'Your rights have changed since the portal began', 'Run the statement again')
      check()
    } catch (error) {
      this.fail(error)
      throw error
    }
  }

  succeed(rows = this.#sent): void {
    if (this.#end === 'none') this.#end = 'succeeded'
    this.#close()
    this.#run.succeed(rows)
  }

  fail(error: unknown): void {
    if (this.#end === 'none') this.#end = 'failed'
    this.#close()
    this.#run.fail(error, this.#sent)
  }

  /** Its portal is closed: a success, unless it was stopped before. */
  abandon(): void {
    const signal = this.#run.running?.signal
    const reason = signal?.aborted ? signal.reason : this.#stopped
    if (reason === undefined) this.succeed()
    else this.fail(reason)
  }

  /** Nothing of it runs or is in memory any more. */
  #close(): void {
    this.#endSuspension?.()
    this.#env.caller.memory.give(this.#rowBytes)
    this.#rowBytes = 0
    if (!this.#rows.isDone) {
      this.#run.running?.stop(refuse('Limit.Cancelled', 'The portal was closed'))
      this.#rows.close().catch(() => {})
    }
    this.#run.end()
  }
}

export function writeNotices(execution: Execution, replies: { write(bytes: Uint8Array): unknown }): void {
  for (const message of execution.notices)
    replies.write(noticeResponse({ severity: 'NOTICE', sqlstate: '00000', message }))
}

export function tooLarge(): Refusal {
  return refuse('Limit.Bytes', 'The result is larger than the limit (the setting query_result_bytes)')
}

/** Serves a request to the query service: parse → run → reply. */

import type { Context } from '../../http/context.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Trace } from '../../telemetry/trace.ts'
import { writeLicenceHeader } from '../catalogue/licence-labels.ts'
import { refuse } from '../errors.ts'
import { type Encoding, type ReadOutcome, reportsTruncation } from '../model/result.ts'
import { endOfResult, endOfText, errorInResult, type ResultEnd } from '../results/encoders.ts'
import type { QueryResult } from '../run/call.ts'
import { type CallParts, type Planning, type Ran, type Run, type RunEnv, run, type Work } from '../run/run.ts'
import type { RunningQuery } from '../run/running.ts'
import { problemFor } from './problem.ts'
import { type Compression, mediaType, negotiateCompression, type ResultLimits } from './request.ts'
import { encodeRows, sendCompressedResult, sendStream } from './send-result.ts'
import { abortIfStalled, type SlowClientsEnv } from './slow-clients.ts'

export interface ServeEnv extends RunEnv {
  readonly trace?: Trace | undefined
  readonly metrics?: Metrics | undefined
  readonly limits: ResultLimits & SlowClientsEnv['limits']
}

/** A kind of request, such as a Select: what is read from it, and what is run for it. */
export interface RequestKind<Parsed extends ParsedRequest> {
  readonly parse: (context: Context) => Parsed | Promise<Parsed>
  readonly plan: (
    request: Parsed,
    planning: Planning,
    context: Context,
    env: ServeEnv,
  ) => PlannedRequest | Promise<PlannedRequest>
}

export interface ParsedRequest {
  readonly encoding: Encoding
  /** What lists of running queries and the log of slow statements show. */
  readonly shown: string
}

export interface PlannedRequest extends CallParts {
  /** Where the next page begins, when rows were left out. */
  readonly cursor?: (outcome: ReadOutcome) => string
  /** The caller asked for no more than these rows. */
  readonly isOwnLimit?: boolean
}

/** Undefined when the reply has been sent already. */
export type Sent = Promise<void> | undefined

/** A cheap statement is answered in this turn. All others are awaited. */
export function serve<Parsed extends ParsedRequest>(
  context: Context,
  env: ServeEnv,
  { parse, plan }: RequestKind<Parsed>,
): Sent {
  const answer = (request: Parsed): Sent => {
    const { encoding, shown } = request
    const work = describeWork(context, env, shown)
    const { address } = context
    const ran = run({ ...work, address, encoding, plan: (planning) => plan(request, planning, context, env) }, env)
    const reply = (ran: Ran<PlannedRequest>) => new Reply(context, env, encoding, ran).send()
    return ran instanceof Promise ? ran.then(reply) : reply(ran)
  }
  const parsed = parse(context)
  return parsed instanceof Promise ? parsed.then(answer) : answer(parsed)
}

/** What a request runs: it ends if the client leaves. */
export function describeWork(context: Context, { trace }: ServeEnv, shown: string): Work {
  const { principal, id: requestId } = context
  const onBegin = (running: RunningQuery) => stopWhenClosed(context, running)
  return { principal, requestId, shown, span: trace?.begin('query'), onBegin }
}

/** Cancels the query if the client closes its connection before the reply is complete. */
function stopWhenClosed(context: Context, running: RunningQuery): () => void {
  const { response } = context
  const onClose = (): void => {
    // A query that was stopped for another reason has closed the connection itself.
    if (response.writableFinished || running.signal.aborted) return
    running.stop(refuse('Limit.Cancelled', 'The client closed the connection'))
  }
  return context.onClose(onClose)
}

/** Smaller results are not compressed. */
const WORTH_COMPRESSING = 1024

/** The reply to a request whose statements have run, or whose rows are read while they are sent. */
class Reply {
  readonly #context: Context
  readonly #env: ServeEnv
  readonly #encoding: Encoding
  readonly #compression: Compression
  readonly #parts: PlannedRequest
  readonly #result: QueryResult
  readonly #run: Run

  constructor(context: Context, env: ServeEnv, encoding: Encoding, { parts, result, run }: Ran<PlannedRequest>) {
    this.#context = context
    this.#env = env
    this.#encoding = encoding
    this.#parts = parts
    this.#result = result
    this.#run = run
    // Parquet is compressed already.
    this.#compression =
      encoding.format === 'parquet' ? 'identity' : negotiateCompression(context.headers['accept-encoding'])
  }

  send(): Sent {
    const result = this.#result
    if (result.kind !== 'whole') return this.#sendRows(result)
    try {
      const { text, outcome } = result.read
      this.#sendWhole(text + endOfText(this.#encoding, outcome, this.#resultEnd(outcome)))
      this.#run.succeed(outcome.rowCount)
      return undefined
    } catch (error) {
      this.#run.fail(error)
      throw error
    }
  }

  async #sendRows(result: Exclude<QueryResult, { kind: 'whole' }>): Promise<void> {
    try {
      if (result.kind === 'stream') return await this.#stream(result.chunks)
      const { rows, rowsAffected, isTruncated } = result
      const outcome: ReadOutcome = { rowCount: rows.length, truncated: isTruncated ? 'rows' : 'no', lastKey: [] }
      const end = { ...this.#resultEnd(outcome), rowsAffected }
      this.#sendWhole(await encodeRows(result, this.#encoding, outcome, end))
      this.#run.succeed(outcome.rowCount)
    } catch (error) {
      this.#run.fail(error)
      throw error
    }
  }

  async #stream(chunks: Extract<QueryResult, { kind: 'stream' }>['chunks']): Promise<void> {
    const run = this.#run
    if (run.running !== undefined) abortIfStalled(this.#context, run.running, this.#env)
    const whole = await sendStream(this.#context, this.#encoding, this.#compression, {
      chunks,
      onRows: () => {
        this.#writeLicences()
        if (this.#encoding.format !== 'json') run.running?.beginExport()
      },
      end: (outcome) => {
        const end = this.#resultEnd(outcome)
        run.succeed(outcome.rowCount)
        return endOfResult(this.#encoding, outcome, end)
      },
      failure: (error) => this.#failureInResult(error),
      done: () => run.end(),
    })
    if (whole !== undefined) this.#sendWhole(whole)
  }

  /** Once the rows have begun to be read, and before any are sent. */
  #writeLicences(): void {
    const { labels } = this.#run
    if (labels.length > 0) this.#context.setHeader('licence', writeLicenceHeader(labels))
  }

  #sendWhole(body: string | Buffer): void {
    const context = this.#context
    this.#writeLicences()
    const type = mediaType(this.#encoding)
    const length = this.#compression === 'identity' ? 0 : Buffer.byteLength(body)
    if (this.#compression === 'identity' || length < WORTH_COMPRESSING) {
      context.send(type, body)
      return
    }
    sendCompressedResult(context, type, this.#compression, [Buffer.from(body)])
    context.onClose(context.holdUnread(length))
  }

  #failureInResult(error: unknown): Uint8Array | undefined {
    const context = this.#context
    this.#run.fail(error)
    const problem = problemFor(error, context)
    const bytes = errorInResult(this.#encoding, problem, context.id)
    if (bytes === undefined) {
      // The client cannot see the reason.
      context.log.info({ code: problem.Code, reason: problem.detail }, 'result cut off')
      context.incompleteStatus = problem.status
    }
    return bytes
  }

  /** What follows the rows of a result. Throws if rows are missing and the format cannot report it. */
  #resultEnd(outcome: ReadOutcome): ResultEnd {
    const { cursor, isOwnLimit } = this.#parts
    const { truncated, rowCount } = outcome
    const isTruncated = truncated === 'bytes' || (truncated === 'rows' && isOwnLimit !== true)
    if (isTruncated && !reportsTruncation(this.#encoding))
      throw refuse('Limit.Bytes', 'The result is larger than the limit')
    return {
      requestId: this.#context.id,
      elapsedMs: Math.round(this.#run.elapsed),
      rowsAffected: undefined,
      licence: this.#run.labels,
      isTruncated,
      // Without rows there is no row to continue after.
      nextCursor: truncated === 'no' || rowCount === 0 ? undefined : cursor?.(outcome),
    }
  }
}

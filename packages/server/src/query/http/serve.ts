/** Serves a request to the query service: parse → plan → run → reply. Measures its time and writes its metrics and span. */

import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { OpenSpan, Trace } from '../../telemetry/trace.ts'
import { refuse } from '../errors.ts'
import { type Encoding, type ReadOutcome, reportsTruncation } from '../model/result.ts'
import { endOfResult, endOfText, errorInResult, type ResultEnd } from '../results/encoders.ts'
import { type ExecutionEnv, type QueryCall, type QueryResult, readSmall } from '../run/call.ts'
import { execute } from '../run/execution.ts'
import type { RunningQueries, RunningQuery } from '../run/running.ts'
import { logSlow, type SlowLog } from '../run/slow-log.ts'
import { asKnown, problemFor } from './problem.ts'
import { type Compression, mediaTypeOf, negotiateCompression, type ResultLimits } from './request.ts'
import { encodeRows, sendCompressedResult, sendStream } from './send-result.ts'
import { abortIfStalled, type SlowClientsEnv } from './slow-clients.ts'

export interface ServeEnv extends ExecutionEnv, Pick<SlowClientsEnv, 'metrics'> {
  readonly trace?: Trace | undefined
  readonly running: RunningQueries
  readonly observe: Observe
  readonly slowLog: SlowLog
  readonly limits: ResultLimits & SlowClientsEnv['limits']
}

/** A kind of request, such as a Select: what is read from it, and what is run for it. */
export interface RequestKind<Parsed extends ParsedRequest> {
  readonly parse: (context: Context) => Parsed | Promise<Parsed>
  readonly plan: (request: Parsed, context: Context, env: ServeEnv) => PlannedRequest | Promise<PlannedRequest>
}

export interface ParsedRequest {
  readonly encoding: Encoding
  /** What lists of running queries and the log of slow statements show. */
  readonly shown: string
}

export interface PlannedRequest
  extends Pick<QueryCall, 'planned' | 'valueSets' | 'limits' | 'idempotencyKey' | 'further'> {
  /** Where the next page begins, when rows were left out. */
  readonly cursor?: (outcome: ReadOutcome) => string
  /** The caller asked for no more than these rows. */
  readonly isOwnLimit?: boolean
}

/** Undefined when the reply has been sent already. */
export type Sent = Promise<void> | undefined

export function serve<Parsed extends ParsedRequest>(
  context: Context,
  env: ServeEnv,
  { parse, plan }: RequestKind<Parsed>,
): Sent {
  const parsed = parse(context)
  return parsed instanceof Promise
    ? parsed.then((request) => answer(context, env, request, plan))
    : answer(context, env, parsed, plan)
}

/** A cheap statement is answered in this turn. All others are awaited. */
function answer<Parsed extends ParsedRequest>(
  context: Context,
  env: ServeEnv,
  request: Parsed,
  plan: RequestKind<Parsed>['plan'],
): Sent {
  const exchange = new Exchange(context, env, request)
  env.running.check(context.principal, context.id)
  try {
    const planned = plan(request, context, env)
    const small = planned instanceof Promise ? undefined : readSmall(exchange.callOf(planned), env)
    if (planned instanceof Promise || small === undefined) return answerLater(exchange, planned)
    exchange.sendText(planned, small.text, small.outcome)
    return undefined
  } catch (error) {
    exchange.failed(error)
    throw error
  }
}

/** The query counts as running, and can be listed and cancelled, until its last byte is sent. */
async function answerLater(exchange: Exchange, pending: PlannedRequest | Promise<PlannedRequest>): Promise<void> {
  const { context, env } = exchange
  const running = env.running.begin(context.principal, context.id, exchange.shown)
  const unwatch = stopWhenClosed(context, running)
  const done = (): void => {
    unwatch()
    running.end()
  }
  try {
    const planned = pending instanceof Promise ? await pending : pending
    if (pending instanceof Promise) running.signal.throwIfAborted()
    const result = await execute({ ...exchange.callOf(planned), running }, env)
    await exchange.send(planned, result, running, done)
  } catch (error) {
    done()
    exchange.failed(error)
    throw error
  }
}

/** Cancels the query if the client closes its connection before the reply is complete. */
export function stopWhenClosed(context: Context, running: RunningQuery): () => void {
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

/** One request and its reply. */
class Exchange {
  readonly context: Context
  readonly env: ServeEnv
  readonly shown: string
  readonly #encoding: Encoding
  readonly #compression: Compression
  readonly #started = performance.now()
  readonly #span: OpenSpan | undefined

  constructor(context: Context, env: ServeEnv, { shown, encoding }: ParsedRequest) {
    this.context = context
    this.env = env
    this.shown = shown
    this.#encoding = encoding
    this.#span = env.trace?.begin('query')
    // Parquet is compressed already.
    this.#compression =
      encoding.format === 'parquet' ? 'identity' : negotiateCompression(context.headers['accept-encoding'])
  }

  callOf(planned: PlannedRequest): QueryCall {
    const { principal, id: requestId, address } = this.context
    return { principal, requestId, address, encoding: this.#encoding, ...planned }
  }

  async send(planned: PlannedRequest, result: QueryResult, running: RunningQuery, done: () => void): Promise<void> {
    switch (result.kind) {
      case 'stream':
        return this.#stream(planned, result.chunks, running, done)
      case 'whole':
        done()
        return this.sendText(planned, result.read.text, result.read.outcome)
      case 'rows': {
        const { rows, rowsAffected, isTruncated } = result
        const outcome: ReadOutcome = { rowCount: rows.length, truncated: isTruncated ? 'rows' : 'no', lastKey: [] }
        const end = { ...this.#endOf(planned, outcome), rowsAffected }
        const bytes = await encodeRows(result, this.#encoding, outcome, end)
        done()
        this.#sendWhole(bytes)
        this.#succeeded(outcome)
      }
    }
  }

  sendText(planned: PlannedRequest, text: string, outcome: ReadOutcome): void {
    const end = endOfText(this.#encoding, outcome, this.#endOf(planned, outcome))
    this.#sendWhole(text + end)
    this.#succeeded(outcome)
  }

  async #stream(
    planned: PlannedRequest,
    chunks: Extract<QueryResult, { kind: 'stream' }>['chunks'],
    running: RunningQuery,
    done: () => void,
  ): Promise<void> {
    abortIfStalled(this.context, running, this.env)
    const whole = await sendStream(this.context, this.#encoding, this.#compression, {
      chunks,
      onRows: () => {
        if (this.#encoding.format !== 'json') running.beginExport()
      },
      end: (outcome) => {
        const end = this.#endOf(planned, outcome)
        this.#succeeded(outcome)
        return endOfResult(this.#encoding, outcome, end)
      },
      failure: (error) => this.#failureInResult(error),
      done,
    })
    if (whole !== undefined) this.#sendWhole(whole)
  }

  #sendWhole(body: string | Buffer): void {
    const { context } = this
    const type = mediaTypeOf(this.#encoding)
    const length = this.#compression === 'identity' ? 0 : Buffer.byteLength(body)
    if (this.#compression === 'identity' || length < WORTH_COMPRESSING) {
      context.send(type, body)
      return
    }
    sendCompressedResult(context, type, this.#compression, [Buffer.from(body)])
    context.onClose(context.holdUnread(length))
  }

  #failureInResult(error: unknown): Uint8Array | undefined {
    const { context } = this
    this.failed(error)
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
  #endOf({ cursor, isOwnLimit }: PlannedRequest, outcome: ReadOutcome): ResultEnd {
    const { truncated, rowCount } = outcome
    const isTruncated = truncated === 'bytes' || (truncated === 'rows' && isOwnLimit !== true)
    if (isTruncated && !reportsTruncation(this.#encoding))
      throw refuse('Limit.Bytes', 'The result is larger than the limit')
    return {
      requestId: this.context.id,
      elapsedMs: Math.round(this.#elapsed()),
      rowsAffected: undefined,
      isTruncated,
      // Without rows there is no row to continue after.
      nextCursor: truncated === 'no' || rowCount === 0 ? undefined : cursor?.(outcome),
    }
  }

  #elapsed(): number {
    return performance.now() - this.#started
  }

  #succeeded({ rowCount }: ReadOutcome): void {
    this.#ended('ok', rowCount)
  }

  failed(error: unknown): void {
    const known = asKnown(error)
    this.#ended(known instanceof Refusal ? known.code : 'server.fault', 0)
  }

  #ended(outcome: string, rows: number): void {
    const { context, env } = this
    const ms = this.#elapsed()
    env.observe(outcome, ms, rows)
    if (ms >= env.slowLog.limits.slowMs)
      logSlow(env.slowLog, { reqId: context.id, ...context.caller, ms, outcome, statement: this.shown })
    this.#span?.end(
      { 'db.system.name': OTEL_SYSTEMS[env.engine.kind], 'gatehouse.outcome': outcome, 'gatehouse.rows': rows },
      outcome === 'server.fault',
    )
  }
}

/** The names of OpenTelemetry. */
export const OTEL_SYSTEMS = { sqlite: 'sqlite', postgres: 'postgresql' } as const

export type Observe = (outcome: string, milliseconds: number, rows: number) => void

export function observer(engine: ExecutionEnv['engine'], metrics: Metrics | undefined): Observe {
  if (metrics === undefined) return () => {}
  const succeeded = metrics.counter('gatehouse_queries_total', { outcome: 'ok' })
  const took = metrics.histogram('gatehouse_query_seconds', { engine: engine.kind })
  const given = metrics.counter('gatehouse_query_rows_total', {})
  return (outcome, milliseconds, rows) => {
    if (outcome === 'ok') succeeded(1)
    else metrics.count('gatehouse_queries_total', { outcome })
    took(milliseconds / 1000)
    given(rows)
  }
}

/** Serves a query: at once where it is cheap, else as a running query that can be listed and cancelled. */

import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { inTurns, STEPS_PER_PAUSE, type Steps } from '../../lib/turns.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { OpenSpan, Trace } from '../../telemetry/trace.ts'
import { CHUNK_BYTES } from '../engines/bounded-rows.ts'
import type { ReadOutcome } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import { createEncoder } from '../results/byte-encoder.ts'
import { type Encoding, type RowEncoder, reportsTruncation } from '../results/encoding.ts'
import { endOfResult, endOfText, errorInResult, type ResultEnd } from '../results/trailer.ts'
import type { Call, ExecutionEnv, Result } from '../run/call.ts'
import { execute, readInline } from '../run/execution.ts'
import type { RunningQueries, RunningQuery } from '../run/running.ts'
import { logSlow, type SlowLog } from '../run/slow-log.ts'
import { negotiateCoding } from './negotiate.ts'
import { asKnown, problemFor } from './problem.ts'
import { sendStream, sendWhole } from './send-result.ts'
import type { SlowClients } from './slow-clients.ts'

export interface ServeEnv extends ExecutionEnv {
  readonly trace?: Trace | undefined
  readonly running: RunningQueries
  readonly slowClients: SlowClients
  readonly observe: Observe
  readonly slowLog: SlowLog
}

/** Undefined when the reply has been sent already. */
export type Sent = Promise<void> | undefined

export interface PreparedCall {
  readonly call: Call
  /** Where the next page begins, when rows were left out. */
  readonly cursor: (outcome: ReadOutcome) => string | undefined
  /** The caller asked for no more rows than these. */
  readonly isOwnLimit: boolean
}

/** A cheap statement is answered in this turn; all others are awaited. `text` is what lists of running queries show. */
export function serveQuery(
  context: Context,
  env: ServeEnv,
  encoding: Encoding,
  text: string,
  prepare: () => PreparedCall | Promise<PreparedCall>,
): Sent {
  const measured = measure(context, env, text)
  const coding = negotiateCoding(context.headers['accept-encoding'])
  env.running.check(context.principal, context.id)
  try {
    const prepared = prepare()
    const small = prepared instanceof Promise ? undefined : readInline(prepared.call, env)
    if (prepared instanceof Promise || small === undefined)
      return serveLater(context, env, { prepared, text, encoding, coding, measured })
    const tail = tailOf(context, encoding, prepared, small.outcome, measured)
    sendWhole(context, encoding, coding, small.text + endOfText(encoding, small.outcome, tail))
    measured.succeeded(small.outcome.rowCount)
    return undefined
  } catch (error) {
    measured.failed(error)
    throw error
  }
}

interface Pending {
  readonly prepared: PreparedCall | Promise<PreparedCall>
  readonly text: string
  readonly encoding: Encoding
  readonly coding: ReturnType<typeof negotiateCoding>
  readonly measured: Measured
}

/** From the moment a query counts as running until its last byte is sent, or it is stopped. */
async function serveLater(context: Context, env: ServeEnv, pending: Pending): Promise<void> {
  const { text, encoding, coding, measured } = pending
  const running = env.running.begin(context.principal, context.id, text)
  const unwatch = stopWhenClosed(context, running)
  const done = (): void => {
    unwatch()
    running.end()
  }
  try {
    const isLater = pending.prepared instanceof Promise
    const prepared = pending.prepared instanceof Promise ? await pending.prepared : pending.prepared
    if (isLater) running.signal.throwIfAborted()
    const result = await execute({ ...prepared.call, running }, env)
    if (result.kind === 'stream') {
      env.slowClients.watch(context, running)
      const onRows = (): void => {
        if (encoding.format !== 'json') running.beginExport()
      }
      await sendStream(context, encoding, coding, {
        chunks: result.chunks,
        onRows,
        end(outcome) {
          const tail = tailOf(context, encoding, prepared, outcome, measured)
          measured.succeeded(outcome.rowCount)
          return endOfResult(encoding, outcome, tail)
        },
        failure(error) {
          measured.failed(error)
          const problem = problemFor(error, context)
          const bytes = errorInResult(encoding, problem, context.id)
          if (bytes === undefined) {
            // The client cannot see the reason.
            context.log.info({ code: problem.Code, reason: problem.detail }, 'result cut off')
            context.incompleteStatus = problem.status
          }
          return bytes
        },
        done,
      })
      return
    }
    const { outcome, rowsAffected } =
      result.kind === 'whole' ? { ...result.read, rowsAffected: undefined } : returned(result)
    const tail = { ...tailOf(context, encoding, prepared, outcome, measured), rowsAffected }
    const body =
      result.kind === 'whole'
        ? result.read.text + endOfText(encoding, outcome, tail)
        : (encodeFew(result, encoding, outcome, tail) ?? (await encodeRows(result, encoding, outcome, tail)))
    done()
    sendWhole(context, encoding, coding, body)
    measured.succeeded(outcome.rowCount)
  } catch (error) {
    done()
    measured.failed(error)
    throw error
  }
}

/** What follows the rows of a result. Throws where the format cannot tell that rows are missing. */
function tailOf(
  context: Context,
  encoding: Encoding,
  { cursor, isOwnLimit }: PreparedCall,
  outcome: ReadOutcome,
  { elapsed }: Measured,
): ResultEnd {
  const isTruncated = outcome.truncated === 'bytes' || (outcome.truncated === 'rows' && !isOwnLimit)
  if (isTruncated && !reportsTruncation(encoding)) throw refuse('Limit.Bytes', 'The result is larger than the limit')
  return {
    requestId: context.id,
    elapsedMs: Math.round(elapsed()),
    rowsAffected: undefined,
    isTruncated,
    // Without a row there is none to continue after.
    nextCursor: outcome.truncated === 'no' || outcome.rowCount === 0 ? undefined : cursor(outcome),
  }
}

/** The time, metrics and span of one query. */
interface Measured {
  elapsed(): number
  succeeded(rows: number): void
  failed(error: unknown): void
}

function measure(context: Context, env: ServeEnv, statement: string): Measured {
  const started = performance.now()
  const span = env.trace?.begin('query')
  const elapsed = (): number => performance.now() - started
  const end = (outcome: string, rows: number): void => {
    const took = elapsed()
    env.observe(outcome, took, rows)
    if (took >= env.slowLog.limits.slowMs)
      logSlow(env.slowLog, { reqId: context.id, ...context.caller, ms: took, outcome, statement })
    endSpan(span, env, outcome, rows)
  }
  return { elapsed, succeeded: (rows) => end('ok', rows), failed: (error) => end(codeOf(error), 0) }
}

export type Observe = (outcome: string, milliseconds: number, rows: number) => void

interface ObserverEnv extends Pick<ExecutionEnv, 'engine'> {
  readonly metrics?: Metrics | undefined
}

export function observer({ metrics, engine }: ObserverEnv): Observe {
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

/** The names of OpenTelemetry. */
const SYSTEMS = { sqlite: 'sqlite', postgres: 'postgresql' } as const

function endSpan(span: OpenSpan | undefined, { engine }: ServeEnv, outcome: string, rows: number): void {
  span?.end(
    { 'db.system.name': SYSTEMS[engine.kind], 'gatehouse.outcome': outcome, 'gatehouse.rows': rows },
    outcome === 'server.fault',
  )
}

function codeOf(error: unknown): string {
  const known = asKnown(error)
  return known instanceof Refusal ? known.code : 'server.fault'
}

type RowsResult = Extract<Result, { kind: 'rows' }>

function returned({ rows, rowsAffected, isTruncated }: RowsResult) {
  const outcome: ReadOutcome = { rowCount: rows.length, truncated: isTruncated ? 'rows' : 'no', lastKey: [] }
  return { outcome, rowsAffected }
}

/** Undefined for more than a few short rows. */
function encodeFew(
  { encoders, rows }: RowsResult,
  encoding: Encoding,
  outcome: ReadOutcome,
  tail: ResultEnd,
): string | undefined {
  if (encoding.format === 'arrow' || rows.length > FEW_ROWS || !areShort(rows)) return undefined
  const encoder = encoders.create(encoding)
  for (const row of rows) encoder.add(row)
  return encoder.takeText() + endOfText(encoding, outcome, tail)
}

async function encodeRows(
  { encoders, rows }: RowsResult,
  encoding: Encoding,
  outcome: ReadOutcome,
  tail: ResultEnd,
): Promise<Buffer> {
  const encoder = await createEncoder(encoding, encoders.columns)
  const chunks = await inTurns(encodeAll(encoder, rows))
  return Buffer.concat([...chunks, endOfResult(encoding, outcome, tail)])
}

const FEW_ROWS = 100

function areShort(rows: RowsResult['rows']): boolean {
  let length = 0
  for (const row of rows) for (const cell of row) if (typeof cell === 'string') length += cell.length
  return length <= CHUNK_BYTES
}

function* encodeAll(encoder: RowEncoder, rows: RowsResult['rows']): Steps<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for (const [index, row] of rows.entries()) {
    encoder.add(row)
    const isLong = encoder.pending >= CHUNK_BYTES
    if (isLong) chunks.push(encoder.take())
    if (isLong || index % STEPS_PER_PAUSE === 0) yield
  }
  chunks.push(encoder.take())
  return chunks
}

/** A client that closes its connection before the reply is complete does not want it any more. */
function stopWhenClosed(context: Context, running: RunningQuery): () => void {
  const { response } = context
  const onClose = (): void => {
    // What was stopped for another reason is closed by us.
    if (response.writableFinished || running.signal.aborted) return
    running.stop(refuse('Limit.Cancelled', 'The client closed the connection'))
  }
  response.on('close', onClose)
  return () => response.off('close', onClose)
}

/** How a query is answered: at once where it is small, else from the moment it counts as running until its last byte has gone. */
import type { Exchange } from '../http/exchange.ts'
import type { Metrics } from '../protocol/metrics.ts'
import type { Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { OpenSpan, Trace } from '../protocol/trace.ts'
import type { ReadOutcome } from './engines/engine.ts'
import { refuse } from './errors.ts'
import { type Call, type ExecutionEnv, execute, type Result, readAtOnce } from './execution.ts'
import { problemFor } from './problem.ts'
import { sendStream, sendWhole } from './reply.ts'
import { createEncoder, createTextEncoder, type Encoding, saysWhatIsMissing } from './result/encoding.ts'
import { negotiateCoding } from './result/negotiate.ts'
import { endOfResult, endOfText, errorInResult, type ResultEnd } from './result/tail.ts'
import type { RunningQueries, RunningQuery } from './running.ts'

export interface AnswerEnv extends ExecutionEnv {
  readonly trace?: Trace | undefined
  readonly running: RunningQueries
  readonly observe: Observe
}

/** Undefined when the answer has been given already. */
export type Sent = Promise<void> | undefined

export interface Prepared {
  readonly call: Call
  /** Where the next page begins, when rows were left out. */
  readonly cursor: (outcome: ReadOutcome) => string | undefined
  /** The caller asked for no more rows than these. */
  readonly isOwnLimit: boolean
}

/** What is small is answered at once; all else is waited for. */
export function answer(
  exchange: Exchange,
  env: AnswerEnv,
  principal: Principal,
  encoding: Encoding,
  said: string,
  prepare: () => Prepared,
): Sent {
  const started = performance.now()
  const span = env.trace?.begin('query')
  const coding = negotiateCoding(exchange.headers['accept-encoding'])
  const fail = (error: unknown): void => {
    env.observe(codeOf(error), performance.now() - started, 0)
    endSpan(span, env, codeOf(error), 0)
  }
  env.running.check(principal, exchange.id)
  try {
    const { call, cursor, isOwnLimit } = prepare()
    const end = (outcome: ReadOutcome, rowsAffected?: number): ResultEnd => {
      const isTruncated = outcome.truncated === 'bytes' || (outcome.truncated === 'rows' && !isOwnLimit)
      // Such a result must not look whole.
      if (isTruncated && !saysWhatIsMissing(encoding))
        throw refuse('Limit.Bytes', 'The result is larger than the limit')
      const elapsed = performance.now() - started
      env.observe('ok', elapsed, outcome.rowCount)
      endSpan(span, env, 'ok', outcome.rowCount)
      return {
        requestId: exchange.id,
        elapsedMs: Math.round(elapsed),
        rowsAffected,
        isTruncated,
        // Where no row was given there is none to go on after.
        nextCursor: outcome.truncated === 'no' || outcome.rowCount === 0 ? undefined : cursor(outcome),
      }
    }
    const small = readAtOnce(call, env)
    if (small === undefined) return answerInTime(exchange, env, { call, said, encoding, coding, end, fail })
    sendWhole(exchange, encoding, coding, small.text + endOfText(encoding, small.outcome, end(small.outcome)))
    return undefined
  } catch (error) {
    fail(error)
    throw error
  }
}

interface Waiting {
  readonly call: Call
  readonly said: string
  readonly encoding: Encoding
  readonly coding: ReturnType<typeof negotiateCoding>
  readonly end: (outcome: ReadOutcome, rowsAffected?: number) => ResultEnd
  readonly fail: (error: unknown) => void
}

/** From the moment a query counts as running until its last byte has gone, or it was stopped. */
async function answerInTime(
  exchange: Exchange,
  env: AnswerEnv,
  { call, said, encoding, coding, end, fail }: Waiting,
): Promise<void> {
  const running = env.running.begin(call.principal, exchange.id, said)
  const leave = stopWhenGone(exchange, running)
  const done = (): void => {
    leave()
    running.end()
  }
  try {
    const result = await execute({ ...call, running }, env)
    if (result.kind === 'stream') {
      return await sendStream(exchange, encoding, coding, {
        chunks: result.chunks,
        end: (outcome) => endOfResult(encoding, outcome, end(outcome)),
        failure: (error) => {
          fail(error)
          return errorInResult(encoding, problemFor(error, exchange), exchange.id)
        },
        done,
      })
    }
    if (result.kind === 'whole') {
      const { text, outcome } = result.read
      done()
      return sendWhole(exchange, encoding, coding, text + endOfText(encoding, outcome, end(outcome)))
    }
    const bytes = await wholeOf(result, encoding, end)
    done()
    return sendWhole(exchange, encoding, coding, bytes)
  } catch (error) {
    done()
    fail(error)
    throw error
  }
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

/** As traces name them. */
const SYSTEMS = { sqlite: 'sqlite', postgres: 'postgresql' } as const

function endSpan(span: OpenSpan | undefined, { engine }: AnswerEnv, outcome: string, rows: number): void {
  span?.end(
    { 'db.system.name': SYSTEMS[engine.kind], 'gatehouse.outcome': outcome, 'gatehouse.rows': rows },
    outcome === 'server.fault',
  )
}

function codeOf(error: unknown): string {
  return error instanceof Refusal ? error.code : 'server.fault'
}

async function wholeOf(
  { columns, rows, rowsAffected, isTruncated }: Extract<Result, { kind: 'rows' }>,
  encoding: Encoding,
  end: (outcome: ReadOutcome, rowsAffected?: number) => ResultEnd,
): Promise<string | Buffer> {
  const outcome: ReadOutcome = { rowCount: rows.length, truncated: isTruncated ? 'rows' : 'no', lastKey: [] }
  if (encoding.format !== 'arrow') {
    const encoder = createTextEncoder(encoding, columns)
    for (const row of rows) encoder.add(row)
    return encoder.takeText() + endOfText(encoding, outcome, end(outcome, rowsAffected))
  }
  const encoder = await createEncoder(encoding, columns)
  for (const row of rows) encoder.add(row)
  return Buffer.concat([encoder.take(), endOfResult(encoding, outcome, end(outcome, rowsAffected))])
}

/** A client that closes its connection before it has the whole answer does not want it any more. */
function stopWhenGone(exchange: Exchange, running: RunningQuery): () => void {
  const { response } = exchange
  const gone = (): void => {
    if (response.writableFinished) return
    exchange.log.info({ status: 499 }, 'the client has gone')
    running.stop(refuse('Limit.Cancelled', 'The client closed the connection'))
  }
  response.once('close', gone)
  return () => response.off('close', gone)
}

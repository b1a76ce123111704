/** The doors of the query service: statements, the calls on a table, and cancel. */
import { createHash } from 'node:crypto'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { asRefusal } from '../http/app.ts'
import type { Metrics } from '../protocol/metrics.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import type { Refusal } from '../protocol/refusal.ts'
import type { OpenSpan, Trace } from '../protocol/trace.ts'
import { keyText, readCursor, writeCursor } from './cursor.ts'
import type { Once, ReadOutcome } from './engines/engine.ts'
import { refuse } from './errors.ts'
import { type Call, type ExecutionEnv, execute, type Result, readAtOnce } from './execution.ts'
import type { TableView } from './iql/catalogue-view.ts'
import { didYouMean } from './iql/did-you-mean.ts'
import { readParameters } from './iql/parameters.ts'
import { FAULT, problemOf } from './problem.ts'
import { sendStream, sendWhole } from './reply.ts'
import { callerOf, checkContentType, queryOf, readJsonBody, readStatement } from './request.ts'
import { createEncoder, createTextEncoder, type Encoding } from './result/encoding.ts'
import { negotiateCoding, negotiateEncoding } from './result/negotiate.ts'
import { endOfResult, endOfText, errorInResult, type ResultEnd } from './result/tail.ts'
import { ADMIN_SCOPE, viewFor } from './rights.ts'
import { ownerOf, type RunningQueries, type RunningQuery } from './running.ts'
import { readSelect } from './select.ts'
import { readDelete, readInsert, readUpdate, type WriteCall } from './write-call.ts'

export interface EndpointEnv extends ExecutionEnv {
  readonly authenticate: Authenticate
  /** Counts the caller against its rate limits; throws when it came too often. */
  readonly admit?: ((request: FastifyRequest, reply: FastifyReply, principal: Principal) => void) | undefined
  readonly metrics?: Metrics | undefined
  readonly trace?: Trace | undefined
  readonly running: RunningQueries
  /** Cancels a query of the owner, or anybody's, on whichever node it runs. */
  readonly cancel: (requestId: string, owner: string | undefined) => Promise<boolean>
  readonly limits: EndpointLimits
}

interface DoorEnv extends EndpointEnv {
  readonly observe: Observe
}

export interface EndpointLimits {
  readonly statementBytes: number
  readonly bodyBytes: number
  /** Of a JSON result; the other formats are meant for whole tables. */
  readonly resultRows: number
  readonly resultBytes: number
}

/** Every route of the service is here. */
export function registerEndpoint(app: FastifyInstance, given: EndpointEnv): void {
  const env: DoorEnv = { ...given, observe: observer(given) }
  app.register(async (scope) => {
    // Fastify finds the parser of a named type again at once; for '*' it reads the header each time.
    for (const type of ['text/plain', 'application/json', '*']) {
      scope.addContentTypeParser(type, { parseAs: 'buffer', bodyLimit: env.limits.bodyBytes }, (_request, body, done) =>
        done(null, body),
      )
    }
    scope.setErrorHandler(replyToError)
    scope.post('/query', { bodyLimit: env.limits.statementBytes * 2 + 65_536 }, (request, reply) =>
      afterEntry(request, reply, env, query),
    )
    scope.post('/query/:table/select', (request, reply) => afterEntry(request, reply, env, select))
    scope.post('/query/:table/insert', (request, reply) => write(request, reply, env, readInsert))
    scope.post('/query/:table/update', (request, reply) =>
      write(request, reply, env, (table, body) => [readUpdate(table, body)]),
    )
    scope.post('/query/:table/delete', (request, reply) =>
      write(request, reply, env, (table, body) => [readDelete(table, body)]),
    )
    scope.delete('/query/:requestId', (request, reply) => cancel(request, reply, env))
  })
}

/** Gives nothing to wait for where all was done at once: a statement that reads little, of a caller who is known. */
function afterEntry(
  request: FastifyRequest,
  reply: FastifyReply,
  env: DoorEnv,
  act: (request: FastifyRequest, reply: FastifyReply, env: DoorEnv, principal: Principal) => Sent,
): Sent {
  const entered = enter(request, reply, env)
  if (entered instanceof Promise) return entered.then((principal) => act(request, reply, env, principal) ?? reply)
  return act(request, reply, env, entered)
}

/** What a door of Fastify gives back: nothing when the reply was sent. */
type Sent = Promise<FastifyReply> | undefined

function query(request: FastifyRequest, reply: FastifyReply, env: DoorEnv, principal: Principal): Sent {
  checkContentType(request.headers['content-type'])
  const encoding = negotiateEncoding(request.headers.accept, queryOf(request))
  const { text, values } = readStatement(request)
  return answer(request, reply, env, principal, encoding, text, () => {
    const { snapshot } = env.catalogue
    const planned = env.planner.plan(principal, snapshot, text)
    const parameters = readParameters(text, planned.bound, values)
    const identity = (): string => `${text}\n${JSON.stringify([...values])}`
    const skip = skipOf(request, identity)
    return {
      call: {
        principal,
        requestId: request.id,
        address: request.ip,
        planned,
        valueSets: [parameters],
        encoding,
        limits: limitsOf(env, encoding, undefined, skip),
      },
      cursor: (outcome) => writeCursor({ kind: 'rows', rows: skip + outcome.rowCount }, identity()),
      isOwnLimit: false,
    }
  })
}

function select(request: FastifyRequest, reply: FastifyReply, env: DoorEnv, principal: Principal): Sent {
  const body = readTableBody(request) ?? []
  const encoding = negotiateEncoding(request.headers.accept, queryOf(request))
  return answer(request, reply, env, principal, encoding, pathOf(request), () => {
    const table = tableOf(request, principal, env)
    const call = readSelect(table, queryOf(request), body)
    const planned = env.planner.plan(principal, env.catalogue.snapshot, '', call)
    const limits = limitsOf(env, encoding, call.limit, call.offset)
    return {
      call: {
        principal,
        requestId: request.id,
        address: request.ip,
        planned,
        valueSets: [call.values.read(planned.bound.parameters)],
        encoding,
        limits,
      },
      cursor: (outcome) =>
        writeCursor(
          call.hasKey
            ? { kind: 'key', key: outcome.lastKey.map(keyText) }
            : { kind: 'rows', rows: call.offset + outcome.rowCount },
          call.identity,
        ),
      isOwnLimit: call.limit === limits.rows,
    }
  })
}

async function write(
  request: FastifyRequest,
  reply: FastifyReply,
  env: DoorEnv,
  read: (table: TableView, body: NonNullable<ReturnType<typeof readTableBody>>) => readonly WriteCall[],
): Promise<FastifyReply> {
  const principal = await enter(request, reply, env)
  const body = readTableBody(request)
  if (body === undefined || body === null) throw refuse('Request.BadBody', 'The body is empty')
  const encoding = negotiateEncoding(request.headers.accept, queryOf(request))
  const sent = answer(request, reply, env, principal, encoding, pathOf(request), () => {
    const table = tableOf(request, principal, env)
    const calls = read(table, body)
    const { snapshot } = env.catalogue
    const [first, ...further] = calls.map((call) => {
      const planned = env.planner.plan(principal, snapshot, '', call)
      return { planned, valueSets: call.sets.map((values) => values.read(planned.bound.parameters)) }
    })
    if (first === undefined) throw refuse('Request.BadBody', 'There is nothing to write')
    return {
      call: {
        principal,
        requestId: request.id,
        address: request.ip,
        ...first,
        further,
        encoding,
        limits: limitsOf(env, encoding, undefined, 0),
        once: onceOf(request, principal, table, env),
      },
      cursor: () => undefined,
      isOwnLimit: false,
    }
  })
  return (await sent) ?? reply
}

async function cancel(request: FastifyRequest, reply: FastifyReply, env: EndpointEnv): Promise<FastifyReply> {
  const principal = await enter(request, reply, env)
  const { requestId } = request.params as { requestId: string }
  const owner = principal.scopes.has(ADMIN_SCOPE) ? undefined : ownerOf(principal)
  if (!env.running.cancel(requestId, owner) && !(await env.cancel(requestId, owner)))
    throw refuse('Request.UnknownRequest', `No running query of yours bears the Request-Id ${requestId}`)
  return reply.code(204).send()
}

/** Who is calling, and whether it may come in once more. */
function enter(request: FastifyRequest, reply: FastifyReply, env: EndpointEnv): Principal | Promise<Principal> {
  const admit = (principal: Principal): Principal => {
    env.admit?.(request, reply, principal)
    return principal
  }
  const caller = callerOf(request, env.authenticate)
  return caller instanceof Promise ? caller.then(admit) : admit(caller)
}

interface Prepared {
  readonly call: Call
  /** Where the next page begins, when rows were left out. */
  readonly cursor: (outcome: ReadOutcome) => string | undefined
  /** The caller asked for no more rows than these. */
  readonly isOwnLimit: boolean
}

/** What is small is answered at once; all else is waited for. */
function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  env: DoorEnv,
  principal: Principal,
  encoding: Encoding,
  said: string,
  prepare: () => Prepared,
): Sent {
  const started = performance.now()
  const span = env.trace?.begin('query')
  const coding = negotiateCoding(request.headers['accept-encoding'])
  const fail = (error: unknown): void => {
    env.observe(codeOf(error), performance.now() - started, 0)
    endSpan(span, env, codeOf(error), 0)
  }
  env.running.check(principal, request.id)
  try {
    const { call, cursor, isOwnLimit } = prepare()
    const end = (outcome: ReadOutcome, rowsAffected?: number): ResultEnd => {
      const isTruncated = outcome.truncated === 'bytes' || (outcome.truncated === 'rows' && !isOwnLimit)
      // These formats have no place to say it: such a result must not look whole.
      if (isTruncated && (encoding.format === 'csv' || encoding.format === 'arrow'))
        throw refuse('Limit.Bytes', 'The result is larger than the limit')
      const elapsed = performance.now() - started
      env.observe('ok', elapsed, outcome.rowCount)
      endSpan(span, env, 'ok', outcome.rowCount)
      return {
        requestId: request.id,
        elapsedMs: Math.round(elapsed),
        rowsAffected,
        isTruncated,
        // Where no row was given there is none to go on after.
        nextCursor: outcome.truncated === 'no' || outcome.rowCount === 0 ? undefined : cursor(outcome),
      }
    }
    const small = readAtOnce(call, env)
    if (small === undefined) return answerInTime(request, reply, env, { call, said, encoding, coding, end, fail })
    sendWhole(reply, encoding, coding, small.text + endOfText(encoding, small.outcome, end(small.outcome)))
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
  request: FastifyRequest,
  reply: FastifyReply,
  env: DoorEnv,
  { call, said, encoding, coding, end, fail }: Waiting,
): Promise<FastifyReply> {
  const running = env.running.begin(call.principal, request.id, said)
  const leave = stopWhenGone(request, reply, running)
  const done = (): void => {
    leave()
    running.end()
  }
  try {
    const result = await execute({ ...call, running }, env)
    if (result.kind === 'stream') {
      return await sendStream(reply, encoding, coding, {
        chunks: result.chunks,
        end: (outcome) => endOfResult(encoding, outcome, end(outcome)),
        failure: (error) => {
          fail(error)
          return errorInResult(encoding, problemFor(error, request), request.id)
        },
        done,
      })
    }
    const bytes = await wholeOf(result, encoding, end)
    done()
    return sendWhole(reply, encoding, coding, bytes)
  } catch (error) {
    done()
    fail(error)
    throw error
  }
}

type Observe = (outcome: string, milliseconds: number, rows: number) => void

function observer({ metrics, engine }: EndpointEnv): Observe {
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

function endSpan(span: OpenSpan | undefined, { engine }: EndpointEnv, outcome: string, rows: number): void {
  span?.end(
    { 'db.system.name': SYSTEMS[engine.kind], 'gatehouse.outcome': outcome, 'gatehouse.rows': rows },
    outcome === 'server.fault',
  )
}

function codeOf(error: unknown): string {
  return (error instanceof Error ? asRefusal(error)?.code : undefined) ?? 'server.fault'
}

async function wholeOf(
  { columns, rows, rowsAffected, isTruncated }: Exclude<Result, { kind: 'stream' }>,
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
function stopWhenGone(request: FastifyRequest, reply: FastifyReply, running: RunningQuery): () => void {
  const gone = (): void => {
    if (reply.raw.writableFinished) return
    request.log.info({ status: 499 }, 'the client has gone')
    running.stop(refuse('Limit.Cancelled', 'The client closed the connection'))
  }
  reply.raw.once('close', gone)
  return () => reply.raw.off('close', gone)
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}

function tableOf(request: FastifyRequest, principal: Principal, env: EndpointEnv): TableView {
  const { table: name } = request.params as { table: string }
  const view = viewFor(env.catalogue.snapshot, principal.scopes)
  const table = view.lookup(name)
  if (table !== undefined) return table
  const hint = didYouMean(name, [...view.tableNames()])
  throw refuse('Data.UnknownTable', `There is no table ${JSON.stringify(name)}`, {
    members: hint === undefined ? {} : { Hint: hint },
  })
}

function readTableBody(request: FastifyRequest) {
  const body = readJsonBody(request)
  if (body !== undefined) checkContentType(request.headers['content-type'])
  return body
}

function limitsOf({ limits }: EndpointEnv, { format }: Encoding, limit: number | undefined, skip: number) {
  const most = format === 'json' ? limits.resultRows : Number.MAX_SAFE_INTEGER
  return { rows: Math.min(limit ?? most, most), bytes: limits.resultBytes, skip }
}

function skipOf(request: FastifyRequest, identity: () => string): number {
  const { after } = queryOf(request)
  if (after === undefined) return 0
  const cursor = typeof after === 'string' ? readCursor(after, identity()) : undefined
  if (cursor?.kind !== 'rows') throw refuse('Request.BadCursor', 'The cursor was not given by this request')
  return cursor.rows
}

function onceOf(request: FastifyRequest, principal: Principal, table: TableView, env: EndpointEnv): Once | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(key)) {
    throw refuse('Request.BadParameter', 'An Idempotency-Key has 1 to 200 visible ASCII characters')
  }
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const fingerprint = createHash('sha256')
    .update(`${request.routeOptions.url}\n${table.name}\n`)
    .update(body)
    .digest('base64url')
  return { owner: ownerOf(principal), key, fingerprint, now: BigInt(env.clock()) * 1000n }
}

/** Refusals become problem details here and nowhere else. */
function replyToError(
  error: FastifyError | Refusal | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = asRefusal(error)
  reply.headers(refusal?.details.headers ?? {}).removeHeader('content-encoding')
  const problem = problemFor(error, request)
  return reply
    .code(problem.status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(JSON.stringify(problem))
}

function problemFor(error: unknown, request: FastifyRequest) {
  const refusal = error instanceof Error ? asRefusal(error) : undefined
  if (refusal === undefined) {
    request.log.error({ err: error }, 'failed')
    return { ...FAULT, RequestId: request.id }
  }
  if (refusal.cause !== undefined)
    request.log[refusal.status < 500 ? 'info' : 'error']({ err: refusal.cause, code: refusal.code }, 'refused')
  return { ...problemOf(translate(refusal)), RequestId: request.id }
}

/** What HTTP itself refuses, under the codes of this service. */
function translate(refusal: Refusal): Refusal {
  if (refusal.code === 'http.body_too_large') return refuse('Request.TooLarge', refusal.message)
  if (refusal.code === 'http.unsupported_media_type') return refuse('Request.Unsupported', refusal.message)
  return refusal
}

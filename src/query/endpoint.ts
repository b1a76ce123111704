/** The doors of the query service: statements, the calls on a table, and cancel. */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '../protocol/metrics.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import type { Trace } from '../protocol/trace.ts'
import { type AnswerEnv, answer, observer, type Sent } from './answer.ts'
import { keyText, readCursor, writeCursor } from './cursor.ts'
import type { Once } from './engines/engine.ts'
import { refuse } from './errors.ts'
import type { ExecutionEnv } from './execution.ts'
import type { TableView } from './iql/catalogue-view.ts'
import { didYouMean } from './iql/did-you-mean.ts'
import { readParameters } from './iql/parameters.ts'
import { replyToError } from './problem.ts'
import { callerOf, checkContentType, queryOf, readJsonBody, readStatement } from './request.ts'
import type { Encoding } from './result/encoding.ts'
import { negotiateEncoding } from './result/negotiate.ts'
import { ADMIN_SCOPE, viewFor } from './rights.ts'
import { ownerOf, type RunningQueries } from './running.ts'
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

type DoorEnv = EndpointEnv & AnswerEnv

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
  const body = readTableBody(request)
  const encoding = negotiateEncoding(request.headers.accept, queryOf(request))
  return answer(request, reply, env, principal, encoding, pathOf(request), () => {
    const table = tableOf(request, principal, env)
    const call = readSelect(table, queryOf(request), body === undefined ? [] : body)
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

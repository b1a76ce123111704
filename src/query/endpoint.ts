/** The doors of the query service: statements, the calls on a table, and cancel. */
import { createHash } from 'node:crypto'
import type { DirectRoute } from '../http/direct-routes.ts'
import type { Standing } from '../http/doors.ts'
import type { Exchange } from '../http/exchange.ts'
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
import { callerOf, checkContentType, readJsonBody, readStatement } from './request.ts'
import type { Encoding } from './result/encoding.ts'
import { negotiateEncoding } from './result/negotiate.ts'
import { ADMIN_SCOPE, viewFor } from './rights.ts'
import { ownerOf, type RunningQueries } from './running.ts'
import { readSelect } from './select.ts'
import { readDelete, readInsert, readUpdate, type WriteCall } from './write-call.ts'

export interface EndpointEnv extends ExecutionEnv {
  readonly authenticate: Authenticate
  /** Counts the caller against its rate limits; throws when it came too often. */
  readonly admit?: ((address: string, principal: Principal) => readonly Standing[]) | undefined
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
export function queryRoutes(given: EndpointEnv): readonly DirectRoute[] {
  const env: DoorEnv = { ...given, observe: observer(given) }
  const { statementBytes, bodyBytes } = env.limits
  const route = (
    method: 'POST' | 'DELETE',
    path: string,
    act: (exchange: Exchange, env: DoorEnv, principal: Principal) => Sent,
    bodyLimit = bodyBytes,
  ): DirectRoute => ({
    method,
    path,
    bodyLimit,
    answer: (exchange) => afterEntry(exchange, env, act),
    fail: replyToError,
  })
  return [
    route('POST', '/query', query, statementBytes * 2 + 65_536),
    route('POST', '/query/:table/select', select),
    route('POST', '/query/:table/insert', writing(readInsert)),
    route(
      'POST',
      '/query/:table/update',
      writing((table, body) => [readUpdate(table, body)]),
    ),
    route(
      'POST',
      '/query/:table/delete',
      writing((table, body) => [readDelete(table, body)]),
    ),
    route('DELETE', '/query/:requestId', cancel),
  ]
}

/** Gives nothing to wait for where all was done at once: a statement that reads little, of a caller who is known. */
function afterEntry(
  exchange: Exchange,
  env: DoorEnv,
  act: (exchange: Exchange, env: DoorEnv, principal: Principal) => Sent,
): Sent {
  const entered = enter(exchange, env)
  if (entered instanceof Promise) return entered.then((principal) => act(exchange, env, principal))
  return act(exchange, env, entered)
}

function query(exchange: Exchange, env: DoorEnv, principal: Principal): Sent {
  checkContentType(exchange.headers['content-type'])
  const encoding = negotiateEncoding(exchange.headers.accept, exchange.query)
  const { text, values } = readStatement(exchange)
  return answer(exchange, env, principal, encoding, text, () => {
    const { snapshot } = env.catalogue
    const planned = env.planner.plan(principal, snapshot, text)
    const parameters = readParameters(text, planned.bound, values)
    const identity = (): string => `${text}\n${JSON.stringify([...values])}`
    const skip = skipOf(exchange, identity)
    return {
      call: {
        principal,
        requestId: exchange.id,
        address: exchange.address,
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

function select(exchange: Exchange, env: DoorEnv, principal: Principal): Sent {
  const body = readTableBody(exchange)
  const encoding = negotiateEncoding(exchange.headers.accept, exchange.query)
  return answer(exchange, env, principal, encoding, exchange.path, () => {
    const table = tableOf(exchange, principal, env)
    const call = readSelect(table, exchange.query, body === undefined ? [] : body)
    const planned = env.planner.plan(principal, env.catalogue.snapshot, '', call)
    const limits = limitsOf(env, encoding, call.limit, call.offset)
    return {
      call: {
        principal,
        requestId: exchange.id,
        address: exchange.address,
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

type ReadWrite = (table: TableView, body: NonNullable<ReturnType<typeof readTableBody>>) => readonly WriteCall[]

function writing(read: ReadWrite) {
  return (exchange: Exchange, env: DoorEnv, principal: Principal): Sent => write(exchange, env, principal, read)
}

function write(exchange: Exchange, env: DoorEnv, principal: Principal, read: ReadWrite): Sent {
  const body = readTableBody(exchange)
  if (body === undefined || body === null) throw refuse('Request.BadBody', 'The body is empty')
  const encoding = negotiateEncoding(exchange.headers.accept, exchange.query)
  return answer(exchange, env, principal, encoding, exchange.path, () => {
    const table = tableOf(exchange, principal, env)
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
        requestId: exchange.id,
        address: exchange.address,
        ...first,
        further,
        encoding,
        limits: limitsOf(env, encoding, undefined, 0),
        once: onceOf(exchange, principal, table, env),
      },
      cursor: () => undefined,
      isOwnLimit: false,
    }
  })
}

async function cancel(exchange: Exchange, env: EndpointEnv, principal: Principal): Promise<void> {
  const requestId = exchange.named
  const owner = principal.scopes.has(ADMIN_SCOPE) ? undefined : ownerOf(principal)
  if (!env.running.cancel(requestId, owner) && !(await env.cancel(requestId, owner)))
    throw refuse('Request.UnknownRequest', `No running query of yours bears the Request-Id ${requestId}`)
  exchange.sendNothing()
}

/** Who is calling, and whether it may come in once more. */
function enter(exchange: Exchange, env: EndpointEnv): Principal | Promise<Principal> {
  const admit = (principal: Principal): Principal => {
    if (env.admit !== undefined) exchange.say(env.admit(exchange.address, principal))
    return principal
  }
  const caller = callerOf(exchange, env.authenticate)
  return caller instanceof Promise ? caller.then(admit) : admit(caller)
}

function tableOf(exchange: Exchange, principal: Principal, env: EndpointEnv): TableView {
  const name = exchange.named
  const view = viewFor(env.catalogue.snapshot, principal.scopes)
  const table = view.lookup(name)
  if (table !== undefined) return table
  const hint = didYouMean(name, [...view.tableNames()])
  throw refuse('Data.UnknownTable', `There is no table ${JSON.stringify(name)}`, {
    members: hint === undefined ? {} : { Hint: hint },
  })
}

function readTableBody(exchange: Exchange) {
  const body = readJsonBody(exchange)
  if (body !== undefined) checkContentType(exchange.headers['content-type'])
  return body
}

function limitsOf({ limits }: EndpointEnv, { format }: Encoding, limit: number | undefined, skip: number) {
  const most = format === 'json' ? limits.resultRows : Number.MAX_SAFE_INTEGER
  return { rows: Math.min(limit ?? most, most), bytes: limits.resultBytes, skip }
}

function skipOf(exchange: Exchange, identity: () => string): number {
  const after = exchange.query.get('after')
  if (after === undefined) return 0
  const cursor = typeof after === 'string' ? readCursor(after, identity()) : undefined
  if (cursor?.kind !== 'rows') throw refuse('Request.BadCursor', 'The cursor was not given by this request')
  return cursor.rows
}

function onceOf(exchange: Exchange, principal: Principal, table: TableView, env: EndpointEnv): Once | undefined {
  const key = exchange.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(key)) {
    throw refuse('Request.BadParameter', 'An Idempotency-Key has 1 to 200 visible ASCII characters')
  }
  const fingerprint = createHash('sha256')
    .update(`${exchange.route}\n${table.name}\n`)
    .update(exchange.body)
    .digest('base64url')
  return { owner: ownerOf(principal), key, fingerprint, now: BigInt(env.clock()) * 1000n }
}

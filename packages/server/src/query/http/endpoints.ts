/** The endpoints of the query service: statements, the calls on a table, and cancel. */
import { createHash } from 'node:crypto'
import { type IqlValue, readParameters, reads, type TableView } from 'gatehouse-iql'
import type { Authenticate, Principal } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import type { Context } from '../../http/context.ts'
import type { BodyRule, Route, RouteGroup } from '../../http/route.ts'
import { afterTurns, inTurns, type Steps } from '../../lib/turns.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Trace } from '../../telemetry/trace.ts'
import { ADMIN_SCOPE } from '../catalogue/system-tables.ts'
import type { IdempotencyKey } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import type { Json } from '../json.ts'
import type { LiveQueries } from '../live/contract.ts'
import { requirePlatformAccess, requireTable, viewFor } from '../plan/rights.ts'
import type { Encoding } from '../results/encoding.ts'
import type { Activity } from '../live/activity.ts'
import type { Call, ExecutionEnv } from '../run/call.ts'
import { ownerOf, type RunningQueries } from '../run/running.ts'
import type { SlowLog } from '../run/slow-log.ts'

import { keyText, readCursor, writeCursor } from './cursor.ts'
import { LiveEndpoint } from './live.ts'
import { negotiateEncoding, prefersEvents, refusesWrites } from './negotiate.ts'
import { replyToError } from './problem.ts'
import { checkContentType, readJsonBody, readStatement } from './request.ts'
import { readSelect } from './select.ts'
import { observer, type PreparedCall, type Sent, type ServeEnv, serveQuery } from './serve-query.ts'
import { type SlowClientLimits, SlowClients } from './slow-clients.ts'
import { readDelete, readInsert, readUpdate, type WriteCall } from './write-call.ts'

export interface EndpointsEnv extends ExecutionEnv {
  readonly metrics?: Metrics | undefined
  readonly trace?: Trace | undefined
  readonly running: RunningQueries
  readonly live: LiveQueries
  readonly activity: Activity
  readonly authenticate: Authenticate
  readonly bus: Pick<Bus, 'subscribe'>
  /** Cancels a query of the owner, or of anybody, on any node. */
  readonly cancel: (requestId: string, owner: string | undefined) => Promise<boolean>
  readonly limits: EndpointLimits
  readonly slowLog: SlowLog
}

export interface EndpointLimits extends SlowClientLimits {
  readonly statementBytes: number
  readonly bodyBytes: number
  /** Of a JSON result; the other formats are meant for whole tables. */
  readonly resultRows: number
  readonly resultBytes: number
}

type Env = EndpointsEnv & ServeEnv & { readonly events: LiveEndpoint }

export interface QueryEndpoints {
  readonly group: RouteGroup
  /** Ends the responses that go on for as long as their clients want. */
  stop(): void
}

export function queryEndpoints(endpoints: EndpointsEnv): QueryEndpoints {
  const { engine, limits, metrics } = endpoints
  const slowClients = new SlowClients({ ...limits, isContended: () => engine.load.waiting > 0, metrics })
  const events = new LiveEndpoint(endpoints)
  const env: Env = { ...endpoints, slowClients, observe: observer(endpoints), events }
  const body = {
    get limit() {
      return limits.bodyBytes
    },
  }
  const post = (path: string, act: (context: Context, env: Env) => Sent, rule: BodyRule = body): Route => ({
    method: 'POST',
    path,
    body: rule,
    access: requirePlatformAccess,
    handle: (context) => act(context, env),
  })
  const group: RouteGroup = {
    at: ['/query'],
    limit: 'query',
    fail: replyToError,
    routes: [
      post('/query', query, { limit: limits.statementBytes * 2 + 65_536 }),
      {
        method: 'GET',
        path: '/query',
        access: requirePlatformAccess,
        handle: (context) => events.get(context),
      },
      post('/query/:table/select', select),
      post('/query/:table/insert', writing(readInsert)),
      post(
        '/query/:table/update',
        writing((table, body) => [readUpdate(table, body)]),
      ),
      post(
        '/query/:table/delete',
        writing((table, body) => [readDelete(table, body)]),
      ),
      {
        method: 'DELETE',
        path: '/query/:requestId',
        access: requirePlatformAccess,
        handle: (context) => cancel(context, env),
      },
    ],
  }
  return { group, stop: () => events.stop() }
}

function query(context: Context, env: Env): Sent {
  const { principal } = context
  if (prefersEvents(context.headers.accept)) return env.events.post(context)
  checkContentType(context.headers['content-type'])
  const encoding = negotiateEncoding(context.headers.accept, context.query)
  const isReadOnly = refusesWrites(context.query)
  const { text, values } = readStatement(context)
  return serveQuery(context, env, encoding, text, () => {
    const { snapshot } = env.catalogue
    const planned = env.planner.plan(principal, snapshot, text)
    const writes = !reads(planned.bound.statement)
    if (isReadOnly && writes) throw refuse('Request.WritesRefused', 'The statement writes; this request only reads')
    const parameters = readParameters(text, planned.bound, values)
    const identity = (): string => `${text}\n${JSON.stringify([...values])}`
    const skip = skipOf(context, identity)
    return {
      call: {
        principal,
        requestId: context.id,
        address: context.address,
        planned,
        valueSets: [parameters],
        encoding,
        limits: limitsOf(env, encoding, undefined, skip),
        idempotencyKey: writes ? idempotencyKeyOf(context, env, () => [identity()]) : undefined,
      },
      cursor: (outcome) => writeCursor({ kind: 'rows', rows: skip + outcome.rowCount }, identity()),
      isOwnLimit: false,
    }
  })
}

function select(context: Context, env: Env): Sent {
  return afterTurns(readTableBody(context), (body) => {
    const { principal } = context
    const encoding = negotiateEncoding(context.headers.accept, context.query)
    return serveQuery(context, env, encoding, context.path, () => {
      const table = tableOf(context, principal, env)
      const call = readSelect(table, context.query, body === undefined ? [] : body)
      const planned = env.planner.plan(principal, env.catalogue.snapshot, '', call)
      const limits = limitsOf(env, encoding, call.limit, call.offset)
      return {
        call: {
          principal,
          requestId: context.id,
          address: context.address,
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
            call.identity(),
          ),
        isOwnLimit: call.limit === limits.rows,
      }
    })
  })
}

type ReadWrite = (table: TableView, body: NonNullable<Json>) => readonly WriteCall[] | Steps<readonly WriteCall[]>

function writing(read: ReadWrite) {
  return (context: Context, env: Env): Sent => write(context, env, read)
}

function write(context: Context, env: Env, read: ReadWrite): Sent {
  return afterTurns(readTableBody(context), (body) => {
    if (body === undefined || body === null) throw refuse('Request.BadBody', 'The body is empty')
    const encoding = negotiateEncoding(context.headers.accept, context.query)
    return serveQuery(context, env, encoding, context.path, () =>
      inTurns(prepareWrite(context, env, read, body, encoding)),
    )
  })
}

function* prepareWrite(
  context: Context,
  env: Env,
  read: ReadWrite,
  body: NonNullable<Json>,
  encoding: Encoding,
): Steps<PreparedCall> {
  const { principal } = context
  const table = tableOf(context, principal, env)
  const steps = read(table, body)
  const calls = 'next' in steps ? yield* steps : steps
  const parts: Pick<Call, 'planned' | 'valueSets'>[] = []
  for (const call of calls) {
    const planned = env.planner.plan(principal, env.catalogue.snapshot, '', call)
    const valueSets: IqlValue[][] = []
    for (const values of call.sets) {
      valueSets.push(values.read(planned.bound.parameters))
      yield
    }
    parts.push({ planned, valueSets })
  }
  const [first, ...further] = parts
  if (first === undefined) throw refuse('Request.BadBody', 'There is nothing to write')
  return {
    call: {
      principal,
      requestId: context.id,
      address: context.address,
      ...first,
      further,
      encoding,
      limits: limitsOf(env, encoding, undefined, 0),
      idempotencyKey: idempotencyKeyOf(context, env, () => [`${table.name}\n`, context.body]),
    },
    cursor: () => undefined,
    isOwnLimit: false,
  }
}

async function cancel(context: Context, env: Env): Promise<void> {
  const { principal } = context
  const requestId = context.param('requestId')
  const owner = principal.scopes.has(ADMIN_SCOPE) ? undefined : ownerOf(principal)
  if (!env.activity.cancel(requestId, owner) && !(await env.cancel(requestId, owner)))
    throw refuse('Request.UnknownRequest', `You have no running query with the Request-Id ${requestId}`)
  context.end(204)
}

function tableOf(context: Context, principal: Principal, env: Env): TableView {
  return requireTable(viewFor(env.catalogue.snapshot, principal.scopes), context.param('table'))
}

function* readTableBody(context: Context): Steps<Json | undefined> {
  const body = yield* readJsonBody(context)
  const type = context.headers['content-type']
  // RFC 9110 §8.3: without a type the recipient may assume one.
  if (body !== undefined && type !== undefined) checkContentType(type)
  return body
}

function limitsOf({ limits }: Env, { format }: Encoding, limit: number | undefined, skip: number) {
  const most = format === 'json' ? limits.resultRows : Number.MAX_SAFE_INTEGER
  return { rows: Math.min(limit ?? most, most), bytes: limits.resultBytes, skip }
}

function skipOf(context: Context, identity: () => string): number {
  const after = context.query.get('after')
  if (after === undefined) return 0
  const cursor = typeof after === 'string' ? readCursor(after, identity()) : undefined
  if (cursor?.kind !== 'rows') throw refuse('Request.BadCursor', 'The cursor belongs to another request')
  return cursor.rows
}

/** `request` is what makes a repeated request the same one. */
function idempotencyKeyOf(
  context: Context,
  env: Env,
  request: () => readonly (string | Uint8Array)[],
): IdempotencyKey | undefined {
  const key = context.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(key)) {
    throw refuse('Request.BadParameter', 'An Idempotency-Key has 1 to 200 visible ASCII characters')
  }
  const hash = createHash('sha256').update(`${context.route}\n`)
  for (const part of request()) hash.update(part)
  const fingerprint = hash.digest('base64url')
  return { owner: ownerOf(context.principal), key, fingerprint, now: BigInt(env.clock()) * 1000n }
}

/** Traces for OpenTelemetry, only where an exporter is configured: a span for each request and for what it waits for, sent in batches. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Trace } from '../protocol/trace.ts'
import { exportRequest, type FinishedSpan } from './trace-export.ts'

export interface TraceOptions {
  /** For example http://collector:4318/v1/traces. */
  readonly endpoint: string
  /** The part of traces that begin here which is kept; one that began elsewhere is kept as its caller decided. */
  readonly ratio: number
  readonly node: string
  readonly onError: (error: unknown) => void
}

export interface Tracing extends Trace {
  /** Makes every request to the application a span. */
  follow(app: FastifyInstance): void
  /** The same of a request that is answered without it; undefined where it is not traced. */
  open(traceparent: string | string[] | undefined): OpenRequest | undefined
  flush(): Promise<void>
  stop(): Promise<void>
}

export interface OpenRequest {
  /** The value of the answer's `traceresponse`. */
  readonly header: string
  /** What is done meanwhile, and what follows from it, is done on behalf of the request. */
  run(act: () => void): void
  end(served: Served): void
}

/** What a span says of a request: never its address, in which codes and names travel. */
interface Served {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly id: string
}

interface RequestSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly startedAt: bigint
  isOver: boolean
}

const SEND_EVERY_MS = 2_000
const SPANS_AT_ONCE = 512
/** While the collector is away spans are dropped, never piled up. */
const MOST_WAITING = 4_096
const SEND_TIMEOUT_MS = 5_000

export function openTracing({ endpoint, ratio, node, onError }: TraceOptions): Tracing {
  const followed = new WeakMap<FastifyRequest, OpenRequest>()
  const served = new AsyncLocalStorage<RequestSpan>()
  const finished: FinishedSpan[] = []
  const keep = (span: FinishedSpan) => {
    if (finished.length < MOST_WAITING) finished.push(span)
  }
  const timer = setInterval(() => void flush(), SEND_EVERY_MS)
  timer.unref()

  const open = (traceparent: string | string[] | undefined): OpenRequest | undefined => {
    const span = beginRequest(traceparent, ratio)
    if (span === undefined) return undefined
    return {
      header: `00-${span.traceId}-${span.spanId}-01`,
      run: (act) => served.run(span, act),
      end: (request) => keep(endRequest(span, request)),
    }
  }

  return {
    open,
    follow(app) {
      app.addHook('onRequest', (request, reply, done) => {
        const span = open(request.headers.traceparent)
        if (span !== undefined) {
          followed.set(request, span)
          reply.header('traceresponse', span.header)
        }
        done()
      })
      // Not before the body is there: what reads it runs on behalf of the socket, not of the request.
      app.addHook('preValidation', (request, _reply, done) => {
        const span = followed.get(request)
        if (span === undefined) done()
        else span.run(done)
      })
      app.addHook('onResponse', (request, reply, done) => {
        const { id, method, routeOptions } = request
        followed.get(request)?.end({ id, method, route: routeOptions.url ?? 'none', status: reply.statusCode })
        done()
      })
    },
    begin(name) {
      const parent = served.getStore()
      if (parent === undefined || parent.isOver) return undefined
      const startedAt = unixNanoseconds()
      return {
        end(attributes, isFailed) {
          keep({
            ...childOf(parent),
            name,
            kind: 'internal',
            startedAt,
            endedAt: unixNanoseconds(),
            attributes,
            isFailed,
          })
        },
      }
    },
    note(name, milliseconds, attributes, isFailed) {
      const parent = served.getStore()
      // What a request left behind, such as the writer of the audit log, is none of its own any more.
      if (parent === undefined || parent.isOver) return
      const endedAt = unixNanoseconds()
      const startedAt = endedAt - BigInt(Math.round(milliseconds * 1e6))
      keep({ ...childOf(parent), name, kind: 'client', startedAt, endedAt, attributes, isFailed })
    },
    flush,
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }

  async function flush(): Promise<void> {
    while (finished.length > 0) {
      const batch = finished.splice(0, SPANS_AT_ONCE)
      try {
        const response = await fetch(endpoint, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(exportRequest(batch, node)),
          signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
        })
        await response.body?.cancel()
        if (!response.ok) throw new Error(`The trace collector answered ${response.status}`)
      } catch (error) {
        onError(error)
        return
      }
    }
  }
}

function beginRequest(traceparent: string | string[] | undefined, ratio: number): RequestSpan | undefined {
  const parent = readTraceParent(traceparent)
  if (!(parent?.sampled ?? Math.random() < ratio)) return undefined
  return {
    traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
    spanId: newSpanId(),
    parentSpanId: parent?.spanId,
    startedAt: unixNanoseconds(),
    isOver: false,
  }
}

function endRequest(span: RequestSpan, { method, route, status, id }: Served): FinishedSpan {
  span.isOver = true
  const { traceId, spanId, parentSpanId, startedAt } = span
  return {
    traceId,
    spanId,
    parentSpanId,
    name: `${method} ${route}`,
    kind: 'server',
    startedAt,
    endedAt: unixNanoseconds(),
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'gatehouse.request_id': id,
    },
    isFailed: status >= 500,
  }
}

function childOf({ traceId, spanId }: RequestSpan): Pick<FinishedSpan, 'traceId' | 'spanId' | 'parentSpanId'> {
  return { traceId, spanId: newSpanId(), parentSpanId: spanId }
}

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}

/** W3C Trace Context §3.2. */
function readTraceParent(
  header: string | string[] | undefined,
): { traceId: string; spanId: string; sampled: boolean } | undefined {
  const [, traceId = '', spanId = '', flags = ''] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/.exec(String(header ?? '')) ?? []
  if (traceId === '' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

function unixNanoseconds(): bigint {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n
}

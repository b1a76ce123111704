/** Traces for OpenTelemetry, only where an exporter is configured: a span for each request, sent in batches as OTLP/HTTP JSON. */
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { VERSION } from '../protocol/version.ts'

export interface TraceOptions {
  /** For example http://collector:4318/v1/traces. */
  readonly endpoint: string
  /** The part of traces that begin here which is kept; one that began elsewhere is kept as its caller decided. */
  readonly ratio: number
  readonly node: string
  readonly onError: (error: unknown) => void
}

export interface Tracing {
  flush(): Promise<void>
  stop(): Promise<void>
}

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly startedAt: bigint
}

interface FinishedSpan extends Span {
  readonly endedAt: bigint
  readonly method: string
  readonly route: string
  readonly status: number
  readonly requestId: string
}

const SEND_EVERY_MS = 2_000
const SPANS_AT_ONCE = 512
/** While the collector is away spans are dropped, never piled up. */
const MOST_WAITING = 4_096
const SEND_TIMEOUT_MS = 5_000

export function traceRequests(app: FastifyInstance, { endpoint, ratio, node, onError }: TraceOptions): Tracing {
  const open = new WeakMap<FastifyRequest, Span>()
  const finished: FinishedSpan[] = []
  app.addHook('onRequest', async (request, reply) => {
    const parent = readTraceParent(request.headers.traceparent)
    if (!(parent?.sampled ?? Math.random() < ratio)) return
    const span = {
      traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      parentSpanId: parent?.spanId,
      startedAt: unixNanoseconds(),
    }
    open.set(request, span)
    reply.header('traceresponse', `00-${span.traceId}-${span.spanId}-01`)
  })
  app.addHook('onResponse', async (request, reply) => {
    const span = open.get(request)
    if (span === undefined || finished.length >= MOST_WAITING) return
    finished.push({
      ...span,
      endedAt: unixNanoseconds(),
      method: request.method,
      // Never the address itself: codes and names travel in it.
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      requestId: request.id,
    })
  })
  const timer = setInterval(() => void flush(), SEND_EVERY_MS)
  timer.unref()
  return {
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

const SERVER = 2
const ERROR = 2

function exportRequest(spans: readonly FinishedSpan[], node: string): object {
  return {
    resourceSpans: [
      {
        resource: {
          attributes: [
            text('service.name', 'gatehouse'),
            text('service.version', VERSION),
            text('service.instance.id', node),
          ],
        },
        scopeSpans: [{ scope: { name: 'gatehouse' }, spans: spans.map(exportSpan) }],
      },
    ],
  }
}

function exportSpan(span: FinishedSpan): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: `${span.method} ${span.route}`,
    kind: SERVER,
    startTimeUnixNano: String(span.startedAt),
    endTimeUnixNano: String(span.endedAt),
    attributes: [
      text('http.request.method', span.method),
      text('http.route', span.route),
      { key: 'http.response.status_code', value: { intValue: String(span.status) } },
      text('gatehouse.request_id', span.requestId),
    ],
    ...(span.status >= 500 ? { status: { code: ERROR } } : {}),
  }
}

function text(key: string, value: string): object {
  return { key, value: { stringValue: value } }
}

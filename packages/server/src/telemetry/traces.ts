/** Traces for OpenTelemetry, loaded only where an exporter is configured: a span for each request and for what it waits for, sent in batches. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import {
  type CallSpan,
  type CallTrace,
  type OpenSpan,
  readTraceParent,
  type SpanAttributes,
  type StatementTrace,
  type Trace,
  type TracedWork,
  type WorkTrace,
} from './trace.ts'
import { exportRequest, type FinishedSpan } from './trace-export.ts'

export interface TraceOptions {
  /** For example http://collector:4318/v1/traces. */
  readonly endpoint: string
  /** The sampling ratio of traces that begin here; for others the caller has decided. */
  readonly ratio: number
  readonly node: string
  readonly onError: (error: unknown) => void
}

export interface RequestSpan {
  /** The value of the `traceresponse` header. */
  readonly header: string
  /** Runs `act`; the spans of everything that follows from it are children of this one. */
  run(act: () => void): void
  end(served: Served): void
}

/** Never the target of the request, which may contain codes and names. */
interface Served {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly id: string
}

interface SpanState {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly startedAt: bigint
  isOver: boolean
}

const SEND_EVERY_MS = 2_000
const SPANS_AT_ONCE = 512
/** While the collector cannot be reached, further spans are dropped. */
const MOST_WAITING = 4_096
const SEND_TIMEOUT_MS = 5_000

export class Tracing implements Trace, CallTrace, StatementTrace, WorkTrace {
  readonly #options: TraceOptions
  readonly #served = new AsyncLocalStorage<SpanState>()
  readonly #finished: FinishedSpan[] = []
  readonly #timer = setInterval(() => void this.flush(), SEND_EVERY_MS).unref()

  constructor(options: TraceOptions) {
    this.#options = options
  }

  /** Begins the span of a request; undefined where it is not sampled. */
  open(traceparent: string | string[] | undefined): RequestSpan | undefined {
    const span = beginRequest(traceparent, this.#options.ratio)
    if (span === undefined) return undefined
    return {
      header: `00-${span.traceId}-${span.spanId}-01`,
      run: (act) => this.#served.run(span, act),
      end: (request) => this.#keep(endRequest(span, request)),
    }
  }

  openCall(traceparent: string | undefined): CallSpan | undefined {
    const span = beginRequest(traceparent, this.#options.ratio)
    if (span === undefined) return undefined
    const { traceId, spanId, parentSpanId, startedAt } = span
    return {
      header: `00-${traceId}-${spanId}-01`,
      end: (name, attributes, isFailed) => {
        const endedAt = unixNanoseconds()
        this.#keep({ traceId, spanId, parentSpanId, name, kind: 'client', startedAt, endedAt, attributes, isFailed })
      },
    }
  }

  begin(name: string): OpenSpan | undefined {
    const parent = this.#parent
    const startedAt = unixNanoseconds()
    return (
      parent && {
        end: (attributes, isFailed) => {
          const endedAt = unixNanoseconds()
          this.#keep({ ...createChild(parent), name, kind: 'internal', startedAt, endedAt, attributes, isFailed })
        },
      }
    )
  }

  note(name: string, milliseconds: number, attributes: SpanAttributes, isFailed: boolean): void {
    const parent = this.#parent
    if (parent === undefined) return
    const endedAt = unixNanoseconds()
    const startedAt = endedAt - BigInt(Math.round(milliseconds * 1e6))
    this.#keep({ ...createChild(parent), name, kind: 'client', startedAt, endedAt, attributes, isFailed })
  }

  noteStatement(
    traceparent: string | undefined,
    milliseconds: number,
    attributes: SpanAttributes,
    isFailed: boolean,
  ): void {
    const span = beginRequest(traceparent, this.#options.ratio)
    if (span === undefined) return
    const { traceId, spanId, parentSpanId, startedAt: endedAt } = span
    const startedAt = endedAt - BigInt(Math.round(milliseconds * 1e6))
    const name = 'query'
    this.#keep({ traceId, spanId, parentSpanId, name, kind: 'server', startedAt, endedAt, attributes, isFailed })
  }

  async runIn<Result>({ name, traceparent, attributes }: TracedWork, act: () => Promise<Result>): Promise<Result> {
    const span = this.#openWork(traceparent)
    if (span === undefined) return act()
    let isFailed = true
    try {
      const result = await this.#served.run(span, act)
      isFailed = false
      return result
    } finally {
      span.isOver = true
      const { traceId, spanId, parentSpanId, startedAt } = span
      const endedAt = unixNanoseconds()
      this.#keep({ traceId, spanId, parentSpanId, name, kind: 'server', startedAt, endedAt, attributes, isFailed })
    }
  }

  #openWork(traceparent: string | undefined): SpanState | undefined {
    if (readTraceParent(traceparent) !== undefined) return beginRequest(traceparent, this.#options.ratio)
    const parent = this.#parent
    return parent && { ...createChild(parent), startedAt: unixNanoseconds(), isOver: false }
  }

  async flush(): Promise<void> {
    while (this.#finished.length > 0) {
      try {
        await this.#send(this.#finished.splice(0, SPANS_AT_ONCE))
      } catch (error) {
        this.#options.onError(error)
        return
      }
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  /** Work that a request has left behind, such as writing the audit log, is not part of it. */
  get #parent(): SpanState | undefined {
    const parent = this.#served.getStore()
    return parent?.isOver === true ? undefined : parent
  }

  #keep(span: FinishedSpan): void {
    if (this.#finished.length < MOST_WAITING) this.#finished.push(span)
  }

  async #send(batch: readonly FinishedSpan[]): Promise<void> {
    const response = await fetch(this.#options.endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(exportRequest(batch, this.#options.node)),
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`The trace collector answered ${response.status}`)
  }
}

function beginRequest(traceparent: string | string[] | undefined, ratio: number): SpanState | undefined {
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

function endRequest(span: SpanState, { method, route, status, id }: Served): FinishedSpan {
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

function createChild({ traceId, spanId }: SpanState): Pick<FinishedSpan, 'traceId' | 'spanId' | 'parentSpanId'> {
  return { traceId, spanId: newSpanId(), parentSpanId: spanId }
}

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}

function unixNanoseconds(): bigint {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n
}

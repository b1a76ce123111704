/** Spans within a request, for the services. */

export type SpanAttributes = Readonly<Record<string, string | number>>

export interface Trace {
  /** Begins a span; undefined where the current request is not traced. */
  begin(name: string): OpenSpan | undefined
  /** A span that ends now. */
  note(name: string, milliseconds: number, attributes: SpanAttributes, isFailed: boolean): void
}

export interface OpenSpan {
  end(attributes: SpanAttributes, isFailed: boolean): void
}

/** Spans of calls to other programs that are not made for a request over HTTP, but for a message of a stream. */
export interface CallTrace {
  /** Begins a span in the given trace, or in a new one; undefined where it is not sampled. */
  openCall(traceparent: string | undefined): CallSpan | undefined
}

export interface CallSpan {
  /** The value of the `traceparent` header of the call. */
  readonly header: string
  end(name: string, attributes: SpanAttributes, isFailed: boolean): void
}

/** Spans of work whose caller says in a message which trace it belongs to. */
export interface WorkTrace {
  /** Runs `act` in a span of the given trace, or, where that is none, of the current request; what follows from it are its children. */
  runIn<Result>(work: TracedWork, act: () => Promise<Result>): Promise<Result>
}

export interface TracedWork {
  readonly name: string
  readonly traceparent: string | undefined
  readonly attributes: SpanAttributes
}

/** Spans of work that no request over HTTP began: statements over PostgreSQL's protocol. */
export interface StatementTrace {
  /** A span that ends now, in the given trace or in a new one, unless that is not sampled. */
  noteStatement(
    traceparent: string | undefined,
    milliseconds: number,
    attributes: SpanAttributes,
    isFailed: boolean,
  ): void
}

const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** W3C Trace Context §3.2. */
export function readTraceParent(
  header: string | string[] | undefined,
): { traceId: string; spanId: string; sampled: boolean } | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACE_PARENT.exec(String(header ?? '')) ?? []
  if (traceId === '' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

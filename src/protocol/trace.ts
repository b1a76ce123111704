/** Spans within a request, for parts that have something to tell where traces are kept. */

export type SpanAttributes = Readonly<Record<string, string | number>>

export interface Trace {
  /** Begins a span; undefined where the request that is served now is not traced. */
  begin(name: string): OpenSpan | undefined
  /** A span that ends now and took so long. */
  note(name: string, milliseconds: number, attributes: SpanAttributes, isFailed: boolean): void
}

export interface OpenSpan {
  end(attributes: SpanAttributes, isFailed: boolean): void
}

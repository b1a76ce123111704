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

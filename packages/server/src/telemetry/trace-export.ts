/** Finished spans for an OpenTelemetry collector: OTLP/HTTP in JSON. */

import { VERSION } from 'gatehouse-protocol'
import type { SpanAttributes } from './trace.ts'

export interface FinishedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: 'server' | 'internal' | 'client'
  /** Nanoseconds since the epoch. */
  readonly startedAt: bigint
  readonly endedAt: bigint
  readonly attributes: SpanAttributes
  readonly isFailed: boolean
}

const KINDS = { internal: 1, server: 2, client: 3 } as const
const ERROR = 2

export function exportRequest(spans: readonly FinishedSpan[], node: string): object {
  const resource = { 'service.name': 'gatehouse', 'service.version': VERSION, 'service.instance.id': node }
  return {
    resourceSpans: [
      {
        resource: { attributes: exportAttributes(resource) },
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
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: String(span.startedAt),
    endTimeUnixNano: String(span.endedAt),
    attributes: exportAttributes(span.attributes),
    ...(span.isFailed ? { status: { code: ERROR } } : {}),
  }
}

function exportAttributes(attributes: SpanAttributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(Math.round(value)) } : { stringValue: value },
  }))
}

/** The span of a statement, where traces are configured. */
import { OTEL_SYSTEMS } from '../../query/index.ts'
import type { StatementTrace } from '../../telemetry/trace.ts'
import type { SessionEnv } from './env.ts'

/** Instrumented clients write the trace in a comment of the statement, as sqlcommenter does. */
const TRACE_PARENT = /\/\*[^*]*\btraceparent='([^']*)'/

export function noteSpan(
  trace: StatementTrace,
  engine: SessionEnv['engine'],
  { requestId, shown }: { readonly requestId: string; readonly shown: string },
  { outcome, ms, rows }: { readonly outcome: string; readonly ms: number; readonly rows: number },
): void {
  const attributes = {
    'db.system.name': OTEL_SYSTEMS[engine.kind],
    'network.protocol.name': 'postgresql',
    'gatehouse.request_id': requestId,
    'gatehouse.outcome': outcome,
    'gatehouse.rows': rows,
  }
  trace.noteStatement(TRACE_PARENT.exec(shown)?.[1], ms, attributes, outcome === 'server.fault')
}

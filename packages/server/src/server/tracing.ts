/** Traces, where a collector is configured; without one nothing of this is loaded. */
import type { Config } from '../config/config.ts'
import type { DatabaseOptions } from '../store/database/database.ts'
import type { Logger } from '../telemetry/log.ts'
import type { SpanAttributes, Trace } from '../telemetry/trace.ts'
import type { Tracing } from '../telemetry/traces.ts'
import type { Cleanup } from './watch/cleanup.ts'

export async function openTracingIfSet(
  config: Config,
  node: string,
  logger: Logger,
  closing: Cleanup,
): Promise<Tracing | undefined> {
  if (config.traceEndpoint === '') return undefined
  const { Tracing } = await import('../telemetry/traces.ts')
  const tracing = new Tracing({
    endpoint: config.traceEndpoint,
    ratio: config.traceRatio,
    node,
    onError: (error) => logger.warn({ err: error }, 'traces could not be sent'),
  })
  closing.add(() => tracing.stop())
  return tracing
}

/** A span for each statement of the identity database, named by operation and table. The text contains no values. */
export function statementSpans(trace: Trace, url: string): NonNullable<DatabaseOptions['onStatement']> {
  const system = url === '' ? 'sqlite' : 'postgresql'
  const known = new Map<string, { name: string; attributes: SpanAttributes }>()
  return ({ sql, milliseconds, isFailed }) => {
    const described = known.get(sql) ?? describe(sql, system)
    if (known.size < MOST_KNOWN) known.set(sql, described)
    trace.note(described.name, milliseconds, described.attributes, isFailed)
  }
}

const MOST_KNOWN = 1_000

function describe(sql: string, system: string): { name: string; attributes: SpanAttributes } {
  const outer = withoutParentheses(sql)
  const operation = /^\W*(\w+)/.exec(outer)?.[1]?.toLowerCase() ?? 'statement'
  const table = /\b(?:from|into|update)\s+"?(\w+)/i.exec(outer)?.[1]
  const attributes = { 'db.system.name': system, 'db.operation.name': operation }
  if (table === undefined) return { name: operation, attributes }
  return { name: `${operation} ${table}`, attributes: { ...attributes, 'db.collection.name': table } }
}

/** Sub-queries in parentheses read other tables. */
function withoutParentheses(sql: string): string {
  const less = sql.replace(/\([^()]*\)/g, ' ')
  return less === sql ? sql : withoutParentheses(less)
}

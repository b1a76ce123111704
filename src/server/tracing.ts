/** Traces, where a collector is configured; where none is, nothing of them is loaded or asked. */
import type { Config } from '../config.ts'
import type { Logger } from '../http/log.ts'
import type { Tracing } from '../http/traces.ts'
import type { SpanAttributes, Trace } from '../protocol/trace.ts'
import type { DatabaseOptions } from '../store/database.ts'
import type { Closing } from './closing.ts'

export async function traceIfAsked(
  config: Config,
  node: string,
  logger: Logger,
  closing: Closing,
): Promise<Tracing | undefined> {
  if (config.traceEndpoint === '') return undefined
  const { openTracing } = await import('../http/traces.ts')
  const tracing = openTracing({
    endpoint: config.traceEndpoint,
    ratio: config.traceRatio,
    node,
    onError: (error) => logger.warn({ err: error }, 'traces could not be sent'),
  })
  closing.add(() => tracing.stop())
  return tracing
}

/** A span for each statement of the identity database, named for what it does to which table; values are never in the text. */
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

/** What stands in parentheses, such as a sub-query, reads tables of its own. */
function withoutParentheses(sql: string): string {
  const less = sql.replace(/\([^()]*\)/g, ' ')
  return less === sql ? sql : withoutParentheses(less)
}

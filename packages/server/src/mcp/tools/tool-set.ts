/** What tools share: a definition becomes a tool whose calls are checked, bounded, observed and recorded, and whose errors teach. */
import { hash } from 'node:crypto'
import { type Audit, Refusal } from 'gatehouse-protocol'
import { outageRefusal } from '../../http/problem.ts'
import { asKnown, type QueryService } from '../../query/index.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { WorkTrace } from '../../telemetry/trace.ts'
import { type Call, type Tool, type ToolResult, toolError, toolResult } from '../protocol/features.ts'
import { InputRequired } from '../protocol/input.ts'
import type { JsonObject } from '../protocol/json.ts'
import { cutBytes, escapeText } from '../text/escape.ts'
import { refusalText } from '../text/refusal-text.ts'
import { type Arguments, BadArguments, readArguments } from './arguments.ts'
import type { CallCounts } from './call-counts.ts'
import type { RowBudget } from './row-budget.ts'
import { teach } from './teach.ts'

export type AuditedStatement = 'statement' | 'digest' | 'off'

export interface ToolEnv {
  readonly query: QueryService
  readonly audit: Audit
  readonly metrics: Metrics
  readonly auditedStatement: AuditedStatement
  readonly rows: RowBudget
  readonly calls: CallCounts
  /** Undefined where no traces are sent. */
  readonly trace: WorkTrace | undefined
}

/** What a call gave, and what is recorded of it. */
export interface Outcome {
  readonly text: string
  readonly structured?: JsonObject | undefined
  /** For programs, and not for the model. */
  readonly meta?: JsonObject | undefined
  readonly rows?: number
  readonly tables?: readonly string[]
}

/** What is recorded of a call however it ends. */
export interface Recorded {
  /** As it runs: of a saved query, for example, or of a watch. */
  statement?: string | undefined
  tables?: readonly string[]
  /** As the caller names them, whether or not there are such. */
  feed?: string | undefined
  topic?: string
}

export interface ToolDefinition {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly _meta?: JsonObject
  /** Arguments of a call, which errors show. */
  readonly example: JsonObject
  readonly run: (args: Arguments, call: Call, recorded: Recorded) => Promise<Outcome>
}

const READS = { readOnlyHint: true, openWorldHint: false }
const MOST_RECORDED = 2_000
/** Names of feeds and topics are shorter, unless somebody makes them up. */
const MOST_NAMED = 256

export function makeTool(definition: ToolDefinition, env: ToolEnv): Tool {
  const { run, example, ...shown } = definition
  return {
    ...shown,
    annotations: READS,
    async call(given, call) {
      const statement = typeof given.statement === 'string' ? given.statement : undefined
      try {
        const recorded: Recorded = { statement }
        const { text, structured, meta } = await observe(definition.name, call, env, recorded, () =>
          inSpan(definition.name, call, env, () => run(readArguments(definition, given), call, recorded)),
        )
        if (structured === undefined) return toolResult(cutText(text), undefined, meta)
        return Buffer.byteLength(text) > MOST_BYTES ? toolError(TOO_WIDE) : toolResult(text, structured, meta)
      } catch (error) {
        const { content, ...others } = describeFailure(error, statement, call, env.query, definition)
        return { ...others, content: content.map(({ text, ...part }) => ({ ...part, text: cutText(String(text)) })) }
      }
    },
  }
}

/** Within the rows of a day; counted and recorded, also where it fails. */
export async function observe(
  name: string,
  call: Call,
  env: ToolEnv,
  recorded: Recorded,
  act: () => Promise<Outcome>,
): Promise<Outcome> {
  const started = performance.now()
  let outcome: Outcome = { text: '' }
  try {
    env.rows.require(call.principal)
    outcome = await act()
    env.rows.add(call.principal, outcome.rows ?? 0)
    env.metrics.count('gatehouse_mcp_rows_total', {}, outcome.rows ?? 0)
    return outcome
  } finally {
    const milliseconds = performance.now() - started
    env.calls.add(call.principal, outcome.rows ?? 0)
    env.metrics.observe('gatehouse_mcp_tool_seconds', { tool: name }, milliseconds / 1000)
    record(name, { ...recorded, ...outcome }, milliseconds, call, env)
  }
}

/** More than any result of rows has: clients cut longer texts without saying so. */
const MOST_BYTES = 72 * 1024

const TOO_WIDE = `mcp.arguments: As JSON this result has more than ${MOST_BYTES / 1024} KiB\nHint: name fewer columns, or call without format`

export function cutText(text: string): string {
  const cut = cutBytes(text, MOST_BYTES)
  if (cut === undefined) return text
  return `${cut.slice(0, cut.lastIndexOf('\n') + 1) || `${cut}\n`}# Cut at ${MOST_BYTES / 1024} KiB: ask for less.`
}

/** By the conventions of OpenTelemetry for this protocol. */
function inSpan(
  tool: string,
  { traceparent }: Call,
  { trace }: ToolEnv,
  act: () => Promise<Outcome>,
): Promise<Outcome> {
  if (trace === undefined) return act()
  const attributes = { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': tool }
  return trace.runIn({ name: `tools/call ${tool}`, traceparent, attributes }, act)
}

/** Bugs of the server are not for the model: they are thrown. */
function describeFailure(
  thrown: unknown,
  statement: string | undefined,
  call: Call,
  query: QueryService,
  { name, example }: ToolDefinition,
): ToolResult {
  if (thrown instanceof InputRequired) throw thrown
  if (thrown instanceof BadArguments)
    return toolError(`Arguments: ${escapeText(thrown.message)}\nFor example: ${name} ${JSON.stringify(example)}`)
  const error = asKnown(thrown)
  const refusal = outageRefusal(error) ?? error
  if (!(refusal instanceof Refusal)) throw thrown
  if (refusal.status === 401)
    return toolError(
      `${refusal.code}: ${escapeText(refusal.message)} Ask the person to disconnect this server and to connect it anew, which signs them in again.`,
    )
  return toolError(refusalText(refusal, statement, teach(refusal, statement, call, query)))
}

function record(
  tool: string,
  { tables = [], rows = 0, statement, feed, topic }: Outcome & Recorded,
  milliseconds: number,
  { principal, address, requestId }: Call,
  { audit, auditedStatement }: ToolEnv,
): void {
  if (auditedStatement === 'off') return
  const shown =
    statement === undefined
      ? {}
      : auditedStatement === 'digest'
        ? { digest: hash('sha256', statement, 'base64url') }
        : { statement: statement.slice(0, MOST_RECORDED) }
  audit.record({
    event: 'agent.called',
    actor: principal.subject,
    client: principal.clientId,
    address,
    requestId,
    details: {
      tool,
      tables,
      feed: feed?.slice(0, MOST_NAMED),
      topic: topic?.slice(0, MOST_NAMED),
      rows,
      ms: Math.round(milliseconds),
      ...shown,
    },
  })
}

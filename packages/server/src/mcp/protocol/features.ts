/** What a server offers over the Model Context Protocol, as data: tools with their schemas, and what a call of one gets. */
import type { Principal } from 'gatehouse-protocol'
import type { Logger } from '../../telemetry/log.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export interface Features {
  readonly instructions: string
  readonly tools: readonly Tool[]
}

/** As `tools/list` shows it, and what it does. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly annotations?: JsonObject
  call(args: JsonObject, call: Call): Promise<ToolResult>
}

/** Who calls, and what belongs to this one request. */
export interface Call {
  readonly principal: Principal
  readonly address: string
  readonly requestId: string
  readonly log: Logger
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
}

/** Made by `toolResult` alone. */
export interface ToolResult {
  readonly content: readonly JsonObject[]
  readonly isError?: true
  readonly structuredContent?: JsonObject
}

/** The one form of results: a text, and for programs the same as an object. */
export function toolResult(text: string, structured?: JsonObject): ToolResult {
  const content = [{ type: 'text', text }]
  return structured === undefined ? { content } : { content, structuredContent: structured }
}

/** What the model reads and can correct; errors of the protocol are for programs. */
export function toolError(text: string): ToolResult {
  return { ...toolResult(text), isError: true }
}

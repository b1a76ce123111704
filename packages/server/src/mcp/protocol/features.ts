/** What a server offers over the Model Context Protocol, as data: tools, prompts and resources, and what a use of one gets. */
import type { Principal } from 'gatehouse-protocol'
import type { Logger } from '../../telemetry/log.ts'
import type { JsonObject } from './json.ts'

export interface Features {
  readonly instructions: string
  /** The extensions of the protocol, by name. */
  readonly extensions: JsonObject
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly resources: Resources
}

/** As `tools/list` shows it, and what it does. */
export interface Tool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly annotations?: JsonObject
  readonly _meta?: JsonObject
  call(args: JsonObject, call: Call): Promise<ToolResult>
}

/** A text that a person chooses to begin with. */
export interface Prompt {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly arguments: readonly PromptArgument[]
  get(args: Readonly<Record<string, string>>, call: Call): Promise<{ readonly messages: readonly JsonObject[] }>
}

export interface PromptArgument {
  readonly name: string
  readonly description: string
  readonly required: boolean
  readonly complete?: Complete
}

/** What an argument can be; the best that contain what was typed. `others`: arguments that are known already. */
export type Complete = (
  typed: string,
  call: Call,
  others: Readonly<Record<string, unknown>>,
) => Promise<readonly string[]>

export interface Resources {
  readonly templates: readonly Template[]
  /** `cursor` is what the page before gave as the next. */
  list(
    cursor: string | undefined,
    call: Call,
  ): Promise<{ readonly resources: readonly JsonObject[]; readonly nextCursor?: string }>
  /** Undefined for what is unknown, and for what the caller may not read. */
  read(uri: string, call: Call): Promise<ResourceContents | undefined>
}

export interface ResourceContents {
  readonly contents: readonly JsonObject[]
  /** How long it may be kept. */
  readonly ttlMs: number
}

/** A URI with variables, such as `gatehouse://table/{name}`. */
export interface Template {
  readonly uriTemplate: string
  readonly name: string
  readonly description: string
  readonly mimeType: string
  /** By variable. */
  readonly complete: ReadonlyMap<string, Complete>
}

/** What the client is asked, by keys that the server chooses. */
export type InputRequests = Readonly<Record<string, { readonly method: string; readonly params: JsonObject }>>

/** Who calls, and what belongs to this one request. */
export interface Call {
  readonly principal: Principal
  readonly address: string
  readonly requestId: string
  /** The `Accept-Language` of the client. */
  readonly languages: string | undefined
  readonly log: Logger
  /** The `traceparent` of the message: its caller goes on in this trace (W3C Trace Context). */
  readonly traceparent: string | undefined
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** Whether the token is still valid, with the rights that it had. For a call that waits. */
  isUnchanged(): Promise<boolean>
  /** Whether the client can be asked by this method, such as `elicitation/create`. */
  canAsk(method: string): boolean
  /** Whether this request declares an extension of its client. */
  hasExtension(name: string): boolean
  /** The answers to what was asked in the round before; none at first. */
  readonly answers: Readonly<Record<string, unknown>>
  /** What was kept in the round before; undefined at first. */
  readonly state: unknown
  /** Ends this round: the client asks, and sends the request again with the answers. */
  ask(requests: InputRequests, state?: unknown): never
  progress(done: number, total?: number, message?: string): void
}

/** Made by `toolResult` alone. */
export interface ToolResult {
  readonly content: readonly JsonObject[]
  readonly isError?: true
  readonly structuredContent?: JsonObject
  /** For programs, and not for the model. */
  readonly _meta?: JsonObject
}

/** The only form of results: a text, and its content as an object for programs. */
export function toolResult(text: string, structured?: JsonObject, meta?: JsonObject): ToolResult {
  return {
    content: [{ type: 'text', text }],
    ...(structured === undefined ? {} : { structuredContent: structured }),
    ...(meta === undefined ? {} : { _meta: meta }),
  }
}

/** What the model reads and can correct; errors of the protocol are for programs. */
export function toolError(text: string): ToolResult {
  return { ...toolResult(text), isError: true }
}

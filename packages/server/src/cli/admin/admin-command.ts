/** An administration command: its syntax, the requests it makes, and its output. */
import type { AdminRoute } from '../../admin/route.ts'
import type { Arguments, OptionName, OptionTable } from '../args.ts'
import type { JsonObject } from '../output/json.ts'

export interface AdminCommand {
  readonly name: string
  readonly positionals?: readonly string[]
  readonly options?: OptionTable
  readonly summary: string
  readonly examples: readonly string[]
  /** The question to ask before something is destroyed; `--yes` skips it. */
  confirm?(positionals: readonly string[]): string
  run(call: AdminCommandCall): Promise<Output>
}

export interface AdminCommandCall {
  readonly args: Arguments
  readonly request: AdminRequest
  /** Reads a new password from a prompt without echo, or from stdin. */
  readPassword(prompt: string): Promise<string>
}

export type AdminRequest = (
  method: AdminRoute['method'],
  target: string,
  options?: { body?: unknown; ifMatch?: string },
) => Promise<AdminResponse>

export interface AdminResponse {
  readonly body: unknown
  /** For NDJSON responses. */
  readonly lines: AsyncIterable<string> | undefined
}

/** What is printed; with `--json` it is the body of the response. */
export type Output =
  | { readonly kind: 'table'; readonly columns: readonly string[]; readonly body: unknown }
  | { readonly kind: 'object'; readonly body: unknown; readonly removed?: readonly string[] }
  | { readonly kind: 'text'; readonly text: string; readonly body?: unknown; readonly failed?: boolean }
  | { readonly kind: 'lines'; readonly lines: AsyncIterable<string> }

export const PAGE_OPTIONS = {
  '--limit': { value: 'COUNT', help: 'the maximum number of entries (default 100)' },
  '--after': { value: 'LAST', help: 'start after this entry, the last one of the previous page' },
} as const

/** The path of a paged list, with the options of the command and other parameters that have a value. */
export function pagePath(path: string, args: Arguments, others: JsonObject = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(withoutUndefined(others))) query.set(name, String(value))
  const [limit, after] = [args.integer('--limit', { least: 1, most: 1000 }), args.value('--after')]
  if (limit !== undefined) query.set('limit', String(limit))
  if (after !== undefined) query.set('after', after)
  return query.size === 0 ? path : `${path}?${query}`
}

/** One segment of a path. */
export function segment(text: string | undefined): string {
  return encodeURIComponent(text ?? '')
}

/** The members that have a value: a patch leaves the others as they are. */
export function withoutUndefined(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** The value of an option that takes `true` or `false`. */
export function readBoolean(args: Arguments, name: OptionName): boolean | undefined {
  const text = args.choice(name, ['true', 'false'])
  return text === undefined ? undefined : text === 'true'
}

/** The values of a repeatable option; undefined if it is not given, so that a patch leaves the list as it is. */
export function readList(args: Arguments, name: OptionName): readonly string[] | undefined {
  return args.has(name) ? args.values(name) : undefined
}

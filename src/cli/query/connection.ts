/** Requests to the query service of a running server. */
import { caretPicture, type Position } from '../../query/iql/errors.ts'
import type { Arguments } from '../args.ts'
import { connect, serverAddress } from '../client.ts'
import { CommandError } from '../errors.ts'
import { type JsonObject, membersOf, parseJson } from '../json.ts'
import { tokenSource } from '../sign-in.ts'
import { printable } from '../table.ts'

export interface QueryConnection {
  readonly server: string
  /** Runs a statement; the response may be a refusal. */
  statement(statement: string, options?: StatementOptions): Promise<Response>
  /** Calls an operation of a table, such as `insert`. */
  call(table: string, operation: string, body: string, headers?: Readonly<Record<string, string>>): Promise<Response>
}

export interface StatementOptions {
  readonly parameters?: ReadonlyMap<string, string>
  readonly accept?: string
  /** More parameters of the query string, such as `rows=arrays`. */
  readonly search?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the request, or the response where it has begun. */
  readonly signal?: AbortSignal
}

export async function connectToQuery(args: Arguments): Promise<QueryConnection> {
  const server = serverAddress(args.value('--server'))
  const connection = await connect(server, tokenSource(server, args))
  return {
    server,
    statement(statement, options = {}) {
      const { parameters = new Map(), accept = 'application/json', search = {}, signal } = options
      const query = new URLSearchParams(search)
      for (const [name, value] of parameters) query.set(`p.${name}`, value)
      const headers = { 'content-type': 'text/plain; charset=utf-8', accept, ...options.headers }
      return connection.request(query.size === 0 ? '/query' : `/query?${query}`, {
        method: 'POST',
        headers,
        body: statement,
        signal,
      })
    },
    call(table, operation, body, headers = {}) {
      return connection.request(`/query/${encodeURIComponent(table)}/${operation}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
        body,
      })
    },
  }
}

/** The query service refused a request, with a code and, for a statement, a position in it. */
export class QueryRefused extends CommandError {
  override name = 'QueryRefused'
  readonly status: number
  readonly code: string
  readonly detail: string

  constructor(status: number, problem: JsonObject, statement?: string) {
    const code = String(problem.Code ?? status)
    const detail = String(problem.detail ?? problem.title ?? 'no reason given')
    const lines = [printable(`${code}: ${detail}`)]
    if (statement !== undefined && isPosition(problem.Position)) lines.push(caretPicture(statement, problem.Position))
    if (typeof problem.Hint === 'string') lines.push(`hint: ${printable(problem.Hint)}`)
    super(lines.join('\n'))
    this.status = status
    this.code = code
    this.detail = detail
  }
}

/** Throws a QueryRefused unless the response is a success. */
export async function expectSuccess(response: Response, statement?: string): Promise<Response> {
  if (response.ok) return response
  throw new QueryRefused(response.status, membersOf(parseJson(await response.text())), statement)
}

export interface Column {
  readonly name: string
  readonly isNumeric: boolean
}

/** Reads `Columns` of a result. */
export function columnsOf(columns: unknown): Column[] {
  return Object.entries(membersOf(columns)).map(([name, column]) => ({
    name,
    isNumeric: /^(Integer|Decimal|Double)/.test(String(membersOf(column).Type)),
  }))
}

function isPosition(value: unknown): value is Position {
  return typeof value === 'object' && value !== null && 'Offset' in value && 'Line' in value && 'Column' in value
}

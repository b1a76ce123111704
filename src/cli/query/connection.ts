/** The query service of a running server, asked as somebody who has signed in. */
import { readFile } from 'node:fs/promises'
import { caretPicture, type Position } from '../../query/iql/errors.ts'
import { currentCredentials } from '../admin/remote.ts'
import { Usage } from '../command.ts'
import { askPassword } from '../password.ts'
import { signInWithPassword } from '../stream-session.ts'

/** The options that every command of this folder takes. */
export const CONNECTION_OPTIONS = {
  server: { type: 'string' },
  username: { type: 'string' },
  'password-file': { type: 'string' },
  client: { type: 'string' },
  'token-file': { type: 'string' },
} as const

export interface ConnectionOptions {
  readonly server?: string | undefined
  readonly username?: string | undefined
  readonly 'password-file'?: string | undefined
  readonly client?: string | undefined
  readonly 'token-file'?: string | undefined
}

export interface QueryConnection {
  readonly server: string
  /** The reply to a statement, be it rows or a refusal. */
  statement(statement: string, options?: StatementOptions): Promise<Response>
  /** The reply to a call on a table, for example `insert`. */
  call(table: string, what: string, body: string, headers?: Readonly<Record<string, string>>): Promise<Response>
}

export interface StatementOptions {
  readonly parameters?: ReadonlyMap<string, string>
  readonly accept?: string
  /** Further parameters of the address, for example `rows=arrays`. */
  readonly search?: Readonly<Record<string, string>>
}

export async function connect(options: ConnectionOptions): Promise<QueryConnection> {
  const server = serverOf(options)
  let token = await tokenOf(server, options)
  const send = async (path: string, body: string, headers: Readonly<Record<string, string>>): Promise<Response> => {
    const response = await post(server + path, body, { ...headers, authorization: `Bearer ${token}` })
    // A long import outlives its token.
    if (response.status !== 401) return response
    token = await tokenOf(server, options)
    return post(server + path, body, { ...headers, authorization: `Bearer ${token}` })
  }
  return {
    server,
    statement(statement, { parameters = new Map(), accept = 'application/json', search = {} } = {}) {
      const query = new URLSearchParams(search)
      for (const [name, value] of parameters) query.set(`p.${name}`, value)
      const path = query.size === 0 ? '/query' : `/query?${query}`
      return send(path, statement, { 'content-type': 'text/plain; charset=utf-8', accept })
    },
    call(table, what, body, headers = {}) {
      const path = `/query/${encodeURIComponent(table)}/${what}`
      return send(path, body, { 'content-type': 'application/json', accept: 'application/json', ...headers })
    },
  }
}

function serverOf({ server = process.env.GATEHOUSE_SERVER ?? '' }: ConnectionOptions): string {
  const address = server === '' ? 'http://localhost:5080' : server
  const url = URL.parse(address)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new Usage(`"${address}" is not an address like http://localhost:5080`)
  return address.replace(/\/+$/, '')
}

async function tokenOf(server: string, options: ConnectionOptions): Promise<string> {
  const { username, 'password-file': passwordFile, 'token-file': tokenFile, client = 'demo-cli' } = options
  if (tokenFile !== undefined) return firstLine(tokenFile)
  if (username === undefined) return (await currentCredentials(server)).accessToken
  if (passwordFile === undefined && !process.stdin.isTTY)
    throw new Usage('In a pipe the password comes from a file: --password-file FILE')
  const password =
    passwordFile === undefined ? await askPassword(`Password of ${username}: `) : await firstLine(passwordFile)
  return signInWithPassword(server, { client, username, password })
}

async function firstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Usage(`${file} cannot be read`)
  })
  return text.split(/\r?\n/, 1)[0] ?? ''
}

function post(address: string, body: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(address, { method: 'POST', headers, body }).catch((error: unknown) => {
    const why = error instanceof Error ? String(error.cause ?? error.message) : String(error)
    throw new Unreachable(`${new URL(address).origin} does not answer (${why})`)
  })
}

/** Nothing answers: trying again may help. */
export class Unreachable extends Error {
  override name = 'Unreachable'
}

/** The service said no, with a code and, for a statement, a place in it. */
export class QueryRefused extends Error {
  override name = 'QueryRefused'
  readonly status: number
  readonly code: string
  readonly detail: string

  constructor(status: number, problem: Readonly<Record<string, unknown>>, statement?: string) {
    const code = String(problem.Code ?? status)
    const detail = String(problem.detail ?? problem.title ?? 'no reason was given')
    const lines = [`${code}: ${detail}`]
    if (statement !== undefined && isPosition(problem.Position)) lines.push(caretPicture(statement, problem.Position))
    if (typeof problem.Hint === 'string') lines.push(`hint: ${problem.Hint}`)
    super(lines.join('\n'))
    this.status = status
    this.code = code
    this.detail = detail
  }
}

/** The reply when it is good. */
export async function accepted(response: Response, statement?: string): Promise<Response> {
  if (response.ok) return response
  throw new QueryRefused(response.status, membersOf(await response.json().catch(() => ({}))), statement)
}

export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function isPosition(value: unknown): value is Position {
  return typeof value === 'object' && value !== null && 'Offset' in value && 'Line' in value && 'Column' in value
}

/** `name=value`, as given with --parameter. */
export function readPairs(pairs: readonly string[], option: string): Map<string, string> {
  const read = new Map<string, string>()
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    if (equals < 1) throw new Usage(`${option} looks like name=value, not "${pair}"`)
    const name = pair.slice(0, equals).replace(/^[:$]/, '')
    if (read.has(name)) throw new Usage(`${option} ${name} is given twice`)
    read.set(name, pair.slice(equals + 1))
  }
  return read
}

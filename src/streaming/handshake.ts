/** Reads an upgrade request: which version, which sub-protocol, whose token; refuses it with a reply of its own. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { nodeHttp } from '../http/node-http.ts'
import { STREAM_PATH, STREAM_VERSIONS, SUB_PROTOCOLS, type SubProtocol } from '../protocol/envelope.ts'
import { problemOf } from '../protocol/problem.ts'
import { Refusal } from '../protocol/refusal.ts'
import { readAccessToken } from './controllers/auth.ts'
import { type Profile, profileFor } from './profile.ts'
import { isBearer } from './standing.ts'

export interface Handshake {
  readonly profile: Profile
  readonly subProtocol: SubProtocol
  /** The access token of the Authorization header, if there is one. */
  readonly accessToken: string | undefined
}

export function readHandshake(request: IncomingMessage, origins: readonly string[]): Handshake {
  const { path, query } = splitTarget(request)
  if (path !== STREAM_PATH.toLowerCase()) throw new Refusal('stream.not_found', 404, 'Nothing is streamed here')
  return {
    profile: readProfile(query),
    subProtocol: readSubProtocol(request.headers['sec-websocket-protocol']),
    accessToken: readAuthorization(checkOrigin(request, origins).headers.authorization),
  }
}

/** The path in lower case: its case is not significant. */
export function splitTarget(request: IncomingMessage): { path: string; query: URLSearchParams } {
  const target = request.url ?? '/'
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  return { path: path.toLowerCase(), query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)) }
}

function readProfile(query: URLSearchParams): Profile {
  const versions = query.getAll('version')
  const profile = versions.length > 1 ? undefined : profileFor(versions[0] ?? null)
  if (profile !== undefined) return profile
  throw new Refusal('stream.version', 400, `The version is one of ${STREAM_VERSIONS.join(', ')}, for example 1.1`, {
    members: { SupportedVersions: STREAM_VERSIONS },
  })
}

/** The first of the client's list that is spoken here. */
export function chooseSubProtocol(offered: Iterable<string>): SubProtocol | undefined {
  for (const name of offered) {
    const known = SUB_PROTOCOLS.find((candidate) => candidate === name)
    if (known !== undefined) return known
  }
  return undefined
}

function readSubProtocol(header: string | undefined): SubProtocol {
  const chosen = chooseSubProtocol((header ?? '').split(',').map((name) => name.trim()))
  if (chosen !== undefined) return chosen
  throw new Refusal('stream.sub_protocol', 400, `Sec-WebSocket-Protocol must offer ${SUB_PROTOCOLS.join(' or ')}`, {
    members: { SupportedSubProtocols: SUB_PROTOCOLS },
  })
}

/** Only browsers send an Origin, and only for them it means something. */
function checkOrigin(request: IncomingMessage, origins: readonly string[]): IncomingMessage {
  const { origin } = request.headers
  if (origin === undefined || origins.length === 0 || origins.includes(origin)) return request
  throw new Refusal('stream.origin', 403, 'Pages of this origin may not connect')
}

const CREDENTIALS = /^(?<provider>\S+)[ \t]+(?<token>\S+)$/

function readAuthorization(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  if (isBearer(header.trim()))
    throw new Refusal('stream.token_needed', 401, 'After Bearer stands no access token', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  const { provider, token } = CREDENTIALS.exec(header.trim())?.groups ?? {}
  if (provider === undefined || token === undefined || !isBearer(provider))
    throw new Refusal('stream.provider', 401, 'The only provider is Bearer', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  return readAccessToken(token)
}

export function invalidToken(): Refusal {
  return new Refusal('stream.invalid_token', 401, 'The access token is not valid here', {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })
}

/** Answers the request that asked for an upgrade and ends its connection (RFC 9457). */
export function replyWithRefusal(socket: Duplex, refusal: Refusal): void {
  const { status, details } = refusal
  const body = JSON.stringify(problemOf(refusal))
  const headers = {
    'content-type': 'application/problem+json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    'cache-control': 'no-store',
    ...details.headers,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  // What else the client sends is thrown away, and whether it ends its side is not waited for.
  socket.resume()
  socket.once('finish', destroy)
  socket.end(`HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

function destroy(this: Duplex): void {
  this.destroy()
}

/** Reads a WebSocket upgrade request (RFC 6455 §4.2.1): version, sub-protocol, origin, access token; and answers it. */
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal, STREAM_VERSIONS, SUB_PROTOCOLS, type SubProtocol } from 'gatehouse-protocol'
import type { Credentials } from '../../http/request/authentication.ts'
import { proofChallenge } from '../../http/request/proof.ts'
import { type QueryValues, readQuery, targetQuery } from '../../http/request/request-head.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { type Profile, profileFor } from '../codec/profile.ts'
import { isBearer, isDpop, readAccessToken } from '../controllers/auth.ts'
import type { StreamSettings } from '../settings.ts'
import { agreeOnWindows, describeWindows, type ExtensionOffer, type Windows } from '../websocket/deflate.ts'

/** What the WebSocket layer needs from the request. */
export interface WebSocketHandshake {
  readonly key: string
  /** The agreed compression, undefined without. */
  readonly windows: Windows | undefined
}

export interface Handshake extends WebSocketHandshake {
  readonly profile: Profile
  readonly subProtocol: SubProtocol
  /** The access token of the Authorization header, if present. */
  readonly credentials: Credentials | undefined
}

type HandshakeSettings = Pick<StreamSettings, 'streamOrigins' | 'streamDeflate' | 'streamDeflateWindowBits'>

/** Throws a Refusal if the request is not acceptable. Nothing is written. */
export function readHandshake(request: IncomingMessage, settings: HandshakeSettings): Handshake {
  const { authorization, origin } = request.headers
  const { key, windows } = readWebSocketHandshake(request, settings)
  const profile = requestedProfile(request.url ?? '')
  const subProtocol = readSubProtocol(request)
  checkOrigin(origin, settings.streamOrigins)
  return { key, windows, profile, subProtocol, credentials: readAuthorization(authorization) }
}

/** 16 bytes in Base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/

/** The part of the handshake that RFC 6455 prescribes. The router has checked the method, and Node the Upgrade header. */
export function readWebSocketHandshake({ headers }: IncomingMessage, settings: HandshakeSettings): WebSocketHandshake {
  const { 'sec-websocket-version': version, 'sec-websocket-key': key, 'sec-websocket-extensions': extensions } = headers
  // §4.2.2: the reply names the versions that the server speaks.
  if (version !== '13')
    throw new Refusal('stream.websocket_version', 426, 'Sec-WebSocket-Version must be 13', {
      // The connection ends after the reply to a refused upgrade.
      headers: { upgrade: 'websocket', connection: 'upgrade, close', 'sec-websocket-version': '13' },
    })
  if (key === undefined || !KEY.test(key))
    throw new Refusal('stream.handshake', 400, 'Sec-WebSocket-Key must be 16 bytes in Base64')
  const offers = extensions === undefined ? NO_EXTENSIONS : readExtensions(extensions)
  return { key, windows: settings.streamDeflate ? agreeOnWindows(offers, settings.streamDeflateWindowBits) : undefined }
}

const NO_EXTENSIONS: readonly ExtensionOffer[] = []
const EXTENSION = /^[!#$%&'*+.^_`|~\w-]+$/
const PARAMETER = /^(?<name>[!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?<quote>"?)(?<value>[!#$%&'*+.^_`|~\w-]+)\k<quote>)?$/

/** RFC 6455 §9.1. Commas and semicolons cannot be part of a value, not even in quotes. */
function readExtensions(header: string): ExtensionOffer[] {
  return header
    .split(',')
    .map((extension) => extension.trim())
    .filter((extension) => extension !== '')
    .map((extension) => {
      const [name = '', ...parameters] = extension.split(';').map((part) => part.trim())
      if (!EXTENSION.test(name)) throw malformedExtensions()
      return { name, parameters: parameters.map(readParameter) }
    })
}

function readParameter(text: string): readonly [string, string | undefined] {
  const { name, value } = PARAMETER.exec(text)?.groups ?? {}
  if (name === undefined) throw malformedExtensions()
  return [name, value]
}

function malformedExtensions(): Refusal {
  return new Refusal('stream.handshake', 400, 'Sec-WebSocket-Extensions is malformed')
}

/** RFC 6455 §1.3. */
const ACCEPT_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Writes the 101 reply (RFC 6455 §4.2.2). The pipeline has put the request id, the client's or its own, into the headers. */
export function acceptUpgrade(
  socket: Socket,
  request: IncomingMessage,
  { key, windows }: WebSocketHandshake,
  subProtocol: string | undefined,
  /** The nonce that the client should use from now on, if there is a new one. */
  nonce?: string,
): void {
  const accept = hash('sha1', `${key}${ACCEPT_GUID}`, 'base64')
  let head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n`
  if (subProtocol !== undefined) head += `Sec-WebSocket-Protocol: ${subProtocol}\r\n`
  if (windows !== undefined) head += `Sec-WebSocket-Extensions: ${describeWindows(windows)}\r\n`
  if (nonce !== undefined) head += `DPoP-Nonce: ${nonce}\r\n`
  socket.write(`${head}Request-Id: ${request.headers['request-id']}\r\n\r\n`, 'latin1')
}

const profiles = new LruMap<Profile>(16)

/** Most clients of a server have the same query string, which is read once. */
function requestedProfile(target: string): Profile {
  const query = targetQuery(target)
  let profile = profiles.get(query)
  if (profile === undefined) {
    profile = readProfile(readQuery(target))
    profiles.set(query, profile)
  }
  return profile
}

function readProfile(query: QueryValues): Profile {
  // Like the path, the name is case-insensitive: overlooking it would select the newest version.
  const versions = [...query].filter(([name]) => name.toLowerCase() === 'version').flatMap(([, value]) => value)
  const profile = versions.length > 1 ? undefined : profileFor(versions[0])
  if (profile !== undefined) return profile
  throw new Refusal(
    'stream.version',
    400,
    `The version must be one of ${STREAM_VERSIONS.join(', ')}, for example 1.1`,
    {
      members: { SupportedVersions: STREAM_VERSIONS },
    },
  )
}

/** The first sub-protocol of the client's list that is supported. */
export function offeredSubProtocol({ headers }: IncomingMessage): SubProtocol | undefined {
  for (const name of (headers['sec-websocket-protocol'] ?? '').split(',')) {
    const known = SUB_PROTOCOLS.find((candidate) => candidate === name.trim())
    if (known !== undefined) return known
  }
  return undefined
}

function readSubProtocol(request: IncomingMessage): SubProtocol {
  const chosen = offeredSubProtocol(request)
  if (chosen !== undefined) return chosen
  throw new Refusal('stream.sub_protocol', 400, `Sec-WebSocket-Protocol must offer ${SUB_PROTOCOLS.join(' or ')}`, {
    members: { SupportedSubProtocols: SUB_PROTOCOLS },
  })
}

/** Only browsers send an Origin; for other clients it means nothing. */
function checkOrigin(origin: string | undefined, origins: readonly string[]): void {
  if (origin === undefined || origins.length === 0 || origins.includes(origin)) return
  throw new Refusal('stream.origin', 403, 'Pages of this origin are not allowed to connect')
}

const CREDENTIALS = /^(?<provider>\S+)[ \t]+(?<token>\S+)$/

function readAuthorization(header: string | undefined): Credentials | undefined {
  if (header === undefined) return undefined
  if (isBearer(header.trim()) || isDpop(header.trim()))
    throw new Refusal('stream.token_needed', 401, 'The Authorization header has no access token', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  const { provider, token } = CREDENTIALS.exec(header.trim())?.groups ?? {}
  if (provider === undefined || token === undefined || !(isBearer(provider) || isDpop(provider)))
    throw new Refusal('stream.provider', 401, 'The supported providers are Bearer and DPoP', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  return { token: readAccessToken(token), isProven: isDpop(provider) }
}

export function invalidToken(isBound = false): Refusal {
  const text = 'The access token is not valid here'
  const challenge = isBound ? proofChallenge('invalid_token', text) : 'Bearer error="invalid_token"'
  return new Refusal('stream.invalid_token', 401, text, { headers: { 'www-authenticate': challenge } })
}

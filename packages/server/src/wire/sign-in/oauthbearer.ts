/** The SASL mechanism OAUTHBEARER (RFC 7628): the client's first message, and the reply that says where tokens are issued. */
import { Fields, ProtocolViolation } from '../protocol/messages.ts'

export const OAUTHBEARER = 'OAUTHBEARER'

/** What the client sends after an error, before the connection fails (RFC 7628 §3.2.3). */
export const ERROR_ACKNOWLEDGED = '\x01'

/** SASLInitialResponse: String mechanism, Int32 length, bytes; -1 bytes: the client wants to be asked first. */
export function readInitialResponse(body: Buffer): string | undefined {
  const fields = new Fields(body)
  const mechanism = fields.text()
  const response = fields.value()
  fields.end()
  if (mechanism !== OAUTHBEARER) throw new ProtocolViolation(`The SASL mechanism is ${OAUTHBEARER} here`)
  return response?.toString('utf8')
}

/** RFC 7628 §3.1: a GS2 header, then pairs that end with 0x01 each, and one more 0x01. */
const CLIENT_MESSAGE = /^[ny],(?:a=[^,]*)?,\x01((?:[A-Za-z]+=[^\x01]*\x01)*)\x01$/

/** The token; empty if the client asks where tokens are issued. */
export function readBearer(message: string): string {
  const pairs = CLIENT_MESSAGE.exec(message)?.[1]
  const auth = pairs
    ?.split('\x01')
    .find((pair) => pair.startsWith('auth='))
    ?.slice('auth='.length)
  if (auth === undefined) throw new ProtocolViolation(`The message is not one of ${OAUTHBEARER}`)
  if (auth === '') return ''
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(auth)?.[1]
  if (token === undefined) throw new ProtocolViolation('The message has no bearer token')
  return token
}

/** RFC 7628 §3.2.2. */
export function tokenNeeded(issuer: string, scopes: readonly string[]): string {
  return JSON.stringify({
    status: 'invalid_token',
    'openid-configuration': `${issuer}/.well-known/openid-configuration`,
    scope: scopes.join(' '),
  })
}

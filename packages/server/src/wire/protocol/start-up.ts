/** The first packets of a connection: start-up, CancelRequest, and the requests for encryption. They have no type byte. */
import { Fields, ProtocolViolation } from './messages.ts'

export type FirstPacket =
  | { readonly kind: 'ssl-request' }
  | { readonly kind: 'gssenc-request' }
  | { readonly kind: 'cancel-request'; readonly processId: number; readonly key: Buffer }
  | { readonly kind: 'start-up'; readonly version: Version; readonly parameters: ReadonlyMap<string, string> }
  /** Protocol 2.0, or one of the future. */
  | { readonly kind: 'other-version'; readonly major: number; readonly minor: number }

export interface Version {
  readonly minor: number
}

/** The newest minor version of protocol 3 that is served. */
export const NEWEST_MINOR = 2
/** Versions as they are written in packets. */
export const versionCode = (minor: number): number => (3 << 16) | minor

const MOST_BYTES = 10_000
const HEADER_BYTES = 8
const CANCEL_REQUEST = 80877102
const SSL_REQUEST = 80877103
const GSSENC_REQUEST = 80877104
const LONGEST_KEY = 256

/** The first byte of a TLS handshake record, which no length of a packet begins with. */
export const TLS_HANDSHAKE = 0x16

/** The length of the packet that begins here; undefined until its length is known to be allowed. */
export function packetLength(bytes: Buffer): number | undefined {
  if (bytes.length < 4) return undefined
  const length = bytes.readUInt32BE(0)
  if (length < HEADER_BYTES || length > MOST_BYTES)
    throw new ProtocolViolation(`A start-up packet has 8 to ${MOST_BYTES} bytes, not ${length}`)
  return length
}

/** `packet` is whole, with its length. */
export function parseFirstPacket(packet: Buffer): FirstPacket {
  const fields = new Fields(packet.subarray(HEADER_BYTES))
  const code = packet.readUInt32BE(4)
  switch (code) {
    case SSL_REQUEST:
      fields.end()
      return { kind: 'ssl-request' }
    case GSSENC_REQUEST:
      fields.end()
      return { kind: 'gssenc-request' }
    case CANCEL_REQUEST:
      return parseCancel(fields)
  }
  const [major, minor] = [code >>> 16, code & 0xffff]
  if (major !== 3) return { kind: 'other-version', major, minor }
  return { kind: 'start-up', version: { minor }, parameters: parseParameters(fields) }
}

/** CancelRequest: Int32 process id, key of 4 bytes (3.0), or of up to 256 (3.2). */
function parseCancel(fields: Fields): FirstPacket {
  const processId = fields.int32()
  const key = fields.rest()
  if (key.length < 4 || key.length > LONGEST_KEY)
    throw new ProtocolViolation(`A cancel key has 4 to ${LONGEST_KEY} bytes`)
  return { kind: 'cancel-request', processId, key }
}

/** Pairs of names and values, and a zero byte. */
function parseParameters(fields: Fields): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (;;) {
    const name = fields.text()
    if (name === '') break
    const value = fields.text()
    if (name === undefined || value === undefined) throw new ProtocolViolation('A start-up parameter is not UTF-8')
    parameters.set(name, value)
  }
  fields.end()
  return parameters
}

/** Message encryption for Web Push (RFC 8291), in the content coding aes128gcm (RFC 8188). */
import { createCipheriv, createECDH, createHmac, randomBytes } from 'node:crypto'

export interface PushKeys {
  /** The public key of the browser: an uncompressed point of P-256. */
  readonly p256dh: Buffer
  /** 16 bytes. */
  readonly auth: Buffer
}

/** One record: what a push service must take (RFC 8030 §7.2) without the header and the tag (RFC 8291 §4). */
export const MOST_PLAIN_BYTES = 3_993

const RECORD_BYTES = 4_096
const POINT_BYTES = 65
const AUTH_BYTES = 16
/** The delimiter of the last record (RFC 8188 §2). */
const LAST = Buffer.from([2])

/** From base64url; undefined if it is no key that a browser makes. */
export function readPushKeys(p256dh: string, auth: string): PushKeys | undefined {
  const [point, secret] = [Buffer.from(p256dh, 'base64url'), Buffer.from(auth, 'base64url')]
  if (point.length !== POINT_BYTES || point[0] !== 4 || secret.length !== AUTH_BYTES) return undefined
  try {
    // A point that is not on the curve would reveal a private key.
    const probe = createECDH('prime256v1')
    probe.generateKeys()
    probe.computeSecret(point)
  } catch {
    return undefined
  }
  return { p256dh: point, auth: secret }
}

/** `chosen` are the key pair and the salt of a test. */
export function encryptPush(
  plain: Buffer,
  { p256dh, auth }: PushKeys,
  chosen: { readonly privateKey?: Buffer; readonly salt?: Buffer } = {},
): Buffer {
  if (plain.length > MOST_PLAIN_BYTES) throw new Error('The message is too long for Web Push')
  const own = createECDH('prime256v1')
  if (chosen.privateKey === undefined) own.generateKeys()
  else own.setPrivateKey(chosen.privateKey)
  const ownPublic = own.getPublicKey()
  const salt = chosen.salt ?? randomBytes(16)
  // RFC 8291 §3.4.
  const keyInfo = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, ownPublic])
  const input = expand(hmac(auth, own.computeSecret(p256dh)), keyInfo, 32)
  const pseudorandom = hmac(salt, input)
  const key = expand(pseudorandom, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = expand(pseudorandom, Buffer.from('Content-Encoding: nonce\0'), 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  const header = Buffer.alloc(5)
  header.writeUInt32BE(RECORD_BYTES, 0)
  header.writeUInt8(ownPublic.length, 4)
  return Buffer.concat([
    salt,
    header,
    ownPublic,
    cipher.update(plain),
    cipher.update(LAST),
    cipher.final(),
    cipher.getAuthTag(),
  ])
}

/** HKDF-Expand (RFC 5869 §2.3) of one block. */
function expand(key: Buffer, info: Buffer, length: number): Buffer {
  return hmac(key, Buffer.concat([info, Buffer.from([1])])).subarray(0, length)
}

function hmac(key: Buffer, data: Buffer): Buffer {
  return createHmac('sha256', key).update(data).digest()
}

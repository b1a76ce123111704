/** TOTP (RFC 6238) with the parameters that every authenticator app supports: SHA-1, six digits, thirty seconds. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const STEP_MS = 30_000
const DIGITS = 6
/** RFC 4226 §4 recommends 160 bits. */
const SECRET_BYTES = 20
/** The clock of the device may be one step off (RFC 6238 §5.2). */
const ACCEPTED_OFFSETS = [0, -1, 1]

export function newTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

/** The time step of the code, or undefined. The caller must accept each step only once (RFC 6238 §5.2). */
export function matchTotp(secret: Buffer, code: string, now: number): number | undefined {
  const offered = Buffer.from(code.replace(/\s/g, ''))
  const current = Math.floor(now / STEP_MS)
  return ACCEPTED_OFFSETS.map((offset) => current + offset).find((step) => {
    const expected = Buffer.from(totpCode(secret, step))
    return offered.length === expected.length && timingSafeEqual(offered, expected)
  })
}

export function totpCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 0x0f
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** The otpauth URI for a QR code. Names that would make the QR code too dense to scan are left out. */
export function totpUri(secret: Buffer, brand: string, username: string): string {
  const [brandPart, userPart] = [encodeURIComponent(brand), encodeURIComponent(username)]
  const key = `secret=${base32(secret)}`
  const full = `otpauth://totp/${brandPart}:${userPart}?${key}&issuer=${brandPart}`
  const short = `otpauth://totp/${userPart}?${key}`
  return [full, short].find((uri) => uri.length <= MAX_URI_LENGTH) ?? `otpauth://totp/account?${key}`
}

const MAX_URI_LENGTH = 200

/** RFC 4648 §6, without padding. */
export function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => BASE32[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

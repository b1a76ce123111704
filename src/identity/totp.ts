/** RFC 6238: codes of authenticator apps, six digits of SHA-1 every thirty seconds, as every such app makes them. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const STEP_MS = 30_000
const DIGITS = 6
/** RFC 4226 §4 asks for 160 bits. */
const SECRET_BYTES = 20
/** A clock that is one step off is still believed (RFC 6238 §5.2). */
const STEPS_AROUND = [0, -1, 1]

export function newTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

/** The time step that the code is of, or undefined; whoever takes it must see to it that the step is used once. */
export function matchTotp(secret: Buffer, code: string, now: number): number | undefined {
  const offered = Buffer.from(code.replace(/\s/g, ''))
  const current = Math.floor(now / STEP_MS)
  return STEPS_AROUND.map((offset) => current + offset).find((step) => {
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

/** As apps read it from a picture; names that would make the picture too fine to scan are left out. */
export function totpUri(secret: Buffer, brand: string, username: string): string {
  const [brandPart, userPart] = [encodeURIComponent(brand), encodeURIComponent(username)]
  const key = `secret=${base32(secret)}`
  const full = `otpauth://totp/${brandPart}:${userPart}?${key}&issuer=${brandPart}`
  const short = `otpauth://totp/${userPart}?${key}`
  return [full, short].find((uri) => uri.length <= LONGEST_URI) ?? `otpauth://totp/account?${key}`
}

const LONGEST_URI = 200

/** RFC 4648 §6, without padding. */
export function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => BASE32[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

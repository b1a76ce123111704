/** Opaque values: identifiers, and the secrets that we hand out and keep only as digests. */
import { createCipheriv, createDecipheriv, createSecretKey, hash, randomBytes, randomFillSync } from 'node:crypto'

const STOCK = Buffer.alloc(4096)
let used = STOCK.length

/** Random bytes out of a stock: asking the system for a few at a time costs more than everything else about a token. */
export function fewRandomBytes(count: number): Buffer {
  if (used + count > STOCK.length) {
    randomFillSync(STOCK)
    used = 0
  }
  const bytes = Buffer.from(STOCK.subarray(used, used + count))
  // What was handed out is kept nowhere.
  STOCK.fill(0, used, used + count)
  used += count
  return bytes
}

/** 128 bits: names a row. */
export function newId(): string {
  return fewRandomBytes(16).toString('base64url')
}

/** 256 bits: codes, refresh tokens, device codes, cookies. */
export function newSecret(): string {
  return fewRandomBytes(32).toString('base64url')
}

/** What is stored in place of a secret that holds enough randomness to need no salt. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

const IV = 12
const TAG = 16

/** AES-256-GCM, with a key object, which Node takes a good deal faster than bytes; the purpose keeps a value sealed for one use from being opened in another. */
export function seal(plain: Buffer, key: Buffer, purpose: string): string {
  const iv = randomBytes(IV)
  const cipher = createCipheriv('aes-256-gcm', createSecretKey(key), iv).setAAD(Buffer.from(purpose))
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

/** Throws when the key, the purpose or the sealed value is not the one it was sealed with. */
export function unseal(sealed: string, key: Buffer, purpose: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', createSecretKey(key), bytes.subarray(0, IV), { authTagLength: TAG })
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(-TAG))
  return Buffer.concat([decipher.update(bytes.subarray(IV, -TAG)), decipher.final()])
}

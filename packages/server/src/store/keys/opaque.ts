/** Opaque values: random identifiers, secrets that are stored only as digests, and sealed values. */
import { createCipheriv, createDecipheriv, createSecretKey, hash, KeyObject, randomFillSync } from 'node:crypto'

const POOL = Buffer.alloc(4096)
let used = POOL.length

/** Random bytes from a pool: a system call for each small request would cost more than the rest of issuing a token. */
export function pooledRandomBytes(count: number): Buffer {
  if (used + count > POOL.length) {
    randomFillSync(POOL)
    used = 0
  }
  const bytes = Buffer.from(POOL.subarray(used, used + count))
  // Used bytes do not stay in memory.
  POOL.fill(0, used, used + count)
  used += count
  return bytes
}

/** For the id of a row, 128 bits by default. It never starts with a dash: a command line would take it for an option. */
export function newId(bytes = 16): string {
  for (;;) {
    const id = pooledRandomBytes(bytes).toString('base64url')
    if (!id.startsWith('-')) return id
  }
}

/** 256 bits, for codes, refresh tokens, device codes and cookies. */
export function newSecret(): string {
  return pooledRandomBytes(32).toString('base64url')
}

/** Stored instead of a secret. Our secrets are random enough to need no salt. */
export function digestSecret(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

const IV = 12
const TAG = 16

/**
 * AES-256-GCM. The purpose is authenticated too, so that a value sealed for one use cannot be opened in another.
 * A key object is considerably faster than the bytes of the key: keep one to seal often.
 */
export function seal(plain: Buffer, key: Buffer | KeyObject, purpose: string): string {
  const iv = pooledRandomBytes(IV)
  const cipher = createCipheriv('aes-256-gcm', keyObject(key), iv).setAAD(Buffer.from(purpose))
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

/** Throws when the key or the purpose differs, or the value was altered. */
export function unseal(sealed: string, key: Buffer | KeyObject, purpose: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', keyObject(key), bytes.subarray(0, IV), { authTagLength: TAG })
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(-TAG))
  return Buffer.concat([decipher.update(bytes.subarray(IV, -TAG)), decipher.final()])
}

function keyObject(key: Buffer | KeyObject): KeyObject {
  return key instanceof KeyObject ? key : createSecretKey(key)
}

/** Objects are sealed before they leave the machine: AES-256-GCM with a key for each, which also depends on the object's name. */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/** What is read from the target is not what was written to it, or not with this key. */
export class BadObject extends Error {
  override name = 'BadObject'
}

const MAGIC = Buffer.from('GHB1')
const SALT_BYTES = 32
const TAG_BYTES = 16
const HEAD_BYTES = MAGIC.length + SALT_BYTES

export function sealObject(key: Buffer, name: string, content: Buffer): Buffer {
  const salt = randomBytes(SALT_BYTES)
  const cipher = createCipheriv('aes-256-gcm', ...deriveKey(key, salt))
  cipher.setAAD(Buffer.from(name))
  return Buffer.concat([MAGIC, salt, cipher.update(content), cipher.final(), cipher.getAuthTag()])
}

export function openObject(key: Buffer, name: string, sealed: Buffer): Buffer {
  if (sealed.length < HEAD_BYTES + TAG_BYTES || !sealed.subarray(0, MAGIC.length).equals(MAGIC))
    throw new BadObject(`${name} is not an object of a backup, or it is cut off`)
  const decipher = createDecipheriv('aes-256-gcm', ...deriveKey(key, sealed.subarray(MAGIC.length, HEAD_BYTES)))
  decipher.setAAD(Buffer.from(name))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES, -TAG_BYTES)), decipher.final()])
  } catch (error) {
    throw new BadObject(`${name} was changed, or sealed with another backup_key`, { cause: error })
  }
}

/** The key is used once, so that the nonce may be derived with it. */
function deriveKey(key: Buffer, salt: Buffer): [Buffer, Buffer] {
  const bytes = Buffer.from(hkdfSync('sha256', key, salt, 'gatehouse replication', 44))
  return [bytes.subarray(0, 32), bytes.subarray(32)]
}

export function hashObject(sealed: Buffer): string {
  return createHash('sha256').update(sealed).digest('base64url')
}

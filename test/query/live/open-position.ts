/** Opens the positions of live results with the key of the server, without knowing the statements that they are bound to. */
import assert from 'node:assert/strict'
import { createDecipheriv } from 'node:crypto'
import type { DeriveKey } from '../../../packages/server/src/query/live/position.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** The counter of the first block of a GCM ciphertext (NIST SP 800-38D §7.1). */
const FIRST_BLOCK = Buffer.from([0, 0, 0, 2])

export function openPosition(position: string, derive: DeriveKey) {
  const day = position.slice(0, 4)
  const bytes = Buffer.from(position.slice(4), 'base64url')
  const counter = Buffer.concat([bytes.subarray(0, NONCE_BYTES), FIRST_BLOCK])
  const decipher = createDecipheriv('aes-256-ctr', derive(`live positions ${day}`), counter)
  const plain = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
  assert.equal(plain.readUInt8(12), 0, 'the positions of few tables are not compressed')
  return {
    resultId: plain.toString('hex', 0, 6),
    version: plain.readUIntBE(6, 6),
    tables: plain.toString('latin1', 15, 15 + plain.readUInt16BE(13)),
  }
}

/** The position of a live result as clients hold it: the fingerprint of the result and the positions of its tables. */
import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type Positions, packPositions, unpackPositions } from '../engines/live-source.ts'

export const FINGERPRINT_BYTES = 16
const MAX_LENGTH = 512
const MAX_BYTES = (MAX_LENGTH / 4) * 3
const MAX_TEXT_BYTES = 16 * 1024

/** What follows the fingerprint: the positions, the positions compressed, or, if they are too long even so, their hash. */
const PLAIN = 0
const COMPRESSED = 1
const HASHED = 2

/** `tables` are in a fixed order: the fingerprint determines them. */
export function writePosition(fingerprint: Uint8Array, tables: readonly string[], positions: Positions): string {
  const text = Buffer.from(packPositions(tables, positions))
  const room = MAX_BYTES - FINGERPRINT_BYTES - 1
  if (text.length <= room) return encode(fingerprint, PLAIN, text)
  const compressed = deflateRawSync(text)
  if (compressed.length <= room) return encode(fingerprint, COMPRESSED, compressed)
  // It can still be found on this node, where it was told.
  return encode(fingerprint, HASHED, createHash('sha256').update(text).digest())
}

function encode(fingerprint: Uint8Array, form: number, body: Uint8Array): string {
  return Buffer.concat([fingerprint, Buffer.of(form), body]).toString('base64url')
}

/** Whether a text can be a position, of whatever result. */
export function isPosition(text: string): boolean {
  if (text.length > MAX_LENGTH || !/^[\w-]+$/.test(text)) return false
  const bytes = Buffer.from(text, 'base64url')
  const form = bytes[FINGERPRINT_BYTES]
  return form !== undefined && form <= HASHED && bytes.toString('base64url') === text
}

/** The positions of the tables; undefined if the position is of another result, or does not hold them. */
export function readPosition(text: string, fingerprint: Uint8Array, tables: readonly string[]): Positions | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (!bytes.subarray(0, FINGERPRINT_BYTES).equals(fingerprint)) return undefined
  const body = textOf(bytes[FINGERPRINT_BYTES], bytes.subarray(FINGERPRINT_BYTES + 1))
  return body === undefined ? undefined : unpackPositions(tables, body)
}

function textOf(form: number | undefined, body: Uint8Array): string | undefined {
  if (form === PLAIN) return Buffer.from(body).toString()
  if (form !== COMPRESSED) return undefined
  try {
    return inflateRawSync(body, { maxOutputLength: MAX_TEXT_BYTES }).toString()
  } catch {
    return undefined
  }
}

/** 32-bit words, little-endian: what Arrow and Parquet store of numbers, dates and times. */
import type { Cell } from '../model/result.ts'

/** Writes a value at a word; false where it is none and becomes NULL. */
export type PutWords = (words: Words, at: number, cell: NonNullable<Cell>) => boolean

/** The same bytes as 32-bit words, 64-bit words and doubles. */
export interface Words {
  readonly int32: Int32Array
  readonly int64: BigInt64Array
  readonly float64: Float64Array
}

export function wordsIn(buffer: ArrayBufferLike): Words {
  return {
    int32: new Int32Array(buffer),
    // Dates have one word each, always an even number of them in the buffer.
    int64: new BigInt64Array(buffer),
    float64: new Float64Array(buffer),
  }
}

export function grown(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2)
  larger.set(bytes)
  return larger
}

/** Texts of at most this length are digits that a number always holds. */
export const SAFE_DIGITS = 15

/** Little-endian two's complement. A safe integer needs no bigint, which would cost an allocation. */
export function putSafe({ int32 }: Words, at: number, value: number): void {
  int32[at] = value
  int32[at + 1] = Math.floor(value / 0x1_0000_0000)
}

/** Storing a bigint takes longer than converting it. With `asIntN` the conversion is compiled to a few instructions. */
export function putBigint(words: Words, at: number, cell: bigint): void {
  const value = Number(BigInt.asIntN(64, cell))
  if (Number.isSafeInteger(value)) putSafe(words, at, value)
  else words.int64[at >> 1] = cell
}

/** False if there is no value. */
export function putRead({ int64 }: Words, at: number, value: bigint | undefined): boolean {
  if (value !== undefined) int64[at >> 1] = value
  return value !== undefined
}

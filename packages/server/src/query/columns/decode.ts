/** The values of a block as arrays that the loops of the executor read: one loop for each width, each over one type of array. */
import type { DoubleColumn, NumberColumn, TextColumn } from './segment.ts'

/** The rows of a segment that count; undefined for all. */
export interface Chosen {
  readonly rows: Int32Array
  readonly count: number
}

type Packed = Uint8Array | Uint16Array | Uint32Array | Float64Array

/** Distances from the least value in units; NaN is NULL. */
export function decodeDistances(
  column: NumberColumn,
  block: Buffer,
  chosen: Chosen | undefined,
  into: Float64Array,
): void {
  const { width, least, unit } = column
  if (width === 8) {
    const values = view(block, width)
    if (chosen === undefined) for (let i = 0; i < values.length; i++) into[i] = ((values[i] as number) - least) / unit
    else for (let i = 0; i < chosen.count; i++) into[i] = ((values[chosen.rows[i] as number] as number) - least) / unit
    return
  }
  copyPacked(view(block, width), chosen, into)
  if (column.nulls === 0) return
  const none = width === 1 ? 0xff : width === 2 ? 0xffff : 0xffffffff
  const count = chosen?.count ?? block.length / width
  for (let i = 0; i < count; i++) if (into[i] === none) into[i] = Number.NaN
}

export function decodeDoubles(
  _column: DoubleColumn,
  block: Buffer,
  chosen: Chosen | undefined,
  into: Float64Array,
): void {
  copyPacked(view(block, 8), chosen, into)
}

/** How many distances of a sorted column without NULLs come before this one, or with it. */
export function countBefore(
  { width, least, unit }: NumberColumn,
  block: Buffer,
  distance: number,
  isInclusive: boolean,
): number {
  const values = view(block, width)
  const limit = width === 8 ? least + distance * unit : distance
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const value = values[middle] as number
    if (isInclusive ? value <= limit : value < limit) low = middle + 1
    else high = middle
  }
  return low
}

/** Codes of a dictionary; the one after the last is NULL. */
export function decodeCodes(column: TextColumn, block: Buffer, chosen: Chosen | undefined, into: Int32Array): void {
  const values = view(block, column.width)
  if (chosen === undefined) into.set(values)
  else if (values instanceof Uint8Array)
    for (let i = 0; i < chosen.count; i++) into[i] = values[chosen.rows[i] as number] as number
  else for (let i = 0; i < chosen.count; i++) into[i] = values[chosen.rows[i] as number] as number
}

/** Each branch has its own loop: one over several types of arrays is several times slower. */
function copyPacked(values: Packed, chosen: Chosen | undefined, into: Float64Array): void {
  if (chosen === undefined) into.set(values)
  else if (values instanceof Uint8Array)
    for (let i = 0; i < chosen.count; i++) into[i] = values[chosen.rows[i] as number] as number
  else if (values instanceof Uint16Array)
    for (let i = 0; i < chosen.count; i++) into[i] = values[chosen.rows[i] as number] as number
  else if (values instanceof Uint32Array)
    for (let i = 0; i < chosen.count; i++) into[i] = values[chosen.rows[i] as number] as number
  else for (let i = 0; i < chosen.count; i++) into[i] = values[chosen.rows[i] as number] as number
}

/** Blocks begin at multiples of eight in the file, but not always in the buffer. */
function view(block: Buffer, width: 1 | 2 | 4 | 8): Packed {
  const isAligned = block.byteOffset % width === 0
  const buffer = isAligned ? block.buffer : block.buffer.slice(block.byteOffset, block.byteOffset + block.length)
  const offset = isAligned ? block.byteOffset : 0
  const count = block.length / width
  switch (width) {
    case 1:
      return new Uint8Array(buffer, offset, count)
    case 2:
      return new Uint16Array(buffer, offset, count)
    case 4:
      return new Uint32Array(buffer, offset, count)
    case 8:
      return new Float64Array(buffer, offset, count)
  }
}

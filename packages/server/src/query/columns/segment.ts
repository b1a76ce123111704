/**
 * A column segment: the values of some rows by column, in a file that never changes. A derived copy of the rows: a file that is missing,
 * damaged or of another format is the same as none.
 *
 * The file: MAGIC, the length of the header in four bytes, the header as JSON, then the blocks of the columns, each at a multiple of eight.
 * An integer is stored as its distance from the least one, in units that divide all distances, in 1, 2 or 4 bytes, or as a Double. A Double
 * whose shortest decimal is short is stored as that decimal without its point. A text is stored as its place in a sorted dictionary.
 */
import { crc32 } from 'node:zlib'
import { type IqlType, isWide, readDigits } from 'gatehouse-iql'

/** The most rows of a segment when it is built. */
export const SEGMENT_ROWS = 131_072

const MAGIC = Buffer.from('GHCOLS01')
/** NULL is one code more. */
const MAX_DICTIONARY = 65_534
/** Integers up to this are exact as Doubles. */
const MAX_EXACT = 2n ** 53n
/** A Double with more digits after the point is stored as it is. */
const MAX_SCALE = 15

export interface SegmentHeader {
  /** Random: names the file, and what was computed from it. */
  readonly tag: string
  readonly rows: number
  readonly columns: readonly StoredColumn[]
}

export interface SegmentBlock {
  /** From the end of the header. */
  readonly offset: number
  readonly bytes: number
  readonly crc: number
}

/** `least`, `greatest` and the values in between are integers: of a Double without its point, which has `scale` digits after it. */
export interface NumberColumn extends SegmentBlock {
  readonly kind: 'numbers'
  readonly name: string
  readonly width: 1 | 2 | 4 | 8
  readonly unit: number
  /** The digits after the point, of a Double. */
  readonly scale: number
  readonly isDouble: boolean
  readonly least: number
  readonly greatest: number
  readonly nulls: number
  /** Whether no value is less than one before it. */
  readonly isSorted: boolean
}

/** Doubles as they are. */
export interface DoubleColumn extends SegmentBlock {
  readonly kind: 'doubles'
  readonly name: string
  readonly least: number
  readonly greatest: number
  readonly nulls: number
}

export interface TextColumn extends SegmentBlock {
  readonly kind: 'texts'
  readonly name: string
  readonly width: 1 | 2
  readonly dictionary: SegmentBlock
  readonly texts: number
  readonly nulls: number
}

export type StoredColumn = NumberColumn | DoubleColumn | TextColumn

export interface SegmentColumn {
  readonly name: string
  readonly type: IqlType
}

/** Whether values of the type can be in a segment at all. */
export function canBeStored(type: IqlType): boolean {
  switch (type.kind) {
    case 'Json':
    case 'Binary':
    case 'Interval':
    case 'LocalTimestamp':
    case 'Null':
      return false
    default:
      return !isWide(type)
  }
}

function isText({ kind }: IqlType): boolean {
  return kind === 'Text' || kind === 'Uuid'
}

/** A value as SQLite returns it. */
export type RawValue = null | bigint | number | string | Uint8Array

/** Writes a segment of the rows, whose values are in the order of the columns. Columns that cannot be stored are left out. */
export function writeSegment(
  tag: string,
  columns: readonly SegmentColumn[],
  rows: readonly (readonly RawValue[])[],
): Buffer {
  const blocks = new Blocks()
  const stored: StoredColumn[] = []
  columns.forEach(({ name, type }, index) => {
    if (!canBeStored(type)) return
    const values = rows.map((row) => row[index] ?? null)
    const column = isText(type)
      ? writeTexts(name, values, blocks)
      : type.kind === 'Double'
        ? writeDoubles(name, values, blocks)
        : writeIntegers(name, values, blocks)
    if (column !== undefined) stored.push(column)
  })
  const header = Buffer.from(JSON.stringify({ tag, rows: rows.length, columns: stored } satisfies SegmentHeader))
  const start = dataStart(header.length)
  const head = Buffer.alloc(start)
  MAGIC.copy(head)
  head.writeUInt32LE(header.length, MAGIC.length)
  head.writeUInt32LE(crc32(header), MAGIC.length + 4)
  header.copy(head, HEADER_AT)
  return Buffer.concat([head, ...blocks.parts])
}

const HEADER_AT = MAGIC.length + 8

function dataStart(headerBytes: number): number {
  return Math.ceil((HEADER_AT + headerBytes) / 8) * 8
}

class Blocks {
  readonly parts: Buffer[] = []
  #offset = 0

  add(data: Uint8Array): SegmentBlock {
    const bytes = data.byteLength
    const block = { offset: this.#offset, bytes, crc: crc32(data) }
    const padding = (8 - (bytes % 8)) % 8
    this.parts.push(Buffer.from(data.buffer, data.byteOffset, bytes), Buffer.alloc(padding))
    this.#offset += bytes + padding
    return block
  }
}

/** Integers, or decimals without their points; NaN is NULL. */
interface Numbers {
  readonly numbers: Float64Array
  readonly scale: number
  readonly isDouble: boolean
}

function writeIntegers(name: string, values: readonly RawValue[], blocks: Blocks): NumberColumn | undefined {
  const numbers = new Float64Array(values.length)
  for (const [index, value] of values.entries()) {
    if (value === null) numbers[index] = Number.NaN
    else if (typeof value !== 'bigint' || value > MAX_EXACT || value < -MAX_EXACT) return undefined
    else numbers[index] = Number(value)
  }
  return writeNumbers(name, { numbers, scale: 0, isDouble: false }, blocks)
}

/** Undefined where a value is NaN, which is the text 'NaN' in SQLite. */
function writeDoubles(
  name: string,
  values: readonly RawValue[],
  blocks: Blocks,
): NumberColumn | DoubleColumn | undefined {
  const doubles = new Float64Array(values.length)
  let nulls = 0
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const [index, value] of values.entries()) {
    if (value === null) {
      doubles[index] = Number.NaN
      nulls++
      continue
    }
    if (typeof value === 'string' || value instanceof Uint8Array) return undefined
    const number = Number(value)
    doubles[index] = number
    if (number < least) least = number
    if (number > greatest) greatest = number
  }
  const decimals = findDecimals(doubles)
  if (decimals !== undefined) return writeNumbers(name, { ...decimals, isDouble: true }, blocks)
  return { kind: 'doubles', name, least, greatest, nulls, ...blocks.add(bytesOf(doubles)) }
}

/** The shortest decimals of all Doubles, without their points; undefined if one of them has too many digits. */
function findDecimals(doubles: Float64Array): { readonly numbers: Float64Array; readonly scale: number } | undefined {
  let scale = 0
  for (const double of doubles) {
    if (Number.isNaN(double)) continue
    if (!Number.isFinite(double) || Object.is(double, -0)) return undefined
    while (scale <= MAX_SCALE && !isDecimal(double, scale)) scale++
    if (scale > MAX_SCALE) return undefined
  }
  const numbers = new Float64Array(doubles.length)
  const power = 10 ** scale
  for (const [index, double] of doubles.entries()) {
    const number = Math.round(double * power)
    if (!Number.isNaN(double) && !(Math.abs(number) <= Number(MAX_EXACT) && number / power === double)) return undefined
    numbers[index] = number
  }
  return { numbers, scale }
}

/** Whether the shortest decimal has at most so many digits after the point: up to 2^53, an integer divided by a power of ten is rounded once. */
function isDecimal(double: number, scale: number): boolean {
  const number = Math.round(double * 10 ** scale)
  if (Math.abs(number) > 10 ** MAX_SCALE || number / 10 ** scale !== double) return false
  const digits = readDigits(String(double))
  return digits !== undefined && digits.scale <= scale
}

function writeNumbers(name: string, { numbers, scale, isDouble }: Numbers, blocks: Blocks): NumberColumn | undefined {
  let nulls = 0
  let isSorted = true
  let [least, greatest, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const number of numbers) {
    if (Number.isNaN(number)) {
      nulls++
      continue
    }
    if (number < least) least = number
    if (number > greatest) greatest = number
    if (number < last) isSorted = false
    last = number
  }
  if (nulls === numbers.length) [least, greatest] = [0, 0]
  if (greatest - least > Number(MAX_EXACT)) return undefined
  const unit = findUnit(numbers, least)
  const { width, data } = pack(numbers, least, greatest, unit)
  const about = { kind: 'numbers', name, width, unit, scale, isDouble, least, greatest, nulls, isSorted } as const
  return { ...about, ...blocks.add(data) }
}

/** A power of 1000 that divides all distances from the least value: times are often whole milliseconds or seconds. */
function findUnit(numbers: Float64Array, least: number): number {
  return [1_000_000, 1_000].find((unit) => numbers.every((n) => Number.isNaN(n) || (n - least) % unit === 0)) ?? 1
}

function pack(numbers: Float64Array, least: number, greatest: number, unit: number) {
  const range = (greatest - least) / unit
  const offset = (number: number, none: number): number => (Number.isNaN(number) ? none : (number - least) / unit)
  if (range < 0xff) return { width: 1, data: Uint8Array.from(numbers, (n) => offset(n, 0xff)) } as const
  if (range < 0xffff) return { width: 2, data: bytesOf(Uint16Array.from(numbers, (n) => offset(n, 0xffff))) } as const
  if (range < 0xffffffff)
    return { width: 4, data: bytesOf(Uint32Array.from(numbers, (n) => offset(n, 0xffffffff))) } as const
  return { width: 8, data: bytesOf(numbers) } as const
}

function bytesOf(array: Float64Array | Uint16Array | Uint32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}

function writeTexts(name: string, values: readonly RawValue[], blocks: Blocks): TextColumn | undefined {
  const codes = new Map<string, number>()
  for (const value of values) {
    if (value === null) continue
    if (typeof value !== 'string') return undefined
    codes.set(value, 0)
    if (codes.size > MAX_DICTIONARY) return undefined
  }
  const sorted = [...codes.keys()].map((text) => ({ text, bytes: Buffer.from(text) }))
  sorted.sort((one, other) => Buffer.compare(one.bytes, other.bytes))
  for (const [code, { text }] of sorted.entries()) codes.set(text, code)
  const code = (value: RawValue): number => (typeof value === 'string' ? codes.get(value) : undefined) ?? sorted.length
  const isShort = sorted.length <= 0xff
  const data = isShort ? Uint8Array.from(values, code) : bytesOf(Uint16Array.from(values, code))
  const dictionary = blocks.add(Buffer.from(JSON.stringify(sorted.map(({ text }) => text))))
  const nulls = values.filter((value) => value === null).length
  return {
    kind: 'texts',
    name,
    width: isShort ? 1 : 2,
    dictionary,
    texts: sorted.length,
    nulls,
    ...blocks.add(data),
  }
}

/** Reads bytes of the file; fewer at its end. */
export type ReadAt = (offset: number, bytes: number) => Buffer

export class DamagedSegment extends Error {}

/** An open segment. Everything it reads is checked. */
export class Segment {
  readonly header: SegmentHeader
  readonly #readAt: ReadAt
  readonly #start: number

  constructor(readAt: ReadAt) {
    const head = readAt(0, HEADER_AT)
    if (head.length < HEADER_AT || head.compare(MAGIC, 0, MAGIC.length, 0, MAGIC.length) !== 0)
      throw new DamagedSegment('Not a segment of this format')
    const bytes = head.readUInt32LE(MAGIC.length)
    const header = readAt(HEADER_AT, bytes)
    if (header.length !== bytes || crc32(header) !== head.readUInt32LE(MAGIC.length + 4))
      throw new DamagedSegment('The header is damaged')
    this.header = JSON.parse(header.toString()) as SegmentHeader
    this.#readAt = readAt
    this.#start = dataStart(bytes)
  }

  find(name: string): StoredColumn | undefined {
    return this.header.columns.find((column) => column.name === name)
  }

  readBlock({ offset, bytes, crc }: SegmentBlock): Buffer {
    const block = this.#readAt(this.#start + offset, bytes)
    if (block.length !== bytes || crc32(block) !== crc) throw new DamagedSegment('A block is damaged')
    return block
  }

  readDictionary(column: TextColumn): string[] {
    return JSON.parse(this.readBlock(column.dictionary).toString()) as string[]
  }
}

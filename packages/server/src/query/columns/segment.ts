/**
 * A column segment: the values of some rows by column, in a file that never changes. A derived copy of the rows: a file that is missing,
 * damaged or of another format is the same as none.
 *
 * The file: MAGIC, the length of the header in four bytes, the header as JSON, then the blocks of the columns, each at a multiple of eight.
 * An integer is stored as its distance from the least one, in units that divide all distances, in 1, 2 or 4 bytes, or as a Double. A Double
 * whose shortest decimal is short is stored as that decimal without its point. A text is stored as its place in a sorted dictionary.
 */
import { crc32 } from 'node:zlib'
import { type IqlType, isWide } from 'gatehouse-iql'

/** The most rows of a segment when it is built. */
export const SEGMENT_ROWS = 131_072

const MAGIC = Buffer.from('GHCOLS01')
/** NULL is one code more. */
const MAX_DICTIONARY = 65_534
/** The texts of a dictionary take no more bytes. */
const MAX_DICTIONARY_BYTES = 16 * 1024 * 1024
const MAX_HEADER = 4 * 1024 * 1024
/** Integers up to this are exact as Doubles. */
const MAX_EXACT = 2n ** 53n
/** A Double with more digits, or more after the point, is stored as it is. */
const MAX_DECIMAL = 1e15
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

/** Doubles as they are. Their ends are null if they are infinite, which JSON has no numbers for, or if there are no values. */
export interface DoubleColumn extends SegmentBlock {
  readonly kind: 'doubles'
  readonly name: string
  readonly least: number | null
  readonly greatest: number | null
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

export function isText({ kind }: IqlType): boolean {
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
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as RawValue
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
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as RawValue
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
  const end = (double: number): number | null => (Number.isFinite(double) ? double : null)
  return { kind: 'doubles', name, least: end(least), greatest: end(greatest), nulls, ...blocks.add(viewBytes(doubles)) }
}

/** The shortest decimals of all Doubles, without their points; undefined if one of them has too many digits. */
function findDecimals(doubles: Float64Array): { readonly numbers: Float64Array; readonly scale: number } | undefined {
  let scale = 0
  let power = 1
  for (let i = 0; i < doubles.length; i++) {
    const double = doubles[i] as number
    if (double === 0 && Object.is(double, -0)) return undefined
    while (!isDecimal(double, power)) {
      if (scale === MAX_SCALE) return undefined
      power = 10 ** ++scale
    }
  }
  const numbers = new Float64Array(doubles.length)
  for (let i = 0; i < doubles.length; i++) {
    if (!isDecimal(doubles[i] as number, power)) return undefined
    numbers[i] = Math.round((doubles[i] as number) * power)
  }
  return { numbers, scale }
}

/**
 * Whether an integer of at most 15 digits, divided by the power of ten, is the shortest decimal of the Double. Such a quotient is rounded
 * once, and no two decimals of 15 digits are the same Double: so one that is equal to it is the shortest. NaN, which is NULL, counts as one.
 */
function isDecimal(double: number, power: number): boolean {
  const number = Math.round(double * power)
  return (number <= MAX_DECIMAL && number >= -MAX_DECIMAL && number / power === double) || Number.isNaN(double)
}

function writeNumbers(name: string, { numbers, scale, isDouble }: Numbers, blocks: Blocks): NumberColumn | undefined {
  let nulls = 0
  let isSorted = true
  let [least, greatest, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i] as number
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
  // A difference of more would be rounded.
  if (greatest - least >= Number(MAX_EXACT)) return undefined
  const unit = findUnit(numbers, least)
  const { width, data } = pack(numbers, least, greatest, unit)
  const about = { kind: 'numbers', name, width, unit, scale, isDouble, least, greatest, nulls, isSorted } as const
  return { ...about, ...blocks.add(data) }
}

/** The greatest number that divides all distances from the least value: times are often whole milliseconds, and prices whole cents. */
function findUnit(numbers: Float64Array, least: number): number {
  let unit = 0
  for (let i = 0; i < numbers.length && unit !== 1; i++) {
    const distance = (numbers[i] as number) - least
    // A division is faster than a remainder.
    if (unit === 0 ? distance > 0 : Math.floor(distance / unit) * unit < distance) unit = findDivisor(unit, distance)
  }
  return unit === 0 ? 1 : unit
}

/** The greatest common divisor. */
export function findDivisor(one: number, other: number): number {
  return other === 0 ? one : findDivisor(other, one % other)
}

function pack(numbers: Float64Array, least: number, greatest: number, unit: number) {
  const range = (greatest - least) / unit
  if (range < 0xff) return { width: 1, data: fill(new Uint8Array(numbers.length), 0xff) } as const
  if (range < 0xffff) return { width: 2, data: viewBytes(fill(new Uint16Array(numbers.length), 0xffff)) } as const
  if (range < 0xffffffff)
    return { width: 4, data: viewBytes(fill(new Uint32Array(numbers.length), 0xffffffff)) } as const
  return { width: 8, data: viewBytes(numbers) } as const

  function fill<Packed extends Uint8Array | Uint16Array | Uint32Array>(packed: Packed, none: number): Packed {
    for (let i = 0; i < packed.length; i++) {
      const number = numbers[i] as number
      packed[i] = Number.isNaN(number) ? none : (number - least) / unit
    }
    return packed
  }
}

function viewBytes(array: Float64Array | Uint8Array | Uint16Array | Uint32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}

function writeTexts(name: string, values: readonly RawValue[], blocks: Blocks): TextColumn | undefined {
  const codes = new Map<string, number>()
  let bytes = 0
  for (const value of values) {
    if (value === null) continue
    if (typeof value !== 'string') return undefined
    if (codes.has(value)) continue
    codes.set(value, 0)
    bytes += Buffer.byteLength(value)
    if (codes.size > MAX_DICTIONARY || bytes > MAX_DICTIONARY_BYTES) return undefined
  }
  const sorted = [...codes.keys()].map((text) => ({ text, bytes: Buffer.from(text) }))
  sorted.sort((one, other) => Buffer.compare(one.bytes, other.bytes))
  for (const [code, { text }] of sorted.entries()) codes.set(text, code)
  const code = (value: RawValue): number => (typeof value === 'string' ? codes.get(value) : undefined) ?? sorted.length
  const isShort = sorted.length <= 0xff
  const packed = isShort ? new Uint8Array(values.length) : new Uint16Array(values.length)
  for (let i = 0; i < packed.length; i++) packed[i] = code(values[i] as RawValue)
  const data = viewBytes(packed)
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
    if (bytes > MAX_HEADER) throw new DamagedSegment('The header is damaged')
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

/** Rows by columns: what the readers of bulk formats create, a spool file holds and the engines insert. */
import { type IqlType, isWide } from 'gatehouse-iql'

/**
 * How the values of a type are kept.
 * `integers`: Integer; Decimal of up to 18 digits, without its point; Timestamp and Time in microseconds; Date in days; Boolean as 0 or 1.
 * `bytes`: Text, Json and Uuid in UTF-8; Binary; a Decimal of more digits, without its point, as text.
 */
export type VectorKind = 'integers' | 'doubles' | 'bytes'

export function vectorKind(type: IqlType): VectorKind {
  switch (type.kind) {
    case 'Double':
      return 'doubles'
    case 'Text':
    case 'Json':
    case 'Uuid':
    case 'Binary':
      return 'bytes'
    default:
      return isWide(type) ? 'bytes' : 'integers'
  }
}

/** 1 for each row without a value; undefined if every row has one. */
export type Nulls = Uint8Array | undefined

export type Vector =
  | { readonly kind: 'integers'; readonly values: BigInt64Array | Int32Array; readonly nulls: Nulls }
  | { readonly kind: 'doubles'; readonly values: Float64Array; readonly nulls: Nulls }
  /** One value after the other. */
  | { readonly kind: 'bytes'; readonly lengths: Int32Array; readonly data: Buffer; readonly nulls: Nulls }

export interface ColumnBatch {
  readonly rows: number
  /** In the order of the columns that the insert names. */
  readonly columns: readonly Vector[]
}

/** A table may have two thousand columns, of each of which a batch has few values. */
const FIRST_ROWS = 128
const FIRST_BYTES = 1024

/** The values of a column, added one by one. */
export abstract class ColumnBuilder {
  length = 0
  #nulls: Uint8Array | undefined

  /** For a row without a value. */
  addNull(): void {
    this.#nulls ??= new Uint8Array(FIRST_ROWS)
    while (this.length >= this.#nulls.length) this.#nulls = grown(this.#nulls)
    this.#nulls[this.length] = 1
    this.skip()
  }

  /** The values since the last call. */
  take(): Vector {
    const { length } = this
    const nulls = this.#nulls === undefined ? undefined : sized(this.#nulls, length)
    this.#nulls = undefined
    this.length = 0
    return this.vector(length, nulls)
  }

  protected abstract skip(): void
  protected abstract vector(length: number, nulls: Nulls): Vector
}

/** 64 bits as two halves, so that a number needs no bigint. */
export class IntegerBuilder extends ColumnBuilder {
  #words = new Int32Array(2 * FIRST_ROWS)

  /** A whole number that a double holds exactly. */
  addNumber(value: number): void {
    const at = this.#reserve()
    this.#words[at] = value | 0
    // The lower half of a large number is not what `|` gives.
    if (value > 0x7fff_ffff || value < -0x8000_0000) {
      const high = Math.floor(value / 0x1_0000_0000)
      this.#words[at] = value - high * 0x1_0000_0000
      this.#words[at + 1] = high
    } else this.#words[at + 1] = value < 0 ? -1 : 0
  }

  addBigint(value: bigint): void {
    const at = this.#reserve()
    this.#words[at] = Number(BigInt.asIntN(32, value))
    this.#words[at + 1] = Number(BigInt.asIntN(32, value >> 32n))
  }

  protected skip(): void {
    const at = this.#reserve()
    this.#words[at] = 0
    this.#words[at + 1] = 0
  }

  #reserve(): number {
    const at = 2 * this.length++
    if (at >= this.#words.length) {
      const words = new Int32Array(2 * this.#words.length)
      words.set(this.#words)
      this.#words = words
    }
    return at
  }

  protected vector(length: number, nulls: Nulls): Vector {
    return { kind: 'integers', values: new BigInt64Array(this.#words.buffer.slice(0, 8 * length)), nulls }
  }
}

export class DoubleBuilder extends ColumnBuilder {
  #values = new Float64Array(FIRST_ROWS)

  /** There is no negative zero. */
  add(value: number): void {
    if (this.length >= this.#values.length) {
      const values = new Float64Array(2 * this.#values.length)
      values.set(this.#values)
      this.#values = values
    }
    this.#values[this.length++] = value + 0
  }

  protected skip(): void {
    this.add(0)
  }

  protected vector(length: number, nulls: Nulls): Vector {
    return { kind: 'doubles', values: this.#values.slice(0, length), nulls }
  }
}

export class BytesBuilder extends ColumnBuilder {
  #lengths = new Int32Array(FIRST_ROWS)
  #data = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #end = 0

  add(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start
    const at = this.#reserve(length)
    // A loop is faster than a copy by the runtime for short values.
    if (length < 24) for (let index = 0; index < length; index++) this.#data[at + index] = bytes[start + index] ?? 0
    else this.#data.set(bytes.subarray(start, end), at)
  }

  addText(text: string): void {
    const at = this.#reserve(Buffer.byteLength(text))
    this.#data.write(text, at)
  }

  protected skip(): void {
    this.#reserve(0)
  }

  #reserve(length: number): number {
    if (this.length >= this.#lengths.length) {
      const lengths = new Int32Array(2 * this.#lengths.length)
      lengths.set(this.#lengths)
      this.#lengths = lengths
    }
    this.#lengths[this.length++] = length
    const at = this.#end
    this.#end += length
    if (this.#end > this.#data.length) {
      const data = Buffer.allocUnsafeSlow(
        Math.max(this.#data.length + Math.min(this.#data.length, KEPT_BYTES), this.#end),
      )
      this.#data.copy(data, 0, 0, at)
      this.#data = data
    }
    return at
  }

  /** Of all values since the last `take`. */
  get bytes(): number {
    return this.#end
  }

  #takeData(): Buffer {
    const data = this.#data.subarray(0, this.#end)
    if (this.#end <= KEPT_BYTES) return Buffer.from(data)
    this.#data = Buffer.allocUnsafeSlow(FIRST_BYTES)
    return data
  }

  protected vector(length: number, nulls: Nulls): Vector {
    const data = this.#takeData()
    this.#end = 0
    return { kind: 'bytes', lengths: this.#lengths.slice(0, length), data, nulls }
  }
}

/** A batch has about as many bytes, unless one value has more: its memory is not kept. */
const KEPT_BYTES = 2 * 1024 * 1024

export function createBuilder(type: IqlType): IntegerBuilder | DoubleBuilder | BytesBuilder {
  switch (vectorKind(type)) {
    case 'integers':
      return new IntegerBuilder()
    case 'doubles':
      return new DoubleBuilder()
    case 'bytes':
      return new BytesBuilder()
  }
}

/** The bytes that a batch takes in memory and, about, on disk. */
export function batchBytes({ columns }: ColumnBatch): number {
  return columns.reduce((sum, vector) => {
    const values = vector.kind === 'bytes' ? vector.lengths.byteLength + vector.data.length : vector.values.byteLength
    return sum + values + (vector.nulls?.length ?? 0)
  }, 0)
}

function grown(bytes: Uint8Array): Uint8Array {
  const larger = new Uint8Array(2 * bytes.length)
  larger.set(bytes)
  return larger
}

function sized(bytes: Uint8Array, length: number): Uint8Array {
  const exact = new Uint8Array(length)
  exact.set(bytes.subarray(0, length))
  return exact
}

/** The first row whose value is less than the bound; -1 if there is none. */
export function findBelow(vector: Vector | undefined, bound: bigint): number {
  return vector?.kind === 'integers' ? vector.values.findIndex((value) => BigInt(value) < bound) : -1
}

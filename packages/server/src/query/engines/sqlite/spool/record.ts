/** The values of a batch in SQLite's record format (sqlite.org/fileformat2.html §2.1). */
import type { IqlType } from 'gatehouse-iql'
import type { Nulls, Vector } from '../../../batches/batch.ts'
import { toWide } from '../representation.ts'

/** The values of one column, ready to be written into records. */
export interface RecordColumn {
  /** The serial type of each value. */
  readonly serials: Int32Array
  /** Writes the value of each row at its place, and moves the place to its end. */
  write(target: Buffer, places: Int32Array): void
}

/** Serial types. A text or blob has that of an empty one and twice its bytes. */
const NULL = 0
const REAL = 7
const ZERO = 8
const ONE = 9
const BLOB = 12
const TEXT = 13

/** As SQLite stores them: see representation.ts. */
export function recordColumn(vector: Vector, type: IqlType): RecordColumn {
  switch (vector.kind) {
    case 'integers':
      return vector.values instanceof Int32Array
        ? narrowIntegers(vector.values, vector.nulls)
        : wideIntegers(vector.values, vector.nulls)
    case 'doubles':
      return doubles(vector.values, vector.nulls)
    case 'bytes':
      return type.kind === 'Decimal' ? wideDecimals(vector) : bytes(vector, type.kind === 'Binary' ? BLOB : TEXT)
  }
}

/** The bytes of a value. */
export function valueBytes(serial: number): number {
  return serial >= BLOB ? (serial - BLOB) >>> 1 : (BYTES_OF[serial] ?? 0)
}

const BYTES_OF = Uint8Array.of(0, 1, 2, 3, 4, 6, 8, 8, 0, 0)

function narrowIntegers(values: Int32Array, nulls: Nulls): RecordColumn {
  const serials = new Int32Array(values.length)
  for (let row = 0; row < values.length; row++) serials[row] = narrowSerial(values[row] ?? 0)
  setNulls(serials, nulls)
  return {
    serials,
    write(target, places) {
      for (let row = 0; row < serials.length; row++) {
        const at = places[row] ?? 0
        places[row] = writeInteger(target, at, serials[row] ?? 0, values[row] ?? 0, 0)
      }
    },
  }
}

/** As two halves: a bigint for each value would take several times as long. */
function wideIntegers(values: BigInt64Array, nulls: Nulls): RecordColumn {
  const halves = new Int32Array(values.buffer, values.byteOffset, 2 * values.length)
  const serials = new Int32Array(values.length)
  for (let row = 0; row < serials.length; row++) {
    const [low, high] = [halves[2 * row] ?? 0, halves[2 * row + 1] ?? 0]
    serials[row] = high === low >> 31 ? narrowSerial(low) : high === (high << 16) >> 16 ? 5 : 6
  }
  setNulls(serials, nulls)
  return {
    serials,
    write(target, places) {
      for (let row = 0; row < serials.length; row++) {
        const at = places[row] ?? 0
        places[row] = writeInteger(target, at, serials[row] ?? 0, halves[2 * row] ?? 0, halves[2 * row + 1] ?? 0)
      }
    },
  }
}

function narrowSerial(value: number): number {
  if (value === 0) return ZERO
  if (value === 1) return ONE
  if (value === (value << 24) >> 24) return 1
  if (value === (value << 16) >> 16) return 2
  return value === (value << 8) >> 8 ? 3 : 4
}

/** Big-endian. Returns where it ends. */
function writeInteger(target: Buffer, at: number, serial: number, low: number, high: number): number {
  const end = at + valueBytes(serial)
  let rest = low
  for (let index = end - 1; index >= at; index--) {
    if (end - index === 5) rest = high
    target[index] = rest
    rest >>= 8
  }
  return end
}

const NAN = 'NaN'

function doubles(values: Float64Array, nulls: Nulls): RecordColumn {
  const serials = new Int32Array(values.length)
  for (let row = 0; row < values.length; row++) serials[row] = Number.isNaN(values[row]) ? TEXT + 2 * NAN.length : REAL
  setNulls(serials, nulls)
  return {
    serials,
    write(target, places) {
      const view = new DataView(target.buffer, target.byteOffset, target.length)
      for (let row = 0; row < serials.length; row++) {
        const [at, serial] = [places[row] ?? 0, serials[row] ?? NULL]
        if (serial === REAL) view.setFloat64(at, values[row] ?? 0)
        else if (serial !== NULL) target.write(NAN, at, 'latin1')
        places[row] = at + valueBytes(serial)
      }
    },
  }
}

type BytesVector = Extract<Vector, { readonly kind: 'bytes' }>

function bytes({ lengths, data, nulls }: BytesVector, empty: typeof TEXT | typeof BLOB): RecordColumn {
  const serials = new Int32Array(lengths.length)
  for (let row = 0; row < lengths.length; row++) serials[row] = empty + 2 * (lengths[row] ?? 0)
  setNulls(serials, nulls)
  return {
    serials,
    write(target, places) {
      let start = 0
      for (let row = 0; row < serials.length; row++) {
        const at = places[row] ?? 0
        const length = valueBytes(serials[row] ?? NULL)
        // A loop is faster than a copy by the runtime for short values.
        if (length >= 24) data.copy(target, at, start, start + length)
        else for (let index = 0; index < length; index++) target[at + index] = data[start + index] ?? 0
        places[row] = at + length
        start += lengths[row] ?? 0
      }
    },
  }
}

/** Decimals of more than 18 digits, from their digits as text. */
function wideDecimals({ lengths, data, nulls }: BytesVector): RecordColumn {
  const all = Buffer.alloc(WIDE_BYTES * lengths.length)
  const missing = nulls?.slice() ?? new Uint8Array(lengths.length)
  let at = 0
  for (let row = 0; row < lengths.length; row++) {
    const end = at + (lengths[row] ?? 0)
    if (end === at) missing[row] = 1
    else all.set(toWide(BigInt(data.toString('latin1', at, end))), WIDE_BYTES * row)
    at = end
  }
  return bytes({ kind: 'bytes', lengths: lengths.slice().fill(WIDE_BYTES), data: all, nulls: missing }, BLOB)
}

const WIDE_BYTES = 16

function setNulls(serials: Int32Array, nulls: Nulls): void {
  if (nulls !== undefined) for (let row = 0; row < serials.length; row++) if (nulls[row] === 1) serials[row] = NULL
}

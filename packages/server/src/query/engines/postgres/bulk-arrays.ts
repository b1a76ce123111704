/** Columns of a batch as arrays of PostgreSQL in its binary format: dimensions, the type of the elements, then each with its length. */
import type { IqlType } from 'gatehouse-iql'
import type { Vector } from '../../batches/batch.ts'
import { numericBytes } from './numeric.ts'

interface ElementType {
  /** Its name in SQL, and its object id. */
  readonly name: string
  readonly oid: number
}

export function elementType({ kind }: IqlType): ElementType {
  switch (kind) {
    case 'Integer':
      return { name: 'bigint', oid: 20 }
    case 'Decimal':
      return { name: 'numeric', oid: 1700 }
    case 'Double':
      return { name: 'float8', oid: 701 }
    case 'Boolean':
      return { name: 'boolean', oid: 16 }
    case 'Timestamp':
    case 'LocalTimestamp':
      return { name: 'timestamp', oid: 1114 }
    case 'Date':
      return { name: 'date', oid: 1082 }
    case 'Time':
      return { name: 'time', oid: 1083 }
    case 'Uuid':
      return { name: 'uuid', oid: 2950 }
    case 'Binary':
      return { name: 'bytea', oid: 17 }
    default:
      return { name: 'text', oid: 25 }
  }
}

const HEADER_BYTES = 20
/** PostgreSQL counts from 2000-01-01. */
const EPOCH_DAYS = 10_957
const EPOCH_MICROS = BigInt(EPOCH_DAYS) * 86_400_000_000n

export function arrayBytes(vector: Vector, type: IqlType): Buffer {
  const rows = vector.kind === 'bytes' ? vector.lengths.length : vector.values.length
  const isNull = (row: number): boolean => vector.nulls?.[row] === 1
  const put = elementWriter(vector, type)
  let bytes = Buffer.allocUnsafeSlow(HEADER_BYTES + rows * 20 + (vector.kind === 'bytes' ? vector.data.length : 0))
  bytes.writeInt32BE(1, 0)
  bytes.writeInt32BE(vector.nulls === undefined ? 0 : 1, 4)
  bytes.writeInt32BE(elementType(type).oid, 8)
  bytes.writeInt32BE(rows, 12)
  bytes.writeInt32BE(1, 16)
  let at = HEADER_BYTES
  for (let row = 0; row < rows; row++) {
    if (at + MAX_ELEMENT > bytes.length - (vector.kind === 'bytes' ? vector.data.length : 0)) {
      const larger = Buffer.allocUnsafeSlow(2 * bytes.length + MAX_ELEMENT)
      bytes.copy(larger, 0, 0, at)
      bytes = larger
    }
    const length = put(bytes, at + 4, row, isNull(row))
    bytes.writeInt32BE(isNull(row) ? -1 : length, at)
    at += 4 + (isNull(row) ? 0 : length)
  }
  return bytes.subarray(0, at)
}

/** Of a value that is not one of `bytes`, with its length. */
const MAX_ELEMENT = 64

/** Writes an element and returns its length. Values of `bytes` follow each other, so every one is visited, also a NULL. */
type Put = (target: Buffer, at: number, row: number, isNull: boolean) => number

function elementWriter(vector: Vector, type: IqlType): Put {
  if (vector.kind === 'doubles') {
    const { values } = vector
    return (target, at, row) => target.writeDoubleBE(values[row] ?? 0, at) - at
  }
  if (vector.kind === 'integers') {
    const { values } = vector
    const big = (row: number): bigint => BigInt(values[row] ?? 0)
    switch (type.kind) {
      case 'Boolean':
        return (target, at, row) => target.writeUInt8(Number(values[row] ?? 0), at) - at
      case 'Date':
        return (target, at, row) => target.writeInt32BE(Number(values[row] ?? 0) - EPOCH_DAYS, at) - at
      case 'Timestamp':
      case 'LocalTimestamp':
        return (target, at, row) => target.writeBigInt64BE(big(row) - EPOCH_MICROS, at) - at
      case 'Decimal':
        return (target, at, row) => numericBytes(big(row), type.scale, target, at)
      default:
        return (target, at, row) => target.writeBigInt64BE(big(row), at) - at
    }
  }
  const { lengths, data } = vector
  let from = 0
  return (target, at, row, isNull) => {
    const to = from + (lengths[row] ?? 0)
    const start = from
    from = to
    if (isNull) return 0
    if (type.kind === 'Uuid') return target.write(data.toString('latin1', start, to).replaceAll('-', ''), at, 'hex')
    if (type.kind === 'Decimal') return numericBytes(BigInt(data.toString('latin1', start, to)), type.scale, target, at)
    return data.copy(target, at, start, to)
  }
}

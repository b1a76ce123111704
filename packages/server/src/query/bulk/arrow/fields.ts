/** The fields of an Arrow schema (Schema.fbs), as far as they can be columns of a table. */
import { badBody } from '../../batches/row-error.ts'
import { type ArrowType, TIME_UNITS, type TimeUnit } from '../../types/arrow-type.ts'
import { MAX_COLUMNS } from '../reader.ts'
import type { FlatTable } from './flatbuffer-reader.ts'

/** Fields can share their names: a short schema could have gigabytes of them. */
const MAX_NAME_BYTES = 4096

export interface ArrowField {
  readonly name: string
  readonly type: ArrowType
  /** Values are numbers of the entries of this dictionary. */
  readonly dictionary: { readonly id: number; readonly index: Extract<ArrowType, { kind: 'int' }> } | undefined
}

export function readFields(schema: FlatTable): ArrowField[] {
  if (schema.short(0) !== 0) throw badBody('The Arrow stream is big-endian, which is not supported')
  return schema.tables(1, MAX_COLUMNS).map((field) => {
    const name = field.text(0, MAX_NAME_BYTES) ?? ''
    const type = readType(name, field.byte(2), field.table(3))
    const encoding = field.table(4)
    if (encoding === undefined) return { name, type, dictionary: undefined }
    return { name, type, dictionary: { id: encoding.long(0), index: indexType(name, encoding.table(1)) } }
  })
}

function indexType(name: string, table: FlatTable | undefined): Extract<ArrowType, { kind: 'int' }> {
  const type: ArrowType = table === undefined ? { kind: 'int', bits: 32, isSigned: true } : readType(name, 2, table)
  if (type.kind !== 'int') throw unsupported(name)
  return type
}

/** `kind` is the number of the type in the union `Type`. */
function readType(name: string, kind: number, table: FlatTable | undefined): ArrowType {
  if (table === undefined) throw unsupported(name)
  switch (kind) {
    case 1:
      return { kind: 'null' }
    case 2: {
      const bits = table.int(0)
      if (bits === 8 || bits === 16 || bits === 32 || bits === 64)
        return { kind: 'int', bits, isSigned: table.byte(1) !== 0 }
      break
    }
    case 3: {
      const precision = table.short(0)
      const bits = FLOAT_BITS[precision]
      if (bits !== undefined) return { kind: 'float', bits }
      break
    }
    case 4:
      return { kind: 'binary', width: 4 }
    case 5:
      return { kind: 'utf8', width: 4 }
    case 6:
      return { kind: 'bool' }
    case 7: {
      const bits = table.int(2, 128)
      const scale = table.int(1)
      if ((bits === 32 || bits === 64 || bits === 128 || bits === 256) && Math.abs(scale) <= MAX_SCALE)
        return { kind: 'decimal', precision: table.int(0), scale, bits }
      break
    }
    case 8:
      return { kind: 'date', unit: table.short(0, 1) === 0 ? 'day' : 'ms' }
    case 9: {
      const bits = table.int(1, 32)
      if (bits === 32 || bits === 64) return { kind: 'time', bits, unit: readUnit(name, table.short(0, 1)) }
      break
    }
    case 10:
      return {
        kind: 'timestamp',
        unit: readUnit(name, table.short(0)),
        isLocal: (table.text(1, MAX_NAME_BYTES) ?? '') === '',
      }
    case 15:
      if (table.int(0) > 0) return { kind: 'fixed', length: table.int(0) }
      break
    case 19:
      return { kind: 'binary', width: 8 }
    case 20:
      return { kind: 'utf8', width: 8 }
    case 23:
      return { kind: 'binary', width: 'view' }
    case 24:
      return { kind: 'utf8', width: 'view' }
  }
  throw unsupported(name, TYPE_NAMES.get(kind))
}

const FLOAT_BITS = [16, 32, 64] as const
/** That of 256 bits. */
const MAX_SCALE = 76

/** Those of Schema.fbs that cannot be columns, or only with some of their parameters. */
const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  [2, 'Int of another width than 8 to 64 bits'],
  [7, 'Decimal of an unknown width'],
  [11, 'Interval'],
  [12, 'List'],
  [13, 'Struct'],
  [14, 'Union'],
  [16, 'FixedSizeList'],
  [17, 'Map'],
  [18, 'Duration'],
  [21, 'LargeList'],
  [22, 'RunEndEncoded'],
  [25, 'ListView'],
  [26, 'LargeListView'],
])

function readUnit(name: string, unit: number): TimeUnit {
  const found = TIME_UNITS[unit]
  if (found === undefined) throw unsupported(name)
  return found
}

function unsupported(name: string, type?: string): Error {
  return badBody(
    `The column ${JSON.stringify(name)} has ${type === undefined ? 'a type' : `the type ${type}`}, which is not supported: write it as a number, a text, bytes, a date, a time or a timestamp`,
  )
}

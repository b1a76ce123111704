/**
 * The columns of an Arrow or Parquet file, with the types that a table for its rows has. Reads no row, but refuses files whose rows cannot
 * be read. It is an entry of its own: the command that imports files has no query service.
 */
import type { IqlType } from 'gatehouse-iql'
import { requireUncompressed } from './bulk/arrow/arrays.ts'
import { readFields } from './bulk/arrow/fields.ts'
import { MESSAGE, readMessages } from './bulk/arrow/messages.ts'
import { type FileBytes, readFooter } from './bulk/parquet/footer.ts'
import { readColumnType } from './bulk/parquet/values.ts'
import type { ArrowType } from './types/arrow-type.ts'

export interface FileSchemaColumn {
  readonly name: string
  readonly type: IqlType
}

export async function readParquetSchema(file: FileBytes): Promise<FileSchemaColumn[]> {
  const { fields } = await readFooter(file)
  return fields.map((field) => ({ name: field.name, type: storable(readColumnType(field).type) }))
}

export async function readArrowSchema(file: FileBytes): Promise<FileSchemaColumn[]> {
  const { schema, messages } = await readMessages(file)
  for await (const { kind, header } of messages) {
    if (kind !== MESSAGE.batch) continue
    requireUncompressed(header)
    // All batches of a file are written alike.
    break
  }
  return readFields(schema).map(({ name, type }) => ({ name, type: storable(arrowType(type)) }))
}

/** Columns hold instants: times without a zone are those of UTC, or of the zone that the insert names. */
function storable(type: IqlType): IqlType {
  if (type.kind === 'LocalTimestamp') return { kind: 'Timestamp' }
  // A column of NULLs alone says nothing of its type: any value can be written as text.
  return type.kind === 'Null' ? { kind: 'Text' } : type
}

function arrowType(type: ArrowType): IqlType {
  switch (type.kind) {
    case 'null':
      return { kind: 'Null' }
    case 'int':
      return { kind: 'Integer' }
    case 'float':
      return { kind: 'Double' }
    case 'bool':
      return { kind: 'Boolean' }
    case 'utf8':
      return { kind: 'Text' }
    case 'binary':
    case 'fixed':
      return { kind: 'Binary' }
    case 'decimal':
      return decimalType(type)
    case 'date':
      return { kind: 'Date' }
    case 'time':
      return { kind: 'Time' }
    case 'timestamp':
      return { kind: type.isLocal ? 'LocalTimestamp' : 'Timestamp' }
  }
}

const MAX_PRECISION = 38

/** Arrow has up to 76 digits, and negative scales: values that do not fit are refused when they are inserted. */
function decimalType({ precision, scale }: Extract<ArrowType, { kind: 'decimal' }>): IqlType {
  const digits = Math.max(precision + Math.max(0, -scale), scale, 1)
  return { kind: 'Decimal', precision: Math.min(digits, MAX_PRECISION), scale: Math.max(0, scale) }
}

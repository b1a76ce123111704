/** The footer of a Parquet file (parquet-format, FileMetaData): its columns, and where their pages are. */
import { CompressionCodecs, ParquetTypes } from 'hyparquet/src/constants.js'
import { damaged, ParquetError } from './error.ts'
import {
  countIn,
  type Shape,
  structIn,
  structsIn,
  ThriftReader,
  type ThriftStruct,
  TruncatedError,
  textIn,
} from './thrift.ts'

export type PhysicalType = (typeof ParquetTypes)[number]
export type Codec = (typeof CompressionCodecs)[number]

/** The bytes of a file, in memory or on disk. */
export interface FileBytes {
  readonly length: number
  /** The result has a buffer of its own, or one that does not change. */
  read(start: number, end: number): Promise<Uint8Array>
}

export interface Footer {
  readonly fields: readonly Field[]
  readonly groups: readonly RowGroup[]
}

/** A column as the schema declares it. */
export interface Field {
  readonly name: string
  readonly physical: PhysicalType
  /** Of FIXED_LEN_BYTE_ARRAY. */
  readonly length: number
  readonly isOptional: boolean
  /** The number of the old annotation (ConvertedType), and the new one: its number in the union LogicalType, and its members. */
  readonly converted: number | undefined
  readonly logical: number | undefined
  readonly logicalMembers: ThriftStruct | undefined
  readonly scale: number | undefined
  readonly precision: number | undefined
}

export interface RowGroup {
  readonly rows: number
  /** In the order of the fields. */
  readonly chunks: readonly Chunk[]
}

/** The pages of a column in a row group. */
export interface Chunk {
  readonly codec: Codec
  readonly start: number
  readonly end: number
}

const MAGIC = 'PAR1'
const ENCRYPTED_MAGIC = 'PARE'
const TAIL_BYTES = 8
/** That of a thousand row groups with forty columns has two megabytes. */
const MAX_FOOTER_BYTES = 8 * 1024 * 1024
/** About those of four hundred row groups of forty columns. Reading them takes a few hundredths of a second, in which the event loop waits. */
const MAX_FOOTER_VALUES = 600_000
const MAX_COLUMNS = 1000

export async function readFooter(file: FileBytes): Promise<Footer> {
  if (file.length < MAGIC.length + TAIL_BYTES) throw new ParquetError('The file is not a Parquet file: it is too short')
  const tail = Buffer.from(await file.read(file.length - TAIL_BYTES, file.length))
  const magic = tail.toString('latin1', 4)
  if (magic === ENCRYPTED_MAGIC) throw new ParquetError('The Parquet file is encrypted: write it without encryption')
  if (magic !== MAGIC)
    throw new ParquetError('The file is not a Parquet file, or it was cut off: it does not end with PAR1')
  const length = tail.readUInt32LE()
  const end = file.length - TAIL_BYTES
  if (length > end - MAGIC.length) throw damaged('its footer is longer than the file')
  if (length > MAX_FOOTER_BYTES)
    throw new ParquetError(
      `The footer has ${length} bytes, at most ${MAX_FOOTER_BYTES} are read: write larger row groups`,
    )
  return parseFooter(readMetadata(await file.read(end - length, end)), end - length)
}

const ALL = undefined
/** What is read of FileMetaData. */
const SCHEMA_ELEMENT: Shape = new Map([1, 2, 3, 4, 5, 6, 7, 8, 10].map((field) => [field, ALL]))
const COLUMN_METADATA: Shape = new Map([4, 7, 9, 11].map((field) => [field, ALL]))
const COLUMN_CHUNK: Shape = new Map([
  [1, ALL],
  [3, COLUMN_METADATA],
])
const ROW_GROUP: Shape = new Map([
  [1, COLUMN_CHUNK],
  [3, ALL],
])
const FILE: Shape = new Map([
  [1, ALL],
  [2, SCHEMA_ELEMENT],
  [3, ALL],
  [4, ROW_GROUP],
])
const REQUIRED = [1, 2, 3, 4]

function readMetadata(bytes: Uint8Array): ThriftStruct {
  try {
    const reader = new ThriftReader(bytes, MAX_FOOTER_VALUES)
    const metadata = reader.struct(FILE)
    // Overwritten with zeros, it would end where they begin.
    if (reader.at !== bytes.length) throw damaged('its footer has another length than the file says')
    if (!REQUIRED.every((field) => metadata.has(field))) throw damaged('its footer is incomplete')
    return metadata
  } catch (error) {
    throw error instanceof TruncatedError ? damaged('its footer ends early') : error
  }
}

function parseFooter(metadata: ThriftStruct, limit: number): Footer {
  const fields = parseFields(structsIn(metadata, 2))
  const groups = structsIn(metadata, 4).map((group): RowGroup => {
    const chunks = structsIn(group, 1)
    if (chunks.length !== fields.length) throw damaged('a row group does not have all columns')
    return { rows: countIn(group, 3) ?? 0, chunks: chunks.map((chunk) => parseChunk(chunk, limit)) }
  })
  refuseSharedPages(groups)
  const rows = groups.reduce((sum, group) => sum + group.rows, 0)
  if (rows !== (countIn(metadata, 3) ?? 0)) throw damaged('its row groups have another number of rows than its footer')
  return { fields, groups }
}

/** A short file could otherwise mean the same pages thousands of times. */
function refuseSharedPages(groups: readonly RowGroup[]): void {
  // Without rows, nothing is read, and pyarrow gives no place of the values.
  const chunks = groups
    .flatMap((group) => (group.rows > 0 ? group.chunks : []))
    .sort((one, other) => one.start - other.start)
  for (const [index, { start }] of chunks.entries()) {
    const before = chunks[index - 1]
    if (before !== undefined && before.end > start) throw damaged('two columns have the same pages')
  }
}

function parseFields([root, ...elements]: readonly ThriftStruct[]): readonly Field[] {
  if (root === undefined || elements.length === 0) throw new ParquetError('The Parquet file has no columns')
  const nested = elements.find((element) => (countIn(element, 5) ?? 0) > 0 || countIn(element, 3) === REPEATED)
  if (nested !== undefined) {
    const name = JSON.stringify(textIn(nested, 4) ?? '')
    throw new ParquetError(
      `The column ${name} is nested (a list, a map or a struct): write it as several columns, or as JSON in a text`,
    )
  }
  if (elements.length > MAX_COLUMNS) throw new ParquetError(`A Parquet file may have ${MAX_COLUMNS} columns`)
  if (countIn(root, 5) !== elements.length) throw damaged('its schema does not have the columns that it announces')
  const names = new Set<string>()
  return elements.map((element) => {
    const field = parseField(element)
    if (names.has(field.name)) throw new ParquetError(`Two columns have the name ${JSON.stringify(field.name)}`)
    names.add(field.name)
    return field
  })
}

const OPTIONAL = 1
const REPEATED = 2

function parseField(element: ThriftStruct): Field {
  const name = textIn(element, 4)
  const physical = ParquetTypes[countIn(element, 1) ?? -1]
  if (name === undefined || physical === undefined) throw damaged('a column has no name or no type')
  const union = structIn(element, 10)
  const [logical] = union?.keys() ?? []
  return {
    name,
    physical,
    length: countIn(element, 2) ?? 0,
    isOptional: countIn(element, 3) === OPTIONAL,
    converted: countIn(element, 6),
    scale: countIn(element, 7),
    precision: countIn(element, 8),
    logical,
    logicalMembers: logical === undefined ? undefined : structIn(union, logical),
  }
}

/** `limit`: where the footer begins. */
function parseChunk(chunk: ThriftStruct, limit: number): Chunk {
  if (chunk.has(1)) throw new ParquetError('The Parquet file refers to other files: write it as one file')
  const metadata = structIn(chunk, 3)
  const codec = CompressionCodecs[countIn(metadata, 4) ?? -1]
  const data = countIn(metadata, 9)
  const length = countIn(metadata, 7)
  if (codec === undefined || data === undefined || length === undefined)
    throw damaged('the metadata of a column are incomplete')
  // Some writers give zero for "no dictionary".
  const dictionary = countIn(metadata, 11) ?? 0
  const start = dictionary > 0 ? Math.min(dictionary, data) : data
  const end = start + length
  if (end > limit) throw damaged('a column ends beyond the file')
  return { codec, start, end }
}

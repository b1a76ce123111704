/** The form of a result on the wire: its format, the values in its rows, and what an encoder of rows does. */

/** Small results of these are made as strings. */
export type TextFormat = 'json' | 'ndjson' | 'csv'
type BinaryFormat = 'arrow' | 'parquet' | 'wire'
export type Format = TextFormat | BinaryFormat

export type Encoding = TextEncoding | BinaryEncoding

export interface TextEncoding extends ValueForms {
  readonly format: TextFormat
}

interface BinaryEncoding extends ValueForms {
  readonly format: BinaryFormat
}

interface ValueForms {
  readonly rows: 'objects' | 'arrays'
  /** Integers as exact JSON numbers, or as strings for clients that read every number as a double. */
  readonly integers: 'numbers' | 'strings'
  /** Whether NDJSON begins with a line that describes the columns. */
  readonly header?: 'none' | 'columns'
  /**
   * What files say of licences, under the key `licence` of their metadata, and NDJSON in that line; JSON text. It is known when the rows
   * begin to be read, not before.
   */
  readonly licence?: string
  /** Of the format `wire`: which messages of PostgreSQL's protocol hold the rows. */
  readonly wire?: WireForm
}

/** Rows as DataRow messages, or as CopyData messages of COPY … TO STDOUT. */
export type WireForm =
  /** Whether a column is sent in binary, by its ordinal; in text where there is none. */
  { readonly kind: 'rows'; readonly binary: readonly boolean[] } | CopyForm

export type CopyForm =
  | { readonly kind: 'copy-binary' }
  | { readonly kind: 'copy-text'; readonly delimiter: string; readonly absent: string }
  | {
      readonly kind: 'copy-csv'
      readonly delimiter: string
      readonly absent: string
      readonly quote: string
      readonly escape: string
      /** Whether a value is always quoted, by the ordinal of its column. */
      readonly quoted: readonly boolean[]
    }

export function wireForm({ wire }: Encoding): WireForm {
  if (wire === undefined) throw new TypeError('The format wire without a form')
  return wire
}

/** Whether the format can report that rows were left out. The others cannot. */
export function reportsTruncation({ format }: Encoding): boolean {
  return format === 'json' || format === 'ndjson'
}

export function isText(encoding: Encoding): encoding is TextEncoding {
  switch (encoding.format) {
    case 'json':
    case 'ndjson':
    case 'csv':
      return true
    case 'arrow':
    case 'parquet':
    case 'wire':
      return false
  }
}

/**
 * A value to be encoded. Integer: bigint, number or digits. Decimal: digits in full scale. Double: number. Boolean: boolean.
 * Text, Timestamp, Date, Time, Interval, Uuid and Json: their text on the wire; in long results Timestamp, Date and Time may also be a bigint,
 * the microseconds or days that IQL counts. Binary: bytes.
 */
export type Cell = null | string | bigint | number | boolean | Uint8Array

/** What is known of a result when its rows have been read. */
export interface ReadOutcome {
  readonly rowCount: number
  /** Which limit left rows out. */
  readonly truncated: 'no' | 'rows' | 'bytes'
  /** The key of the last row that was written. */
  readonly lastKey: readonly Cell[]
  /** What follows the rows in a format that describes them at its end: Parquet. */
  readonly trailer?: Uint8Array | undefined
}

export interface RowEncoder {
  /** The row may be reused by the caller afterwards. */
  add(row: readonly Cell[]): void
  /** An estimate of the bytes waiting to be taken. */
  readonly pending: number
  /** The rows added since the last call, preceded by the header on the first. Parquet: a part of them, until nothing is pending. */
  take(): Uint8Array
  /** Bytes of rows that cannot be taken yet, because their row group is not complete. */
  readonly held?: number
  /** No more rows are added: those of the last row group can be taken. */
  end?(): void
  /** What follows the rows, once all of them have been taken. */
  trailer?(): Uint8Array
}

/** The encoder of a text format. A small result is sent as one string together with its trailer. */
export interface TextRowEncoder extends RowEncoder {
  takeText(): string
}

/** What a type of IQL looks like outside of it: the members that every file of this folder fills for its type. `types.ts` has the table. */
import type { Read } from 'gatehouse-iql'
import type { SchemaElement } from 'hyparquet'
import type { Cell, Encoding } from '../model/result.ts'
import type { ArrowResultType } from './arrow-type.ts'
import type { PostgresTypeName } from './postgres-types.ts'
import type { TextBytes } from './text-bytes.ts'
import type { PutWords } from './words.ts'

export interface Representation {
  readonly json: JsonForm
  readonly csv: CsvForm
  /** In PostgreSQL's protocol. */
  readonly wire: WireValues
  readonly arrow: ArrowForm
  readonly parquet: ParquetForm
}

export type Value = NonNullable<Cell>

export type WriteCell = (cell: Value) => string
export type AddCell = (out: TextBytes, cell: Value) => void

/** As a string for small results, and as bytes for long ones, where dates and times may be numbers. */
export interface JsonForm {
  write(integers: Encoding['integers']): WriteCell
  add(integers: Encoding['integers']): AddCell
}

export interface CsvForm {
  readonly write: WriteCell
  readonly add: AddCell
}

/** Results, COPY and parameters. The length of a value is written by the caller. */
export interface WireValues {
  readonly type: PostgresTypeName
  /** Dates and times may be numbers. */
  readonly addText: AddCell
  readonly addBinary: AddCell
  /** Whether the text can hold any character; otherwise it has neither a backslash nor a line break. */
  readonly isFreeText: boolean
  /** Every text that PostgreSQL reads as a value of the type, and that IQL has. */
  readText(text: string): Read
  readBinary(bytes: Buffer): BinaryRead
}

/** A value, or what is wrong with it: it is not one of the type, or its bytes are not those of a value. */
export type BinaryRead = Read | { readonly malformed: string }

export interface ArrowForm {
  readonly type: ArrowResultType
  readonly layout: WordLayout | 'bits' | 'bytes'
}

export interface ParquetForm {
  /** The annotations from before there were logical types are given where they mean the same, for old readers. */
  readonly element: Omit<SchemaElement, 'name'>
  /** `hex`: of a fixed length, from hexadecimal digits. `texts`: as UTF-8, with a dictionary where values repeat. */
  readonly layout: (WordLayout & { readonly isBigEndian?: true }) | 'bits' | 'bytes' | 'hex' | 'texts'
}

/** Values of one, two or four 32-bit words. */
export interface WordLayout {
  readonly words: 1 | 2 | 4
  readonly put: PutWords
}

export function malformed(reason: string): BinaryRead {
  return { malformed: reason }
}

export function wrongLength(): BinaryRead {
  return malformed('does not have the length of the type')
}

export function inRange(value: bigint, least: bigint, most: bigint): BinaryRead {
  return value < least || value > most ? { problem: 'is out of range' } : { value }
}

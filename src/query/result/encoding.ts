/** How rows become bytes: one encoder per format, the same one in the server and in its reader processes. */
import type { IqlType } from '../iql/types.ts'
import { createCsvEncoder } from './csv.ts'
import { createJsonEncoder } from './json.ts'
import { createNdjsonEncoder } from './ndjson.ts'

export type Format = 'json' | 'ndjson' | 'csv' | 'arrow'

export interface Encoding {
  readonly format: Format
  readonly rows: 'objects' | 'arrays'
  /** Integers as JSON numbers, written exactly, or as strings for readers that hold doubles only. */
  readonly integers: 'numbers' | 'strings'
}

/** CSV and Arrow have no place to say that rows were left out. */
export function saysWhatIsMissing({ format }: Encoding): boolean {
  return format === 'json' || format === 'ndjson'
}

export interface ResultColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
}

/**
 * A value on its way out. Integer bigint, number or digits · Decimal digits with its whole scale · Double number · Boolean boolean ·
 * Text, Timestamp, Date, Time, Uuid and Json the text of the wire · Binary bytes.
 */
export type Cell = null | string | bigint | number | boolean | Uint8Array

export interface RowEncoder {
  add(row: readonly Cell[]): void
  /** An estimate of the bytes that wait to be taken. */
  readonly pending: number
  /** The head, if it was not taken yet, and every whole row added since. */
  take(): Uint8Array
}

/** Of the formats that are text: a small result goes out as such, its end behind it. */
export interface TextRowEncoder extends RowEncoder {
  takeText(): string
}

export async function createEncoder(encoding: Encoding, columns: readonly ResultColumn[]): Promise<RowEncoder> {
  if (encoding.format !== 'arrow') return createTextEncoder(encoding, columns)
  // Arrow's library is large, and most servers never need it.
  const { createArrowEncoder } = await import('./arrow.ts')
  return createArrowEncoder(columns)
}

export function createTextEncoder(encoding: Encoding, columns: readonly ResultColumn[]): TextRowEncoder {
  switch (encoding.format) {
    case 'json':
      return createJsonEncoder(encoding, columns)
    case 'ndjson':
      return createNdjsonEncoder(encoding, columns)
    case 'csv':
      return createCsvEncoder(columns)
    case 'arrow':
      throw new TypeError('An Arrow encoder has to be loaded first')
  }
}

/**
 * Encoders of long results: rows as bytes. They write the same text as the encoders of `encoders.ts`, which write strings. Without them a result of a million rows takes 1.8 times as long and 1.8 times the
 * processor time on a quiet machine, and 1.35 to 1.55 times both at loads of 2 to 5 (bench: query-stream). The string encoders are needed
 * too: live rows are compared as strings.
 */
import type { ResultColumn } from 'gatehouse-iql'
import {
  type Encoding,
  isText,
  type RowEncoder,
  type TextEncoding,
  type TextRowEncoder,
  wireForm,
} from '../model/result.ts'
import type { AddCell } from '../types/representation.ts'
import { TextBytes } from '../types/text-bytes.ts'
import { representation } from '../types/types.ts'
import { textForm } from './encoders.ts'

export async function createEncoder(encoding: Encoding, columns: readonly ResultColumn[]): Promise<RowEncoder> {
  if (isText(encoding)) return createByteEncoder(encoding, columns)
  // Most servers never need them.
  switch (encoding.format) {
    case 'wire': {
      const { createWireEncoder } = await import('./wire-rows.ts')
      return createWireEncoder(wireForm(encoding), columns)
    }
    case 'arrow': {
      const { createArrowEncoder } = await import('./arrow.ts')
      return createArrowEncoder(columns, encoding.licence)
    }
    case 'parquet': {
      const { ParquetEncoder } = await import('./parquet/encoder.ts')
      return new ParquetEncoder(columns, encoding.licence)
    }
  }
}

export function createByteEncoder(encoding: TextEncoding, columns: readonly ResultColumn[]): TextRowEncoder {
  const { header, between, after } = textForm(encoding, columns)
  const { open, leads, absent, close, writers } = rowParts(encoding, columns)
  const [first, next, end] = [Buffer.from(open), Buffer.from(between + open), Buffer.from(close + after)]
  const noValue = Buffer.from(absent)
  const parts = writers.map((write, index) => ({ lead: Buffer.from(leads[index] ?? ''), write }))
  const out = new TextBytes()
  out.addText(header)
  let begin = first
  return {
    add(row) {
      out.addBytes(begin)
      for (let index = 0; index < parts.length; index++) {
        const part = parts[index]
        const cell = row[index]
        if (part === undefined) continue
        out.addBytes(part.lead)
        if (cell === null || cell === undefined) out.addBytes(noValue)
        else part.write(out, cell)
      }
      out.addBytes(end)
      begin = next
    },
    get pending() {
      return out.length
    },
    take: () => out.take(),
    takeText: () => out.take().toString(),
  }
}

interface RowParts {
  readonly open: string
  /** What stands before each value. */
  readonly leads: readonly string[]
  /** In place of NULL. */
  readonly absent: string
  readonly close: string
  readonly writers: readonly AddCell[]
}

function rowParts(encoding: TextEncoding, columns: readonly ResultColumn[]): RowParts {
  switch (encoding.format) {
    case 'json':
    case 'ndjson':
      return jsonRow(encoding, columns)
    case 'csv':
      return csvRow(columns)
  }
}

function jsonRow(encoding: TextEncoding, columns: readonly ResultColumn[]): RowParts {
  const isArray = encoding.rows === 'arrays'
  return {
    open: isArray ? '[' : '{',
    leads: columns.map(({ name }, index) => (index === 0 ? '' : ',') + (isArray ? '' : `${JSON.stringify(name)}:`)),
    absent: 'null',
    close: isArray ? ']' : '}',
    writers: columns.map(({ type }) => representation(type).json.add(encoding.integers)),
  }
}

function csvRow(columns: readonly ResultColumn[]): RowParts {
  return {
    open: '',
    leads: columns.map((_, index) => (index === 0 ? '' : ',')),
    absent: '',
    close: '',
    writers: columns.map(({ type }) => representation(type).csv.add),
  }
}

/** Reads CSV files as a stream of records. */
import { createReadStream } from 'node:fs'
import { type CsvRow, parseCsvRecord } from 'gatehouse-csv'

export class BadCsv extends Error {
  override name = 'BadCsv'
}

export interface CsvRecord {
  /** As written in the file, without the line break that ends it. */
  readonly raw: string
  /** The line on which it begins, counted from 1. */
  readonly line: number
  /** The byte and the line at which the next record begins; reading can be resumed there. */
  readonly end: number
  readonly nextLine: number
}

/** Every record as its fields. Throws BadCsv at the first one that cannot be parsed. */
export async function* readCsvFile(file: string): AsyncGenerator<CsvRow> {
  for await (const { raw, line } of readCsvRecords(file)) {
    const parsed = parseCsvRecord(raw)
    if ('problem' in parsed) throw new BadCsv(`line ${line}: ${parsed.problem}`)
    yield parsed.fields
  }
}

export function readCsvRecords(file: string, start = 0, firstLine = 1): AsyncGenerator<CsvRecord> {
  return splitCsv(createReadStream(file, { start, highWaterMark: 256 * 1024 }), start, firstLine)
}

const QUOTE = 0x22
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const BYTE_ORDER_MARK = '\ufeff'
/** A quote that is never closed would otherwise collect the rest of the file. */
const LONGEST_RECORD = 64 * 1024 * 1024

/**
 * Splits bytes into records, skipping empty lines. Works on bytes, since quotes and line breaks never occur inside
 * another character of UTF-8. `start` and `firstLine` are the position of the first chunk in its file.
 */
export async function* splitCsv(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  start = 0,
  firstLine = 1,
): AsyncGenerator<CsvRecord> {
  let pending: Buffer = Buffer.alloc(0)
  let begin = start
  let line = firstLine
  let nextLine = firstLine
  let scanned = 0
  let isQuoted = false
  for await (const chunk of chunks) {
    pending = Buffer.concat([pending, chunk])
    let from = 0
    let at = scanned
    for (; at < pending.length; at++) {
      const byte = pending[at]
      if (byte === QUOTE) isQuoted = !isQuoted
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) continue
      if (byte === CARRIAGE_RETURN) {
        // Wait for the next byte: CR LF is one line break.
        if (at + 1 === pending.length) break
        if (pending[at + 1] === LINE_FEED) continue
      }
      nextLine++
      if (isQuoted) continue
      const raw = decodeText(pending, from, at, begin === 0)
      if (raw !== '') yield { raw, line, end: begin + at + 1 - from, nextLine }
      begin += at + 1 - from
      from = at + 1
      line = nextLine
    }
    if (pending.length - from > LONGEST_RECORD)
      throw new BadCsv(`line ${line}: the record is longer than ${LONGEST_RECORD} bytes; is a quote not closed?`)
    pending = pending.subarray(from)
    scanned = at - from
  }
  const raw = decodeText(pending, 0, pending.length, begin === 0)
  if (raw !== '') yield { raw, line, end: begin + pending.length, nextLine: nextLine + 1 }
}

function decodeText(bytes: Buffer, from: number, to: number, isFirst: boolean): string {
  const end = to > from && bytes[to - 1] === CARRIAGE_RETURN ? to - 1 : to
  const text = bytes.toString('utf8', from, end)
  return isFirst && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

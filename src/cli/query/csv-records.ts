/** Reads a CSV file (RFC 4180) record by record, knowing at which byte and line each begins and ends. */
import { createReadStream } from 'node:fs'

export interface CsvRecord {
  /** As it stands in the file, without the line's end. */
  readonly raw: string
  /** The byte after it: where the next one begins. */
  readonly end: number
  /** The line on which it begins, from 1. */
  readonly line: number
}

const QUOTE = 0x22
const NEWLINE = 0x0a
const BYTE_ORDER_MARK = '\ufeff'

/** Quotes and line ends are never part of another character of UTF-8, so that bytes can be looked at. Empty lines are passed over. */
export async function* readRecords(file: string, start = 0, firstLine = 1): AsyncGenerator<CsvRecord> {
  let pending: Buffer = Buffer.alloc(0)
  let begin = start
  let line = firstLine
  let lines = 0
  let looked = 0
  let isQuoted = false
  for await (const chunk of createReadStream(file, { start, highWaterMark: 256 * 1024 })) {
    pending = Buffer.concat([pending, chunk])
    let from = 0
    for (let at = looked; at < pending.length; at++) {
      const byte = pending[at]
      if (byte === QUOTE) isQuoted = !isQuoted
      if (byte !== NEWLINE) continue
      lines++
      if (isQuoted) continue
      const raw = textOf(pending.subarray(from, at))
      if (raw !== '') yield { raw, end: begin + at + 1, line }
      from = at + 1
      line += lines
      lines = 0
    }
    pending = pending.subarray(from)
    begin += from
    looked = pending.length
  }
  const raw = textOf(pending)
  if (raw !== '') yield { raw, end: begin + pending.length, line }
}

function textOf(bytes: Buffer): string {
  const text = bytes.toString()
  const whole = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  return whole.endsWith('\r') ? whole.slice(0, -1) : whole
}

/** An empty field is NULL, a quoted empty one is the empty text; undefined for a record that cannot be read. */
export function fieldsOf(raw: string): (string | null)[] | undefined {
  const fields: (string | null)[] = []
  for (let at = 0; ; at++) {
    if (raw[at] === '"') {
      const closed = closingQuote(raw, at)
      if (closed === -1 || (closed + 1 < raw.length && raw[closed + 1] !== ',')) return undefined
      fields.push(raw.slice(at + 1, closed).replaceAll('""', '"'))
      at = closed + 1
    } else {
      const comma = raw.indexOf(',', at)
      const field = raw.slice(at, comma === -1 ? undefined : comma)
      if (field.includes('"')) return undefined
      fields.push(field === '' ? null : field)
      at = comma === -1 ? raw.length : comma
    }
    if (at >= raw.length) return fields
  }
}

function closingQuote(raw: string, open: number): number {
  for (let at = raw.indexOf('"', open + 1); at !== -1; at = raw.indexOf('"', at + 2)) {
    if (raw[at + 1] !== '"') return at
  }
  return -1
}

export function csvField(text: string): string {
  return /[",\r\n]|^\s|\s$|^$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

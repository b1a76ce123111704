/** The CSV result (RFC 4180): a header line; NULL is an empty field and an empty text is a quoted one, so that both come back. */
import type { Cell, ResultColumn, TextRowEncoder } from './encoding.ts'

export function createCsvEncoder(columns: readonly ResultColumn[]): TextRowEncoder {
  let pending = `${columns.map((column) => csvText(column.name)).join(',')}\r\n`
  const takeText = (): string => {
    const text = pending
    pending = ''
    return text
  }
  return {
    add(row) {
      let line = ''
      for (let index = 0; index < columns.length; index++) {
        if (index > 0) line += ','
        line += csvField(row[index] ?? null)
      }
      pending += `${line}\r\n`
    },
    get pending() {
      return pending.length
    },
    take: () => Buffer.from(takeText()),
    takeText,
  }
}

function csvField(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'string') return csvText(cell)
  if (cell instanceof Uint8Array) return Buffer.from(cell).toString('base64')
  return Object.is(cell, -0) ? '0' : String(cell)
}

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/

function csvText(text: string): string {
  return text === '' || NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

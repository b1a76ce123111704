/** Binary: bytes. */
import type { Read } from 'gatehouse-iql'
import { csvTexts } from './csv-form.ts'
import { jsonWords } from './json-form.ts'
import type { Representation, Value } from './representation.ts'

export const BINARY_VALUES: Representation = {
  json: jsonWords((cell) => (cell instanceof Uint8Array ? `"${base64(cell)}"` : JSON.stringify(cell))),
  csv: csvTexts(base64),
  wire: {
    type: 'bytea',
    addText: (out, cell) => out.addText(hexText(cell)),
    addBinary: (out, cell) => out.addAll(asBuffer(cell)),
    isFreeText: true,
    readText: readBytesText,
    readBinary: (bytes) => ({ value: new Uint8Array(bytes) }),
  },
  arrow: { type: { kind: 'binary', width: 4 }, layout: 'bytes' },
  parquet: { element: { type: 'BYTE_ARRAY' }, layout: 'bytes' },
}

function asBuffer(cell: Value): Buffer {
  return cell instanceof Uint8Array
    ? Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength)
    : Buffer.from(String(cell))
}

/** A mark may stand in place of a long value (`results/long-rows.ts`). */
function base64(cell: Value): string {
  return cell instanceof Uint8Array ? asBuffer(cell).toString('base64') : String(cell)
}

/** As PostgreSQL writes bytes. */
export function hexText(cell: Value): string {
  return `\\x${asBuffer(cell).toString('hex')}`
}

const [ZERO, BACKSLASH] = [0x30, 0x5c]

/** Hexadecimal digits after \x, or bytes as characters and octal escapes. */
function readBytesText(text: string): Read {
  if (text.startsWith('\\x')) {
    const hex = /\s/.test(text) ? text.slice(2).replace(/\s+/g, '') : text.slice(2)
    if (hex.length % 2 !== 0 || /[^0-9a-f]/i.test(hex)) return { problem: 'is not hexadecimal after \\x' }
    return { value: new Uint8Array(Buffer.from(hex, 'hex')) }
  }
  const source = Buffer.from(text)
  const bytes = Buffer.alloc(source.length)
  let length = 0
  for (let at = 0; at < source.length; at++) {
    const byte = source[at] ?? 0
    if (byte !== BACKSLASH) bytes[length++] = byte
    else if (source[at + 1] === BACKSLASH) bytes[length++] = source[++at] ?? 0
    else {
      const value = octal(source, at + 1)
      if (value === undefined) return { problem: 'has a backslash before something else than octal digits' }
      bytes[length++] = value
      at += 3
    }
  }
  return { value: new Uint8Array(bytes.subarray(0, length)) }
}

/** Three digits, of which the first is at most 3. */
function octal(source: Buffer, at: number): number | undefined {
  const [first, second, third] = [0, 1, 2].map((index) => (source[at + index] ?? 0) - ZERO)
  if (!isDigit(first, 3) || !isDigit(second, 7) || !isDigit(third, 7)) return undefined
  return first * 64 + second * 8 + third
}

function isDigit(value: number | undefined, most: number): value is number {
  return value !== undefined && value >= 0 && value <= most
}

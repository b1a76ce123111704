/** How values stand in JSON: as words, in quotes, or as texts whose characters may need to be escaped. */
import type { AddCell, JsonForm, Value, WriteCell } from './representation.ts'
import { plainCharacters, type TextBytes } from './text-bytes.ts'

const QUOTE = 0x22
/** What JSON does not escape. */
const PLAIN = plainCharacters(/[ !#-[\]-~]/)
/** Whether a whole text needs no escapes. Testing for it is faster than JSON.stringify. */
const UNESCAPED = /^[ !#-[\]-~]*$/

export function jsonText(cell: Value): string {
  return typeof cell === 'string' && UNESCAPED.test(cell) ? `"${cell}"` : JSON.stringify(cell)
}

/** For values whose text never contains a character that JSON escapes. */
export function quoted(cell: Value): string {
  return `"${cell}"`
}

/** Written from the text as it is. */
export function jsonWords(write: WriteCell): JsonForm {
  const add: AddCell = (out, cell) => out.addText(write(cell))
  return { write: () => write, add: () => add }
}

/** In quotes. */
export function jsonTexts(write: WriteCell): JsonForm {
  const add: AddCell = (out, cell) => {
    if (typeof cell !== 'string' || !out.addPlain(cell, PLAIN, QUOTE)) out.addText(write(cell))
  }
  return { write: () => write, add: () => add }
}

/** In quotes, from their texts or from their numbers. */
export function jsonTimes(addNumber: (out: TextBytes, value: bigint) => void): JsonForm {
  const { write, add: ofText } = jsonTexts(quoted)
  const addText = ofText('numbers')
  const add: AddCell = (out, cell) => {
    if (typeof cell !== 'bigint') {
      addText(out, cell)
      return
    }
    out.addByte(QUOTE)
    addNumber(out, cell)
    out.addByte(QUOTE)
  }
  return { write, add: () => add }
}

/** How values stand in CSV (RFC 4180): an empty field is NULL and a quoted empty one the empty text, so that they differ. */
import type { AddCell, CsvForm, WriteCell } from './representation.ts'
import { plainCharacters, type TextBytes } from './text-bytes.ts'

/** What is neither quoted nor doubled, within a text. */
const PLAIN = plainCharacters(/[ !#-+\--~]/)
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/
const SPACE = ' '

export function needsQuotes(text: string): boolean {
  return text === '' || NEEDS_QUOTES.test(text)
}

export function csvText(text: string): string {
  return needsQuotes(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function addText(out: TextBytes, text: string): void {
  const isPlain = text !== '' && text[0] !== SPACE && text[text.length - 1] !== SPACE
  if (!isPlain || !out.addPlain(text, PLAIN)) out.addText(csvText(text))
}

/** Of any characters. */
export function csvTexts(writeText: WriteCell): CsvForm {
  return { write: (cell) => csvText(writeText(cell)), add: (out, cell) => addText(out, writeText(cell)) }
}

/** Never in quotes. */
export function csvWords(write: WriteCell, add: AddCell = (out, cell) => out.addText(write(cell))): CsvForm {
  return { write, add }
}

/** From their texts or from their numbers. */
export function csvTimes(addNumber: (out: TextBytes, value: bigint) => void): CsvForm {
  return csvWords(String, (out, cell) => {
    if (typeof cell === 'bigint') addNumber(out, cell)
    else out.addText(String(cell))
  })
}

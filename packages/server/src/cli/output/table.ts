/** Text for a terminal: tables whose columns line up, and data that cannot control the terminal. */
import { writeExactly } from './json.ts'

export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [header, ...rows].map((row) => row.map(printable))
  const widths = header.map((_, column) => Math.max(...lines.map((row) => displayWidth(row[column] ?? ''))))
  for (const row of lines)
    process.stdout.write(
      `${row
        .map((cell, column) => padTo(cell, widths[column]))
        .join('  ')
        .trimEnd()}\n`,
    )
}

/** The rows of a query result between rules; cells of numeric columns are aligned to the right. */
export function formatResult(
  columns: readonly { readonly name: string; readonly isNumeric: boolean }[],
  rows: readonly (readonly string[])[],
): string {
  if (columns.length === 0) return ''
  const lines = [columns.map(({ name }) => name), ...rows].map((row) => row.map(printable))
  const widths = columns.map((_, column) => Math.max(...lines.map((row) => displayWidth(row[column] ?? ''))))
  const [header = '', ...body] = lines.map((row) => {
    const cells = columns.map(({ isNumeric }, column) => padTo(row[column] ?? '', widths[column], isNumeric))
    return `${cells.join(' │ ').trimEnd()}\n`
  })
  return `${header}${widths.map((width) => '─'.repeat(width)).join('─┼─')}\n${body.join('')}`
}

/** The rows of a query result one below the other, a line for each column. */
export function formatRecords(
  columns: readonly { readonly name: string }[],
  rows: readonly (readonly string[])[],
): string {
  const names = columns.map(({ name }) => printable(name))
  const width = Math.max(0, ...names.map(displayWidth))
  const records = rows.map((row, index) => {
    const lines = names.map((name, column) => `${padTo(name, width)} │ ${printable(row[column] ?? '')}`.trimEnd())
    return [`── row ${index + 1} ${'─'.repeat(20)}`, ...lines].map((line) => `${line}\n`).join('')
  })
  return columns.length === 0 ? '' : records.join('')
}

/** A value of a result as text. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return typeof value === 'object' ? writeExactly(value) : String(value)
}

export function padTo(cell: string, width = 0, atStart = false): string {
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(cell)))
  return atStart ? blanks + cell : cell + blanks
}

/** The text, or as much of it as fits with an ellipsis. */
export function cutTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let cut = ''
  let used = 0
  for (const character of text) {
    used += displayWidth(character)
    if (used > width - 1) break
    cut += character
  }
  return `${cut}…`
}

/** Columns of the terminal: none for combining marks, two for wide East Asian characters and emoji. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const character of text) if (!ZERO_WIDTH.test(character)) width += DOUBLE_WIDTH.test(character) ? 2 : 1
  return width
}

const ZERO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u
const DOUBLE_WIDTH =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u

/** Escapes control characters, so that data cannot move the cursor or change colours. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (character) => NAMED.get(character) ?? escapeHex(character))
}

/** For texts of several lines: line breaks and tabs are kept. */
export function printableLines(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part))
    .join('')
}

const NAMED: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

function escapeHex(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}

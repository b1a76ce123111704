/** A result as columns that line up in a terminal. */
import { printable } from '../printable.ts'
import { membersOf, QueryRefused } from './connection.ts'

export interface TableResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
  readonly rowsAffected: number | undefined
  readonly isTruncated: boolean
}

/** Reads a JSON result whose rows are arrays. An error that came after the first rows is thrown like any other. */
export function readResult(body: string, statement: string): TableResult {
  const { Columns, Rows, RowsAffected, Truncated, Error: problem } = membersOf(JSON.parse(body))
  if (problem !== undefined) {
    const members = membersOf(problem)
    throw new QueryRefused(Number(members.status), members, statement)
  }
  return {
    columns: Object.entries(membersOf(Columns)).map(([name, column]) => ({
      name,
      type: String(membersOf(column).Type ?? ''),
    })),
    rows: Array.isArray(Rows) ? Rows.filter(Array.isArray) : [],
    rowsAffected: typeof RowsAffected === 'number' ? RowsAffected : undefined,
    isTruncated: Truncated === true,
  }
}

export function resultTable({ columns, rows }: TableResult): string {
  if (columns.length === 0) return ''
  const written = rows.map((row) => columns.map((_column, index) => cellText(row[index])))
  const widths = columns.map(({ name }, index) =>
    Math.max(widthOf(name), ...written.map((row) => widthOf(row[index] ?? ''))),
  )
  const line = (cells: readonly string[]): string => {
    const padded = cells.map((cell, index) => {
      const blanks = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(cell)))
      return isNumber(columns[index]?.type) ? blanks + cell : cell + blanks
    })
    return `${padded.join(' │ ').trimEnd()}\n`
  }
  const rule = `${widths.map((width) => '─'.repeat(width)).join('─┼─')}\n`
  return line(columns.map(({ name }) => printable(name))) + rule + written.map(line).join('')
}

function isNumber(type = ''): boolean {
  return /^(Integer|Decimal|Double)/.test(type)
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return printable(
    typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value),
  )
}

/** Columns of the terminal: none for marks, two for the wide characters of East Asia and for emoji. */
function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const character of text) {
    if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) continue
    width +=
      /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u.test(
        character,
      )
        ? 2
        : 1
  }
  return width
}

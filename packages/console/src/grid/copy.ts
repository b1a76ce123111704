/** Rows of a grid as text, for the clipboard and for files. */
import { fullText, writeJson } from './cell-text.ts'
import type { GridModel } from './model.ts'

export type CopyFormat = 'tsv' | 'csv' | 'json'

/** Rows from `top` to `bottom`, inclusive, in the order shown; the columns in the order wanted. All by default. */
export interface CopyRange {
  readonly top: number
  readonly bottom: number
  readonly columns: readonly number[]
}

export function rowsAs(model: GridModel, format: CopyFormat, range: CopyRange = wholeRange(model)): string {
  const { top, bottom, columns } = range
  const names = columns.map((column) => model.columns[column]?.name ?? '')
  const lines: string[] = []
  for (let index = top; index <= bottom; index++) {
    const row = model.row(index)
    const values = columns.map((column) => row[column])
    if (format === 'json')
      lines.push(`{${values.map((value, at) => `${JSON.stringify(names[at])}:${jsonValue(value)}`).join(',')}}`)
    else lines.push(values.map(format === 'csv' ? csvField : tsvField).join(format === 'csv' ? ',' : '\t'))
  }
  if (format === 'json') return `[${lines.join(',\n')}]\n`
  // A spreadsheet wants the cells alone; a file needs the names.
  return format === 'csv' ? `${[names.map(csvField).join(','), ...lines].join('\r\n')}\r\n` : lines.join('\n')
}

function wholeRange(model: GridModel): CopyRange {
  return { top: 0, bottom: model.size - 1, columns: model.columns.map((_, index) => index) }
}

function jsonValue(value: unknown): string {
  return value instanceof Uint8Array ? JSON.stringify(fullText(value)) : writeJson(value ?? null)
}

/** As the server writes CSV: an empty field is NULL, `""` is the empty text. */
function csvField(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = fullText(value)
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** As spreadsheets paste it: quoted only where a tab or a line break would end the cell. */
function tsvField(value: unknown): string {
  const text = fullText(value)
  return /["\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

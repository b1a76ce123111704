/** Rows as text for a model: a head, the names, one line of CSV a row; or as JSON. Both within a budget of bytes. */
import type { Json } from '../../lib/exact-json.ts'
import { type LicenceLabel, writeLicences } from '../../query/index.ts'
import { counted, cutBytes, escapeJson, escapeText, escapeWithin, shortText } from './escape.ts'

export interface Column {
  readonly name: string
  /** As IQL writes it. */
  readonly type: string
}

/** Decimals, times and integers are texts, which have all digits. */
export type Value = string | number | boolean | null | object

export interface Rows {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Value[])[]
  /** Rows follow that were not read. */
  readonly hasMore: boolean
  /** Undefined where it is not measured. */
  readonly milliseconds?: number | undefined
  /** Which rows are as they were, and which are left out. */
  readonly licence: readonly LicenceLabel[]
}

export interface Budget {
  readonly rows: number
  readonly bytes: number
}

export interface RowsText {
  readonly text: string
  readonly structured?: Readonly<Record<string, unknown>>
  /** How many of the rows are in it. */
  readonly shown: number
  readonly hasMore: boolean
}

const CELL_BYTES = 1024

/** Makes the text that the next call gets as `after`, behind that many rows; undefined where no call continues. */
export type WriteAfter = ((shown: number) => string) | undefined

export function writeRows(rows: Rows, { bytes }: Budget, format: 'text' | 'json', writeAfter: WriteAfter): RowsText {
  return format === 'json' ? writeJson(rows, bytes, writeAfter) : writeText(rows, bytes, writeAfter)
}

function writeText(
  { columns, rows, hasMore: moreFollow, milliseconds, licence }: Rows,
  bytes: number,
  writeAfter: WriteAfter,
): RowsText {
  const names = columns.map(({ name }) => csvCell(name)).join(',')
  const notes = licenceLines(licence)
  const { taken: lines, isCut } = takeWithin(
    rows.map((row) => () => row.map((value, index) => valueText(value, columns[index]?.type)).join(',')),
    bytes - names.length - Buffer.byteLength(notes.join('\n')) - 1024,
  )
  const hasMore = moreFollow || isCut
  const types = columns.map(({ name, type }) => `${escapeText(name)} ${type}`).join(', ')
  const count = `${counted(lines.length, 'row')}${hasMore ? ', more follow' : ''}`
  const time = milliseconds === undefined ? [] : [`${Math.round(milliseconds)} ms`]
  const head = [count, cutBytes(types, 4096) ?? types, ...time].join(' · ')
  const tail = hasMore
    ? [`# ${isCut ? `Cut at ${bytes / 1024} KiB` : 'More rows follow'}: ${goOn(writeAfter?.(lines.length))}`]
    : []
  return { text: [head, names, ...lines, ...tail, ...notes].join('\n'), shown: lines.length, hasMore }
}

const MOST_LABELS = 10
const MOST_VALUES = 20

/** Which rows are delayed, or left out. */
export function licenceLines(licence: readonly LicenceLabel[]): string[] {
  const lines = writeLicences(licence.slice(0, MOST_LABELS)).map((line) => `# ${shortText(line)}`)
  return licence.length > MOST_LABELS ? [...lines, `# ${licence.length - MOST_LABELS} more licences`] : lines
}

/** The member `licence`, as results over HTTP have it; absent where all rows are those of now. */
export function licenceMember(licence: readonly LicenceLabel[]): { readonly licence?: readonly LicenceLabel[] } {
  if (licence.length === 0) return {}
  const short = licence.slice(0, MOST_LABELS).map(({ Values, ...label }) => ({
    ...label,
    ...(Values !== undefined && Values.length <= MOST_VALUES && { Values }),
  }))
  return { licence: short }
}

function goOn(after: string | undefined): string {
  const again = after === undefined ? '' : `call again with after "${after}", or `
  return `${again}ask for less with WHERE, LIMIT or an aggregate.`
}

/** Lines that fit; the first one always does, since cells are cut. */
function takeWithin(makeLines: readonly (() => string)[], bytes: number): { taken: string[]; isCut: boolean } {
  const taken: string[] = []
  let left = bytes
  for (const makeLine of makeLines) {
    const line = makeLine()
    left -= Buffer.byteLength(line) + 1
    if (left < 0 && taken.length > 0) return { taken, isCut: true }
    taken.push(line)
  }
  return { taken, isCut: false }
}

/** NULL is empty, and so differs from a text without characters. */
function valueText(value: Value, type: string | undefined): string {
  if (value === null) return ''
  if (type === 'Json' || typeof value === 'object') return csvCell(JSON.stringify(value))
  return typeof value === 'string' ? csvCell(value) : String(value)
}

/** Quoted where it would not stand for itself: lines that begin with #, and heads, which have a ·, are the server's alone. */
function csvCell(text: string): string {
  const whole = escapeText(cutBytes(text, CELL_BYTES) ?? text)
  const escaped = Buffer.byteLength(whole) > CELL_BYTES ? escapeWithin(text, CELL_BYTES) : whole
  const isCut = escaped !== whole || cutBytes(text, CELL_BYTES) !== undefined
  const mustQuote = isCut || escaped === '' || /[",·]|^[#\s]|\s$/.test(escaped)
  const cell = mustQuote ? `"${escaped.replaceAll('"', '""')}"` : escaped
  return isCut ? `${cell}…[${Buffer.byteLength(text)} bytes]` : cell
}

/**
 * The fewest bytes that a value takes in a row, with what separates it from the next. Less than a cell may have: what is cut ends before a
 * character, or an escape, that does not fit.
 */
export function leastBytes(value: Value): number {
  const text = value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
  return Math.min(text.length, CELL_BYTES - LONGEST_ESCAPE) + 1
}

/** Of one character: `\u{10ffff}`. */
const LONGEST_ESCAPE = 10

function writeJson(
  { columns, rows, hasMore: moreFollow, licence }: Rows,
  bytes: number,
  writeAfter: WriteAfter,
): RowsText {
  const labels = licenceMember(licence)
  const others = Buffer.byteLength(escapeJson(JSON.stringify({ columns, ...labels })))
  const values = takeJsonRows(columns, rows, bytes - others - 1024)
  const shown = values.length
  const hasMore = moreFollow || shown < rows.length
  const after = hasMore ? (writeAfter?.(shown) ?? null) : null
  const structured = { columns, rows: values, more: hasMore, after, ...labels }
  return { text: escapeJson(JSON.stringify(structured)), structured, shown, hasMore }
}

/** The first rows, as JSON has them, of at most that many bytes. */
export function takeJsonRows(
  columns: readonly Column[],
  rows: Rows['rows'],
  bytes: number,
): readonly (readonly Value[])[] {
  const values = rows.map((row) => jsonRow(row, columns))
  return values.slice(
    0,
    takeWithin(
      values.map((row) => () => escapeJson(JSON.stringify(row))),
      bytes,
    ).taken.length,
  )
}

/** What a double holds is a number, everything longer a text. */
function jsonValue(value: Value, type: string | undefined): Value {
  if (typeof value === 'object' && value !== null) return shortJson(value)
  if (typeof value !== 'string') return value
  if (type === 'Integer' && Number.isSafeInteger(Number(value))) return Number(value)
  return cutText(value) ?? value
}

/** As it is, or the beginning of its text. */
function shortJson<Whole extends Json | object>(value: Whole): Whole | string {
  return cutText(JSON.stringify(value)) ?? value
}

/** Undefined for what is short. */
function cutText(text: string): string | undefined {
  const cut = cutBytes(text, CELL_BYTES)
  return cut === undefined ? undefined : `${cut}…[${Buffer.byteLength(text)} bytes]`
}

interface Put {
  readonly key: Json
  readonly row: readonly Value[]
}

function jsonRow(row: readonly Value[], columns: readonly Column[]): readonly Value[] {
  return row.map((value, index) => jsonValue(value, columns[index]?.type))
}

/** What has changed in a result. A part of it is enough, as much as is written; the counts are those of all. */
export interface ChangedRows {
  readonly put: readonly Put[]
  readonly remove: readonly Json[]
  readonly counts: { readonly put: number; readonly remove: number }
}

/** A line for each key whose row is gone, and for each row that is new or different. */
export function writeChanges(
  columns: readonly Column[],
  { put, remove, counts }: ChangedRows,
  { rows, bytes }: Budget,
): { readonly text: string; readonly shown: number } {
  const keyText = (key: Json) => csvCell(JSON.stringify(key))
  const removed = remove.map((key) => () => `- ${keyText(key)}`)
  const added = put.map(({ key, row }) => () => {
    const values = row.map((value, index) => valueText(value, columns[index]?.type))
    return `+ ${[keyText(key), ...values].join(',')}`
  })
  const { taken } = takeWithin([...removed, ...added].slice(0, rows), bytes - 1024)
  const names = columns.map(({ name }) => csvCell(name)).join(',')
  const left = counts.put + counts.remove - taken.length
  const tail = left > 0 ? [`# Cut: ${left} changes more. Narrow the statement, or run it with query.`] : []
  const head = `${counts.put} new or different (+), ${counts.remove} gone (-)`
  return { text: [head, `key,${names}`, ...taken, ...tail].join('\n'), shown: taken.length }
}

export interface JsonChanges {
  readonly put: readonly Put[]
  readonly remove: readonly Json[]
  /** There are others. */
  readonly more: boolean
}

/** As JSON, within the budget. */
export function takeJsonChanges(
  columns: readonly Column[],
  { put, remove, counts }: ChangedRows,
  { rows: most, bytes }: Budget,
): JsonChanges {
  const keys = remove.slice(0, most).map(shortJson)
  const rows = put.slice(0, most - keys.length).map(({ key, row }) => ({
    key: shortJson(key),
    row: jsonRow(row, columns),
  }))
  const { taken } = takeWithin(
    [...keys, ...rows].map((change) => () => escapeJson(JSON.stringify(change))),
    bytes - 1024,
  )
  return {
    put: rows.slice(0, Math.max(0, taken.length - keys.length)),
    remove: keys.slice(0, taken.length),
    more: taken.length < counts.put + counts.remove,
  }
}

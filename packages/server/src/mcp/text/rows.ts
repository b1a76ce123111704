/** Rows as text for a model: a head, the names, one line of CSV a row; or as JSON. Both within a budget of bytes. */
import { counted, cutBytes, escapeJson, escapeText } from './escape.ts'

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
  readonly milliseconds: number
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

/** `writeAfter` makes the text that the next call gets as `after`. */
export function writeRows(
  rows: Rows,
  { bytes }: Budget,
  format: 'text' | 'json',
  writeAfter: (shown: number) => string,
): RowsText {
  return format === 'json' ? writeJson(rows, bytes, writeAfter) : writeText(rows, bytes, writeAfter)
}

function writeText(
  { columns, rows, hasMore: moreFollow, milliseconds }: Rows,
  bytes: number,
  writeAfter: (shown: number) => string,
): RowsText {
  const names = columns.map(({ name }) => csvCell(name)).join(',')
  const { taken: lines, isCut } = takeWithin(
    rows.map((row) => () => row.map((value, index) => valueText(value, columns[index]?.type)).join(',')),
    bytes - names.length - 1024,
  )
  const hasMore = moreFollow || isCut
  const types = columns.map(({ name, type }) => `${escapeText(name)} ${type}`).join(', ')
  const count = `${counted(lines.length, 'row')}${hasMore ? ', more follow' : ''}`
  const head = `${count} · ${cutBytes(types, 4096) ?? types} · ${Math.round(milliseconds)} ms`
  const tail = hasMore
    ? [`# ${isCut ? `Cut at ${bytes / 1024} KiB` : 'More rows follow'}: ${goOn(writeAfter(lines.length))}`]
    : []
  return { text: [head, names, ...lines, ...tail].join('\n'), shown: lines.length, hasMore }
}

function goOn(after: string): string {
  return `call again with after "${after}", or ask for less with WHERE, LIMIT or an aggregate.`
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

/** Quoted where it would not stand for itself. Lines that begin with # are ours. */
function csvCell(text: string): string {
  const cut = cutBytes(text, CELL_BYTES)
  const escaped = escapeText(cut ?? text)
  const mustQuote = cut !== undefined || escaped === '' || /[",]|^[#\s]|\s$/.test(escaped)
  const cell = mustQuote ? `"${escaped.replaceAll('"', '""')}"` : escaped
  return cut === undefined ? cell : `${cell}…[${Buffer.byteLength(text)} bytes]`
}

function writeJson(
  { columns, rows, hasMore: moreFollow }: Rows,
  bytes: number,
  writeAfter: (shown: number) => string,
): RowsText {
  const values = rows.map((row) => row.map((value, index) => jsonValue(value, columns[index]?.type)))
  const { taken, isCut } = takeWithin(
    values.map((row) => () => JSON.stringify(row)),
    bytes - 1024,
  )
  const hasMore = moreFollow || isCut
  const shown = taken.length
  const after = hasMore ? writeAfter(shown) : null
  const structured = { columns, rows: values.slice(0, shown), more: hasMore, after }
  return { text: escapeJson(JSON.stringify(structured)), structured, shown, hasMore }
}

/** What a double holds is a number, everything longer a text. */
function jsonValue(value: Value, type: string | undefined): Value {
  if (typeof value !== 'string') return value
  if (type === 'Integer' && Number.isSafeInteger(Number(value))) return Number(value)
  const cut = cutBytes(value, CELL_BYTES)
  return cut === undefined ? value : `${cut}…[${Buffer.byteLength(value)} bytes]`
}

interface Put {
  readonly key: unknown
  readonly row: readonly Value[]
}

/** A row as JSON has it. */
export function jsonRow(row: readonly Value[], columns: readonly Column[]): readonly Value[] {
  return row.map((value, index) => jsonValue(value, columns[index]?.type))
}

/** What has changed: a line for each row that is new or different, and for each key whose row is gone. */
export function writeChanges(
  columns: readonly Column[],
  put: readonly Put[],
  remove: readonly unknown[],
  bytes: number,
): { readonly text: string; readonly shown: number } {
  const keyText = (key: unknown) => csvCell(JSON.stringify(key))
  const removed = remove.map((key) => () => `- ${keyText(key)}`)
  const added = put.map(({ key, row }) => () => {
    const values = row.map((value, index) => valueText(value, columns[index]?.type))
    return `+ ${[keyText(key), ...values].join(',')}`
  })
  const { taken, isCut } = takeWithin([...removed, ...added], bytes - 1024)
  const names = columns.map(({ name }) => csvCell(name)).join(',')
  const left = removed.length + added.length - taken.length
  const tail = isCut ? [`# Cut: ${left} changes more. Narrow the statement, or run it with query.`] : []
  const head = `${put.length} new or different (+), ${remove.length} gone (-)`
  return {
    text: [head, `key,${names}`, ...taken, ...tail].join('\n'),
    shown: Math.max(0, taken.length - removed.length),
  }
}

/** Results of tools as this page reads them: what a chart draws, and what has changed since. */
import type { ChartColumn, ChartView } from '../chart/choose.ts'

export interface JsonObject {
  readonly [member: string]: unknown
}

export type ToolResult = JsonObject

export interface DrawnResult {
  readonly view: ChartView
  readonly columns: readonly ChartColumn[]
  readonly rows: readonly Row[]
  /** Of each row, in a result that changes. */
  readonly keys: readonly unknown[]
  /** Not all rows are drawn. */
  readonly more: boolean
  readonly licence: readonly Label[]
  /** By which it is followed; undefined for one that does not change. */
  readonly watch: { readonly id: string; readonly since: number } | undefined
}

export type Row = readonly unknown[]

/** Rows of a product that are delayed, or left out. */
export interface Label {
  readonly product: string
  /** In seconds; undefined: left out. */
  readonly delay: number | undefined
}

export interface ChangedRows {
  readonly since: number
  readonly put: readonly { readonly key: unknown; readonly row: Row }[]
  readonly remove: readonly unknown[]
  /** What is known is not what it was, or did not fit: the whole result is needed. */
  readonly isIncomplete: boolean
}

/** In `_meta`, by the tool `chart`. */
const CHART_DATA = 'gatehouse/chart'
const VIEWS = ['line', 'bar', 'scatter', 'candles'] as const

/** Undefined where the client did not pass on what is for programs. */
export function readDrawn({ _meta: meta }: ToolResult): DrawnResult | undefined {
  const data = isObject(meta) ? meta[CHART_DATA] : undefined
  return isObject(data) ? readRows(data) : undefined
}

/** The result of the tool `query` with `format` `json`. */
export function readQueried(result: ToolResult, args: JsonObject): DrawnResult | undefined {
  const data = readStructured(result)
  return data === undefined ? undefined : readRows({ ...data, view: args })
}

/** The result of the tool `changes` with `format` `json`. */
export function readChanges(result: ToolResult): ChangedRows | undefined {
  const { since, put, remove, more, reset } = readStructured(result) ?? {}
  if (typeof since !== 'number') return undefined
  return {
    since,
    put: toList(put).flatMap((change) =>
      isObject(change) && Array.isArray(change.row) ? [{ key: change.key, row: change.row }] : [],
    ),
    remove: toList(remove),
    isIncomplete: more === true || reset === true,
  }
}

/** What went wrong, as the first line of the text says it. */
export function readFault({ isError, content }: ToolResult): string | undefined {
  if (isError !== true) return undefined
  return readText(content).split('\n', 1)[0] ?? ''
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readRows({ view, columns, rows, keys, more, licence, id, since }: JsonObject): DrawnResult {
  return {
    view: readView(isObject(view) ? view : {}),
    columns: toList(columns).flatMap((column) =>
      isObject(column) ? [{ name: String(column.name), type: String(column.type) }] : [],
    ),
    rows: toList(rows).filter((row) => Array.isArray(row)),
    keys: toList(keys),
    more: more === true,
    licence: toList(licence).flatMap((label) =>
      isObject(label)
        ? [{ product: String(label.Product), delay: typeof label.Delay === 'number' ? label.Delay : undefined }]
        : [],
    ),
    watch: typeof id === 'string' && typeof since === 'number' ? { id, since } : undefined,
  }
}

function readView({ view, x, y, series }: JsonObject): ChartView {
  const kind = VIEWS.find((known) => known === view)
  const names = toList(y).filter((name) => typeof name === 'string')
  return {
    ...(kind !== undefined && { view: kind }),
    ...(typeof x === 'string' && { x }),
    ...(names.length > 0 && { y: names }),
    ...(typeof series === 'string' && { series }),
  }
}

/** Some clients pass on the text alone, which says the same. */
function readStructured({ structuredContent, content }: ToolResult): JsonObject | undefined {
  if (isObject(structuredContent)) return structuredContent
  try {
    const value: unknown = JSON.parse(readText(content))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function readText(content: unknown): string {
  const [first] = toList(content)
  return isObject(first) && typeof first.text === 'string' ? first.text : ''
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The points of a chart: numbers to draw, each with the value as the server sent it. */
import { columnDecimals, countDecimals } from '../ui/number.ts'
import { movingAverage } from './averages.ts'
import { type ChartColumn, type ChartKind, type ChartView, chooseColumns, isTime } from './choose.ts'

/** What a chart reads; the model of the grid is one. */
export interface ChartSource {
  readonly columns: readonly ChartColumn[]
  readonly size: number
  row(index: number): readonly unknown[]
}

/** `undefined` where the series has no row, null where its value is NULL, which is a gap. */
export type Drawn = (number | null | undefined)[]

/** A moving average is drawn with the values it is made of; volume has a pane of its own. */
export type SeriesRole = 'value' | 'volume' | 'average'

export interface Series {
  readonly name: string
  readonly role: SeriesRole
  /** Digits after the decimal point. */
  readonly decimals: number
  readonly drawn: Drawn
  /** Exact, parallel to `drawn`. */
  readonly exact: unknown[]
}

export interface Points {
  readonly kind: ChartKind
  readonly isLog: boolean
  /** Bars stand on places 0, 1, 2 …, with `exactX` as their names. */
  readonly scale: 'time' | 'number' | 'places'
  readonly xName: string
  readonly xType: string
  /** That of the statement, if it names one. */
  readonly zone?: string | undefined
  readonly x: number[]
  readonly exactX: unknown[]
  readonly series: readonly Series[]
  /** Rows that are drawn, of how many, and which of them. */
  readonly rows: number
  readonly of: number
  readonly which: 'first' | 'last'
  /** Series that are left out. */
  readonly leftOut: number
}

/** Where the pointer is. */
export interface PointedAt {
  readonly index: number
  /** Pixels from the left end and the top of the plot; `top` is negative while the pointer is on another chart. */
  readonly left: number
  readonly top: number
}

/** More points cannot be distinguished on a screen, and would take longer than a frame. */
const MOST_ROWS = 20_000
const MOST_BARS = 1000
const MOST_SERIES = 24

/** The points, or a text that says why there is nothing to draw. */
export function buildPoints(source: ChartSource, view: ChartView): Points | string {
  const chosen = chooseColumns(source.columns, view)
  if (typeof chosen === 'string') return chosen
  const { kind, x, y, series, volume } = chosen
  const column = source.columns[x] as ChartColumn
  const scale = kind === 'bar' ? 'places' : isTime(column) ? 'time' : 'number'
  const most = kind === 'bar' ? MOST_BARS : MOST_ROWS
  const rows = Math.min(source.size, most)
  // The newest are wanted, also of a result with the newest first.
  const isDescending = scale === 'time' && toNumber(source.row(0)[x]) > toNumber(source.row(source.size - 1)[x])
  const which = isDescending ? 'first' : 'last'
  const from = which === 'first' ? 0 : source.size - rows
  const table = new PointTable(kind === 'bar')
  const drawnColumns = volume === undefined ? y : [...y, volume]
  if (series === undefined || kind === 'candles')
    for (const index of drawnColumns)
      table.addSeries(source.columns[index]?.name ?? '', index === volume ? 'volume' : 'value')
  for (const index of inOrder(source, x, from, rows, scale !== 'places')) {
    const row = source.row(index)
    if (series === undefined || kind === 'candles') table.addRow(toNumber(row[x]), row[x], drawnColumns, row)
    else table.addPoint(toNumber(row[x]), row[x], toName(row[series]), row[y[0] ?? 0])
  }
  const { leftOut, series: values, ...points } = table.finish()
  return {
    ...points,
    series: [...values, ...averages(values, kind, view.averages ?? [])],
    isLog: view.scale === 'log' && kind !== 'bar' && isPositive(values),
    ...{ kind, scale, rows, which, leftOut, of: source.size },
    ...{ xName: column.name, xType: column.type },
  }
}

/** Of the closes of candles, or of the one line of a chart. */
function averages(series: readonly Series[], kind: ChartKind, lengths: readonly number[]): Series[] {
  const values = series.filter(({ role }) => role === 'value')
  const base = kind === 'candles' ? values[3] : kind === 'line' && values.length === 1 ? values[0] : undefined
  if (base === undefined) return []
  const { drawn, decimals } = base
  return lengths.map((length) => ({
    name: `MA ${length}`,
    role: 'average',
    decimals,
    ...movingAverage(drawn, length, decimals),
  }))
}

/** A logarithm needs numbers above zero. */
function isPositive(series: readonly Series[]): boolean {
  return series.every(({ role, drawn }) => role !== 'value' || drawn.every((value) => value == null || value > 0))
}

/** Lines are drawn from left to right; bars as the rows come. */
function inOrder(source: ChartSource, x: number, from: number, rows: number, sorted: boolean): number[] {
  const order: number[] = []
  const at = new Float64Array(rows)
  let isSorted = true
  for (let index = 0; index < rows; index++) {
    const value = toNumber(source.row(from + index)[x])
    at[index] = value
    if (sorted && Number.isNaN(value)) continue
    if (index > 0 && value < (at[index - 1] ?? 0)) isSorted = false
    order.push(from + index)
  }
  if (sorted && !isSorted) order.sort((a, b) => (at[a - from] ?? 0) - (at[b - from] ?? 0))
  return order
}

class PointTable {
  readonly #byName: boolean
  readonly #series = new Map<string, Omit<Series, 'decimals'>>()
  readonly #places = new Map<string, number>()
  readonly #leftOut = new Set<string>()
  readonly x: number[] = []
  readonly exactX: unknown[] = []

  constructor(byName: boolean) {
    this.#byName = byName
  }

  addSeries(name: string, role: SeriesRole = 'value'): Omit<Series, 'decimals'> | undefined {
    const known = this.#series.get(name)
    if (known !== undefined) return known
    if (this.#series.size === MOST_SERIES) {
      this.#leftOut.add(name)
      return undefined
    }
    const series = { name, role, drawn: [], exact: [] }
    this.#series.set(name, series)
    return series
  }

  addRow(x: number, exactX: unknown, columns: readonly number[], row: readonly unknown[]): void {
    const slot = this.#addSlot(x, exactX)
    let at = 0
    for (const series of this.#series.values()) put(series, slot, row[columns[at++] ?? 0])
  }

  /** Series share a place for equal x; a second point of a series at the same x gets a separate place. */
  addPoint(x: number, exactX: unknown, name: string, value: unknown): void {
    const series = this.addSeries(name)
    if (series === undefined) return
    if (this.#byName) {
      const key = toName(exactX)
      const place = this.#places.get(key) ?? this.#addSlot(x, exactX)
      this.#places.set(key, place)
      put(series, place, value)
      return
    }
    const last = this.x.length - 1
    const isFree = this.x[last] === x && series.exact[last] === undefined
    put(series, isFree ? last : this.#addSlot(x, exactX), value)
  }

  finish(): Pick<Points, 'x' | 'exactX' | 'series' | 'leftOut'> {
    const series = [...this.#series.values()].map((one) => {
      one.drawn.length = this.x.length
      one.exact.length = this.x.length
      return { ...one, decimals: seriesDecimals(one.exact) }
    })
    return { x: this.x, exactX: this.exactX, series, leftOut: this.#leftOut.size }
  }

  #addSlot(x: number, exactX: unknown): number {
    this.exactX.push(exactX)
    return this.x.push(this.#byName ? this.x.length : x) - 1
  }
}

/** Enough of the last values show what the others need. */
const SAMPLE = 500
const MOST_DECIMALS = 8

function seriesDecimals(exact: readonly unknown[]): number {
  const needed = exact.slice(-SAMPLE).reduce<number>((most, value) => Math.max(most, countDecimals(value)), 0)
  return Math.min(MOST_DECIMALS, columnDecimals(needed))
}

function put({ drawn, exact }: Pick<Series, 'drawn' | 'exact'>, slot: number, value: unknown): void {
  const number = value === null || value === undefined ? Number.NaN : toNumber(value)
  drawn[slot] = Number.isFinite(number) ? number : null
  exact[slot] = value ?? null
}

/** A time as milliseconds since the epoch, any other number as a double. */
export function toNumber(value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string') return Number.NaN
  const number = Number(value)
  if (!Number.isNaN(number)) return value.trim() === '' ? Number.NaN : number
  // A Date is a day in any zone: it is drawn at the viewer's midnight.
  return Date.parse(/^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00` : value)
}

export function toName(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

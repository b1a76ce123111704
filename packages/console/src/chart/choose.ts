/** Which columns of a result a chart draws: those that the view names, or else suitable ones. */
import type { SavedQuery } from '../../../client/src/index.ts'

/** The members of a saved query or tile that concern a chart; a `table`, or none, is drawn as lines. */
export type ChartView = Pick<SavedQuery, 'view' | 'x' | 'y' | 'series' | 'scale' | 'averages'>

export type ChartKind = 'line' | 'bar' | 'scatter' | 'candles'

export interface ChartColumn {
  readonly name: string
  readonly type: string
}

/** Columns by their index. */
export interface Chosen {
  readonly kind: ChartKind
  readonly x: number
  readonly y: readonly number[]
  readonly series: number | undefined
  /** Drawn as bars in a pane of its own, below prices. */
  readonly volume: number | undefined
}

const CANDLE = ['open', 'high', 'low', 'close']
const VOLUME = /^(volume|vol|quantity|qty)$/i
const MOST_COLUMNS = 20

/** The columns, or a text that says what is in the way. */
export function chooseColumns(columns: readonly ChartColumn[], view: ChartView): Chosen | string {
  const kind = chartKind(view)
  const missing = [view.x, view.series, ...(view.y ?? [])].find(
    (name) => name !== undefined && find(columns, name) === undefined,
  )
  if (missing !== undefined) return `The result has no column “${missing}”.`
  const series = view.series === undefined ? undefined : find(columns, view.series)
  const x = (view.x === undefined ? undefined : find(columns, view.x)) ?? firstX(columns, series)
  if (x === undefined) return 'The result has no columns.'
  const named = view.y?.flatMap((name) => find(columns, name) ?? [])
  const { y, volume } = apartVolume(columns, kind, named ?? chooseY(columns, kind, x, series), series)
  const faulty = y.find((index) => !isNumber(columns[index]))
  if (faulty !== undefined) return `“${columns[faulty]?.name}” is ${columns[faulty]?.type}: charts draw numbers.`
  if (kind === 'candles') {
    if (y.length !== 4) return 'Candles need four columns of numbers: open, high, low, close.'
    if (!isTime(columns[x])) return `Candles need a Timestamp or Date as x; “${columns[x]?.name}” is neither.`
  }
  if (kind !== 'bar' && !isTime(columns[x]) && !isNumber(columns[x]))
    return `“${columns[x]?.name}” is ${columns[x]?.type}: choose bars, or a Timestamp, Date or number as x.`
  if (y.length === 0) return 'The result has no column of numbers to draw.'
  return { kind, x, y: series === undefined || kind === 'candles' ? y : y.slice(0, 1), series, volume }
}

/** What suits a result whose user has not chosen: candles if it has open, high, low and close over a time. */
export function suitableKind(columns: readonly ChartColumn[]): ChartKind {
  const x = firstX(columns, undefined)
  if (x === undefined) return 'line'
  const isCandles = CANDLE.every((name) => columns.some((column) => isNamed(column, name) && isNumber(column)))
  if (isTime(columns[x])) return isCandles ? 'candles' : 'line'
  return isNumber(columns[x]) ? 'line' : 'bar'
}

function isNamed(column: ChartColumn | undefined, name: string): boolean {
  return column?.name.toLowerCase() === name
}

/** The volume of candles and of lines over a time, if there is one. */
function apartVolume(
  columns: readonly ChartColumn[],
  kind: ChartKind,
  y: readonly number[],
  series: number | undefined,
): { y: readonly number[]; volume: number | undefined } {
  if (kind === 'candles') return { y: y.slice(0, 4), volume: y[4] }
  const volume = y.find((index) => VOLUME.test(columns[index]?.name ?? ''))
  const others = y.filter((index) => index !== volume)
  if (kind !== 'line' || volume === undefined || series !== undefined || others.length === 0)
    return { y, volume: undefined }
  return { y: others, volume }
}

export function chartKind({ view }: ChartView): ChartKind {
  return view === undefined || view === 'table' ? 'line' : view
}

function chooseY(columns: readonly ChartColumn[], kind: ChartKind, x: number, series: number | undefined): number[] {
  const numbers = columns.flatMap((column, index) =>
    isNumber(column) && index !== x && index !== series ? [index] : [],
  )
  if (kind !== 'candles') return numbers.slice(0, MOST_COLUMNS)
  const named = CANDLE.flatMap((name) => numbers.find((index) => isNamed(columns[index], name)) ?? [])
  const prices = named.length === 4 ? named : numbers.slice(0, 4)
  const volume = numbers.find((index) => VOLUME.test(columns[index]?.name ?? '') && !prices.includes(index))
  return volume === undefined ? prices : [...prices, volume]
}

function firstX(columns: readonly ChartColumn[], series: number | undefined): number | undefined {
  const time = columns.findIndex((column) => isTime(column))
  if (time !== -1) return time
  const first = columns.findIndex((_, index) => index !== series)
  return first === -1 ? undefined : first
}

function find(columns: readonly ChartColumn[], name: string): number | undefined {
  const exact = columns.findIndex((column) => column.name === name)
  if (exact !== -1) return exact
  const other = columns.findIndex((column) => column.name.toLowerCase() === name.toLowerCase())
  return other === -1 ? undefined : other
}

export function isTime(column: ChartColumn | undefined): boolean {
  return /^(Timestamp|LocalTimestamp|Date)\b/.test(column?.type ?? '')
}

export function isNumber(column: ChartColumn | undefined): boolean {
  return /^(Integer|Decimal|Double)\b/.test(column?.type ?? '')
}

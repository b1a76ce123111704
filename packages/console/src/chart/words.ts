/** Values of charts as text: exact under the pointer, and a summary for screen readers. */
import { LOCALE } from '../ui/locale.ts'
import { countDecimals, numberText } from '../ui/number.ts'
import { type Points, type Series, toName, toNumber } from './points.ts'
import { zoneFor, zoneFormats } from './zone.ts'

const DAY_MS = 86_400_000

/** All digits that the server sent, with separators. */
export function exactText(value: unknown, decimals?: number): string {
  if (value === null || value === undefined) return '–'
  return isNumeric(value) ? numberText(value, { decimals }) : toName(value)
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'bigint' || typeof value === 'number' || (typeof value === 'string' && /^-?\d/.test(value))
}

/** The value of a series at a point, or else the one before it: series may have points at different times. */
export function valueAt(series: Series, index: number | undefined): unknown {
  return series.exact[placeAt(series, index)]
}

/** Where that value is; -1 if there is none. Legend and tags have it from here, so that they say the same. */
export function placeAt({ exact }: Series, index?: number): number {
  for (let at = index ?? exact.length - 1; at >= 0; at--) if (exact[at] !== undefined) return at
  return -1
}

export function valueText(series: Series, index: number | undefined): string {
  return exactText(valueAt(series, index), series.decimals)
}

/** Digits of a tag at the axis. */
const TAG_DIGITS = 7

/** For the tags at the axis, whose room is taken from the plot: long fractions, such as those of averages, are rounded. */
export function tagText(series: Series, index: number | undefined): string {
  const value = valueAt(series, index)
  const number = Number(value)
  const magnitude = number === 0 ? 0 : Math.floor(Math.log10(Math.abs(number)))
  const decimals = Math.max(2, TAG_DIGITS - 1 - magnitude)
  if (!Number.isFinite(number) || decimals >= countDecimals(value)) return valueText(series, index)
  return exactText(number.toFixed(decimals), decimals)
}

/** A time in the zone of the charts, or of its own if it is local, with the fraction of the second that the server sent. */
export function xText(value: unknown, { xType: type, zone }: Pick<Points, 'xType' | 'zone'>): string {
  if (type === 'LocalTimestamp' && typeof value === 'string') return value.replace('T', ' ')
  if (!type.startsWith('Timestamp') || typeof value !== 'string')
    return type === 'Date' ? toName(value) : exactText(value)
  const at = new Date(value)
  if (Number.isNaN(at.getTime())) return value
  const fraction = /\.\d*?[1-9](?=0*(Z|[+-]|$))/.exec(value)?.[0] ?? ''
  return zoneFormats(zoneFor(type, zone))
    .full.formatToParts(at)
    .map(({ type: part, value: text }) => (part === 'second' ? text + fraction : text))
    .join('')
}

/** UTC, shown with the time of the viewer. */
export function utcText(value: unknown, type: string): string | undefined {
  if (!type.startsWith('Timestamp') || typeof value !== 'string') return undefined
  return `${value.replace('T', ' ').replace(/(Z|\+00:00)$/, '')} UTC`
}

/** The name of a bar. */
export function placeText(value: unknown, { xType: type, zone }: Pick<Points, 'xType' | 'zone'>): string {
  if (!type.startsWith('Timestamp')) return toName(value)
  const at = toNumber(value)
  const { day, clock } = zoneFormats(zoneFor(type, zone))
  return Number.isNaN(at) ? toName(value) : (at % DAY_MS === 0 ? day : clock).format(at)
}

const KINDS = { line: 'Line chart', bar: 'Bar chart', scatter: 'Scatter chart', candles: 'Candlestick chart' }

/** For screen readers: what is drawn, from where to where, and the last values. */
export function summarize(points: Points, label: string): string {
  const { kind, exactX, xName, series } = points
  const last = exactX.length - 1
  if (last < 0) return `${KINDS[kind]} of ${label}, without data.`
  const range = `${xName} from ${xText(exactX[0], points)} to ${xText(exactX[last], points)}`
  const values = series.slice(0, 8).map((one) => `${one.name} ${valueText(one, undefined)}`)
  return `${KINDS[kind]} of ${label}: ${exactX.length} points, ${range}. Last values: ${values.join(', ')}.`
}

/** For screen readers: the values at a point. */
export function pointText(points: Points, index: number, hidden: ReadonlySet<number>): string {
  const { exactX, series } = points
  const values = series.flatMap((one, at) =>
    hidden.has(at) || one.exact[index] === undefined ? [] : [`${one.name} ${valueText(one, index)}`],
  )
  return `${xText(exactX[index], points)}: ${values.join(', ')}`
}

/** Says that not everything is drawn. */
export function boundText({ rows, of, which, leftOut }: Points): string | undefined {
  const [drawn, all, others] = [rows, of, leftOut].map((number) => number.toLocaleString(LOCALE))
  const parts = [
    rows < of && (which === 'first' ? `The first ${drawn} of ${all} rows` : `The last ${drawn} of ${all} rows`),
    leftOut > 0 && `${others} more series are left out`,
  ].filter((part) => typeof part === 'string')
  return parts.length === 0 ? undefined : parts.join(' · ')
}

/** Values of charts as text: exact under the pointer, short on the axes, and a summary for screen readers. */
import { nameOf, numberOf, type Points } from './points.ts'

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const SECONDS = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const MONTH = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric' })
const COMPACT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 2 })
const DAY_MS = 86_400_000

/** All digits that the server sent, with separators where they are integers. */
export function exactText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))
    ? value.toLocaleString()
    : nameOf(value)
}

/** A time in the zone of the viewer, or of its own if it is local, with the fraction of the second that the server sent. */
export function xText(value: unknown, type: string): string {
  if (type === 'LocalTimestamp' && typeof value === 'string') return value.replace('T', ' ')
  if (!type.startsWith('Timestamp') || typeof value !== 'string') return exactText(value)
  const at = new Date(value)
  if (Number.isNaN(at.getTime())) return value
  const fraction = /\.\d*?[1-9](?=0*(Z|[+-]|$))/.exec(value)?.[0] ?? ''
  return FULL.formatToParts(at)
    .map(({ type: part, value: text }) => (part === 'second' ? text + fraction : text))
    .join('')
}

/** UTC, shown with the time of the viewer. */
export function utcText(value: unknown, type: string): string | undefined {
  if (!type.startsWith('Timestamp') || typeof value !== 'string') return undefined
  return `${value.replace('T', ' ').replace(/(Z|\+00:00)$/, '')} UTC`
}

/** The name of a bar. */
export function placeText(value: unknown, type: string): string {
  if (!type.startsWith('Timestamp')) return nameOf(value)
  const at = numberOf(value)
  return Number.isNaN(at) ? nameOf(value) : at % DAY_MS === 0 ? DAY.format(at) : CLOCK.format(at)
}

/** The labels of a time axis; the day below the first one and below each that begins a day. */
export function timeLabels(ticks: readonly number[], step: number): string[] {
  let day = ''
  return ticks.map((tick) => {
    if (step >= 28 * DAY_MS) return MONTH.format(tick)
    if (step >= DAY_MS) return DAY.format(tick)
    const label =
      step < 1000
        ? `${SECONDS.format(tick)}.${String(Math.floor(tick % 1000)).padStart(3, '0')}`
        : step < 60_000
          ? SECONDS.format(tick)
          : CLOCK.format(tick)
    const today = DAY.format(tick)
    if (today === day) return label
    day = today
    return `${label}\n${today}`
  })
}

export function numberLabels(ticks: readonly number[]): string[] {
  const most = Math.max(...ticks.map(Math.abs))
  if (most >= 10_000) return ticks.map((tick) => COMPACT.format(tick))
  const step = Math.abs((ticks[1] ?? 1) - (ticks[0] ?? 0))
  const digits = step === 0 ? 0 : Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))
  return ticks.map((tick) => tick.toLocaleString(undefined, { minimumFractionDigits: digits }))
}

const KINDS = { line: 'Line chart', bar: 'Bar chart', scatter: 'Scatter chart', candles: 'Candlestick chart' }

/** For screen readers: what is drawn, from where to where, and the last values. */
export function summaryOf(points: Points, label: string): string {
  const { kind, exactX, xName, xType, series } = points
  const last = exactX.length - 1
  if (last < 0) return `${KINDS[kind]} of ${label}, without data.`
  const range = `${xName} from ${xText(exactX[0], xType)} to ${xText(exactX[last], xType)}`
  const values = series.slice(0, 8).map(({ name, exact }) => `${name} ${exactText(lastOf(exact))}`)
  return `${KINDS[kind]} of ${label}: ${exactX.length} points, ${range}. Last values: ${values.join(', ')}.`
}

/** For screen readers: the values at a point. */
export function pointText({ exactX, xType, series }: Points, index: number, hidden: ReadonlySet<number>): string {
  const values = series.flatMap(({ name, exact }, at) =>
    hidden.has(at) || exact[index] === undefined ? [] : [`${name} ${exactText(exact[index])}`],
  )
  return `${xText(exactX[index], xType)}: ${values.join(', ')}`
}

export function lastOf(values: readonly unknown[]): unknown {
  for (let at = values.length - 1; at >= 0; at--) if (values[at] !== undefined) return values[at]
  return undefined
}

/** Says that not everything is drawn. */
export function boundText({ rows, of, which, leftOut }: Points): string | undefined {
  const parts = [
    rows < of && `the ${which} ${rows.toLocaleString()} of ${of.toLocaleString()} rows`,
    leftOut > 0 && `without ${leftOut.toLocaleString()} more series`,
  ].filter((part) => typeof part === 'string')
  return parts.length === 0 ? undefined : `Shows ${parts.join(', ')}`
}

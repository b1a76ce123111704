/** The ticks of axes: round numbers, and round times in a zone. */
import { LOCALE } from '../ui/locale.ts'
import { numberText } from '../ui/number.ts'
import type { TimeAxis } from './time-axis.ts'
import { formatsOf, offsetAt, type ZoneFormats } from './zone.ts'

export interface Tick {
  readonly at: number
  readonly label: string
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [
  ...[1, 5, 10, 50, 100, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 3, 5, 7].map((count) => count * DAY),
]
/** In months. */
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120]

/** Round times between two positions, at most `most`; where a day begins, its date. */
export function timeTicks(axis: TimeAxis, from: number, to: number, most: number, zone: string): Tick[] {
  const apart = (to - from) / Math.max(1, most)
  const step = STEPS.find((length) => length >= apart)
  const spans = axis.spans(from, to)
  const times = step === undefined ? monthTimes(spans, apart, zone) : stepTimes(spans, step, zone)
  const formats = formatsOf(zone)
  const ticks: Tick[] = []
  let before: number | undefined
  let isDated: boolean = false
  for (const time of times) {
    const at = axis.at(time)
    // A label is centred below its tick: there must be room at the left.
    if (at - from < apart * 0.2) continue
    const last = ticks.at(-1)
    const isDay = before !== undefined && dayOf(before, zone) !== dayOf(time, zone)
    // Two sessions are closer than two ticks may be: the date wins.
    if (last !== undefined && at - last.at < apart * 0.7) {
      if (!isDay) continue
      ticks.pop()
    }
    const needsDate: boolean = !isDated && !isDay && at - from >= apart * 0.5
    isDated ||= needsDate || isDay
    ticks.push({ at, label: labelOf(time, { isDay, needsDate }, step, formats, zone) })
    before = time
  }
  return ticks
}

function labelOf(
  time: number,
  { isDay, needsDate }: { readonly isDay: boolean; readonly needsDate: boolean },
  step: number | undefined,
  { clock, seconds, day, month, year }: ZoneFormats,
  zone: string,
): string {
  if (step === undefined) return isNewYear(time, zone) ? year.format(time) : month.format(time)
  if (step >= DAY) return day.format(time)
  const text =
    step >= MINUTE
      ? clock.format(time)
      : step >= SECOND
        ? seconds.format(time)
        : `${seconds.format(time)}.${String(Math.floor(time % 1000)).padStart(3, '0')}`
  if (isDay) return day.format(time)
  return needsDate ? `${day.format(time)} ${text}` : text
}

function isNewYear(time: number, zone: string): boolean {
  return new Date(time + offsetAt(zone, time)).getUTCMonth() === 0
}

/** Multiples of a step in the time of the zone, and where sessions begin. */
function stepTimes(spans: readonly { start: number; end: number }[], step: number, zone: string): number[] {
  const times: number[] = []
  for (const [index, { start, end }] of spans.entries()) {
    if (index > 0) times.push(start)
    const offset = offsetAt(zone, start)
    for (let local = Math.ceil((start + offset) / step) * step; ; local += step) {
      // Where the clock changes, the offset is another.
      const time = local - offsetAt(zone, local - offset)
      if (time > end) break
      if (time >= start && time !== times.at(-1)) times.push(time)
    }
  }
  return times
}

function monthTimes(spans: readonly { start: number; end: number }[], apart: number, zone: string): number[] {
  const [first, last] = [spans[0]?.start ?? 0, spans.at(-1)?.end ?? 0]
  const months = MONTH_STEPS.find((count) => count * 30 * DAY >= apart) ?? 240
  const start = new Date(first + offsetAt(zone, first))
  const times: number[] = []
  for (
    let month = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / months) * months;
    ;
    month += months
  ) {
    const local = Date.UTC(Math.floor(month / 12), month % 12, 1)
    const time = local - offsetAt(zone, local)
    if (time > last) return times
    if (time >= first) times.push(time)
  }
}

function dayOf(time: number, zone: string): number {
  return Math.floor((time + offsetAt(zone, time)) / DAY)
}

/** Round numbers between two, at most `most`. */
export function numberTicks(low: number, high: number, most: number, isLog = false): number[] {
  if (!(high > low)) return [low]
  if (isLog && high / low > 12) return decades(low, high)
  const step = roundStep((high - low) / Math.max(1, most))
  const first = Math.ceil(low / step - 1e-9)
  const count = Math.floor(high / step + 1e-9) - first
  return Array.from({ length: Math.max(0, count) + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)))
}

function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= least * 0.999) ?? 10) * power
}

function decades(low: number, high: number): number[] {
  const ticks: number[] = []
  const factors = high / low > 1000 ? [1] : [1, 2, 5]
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    ticks.push(...factors.map((factor) => factor * 10 ** power).filter((tick) => tick >= low && tick <= high))
  return ticks
}

const COMPACT = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 2 })

/** As many digits as tell them apart. */
export function numberLabels(ticks: readonly number[]): string[] {
  const most = Math.max(...ticks.map(Math.abs))
  if (most >= 100_000) return ticks.map((tick) => COMPACT.format(tick))
  const step = ticks.slice(1).reduce((least, tick, index) => Math.min(least, tick - (ticks[index] ?? 0)), Infinity)
  const decimals = Number.isFinite(step) && step > 0 ? decimalsFor(step) : 2
  return ticks.map((tick) => numberText(tick.toFixed(decimals), { decimals }))
}

function decimalsFor(step: number): number {
  for (let decimals = 0; decimals < 12; decimals++)
    if (Math.abs(Number(step.toFixed(decimals)) - step) < step * 1e-6) return decimals
  return 12
}

export function compactText(value: number): string {
  return COMPACT.format(value)
}

/** The ticks of axes: round numbers, and round times in a zone. */
import { LOCALE } from '../ui/locale.ts'
import { numberText } from '../ui/number.ts'
import type { TimeAxis } from './time-axis.ts'
import { offsetAt, type ZoneFormats, zoneFormats } from './zone.ts'

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
]
/** In days. Longer ones are counted in months. */
const DAY_STEPS = [1, 2, 3, 5, 7, 14]
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120]
/** How close two labels may be, as a part of the distance for which there is room. */
const CLOSEST = 0.7

/** What labels say: times of a day, days, or months. */
type Unit = 'time' | 'day' | 'month'

interface Candidate {
  readonly time: number
  readonly at: number
  /** Where a year begins, a month, a day, or none of them: what begins more wins where there is room for one only. */
  readonly rank: number
}

interface Step {
  readonly scale: Unit
  /** Milliseconds, days or months. */
  readonly length: number
}

/** Round times between two positions, at most `most`; where a day begins, its date. Finer ones where round ones would be less than two. */
export function timeTicks(axis: TimeAxis, from: number, to: number, most: number, zone: string): Tick[] {
  const apart = (to - from) / Math.max(1, most)
  const spans = axis.spans(from, to)
  let best: Tick[] = []
  for (const step of stepsFor(spans, apart, (to - from) / apart)) {
    const ticks = placeTicks(axis, spans, step, { from, apart, zone })
    if (ticks.length > best.length) best = ticks
    if (best.length >= Math.min(2, most)) break
  }
  return best
}

/** The fitting step first, then finer ones. Days of a few hours stand closer than a day, so days are counted in the time that they span. */
function stepsFor(spans: readonly Span[], apart: number, places: number): Step[] {
  const longest = Math.max(0, ...spans.map(({ start, end }) => end - start))
  const real = ((spans.at(-1)?.end ?? 0) - (spans[0]?.start ?? 0)) / places
  const steps: Step[] = [
    ...STEPS.filter((length) => length <= longest).map((length) => ({ scale: 'time', length }) as const),
    ...DAY_STEPS.map((length) => ({ scale: 'day', length }) as const),
    ...MONTH_STEPS.map((length) => ({ scale: 'month', length }) as const),
  ]
  const fits = ({ scale, length }: Step): boolean =>
    scale === 'time' ? length >= apart : (scale === 'day' ? length : length * 30) * DAY >= real
  const first = steps.findIndex(fits)
  return steps.slice(0, first === -1 ? steps.length : first + 1).reverse()
}

interface Room {
  readonly from: number
  readonly apart: number
  readonly zone: string
}

function placeTicks(
  axis: TimeAxis,
  spans: readonly Span[],
  { scale, length }: Step,
  { from, apart, zone }: Room,
): Tick[] {
  const times =
    scale === 'month'
      ? monthTimes(spans, length, zone)
      : scale === 'day'
        ? dayTimes(spans, length, zone)
        : stepTimes(spans, length, zone)
  // A label is centred below its tick: there must be room at the left.
  const candidates = ranked(axis, times, zone).filter(({ at }) => at - from >= apart * 0.2)
  const chosen = thinned(candidates, apart)
  const formats = zoneFormats(zone)
  // The first with room for a long label has the date, unless a day begins there.
  const dated = chosen.findIndex(({ at, rank }) => rank > 0 || at - from >= apart * 0.5)
  return chosen.map(({ time, at, rank }, index) => {
    const before = chosen[index - 1]
    const isOtherDay = before !== undefined && dayNumber(before.time, zone) !== dayNumber(time, zone)
    const date = rank > 0 ? 'only' : index === dated || isOtherDay ? 'also' : 'none'
    return { at, label: formatLabel(time, date, scale, length, formats, zone) }
  })
}

/** By rank, from left to right, as far apart as they must be. */
function thinned(candidates: readonly Candidate[], apart: number): Candidate[] {
  const chosen: Candidate[] = []
  for (const rank of [3, 2, 1, 0])
    for (const candidate of candidates)
      if (candidate.rank === rank && isFree(chosen, candidate, apart)) insert(chosen, candidate)
  return chosen
}

function isFree(chosen: readonly Candidate[], { at }: Candidate, apart: number): boolean {
  return chosen.every((other) => Math.abs(other.at - at) >= apart * CLOSEST)
}

function insert(chosen: Candidate[], candidate: Candidate): void {
  const place = chosen.findIndex(({ at }) => at > candidate.at)
  chosen.splice(place === -1 ? chosen.length : place, 0, candidate)
}

function ranked(axis: TimeAxis, times: readonly number[], zone: string): Candidate[] {
  return times.map((time, index) => {
    const before = times[index - 1]
    return { time, at: axis.at(time), rank: before === undefined ? 0 : rankTick(before, time, zone) }
  })
}

function rankTick(before: number, time: number, zone: string): number {
  const [one, other] = [before, time].map((at) => new Date(at + offsetAt(zone, at)))
  if (one?.getUTCFullYear() !== other?.getUTCFullYear()) return 3
  if (one?.getUTCMonth() !== other?.getUTCMonth()) return 2
  return one?.getUTCDate() === other?.getUTCDate() ? 0 : 1
}

function formatLabel(
  time: number,
  date: 'only' | 'also' | 'none',
  scale: Unit,
  length: number,
  { clock, seconds, day, month, year }: ZoneFormats,
  zone: string,
): string {
  if (scale === 'month') return isNewYear(time, zone) ? year.format(time) : month.format(time)
  if (scale === 'day' || date === 'only') return day.format(time)
  const text =
    length >= MINUTE
      ? clock.format(time)
      : length >= SECOND
        ? seconds.format(time)
        : `${seconds.format(time)}.${String(Math.floor(time % 1000)).padStart(3, '0')}`
  return date === 'also' ? `${day.format(time)} ${text}` : text
}

function isNewYear(time: number, zone: string): boolean {
  return new Date(time + offsetAt(zone, time)).getUTCMonth() === 0
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Multiples of a step in the time of the zone, and where sessions begin. */
function stepTimes(spans: readonly Span[], step: number, zone: string): number[] {
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

/** Where days begin: at midnight, or with the first session. Of sessions all days, from which those are chosen that fit. */
function dayTimes(spans: readonly Span[], days: number, zone: string): number[] {
  if (spans.length === 1) return stepTimes(spans, days * DAY, zone)
  return stepTimes(spans, DAY, zone).filter(
    (time, index, all) => index === 0 || dayNumber(all[index - 1] ?? 0, zone) !== dayNumber(time, zone),
  )
}

function monthTimes(spans: readonly Span[], months: number, zone: string): number[] {
  const [first, last] = [spans[0]?.start ?? 0, spans.at(-1)?.end ?? 0]
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

function dayNumber(time: number, zone: string): number {
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

/** Calendar arithmetic on microseconds and days. An interval with months is the text 'months:micros'. */

import {
  floorDivide,
  MAX_DATE,
  MAX_SERIES_ROWS,
  MAX_TIMESTAMP,
  MICROS_PER_DAY,
  MIN_DATE,
  MIN_TIMESTAMP,
} from 'gatehouse-iql'
import { overflowError, seriesRowsError, seriesStepError, widthError } from '../../runtime-error.ts'
import type { SqliteFunction } from './number.ts'

export type Span = bigint | string

/** All are called only if no argument is NULL. */
export const TIME_FUNCTIONS = {
  gh_ts: (micros: bigint | number) => timestamp(micros),
  gh_date: (days: bigint | number) => {
    if (typeof days === 'number' || days < MIN_DATE || days > MAX_DATE) throw overflowError('Date')
    return days
  },
  gh_ts_add: (micros: bigint, span: Span, sign: bigint) => {
    const { months, micros: length } = parts(span)
    return timestamp(addMonths(micros, months * sign) + length * sign)
  },
  gh_time_add: (time: bigint, span: Span, sign: bigint) => {
    const sum = time + parts(span).micros * sign
    return sum - floorDivide(sum, MICROS_PER_DAY) * MICROS_PER_DAY
  },
  gh_iv_add: (a: Span, b: Span, sign: bigint) => {
    const [x, y] = [parts(a), parts(b)]
    return whole(x.months + y.months * sign, x.micros + y.micros * sign)
  },
  gh_iv_mul: (span: Span, times: bigint) => {
    const { months, micros } = parts(span)
    return whole(months * times, micros * times)
  },
  /** The number of steps of a series, without its start; negative if it has no rows. */
  gh_series: (start: bigint, stop: bigint, step: bigint) => {
    if (step <= 0n) throw seriesStepError()
    return seriesSteps(floorDivide(stop - start, step))
  },
  gh_series_months: (start: bigint, stop: bigint, step: Span) => {
    const { months } = parts(step)
    if (months <= 0n) throw seriesStepError()
    const steps = floorDivide(countMonths(stop) - countMonths(start), months)
    return seriesSteps(steps >= 0n && addMonths(start, steps * months) > stop ? steps - 1n : steps)
  },
  gh_date_trunc: truncated,
  gh_date_part: readPart,
  gh_extract: finePart,
  gh_date_diff: (unit: string, from: bigint, to: bigint) => (to - from) / (UNIT_MICROS.get(unit) ?? 1n),
  gh_bucket: (width: bigint, micros: bigint) => {
    if (width <= 0n) throw widthError()
    return timestamp(FIRST_MONDAY + floorDivide(micros - FIRST_MONDAY, width) * width)
  },
  gh_bucket_months: (width: Span, micros: bigint) => {
    const { months } = parts(width)
    if (months <= 0n) throw widthError()
    return timestamp(monthStart(Number(floorDivide(countMonths(micros), months) * months)))
  },
} as const satisfies Record<string, SqliteFunction>

export const UNIT_MICROS: ReadonlyMap<string, bigint> = new Map([
  ['week', 7n * MICROS_PER_DAY],
  ['day', MICROS_PER_DAY],
  ['hour', 3_600_000_000n],
  ['minute', 60_000_000n],
  ['second', 1_000_000n],
  ['millisecond', 1000n],
  ['microsecond', 1n],
])

/** Midnight of 2000-01-03, a Monday: weeks and days are counted from it. */
export const FIRST_MONDAY = 10_959n * MICROS_PER_DAY

export function timestamp(micros: bigint | number): bigint {
  if (typeof micros === 'number' || micros < MIN_TIMESTAMP || micros > MAX_TIMESTAMP) throw overflowError('Timestamp')
  return micros
}

export function parts(span: Span): { months: bigint; micros: bigint } {
  if (typeof span === 'bigint') return { months: 0n, micros: span }
  const [months = '0', micros = '0'] = span.split(':')
  return { months: BigInt(months), micros: BigInt(micros) }
}

function whole(months: bigint, micros: bigint): string {
  if (BigInt.asIntN(32, months) !== months || BigInt.asIntN(64, micros) !== micros) throw overflowError('Interval')
  return `${months}:${micros}`
}

function toDate(micros: bigint): Date {
  return new Date(Number(floorDivide(micros, 1000n)))
}

/** Keeps the day, or uses the last one of a shorter month. */
export function addMonths(micros: bigint, months: bigint): bigint {
  if (months === 0n) return micros
  const date = toDate(micros)
  const midnight = floorDivide(micros, MICROS_PER_DAY) * MICROS_PER_DAY
  const month = BigInt(date.getUTCFullYear() * 12 + date.getUTCMonth()) + months
  if (month < 12n || month >= 120_000n) throw overflowError('Timestamp')
  const target = new Date(0)
  target.setUTCFullYear(Number(month / 12n), Number(month % 12n) + 1, 0)
  const day = Math.min(date.getUTCDate(), target.getUTCDate())
  target.setUTCDate(day)
  return BigInt(target.getTime()) * 1000n + (micros - midnight)
}

/** Months since January 2000. */
export function countMonths(micros: bigint): bigint {
  const date = toDate(micros)
  return BigInt((date.getUTCFullYear() - 2000) * 12 + date.getUTCMonth())
}

export function seriesSteps(steps: bigint): bigint {
  if (steps >= BigInt(MAX_SERIES_ROWS)) throw seriesRowsError()
  return steps < 0n ? -1n : steps
}

/** The first moment of a month counted from January 2000. */
export function monthStart(month: number): bigint {
  const start = new Date(0)
  start.setUTCFullYear(2000 + Math.floor(month / 12), ((month % 12) + 12) % 12, 1)
  return BigInt(start.getTime()) * 1000n
}

export function truncated(unit: string, micros: bigint): bigint {
  const date = toDate(micros)
  const month = (date.getUTCFullYear() - 2000) * 12 + date.getUTCMonth()
  switch (unit) {
    case 'year':
      return monthStart(month - date.getUTCMonth())
    case 'quarter':
      return monthStart(month - (date.getUTCMonth() % 3))
    case 'month':
      return monthStart(month)
    case 'week':
      return timestamp(FIRST_MONDAY + floorDivide(micros - FIRST_MONDAY, 7n * MICROS_PER_DAY) * 7n * MICROS_PER_DAY)
    default: {
      const width = UNIT_MICROS.get(unit) ?? 1n
      return floorDivide(micros, width) * width
    }
  }
}

export function readPart(name: string, micros: bigint): bigint {
  return (PARTS.get(name) ?? epochSeconds)(micros)
}

/** Seconds, milliseconds and microseconds of the minute, or seconds since 1970: the digits of each count microseconds. */
function finePart(name: string, micros: bigint): bigint {
  return name === 'epoch' ? micros : micros - floorDivide(micros, MICROS_PER_MINUTE) * MICROS_PER_MINUTE
}

const MICROS_PER_MINUTE = 60_000_000n

const PARTS: ReadonlyMap<string, (micros: bigint) => bigint> = new Map([
  ['year', (micros) => BigInt(toDate(micros).getUTCFullYear())],
  ['isoyear', (micros) => BigInt(toDate(weekThursday(micros)).getUTCFullYear())],
  ['quarter', (micros) => BigInt(Math.floor(toDate(micros).getUTCMonth() / 3) + 1)],
  ['month', (micros) => BigInt(toDate(micros).getUTCMonth() + 1)],
  ['week', isoWeek],
  ['day', (micros) => BigInt(toDate(micros).getUTCDate())],
  ['dayofweek', (micros) => BigInt(((toDate(micros).getUTCDay() + 6) % 7) + 1)],
  ['dow', (micros) => BigInt(toDate(micros).getUTCDay())],
  ['dayofyear', (micros) => floorDivide(micros - truncated('year', micros), MICROS_PER_DAY) + 1n],
  ['hour', (micros) => BigInt(toDate(micros).getUTCHours())],
  ['minute', (micros) => BigInt(toDate(micros).getUTCMinutes())],
  ['second', (micros) => BigInt(toDate(micros).getUTCSeconds())],
  ['millisecond', (micros) => inSecond(micros) / 1000n],
  ['microsecond', inSecond],
])

function inSecond(micros: bigint): bigint {
  return micros - epochSeconds(micros) * 1_000_000n
}

function epochSeconds(micros: bigint): bigint {
  return floorDivide(micros, 1_000_000n)
}

/** ISO 8601: the week belongs to the year of its Thursday. */
function isoWeek(micros: bigint): bigint {
  const thursday = weekThursday(micros)
  return floorDivide(thursday - truncated('year', thursday), WEEK) + 1n
}

const WEEK = 7n * MICROS_PER_DAY

function weekThursday(micros: bigint): bigint {
  return FIRST_MONDAY + floorDivide(micros - FIRST_MONDAY, WEEK) * WEEK + 3n * MICROS_PER_DAY
}

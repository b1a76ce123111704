/** Parses and writes dates, times, timestamps and intervals. All times are UTC, in microseconds. */
import type { Interval } from './types.ts'

const MICROS_PER_SECOND = 1_000_000n
const MICROS_PER_MINUTE = 60n * MICROS_PER_SECOND
const MICROS_PER_HOUR = 60n * MICROS_PER_MINUTE
export const MICROS_PER_DAY = 24n * MICROS_PER_HOUR
const MS_PER_DAY = 86_400_000

/** YYYY-MM-DD, years 0001 to 9999, as days since 1970-01-01. */
export function readDate(text: string): bigint | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  // Date normalizes a day that does not exist to another one.
  const exists = year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return exists ? BigInt(date.getTime() / MS_PER_DAY) : undefined
}

/** What happens to digits beyond microseconds. */
export type Fraction = 'exact' | 'rounded'

/** HH:MM[:SS[.ffffff]] as microseconds since midnight. */
export function readTime(text: string, fraction: Fraction = 'exact'): bigint | undefined {
  const micros = timeOfDay(text, fraction)
  return micros === MICROS_PER_DAY ? undefined : micros
}

/** A fraction that is rounded up can end at midnight. */
function timeOfDay(text: string, fraction: Fraction): bigint | undefined {
  const match = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,60})0*)?)?$/.exec(text)
  if (match === null) return undefined
  const [hour, minute, second] = [BigInt(match[1] ?? 0), BigInt(match[2] ?? 0), BigInt(match[3] ?? 0)]
  if (hour > 23n || minute > 59n || second > 59n) return undefined
  const micros = readFraction(match[4] ?? '', fraction)
  if (micros === undefined) return undefined
  return hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + second * MICROS_PER_SECOND + micros
}

/** The digits after the point of the seconds, in microseconds. */
function readFraction(digits: string, fraction: Fraction): bigint | undefined {
  const rest = digits.slice(6)
  if (!/[1-9]/.test(rest)) return BigInt(digits.slice(0, 6).padEnd(6, '0'))
  return fraction === 'rounded' ? BigInt(roundHalfToEven(Number(`0.${digits}`) * 1e6)) : undefined
}

/** C's rint, by which PostgreSQL rounds the product of two doubles. */
function roundHalfToEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1
}

/** RFC 3339, also without an offset (UTC) or without a time, as microseconds since 1970. */
export function readTimestamp(text: string, fraction: Fraction = 'exact'): bigint | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[Tt ]([\d:.]+)(?:([Zz])|([+-])(\d{2})(?::?(\d{2}))?)?)?$/.exec(text)
  if (match === null) return undefined
  const days = readDate(match[1] ?? '')
  const time = match[2] === undefined ? 0n : timeOfDay(match[2], fraction)
  if (days === undefined || time === undefined) return undefined
  const [hours, minutes] = [BigInt(match[5] ?? 0), BigInt(match[6] ?? 0)]
  if (hours > 23n || minutes > 59n) return undefined
  const offset = (hours * MICROS_PER_HOUR + minutes * MICROS_PER_MINUTE) * (match[4] === '-' ? -1n : 1n)
  const micros = days * MICROS_PER_DAY + time - offset
  return micros >= MIN_TIMESTAMP && micros <= MAX_TIMESTAMP ? micros : undefined
}

/** YYYY-MM-DD[THH:MM[:SS[.ffffff]]] of a local clock. */
export function readLocalTimestamp(text: string, fraction: Fraction = 'exact'): bigint | undefined {
  return /[Zz]|[+-]\d{2}(?::?\d{2})?$/.test(text.slice(10)) ? undefined : readTimestamp(text, fraction)
}

/** The first and the last microsecond of the years 0001 to 9999. */
export const MIN_TIMESTAMP = BigInt(Date.parse('0001-01-01T00:00:00Z')) * 1000n
export const MAX_TIMESTAMP = BigInt(Date.parse('9999-12-31T23:59:59.999Z')) * 1000n + 999n

/** The first and the last day of the same years, in days since 1970-01-01. */
export const MIN_DATE = MIN_TIMESTAMP / MICROS_PER_DAY
export const MAX_DATE = MAX_TIMESTAMP / MICROS_PER_DAY

export function writeDate(days: bigint): string {
  if (days < MIN_DATE || days > MAX_DATE) return new Date(Number(days) * MS_PER_DAY).toISOString().slice(0, 10)
  const date = dateDigits(Number(days))
  const year = Math.floor(date / 10_000)
  return `${String(year).padStart(4, '0')}-${two(Math.floor(date / 100) % 100)}-${two(date % 100)}`
}

/** With a fraction only if it is not zero, without trailing zeros, as PostgreSQL writes it. */
export function writeTime(micros: bigint): string {
  const ofDay = Number(micros)
  const seconds = Math.floor(ofDay / 1e6)
  const minutes = Math.floor(seconds / 60)
  const fraction = ofDay - seconds * 1e6
  const text = `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}`
  return fraction === 0
    ? text
    : `${text}.${String(1e6 + fraction)
        .slice(1)
        .replace(/0+$/, '')}`
}

export function writeTimestamp(micros: bigint): string {
  return `${writeLocalTimestamp(micros)}Z`
}

export function writeLocalTimestamp(micros: bigint): string {
  const days = floorDivide(micros, MICROS_PER_DAY)
  return `${writeDate(days)}T${writeTime(micros - days * MICROS_PER_DAY)}`
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

/** From 0000-03-01, when a cycle of 400 years begins, to 1970-01-01. */
const DAYS_TO_1970 = 719_468
const DAYS_PER_CYCLE = 146_097

/**
 * The digits YYYYMMDD of a day of the years 0001 to 9999, as a number. A Date takes several times as long, and a long result has
 * one in each row.
 */
export function dateDigits(days: number): number {
  const since = days + DAYS_TO_1970
  const cycle = Math.floor(since / DAYS_PER_CYCLE)
  const day = since - cycle * DAYS_PER_CYCLE
  const leapDays = Math.floor(day / 1460) - Math.floor(day / 36_524) + Math.floor(day / 146_096)
  const yearOfCycle = Math.floor((day - leapDays) / 365)
  // Counted from March, leap days are at the end of a year.
  const dayOfYear = day - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  const year = cycle * 400 + yearOfCycle + (month < 3 ? 1 : 0)
  return year * 10_000 + month * 100 + dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1
}

type Unit = readonly [months: bigint, micros: bigint]

const UNITS: readonly (readonly [names: readonly string[], unit: Unit])[] = [
  [
    ['y', 'yr', 'yrs', 'year', 'years'],
    [12n, 0n],
  ],
  [
    ['quarter', 'quarters'],
    [3n, 0n],
  ],
  [
    ['mo', 'mon', 'mons', 'month', 'months'],
    [1n, 0n],
  ],
  [
    ['w', 'week', 'weeks'],
    [0n, 7n * MICROS_PER_DAY],
  ],
  [
    ['d', 'day', 'days'],
    [0n, MICROS_PER_DAY],
  ],
  [
    ['h', 'hr', 'hrs', 'hour', 'hours'],
    [0n, MICROS_PER_HOUR],
  ],
  [
    ['m', 'min', 'mins', 'minute', 'minutes'],
    [0n, MICROS_PER_MINUTE],
  ],
  [
    ['s', 'sec', 'secs', 'second', 'seconds'],
    [0n, MICROS_PER_SECOND],
  ],
  [
    ['ms', 'msec', 'msecs', 'millisecond', 'milliseconds'],
    [0n, 1000n],
  ],
  [
    ['us', 'usec', 'usecs', 'microsecond', 'microseconds'],
    [0n, 1n],
  ],
]
const UNIT_BY_NAME: ReadonlyMap<string, Unit> = new Map(
  UNITS.flatMap(([names, unit]) => names.map((name) => [name, unit] as const)),
)
/** All names of units, short and long. */
export const intervalUnits = (): string[] => [...UNIT_BY_NAME.keys()]
const MAX_MONTHS = 120_000n
const MAX_MICROS = MICROS_PER_DAY * 3_660_000n

/**
 * '5 minutes', '1 day 12 hours', '15m', '0.5 seconds', '-1 month': numbers with units, exact to a microsecond or a month. A time may be
 * last, as in '1 day 02:30:00.5'.
 */
export function readInterval(text: string): Interval | undefined {
  const [, units = '', sign, hours = '', minutes = '', seconds = '0', fraction = ''] = INTERVAL.exec(text.trim()) ?? []
  if (units === '' && sign === undefined) return undefined
  let months = 0n
  let micros = 0n
  if (sign !== undefined) {
    if (Number(minutes) > 59 || Number(seconds) > 59) return undefined
    const time =
      BigInt(hours) * MICROS_PER_HOUR + BigInt(minutes) * MICROS_PER_MINUTE + BigInt(seconds) * MICROS_PER_SECOND
    micros = (time + BigInt(fraction.padEnd(6, '0'))) * (sign === '-' ? -1n : 1n)
  }
  for (const [, whole = '', fraction = '', name = ''] of units.matchAll(AMOUNT)) {
    const unit = UNIT_BY_NAME.get(name.toLowerCase())
    if (unit === undefined) return undefined
    const amount = BigInt(whole + fraction)
    const divisor = 10n ** BigInt(fraction.length)
    if ((amount * unit[0]) % divisor !== 0n || (amount * unit[1]) % divisor !== 0n) return undefined
    months += (amount * unit[0]) / divisor
    micros += (amount * unit[1]) / divisor
  }
  const fits = months <= MAX_MONTHS && -months <= MAX_MONTHS && micros <= MAX_MICROS && -micros <= MAX_MICROS
  return fits ? { months, micros } : undefined
}

/** Amounts with units, then a time. */
const INTERVAL =
  /^((?:[+-]?\d{1,18}(?:\.\d{1,18})?\s*[A-Za-z]+\s*)*)(?:([+-]?)(\d{2,9}):(\d{2})(?::(\d{2})(?:\.(\d{1,6})0*)?)?)?$/
const AMOUNT = /([+-]?\d+)(?:\.(\d+))?\s*([A-Za-z]+)/g

/** As PostgreSQL writes it: 1 year 2 mons 3 days 04:05:06.5. Each part has its own sign, after a negative one also +. */
export function writeInterval({ months, micros }: Interval): string {
  const days = micros / MICROS_PER_DAY
  const time = micros % MICROS_PER_DAY
  const parts = [amount(months / 12n, 'year'), amount(months % 12n, 'mon'), amount(days, 'day')]
  if (time !== 0n || (months === 0n && days === 0n)) parts.push(time < 0n ? `-${writeTime(-time)}` : writeTime(time))
  const written = parts.filter((part) => part !== '')
  return written
    .map((part, index) =>
      index > 0 && written[index - 1]?.startsWith('-') && !part.startsWith('-') ? `+${part}` : part,
    )
    .join(' ')
}

function amount(count: bigint, unit: string): string {
  return count === 0n ? '' : `${count} ${unit}${count === 1n ? '' : 's'}`
}

export function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

/** The one text form of each type, as results carry it and requests may send it. Dates are proleptic Gregorian, years 1 to 9999. */

export const MICROS_PER_SECOND = 1_000_000n
export const MICROS_PER_DAY = 86_400_000_000n
/** 0001-01-01 and 9999-12-31 in days since 1970-01-01. */
export const MIN_DATE = -719_162n
export const MAX_DATE = 2_932_896n
export const MIN_TIMESTAMP = MIN_DATE * MICROS_PER_DAY
export const MAX_TIMESTAMP = (MAX_DATE + 1n) * MICROS_PER_DAY - 1n

/** 4510n with scale 2 is 45.10. */
export function decimalText(unscaled: bigint, scale: number): string {
  if (scale === 0) return unscaled.toString()
  const negative = unscaled < 0n
  const digits = (negative ? -unscaled : unscaled).toString().padStart(scale + 1, '0')
  const point = digits.length - scale
  return `${negative ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** RFC 3339 in UTC; a fraction only where there is one, without trailing zeros. */
export function timestampText(micros: bigint): string {
  const days = floorDivide(micros, MICROS_PER_DAY)
  return `${dateText(days)}T${timeText(micros - days * MICROS_PER_DAY)}Z`
}

export function dateText(days: bigint): string {
  const date = new Date(Number(days) * 86_400_000)
  const year = String(date.getUTCFullYear()).padStart(4, '0')
  return `${year}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}`
}

export function timeText(micros: bigint): string {
  const whole = Number(micros)
  const seconds = Math.floor(whole / 1_000_000)
  const fraction = whole - seconds * 1_000_000
  const clock = `${twoDigits(Math.floor(seconds / 3600))}:${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`
  return fraction === 0 ? clock : `${clock}.${String(fraction).padStart(6, '0').replace(/0+$/, '')}`
}

/** The shortest digits that give the same double; ECMAScript's own form, without a negative zero. */
export function doubleText(value: number): string {
  return Object.is(value, -0) ? '0' : String(value)
}

export function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

const INTEGER_TEXT = /^[+-]?\d{1,40}$/
const DECIMAL_TEXT = /^([+-]?)(\d{0,60})(?:\.(\d{0,60}))?(?:[eE]([+-]?\d{1,3}))?$/
const DOUBLE_TEXT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const DATE_TEXT = /^(\d{4})-(\d\d)-(\d\d)$/
const TIME_TEXT = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?$/
const TIMESTAMP_TEXT = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\s?(Z|z|[+-]\d\d:\d\d)?)?$/
const UUID_TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Each reader gives undefined for a text that is not of its form. */
export function readInteger(text: string): bigint | undefined {
  return INTEGER_TEXT.test(text) ? BigInt(text.replace('+', '')) : undefined
}

/** The digits without their point, and how many of them stood after it (below zero for 1e3). */
export function readDecimal(text: string): { readonly unscaled: bigint; readonly scale: number } | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL_TEXT.exec(text) ?? []
  if (sign === undefined || whole + fraction === '') return undefined
  const digits = BigInt(whole + fraction)
  return { unscaled: sign === '-' ? -digits : digits, scale: fraction.length - Number(exponent) }
}

export function readDouble(text: string): number | undefined {
  if (DOUBLE_TEXT.test(text)) return Number(text)
  return SPECIAL_DOUBLES.get(text.toLowerCase())
}

const SPECIAL_DOUBLES: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['+infinity', Number.POSITIVE_INFINITY],
  ['-infinity', Number.NEGATIVE_INFINITY],
])

export function readBoolean(text: string): boolean | undefined {
  const word = text.toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : undefined
}

export function readDate(text: string): bigint | undefined {
  const [, year, month, day] = DATE_TEXT.exec(text) ?? []
  if (year === undefined || month === undefined || day === undefined || year === '0000') return undefined
  const date = new Date(`${text}T00:00:00Z`)
  // Date would take the 30th of February for the 1st of March.
  return date.getUTCDate() === Number(day) ? BigInt(date.getTime() / 86_400_000) : undefined
}

export function readTime(text: string): bigint | undefined {
  const [, hours, minutes, seconds = '0', fraction = ''] = TIME_TEXT.exec(text) ?? []
  if (hours === undefined || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const whole = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return BigInt(whole) * MICROS_PER_SECOND + BigInt(fraction.padEnd(6, '0'))
}

/** RFC 3339, with a blank for the T, without seconds or without a time; without an offset it is UTC. */
export function readTimestamp(text: string): bigint | undefined {
  const [, dateWords, timeWords = '00:00', offset = 'Z'] = TIMESTAMP_TEXT.exec(text) ?? []
  const days = dateWords === undefined ? undefined : readDate(dateWords)
  const time = readTime(timeWords)
  const ahead = readOffset(offset)
  if (days === undefined || time === undefined || ahead === undefined) return undefined
  const micros = days * MICROS_PER_DAY + time - ahead
  return micros < MIN_TIMESTAMP || micros > MAX_TIMESTAMP ? undefined : micros
}

function readOffset(text: string): bigint | undefined {
  if (text === 'Z' || text === 'z') return 0n
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(4, 6))
  if (hours > 23 || minutes > 59) return undefined
  const micros = BigInt(hours * 3600 + minutes * 60) * MICROS_PER_SECOND
  return text.startsWith('-') ? -micros : micros
}

export function readUuid(text: string): string | undefined {
  return UUID_TEXT.test(text) ? text.toLowerCase() : undefined
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

/** Text forms and bounds that results and engines share beside those of the language. */
import { MAX_TIMESTAMP, MICROS_PER_DAY, MIN_TIMESTAMP } from './iql/time-values.ts'

/** The first and the last day of the years 0001 to 9999, in days since 1970-01-01. */
export const MIN_DATE = MIN_TIMESTAMP / MICROS_PER_DAY
export const MAX_DATE = MAX_TIMESTAMP / MICROS_PER_DAY

/** The shortest digits that give the same double; ECMAScript's own form, without a negative zero. */
export function doubleText(value: number): string {
  return Object.is(value, -0) ? '0' : String(value)
}

/** The digits without their point, and how many of them stood after it (below zero for 1e3). */
export function readDigits(text: string): { readonly unscaled: bigint; readonly scale: number } | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DIGITS.exec(text) ?? []
  if (sign === undefined || whole + fraction === '') return undefined
  const digits = BigInt(whole + fraction)
  return { unscaled: sign === '-' ? -digits : digits, scale: fraction.length - Number(exponent) }
}

const DIGITS = /^([+-]?)(\d{0,80})(?:\.(\d{0,80}))?(?:[eE]([+-]?\d{1,3}))?$/

export function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

/** JSON text as values that MessagePack can hold without losing digits. */
import { parseJson, parseNumbers } from '../../lib/exact-json.ts'

/** A run of digits that may be a number of more than 32 bits, or an exponent; a text that has neither is exact as it is. */
const MAY_LOSE_DIGITS = /\d[\d.]{9}|\d[eE]/

/**
 * An integer is a number up to 32 bits and a bigint up to 64; any other number is a double where that holds all its digits.
 * A number that fits neither (only in a value of type Json) becomes its text.
 */
export function parseExactly(text: string): unknown {
  return MAY_LOSE_DIGITS.test(text) ? parseNumbers(text, keepDigits) : parseJson(text)
}

function keepDigits(value: number, source: string): unknown {
  if (INTEGER.test(source)) return exactInteger(source, value)
  return source.length <= MAX_DOUBLE_LENGTH && sameNumber(source, String(value)) ? value : source
}

/** No double needs this many characters, and comparing the digits of a much longer number would take too long. */
const MAX_DOUBLE_LENGTH = 40
const INTEGER = /^-?\d{1,20}$/
const [MIN_INTEGER, MAX_INTEGER] = [-(2n ** 63n), 2n ** 64n - 1n]

/** The encoder writes a number of more than 32 bits as a float. */
function exactInteger(source: string, value: number): number | bigint | string {
  if (value >= -0x80000000 && value <= 0xffffffff) return value
  const integer = BigInt(source)
  return integer >= MIN_INTEGER && integer <= MAX_INTEGER ? integer : source
}

/** Whether two texts of numbers have the same digits, however their exponents are written. */
function sameNumber(some: string, other: string): boolean {
  const [a, b] = [significantDigits(some), significantDigits(other)]
  return a.digits === b.digits && (a.digits === '' || a.exponent === b.exponent)
}

function significantDigits(text: string): { readonly digits: string; readonly exponent: number } {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const digits = all.replace(/0+$/, '')
  return {
    digits: digits === '' ? '' : sign + digits,
    exponent: Number(exponent) - fraction.length + all.length - digits.length,
  }
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/

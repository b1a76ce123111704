/** Arithmetic that SQLite lacks: checked 64-bit integers, decimals of up to 38 digits, doubles with IQL's errors. */
import { DECIMAL_DIGITS, readDigits, SHORT_DIGITS, SPREAD_DIGITS, writeDecimal } from 'gatehouse-iql'
import { iqlError, negativePowerError, overflowError, underflowError, zeroPowerError } from '../../runtime-error.ts'
import { fromWide, toExtraWide, toWide } from '../representation.ts'

export type SqliteFunction = (...args: never[]) => unknown

type Exact = bigint | Uint8Array
type Real = number | bigint | string

/** All are called only if no argument is NULL. */
export const NUMBER_FUNCTIONS = {
  /** SQLite turns an integer result that exceeds 64 bits into a real. */
  gh_int: (value: bigint | number) => {
    if (typeof value === 'number') throw overflowError('Integer')
    return value
  },
  gh_idiv: (a: bigint, b: bigint) => integer(a / nonZero(b)),
  gh_imod: (a: bigint, b: bigint) => a % nonZero(b),

  gh_dadd: (a: Exact, b: Exact, digits: bigint) => fitted(exact(a) + exact(b), digits),
  gh_dsub: (a: Exact, b: Exact, digits: bigint) => fitted(exact(a) - exact(b), digits),
  gh_dmul: (a: Exact, b: Exact, digits: bigint) => fitted(exact(a) * exact(b), digits),
  gh_dmod: (a: Exact, b: Exact, digits: bigint) => fitted(exact(a) % nonZero(exact(b)), digits),
  /** `shift` scales the dividend to the scale of the quotient. */
  gh_ddiv: (a: Exact, b: Exact, shift: bigint, digits: bigint) => {
    const [x, y] = [exact(a), nonZero(exact(b))]
    const quotient = shift >= 0n ? roundedQuotient(x * 10n ** shift, y) : roundedQuotient(x, y * 10n ** -shift)
    return fitted(quotient, digits)
  },
  gh_dneg: (a: Exact, digits: bigint) => fitted(-exact(a), digits),
  gh_dabs: (a: Exact, digits: bigint) => fitted(exact(a) < 0n ? -exact(a) : exact(a), digits),
  /** Changes the scale: exactly if `shift` is not negative, otherwise by the rounding mode. */
  gh_dscale: (a: Exact, shift: bigint, digits: bigint, mode: string) => fitted(rescaled(exact(a), shift, mode), digits),
  gh_dtoint: (a: Exact, scale: bigint) => integer(rescaled(exact(a), -scale, 'round')),
  gh_dsign: (a: Exact) => (exact(a) > 0n ? 1n : exact(a) < 0n ? -1n : 0n),

  /** Combines the sums of the upper and the lower halves. */
  gh_joined: (upper: bigint, lower: bigint) => fitted((upper << 32n) + lower, 38n),
  gh_joined_mean: (upper: bigint, lower: bigint, count: bigint, shift: bigint) =>
    fitted(roundedQuotient(((upper << 32n) + lower) * 10n ** shift, count), 38n),

  gh_fadd: (a: Real, b: Real) => doubles(a, b, (x, y) => inRange(x + y, x, y)),
  gh_fsub: (a: Real, b: Real) => doubles(a, b, (x, y) => inRange(x - y, x, y)),
  gh_fmul: (a: Real, b: Real) => doubles(a, b, (x, y) => noUnderflow(inRange(x * y, x, y), x !== 0 && y !== 0)),
  gh_fdiv: (a: Real, b: Real) =>
    doubles(a, b, (x, y) => {
      // NaN divided by zero is NaN, as in PostgreSQL.
      if (y === 0 && !Number.isNaN(x)) throw divisionByZero()
      return noUnderflow(inRange(x / y, x, y), x !== 0 && Number.isFinite(y))
    }),
  gh_fneg: (a: Real) => storedDouble(-real(a)),
  gh_fabs: (a: Real) => storedDouble(Math.abs(real(a))),
  gh_fsign: (a: Real) => {
    if (Number.isNaN(real(a))) throw overflowError('Integer')
    return BigInt(Math.sign(real(a)))
  },
  gh_fround: (a: Real) => storedDouble(roundHalfAway(real(a))),
  gh_ftrunc: (a: Real) => storedDouble(Math.trunc(real(a))),
  gh_ffloor: (a: Real) => storedDouble(Math.floor(real(a))),
  gh_fceil: (a: Real) => storedDouble(Math.ceil(real(a))),
  gh_sqrt: (a: Real) => {
    if (real(a) < 0) throw iqlError('BadValue', 'The square root of a negative number')
    return storedDouble(Math.sqrt(real(a)))
  },
  gh_exp: (a: Real) => {
    const x = real(a)
    return storedDouble(noUnderflow(inRange(twelveDigits(Math.exp(x)), x, 0), x !== Number.NEGATIVE_INFINITY))
  },
  gh_ln: (a: Real) => {
    if (real(a) <= 0) throw iqlError('BadValue', 'The logarithm of a number that is not positive')
    return storedDouble(twelveDigits(Math.log(real(a))))
  },
  gh_power: (a: Real, b: Real) => doubles(a, b, power),
} as const satisfies Record<string, SqliteFunction>

type Known = Exact | null
type Time = bigint | null

/** Called with NULLs too. */
export const NULLABLE_NUMBER_FUNCTIONS = {
  /** Combines the sums of the upper and the lower halves, with what is missing in them. */
  gh_joined_products: (upper: bigint | null, lower: bigint | null, missing: Exact | null) =>
    upper === null || lower === null
      ? null
      : fitted((upper << 32n) + lower + (missing === null ? 0n : exact(missing)), 38n),
  gh_interpolate: (x: Known, at: Time, x0: Known, at0: Time, x1: Known, at1: Time, shift: bigint) => {
    if (x !== null) return fitted(exact(x) * 10n ** shift, 38n)
    if (at === null || x0 === null || at0 === null || x1 === null || at1 === null) return null
    if (at <= at0 || at1 <= at0) return fitted(exact(x0) * 10n ** shift, 38n)
    const weighted = exact(x0) * (at1 - at) + exact(x1) * (at - at0)
    return fitted(roundedQuotient(weighted * 10n ** shift, at1 - at0), 38n)
  },
  gh_finterpolate: (x: Real | null, at: Time, x0: Real | null, at0: Time, x1: Real | null, at1: Time) => {
    if (x !== null) return x
    if (at === null || x0 === null || at0 === null || x1 === null || at1 === null) return null
    if (at <= at0 || at1 <= at0) return x0
    return storedDouble(between(real(x0), real(x1), at - at0, at1 - at0))
  },
} as const satisfies Record<string, SqliteFunction>

export function exact(value: bigint | Uint8Array): bigint {
  return typeof value === 'bigint' ? value : fromWide(value)
}

/** The stored form of a decimal with this many digits. */
export function fitted(value: bigint, digits: bigint): bigint | Uint8Array {
  const limit = 10n ** digits
  if (value >= limit || value <= -limit) throw overflowError('Decimal')
  if (digits > BigInt(DECIMAL_DIGITS)) return toExtraWide(value)
  return digits > BigInt(SHORT_DIGITS) ? toWide(value) : value
}

/** Rounds half away from zero. */
export function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  const negative = dividend < 0n !== divisor < 0n
  const n = dividend < 0n ? -dividend : dividend
  const d = divisor < 0n ? -divisor : divisor
  const quotient = (2n * n + d) / (2n * d)
  return negative ? -quotient : quotient
}

export function integer(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw overflowError('Integer')
  return value
}

export function real(value: Real): number {
  return typeof value === 'string' ? Number.NaN : Number(value)
}

/** low + (high − low) × part / whole: exact over the shortest decimal forms, and rounded once. */
export function between(low: number, high: number, part: bigint, whole: bigint): number {
  const [first, second] = [readDigits(String(low)), readDigits(String(high))]
  // With a NaN or an infinity the weights do not matter.
  if (first === undefined || second === undefined) return low + high
  const scale = Math.max(first.scale, second.scale, 0)
  const unscaled = (digits: typeof first): bigint => digits.unscaled * 10n ** BigInt(scale - digits.scale)
  const weighted = unscaled(first) * (whole - part) + unscaled(second) * part
  const digits = scale + SPREAD_DIGITS
  return Number(writeDecimal(roundedQuotient(weighted * 10n ** BigInt(SPREAD_DIGITS), whole), digits))
}

/** NaN is stored as text, because SQLite would make it NULL. */
export function storedDouble(value: number): number | string {
  return Number.isNaN(value) ? 'NaN' : Object.is(value, -0) ? 0 : value
}

export function rescaled(value: bigint, shift: bigint, mode: string): bigint {
  if (shift >= 0n) return value * 10n ** shift
  const divisor = 10n ** -shift
  const quotient = value / divisor
  const rest = value % divisor
  switch (mode) {
    case 'trunc':
      return quotient
    case 'floor':
      return rest < 0n ? quotient - 1n : quotient
    case 'ceil':
      return rest > 0n ? quotient + 1n : quotient
    default:
      return roundedQuotient(value, divisor)
  }
}

function divisionByZero(): Error {
  return iqlError('DivisionByZero', 'Division by zero')
}

function nonZero(divisor: bigint): bigint {
  if (divisor === 0n) throw divisionByZero()
  return divisor
}

function doubles(a: Real, b: Real, combine: (x: number, y: number) => number): number | string {
  return storedDouble(combine(real(a), real(b)))
}

/** Infinity as a result of finite numbers is an overflow. */
function inRange(result: number, x: number, y: number): number {
  if (Math.abs(result) === Number.POSITIVE_INFINITY && Number.isFinite(x) && Number.isFinite(y))
    throw overflowError('Double')
  return result
}

function noUnderflow(result: number, mustNotBeZero: boolean): number {
  if (result === 0 && mustNotBeZero) throw underflowError()
  return result
}

export function roundHalfAway(x: number): number {
  const whole = Math.trunc(x)
  return Math.abs(x - whole) >= 0.5 ? whole + Math.sign(x) : whole
}

/** Implementations of these functions differ in the last bits; twelve digits are the same everywhere. */
function twelveDigits(x: number): number {
  return Number.isFinite(x) ? Number(x.toPrecision(12)) : x
}

function power(x: number, y: number): number {
  if (x === 0 && y < 0) throw zeroPowerError()
  if (x < 0 && Number.isFinite(x) && Number.isFinite(y) && !Number.isInteger(y)) {
    throw negativePowerError()
  }
  // In PostgreSQL and IEEE 754, but not in ECMAScript, 1 to any power is 1.
  if (x === 1 || y === 0) return 1
  const result = x === -1 && !Number.isFinite(y) && !Number.isNaN(y) ? 1 : x ** y
  return noUnderflow(inRange(twelveDigits(result), x, y), x !== 0 && Number.isFinite(x) && Number.isFinite(y))
}

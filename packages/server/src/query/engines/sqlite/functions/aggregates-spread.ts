/** Variances and standard deviations, from exact sums. */
import { DECIMAL_DIGITS, QUOTIENT_SCALE, readDigits, SPREAD_DIGITS, writeDecimal } from 'gatehouse-iql'
import { overflowError } from '../../runtime-error.ts'
import { movingAggregate, toExact, toReal, type Value } from './aggregate.ts'
import type { FunctionHost } from './function-host.ts'
import { fitted, roundedQuotient, storedDouble } from './number.ts'

export type SpreadId = 'variance' | 'stddev' | 'var_pop' | 'stddev_pop'

const SPREADS: readonly SpreadId[] = ['variance', 'stddev', 'var_pop', 'stddev_pop']

/** By how many digits the result is shifted: the numerator of a variance has the scale 2 × from, its root the scale from. */
function resultShift(id: SpreadId, from: number, to: number): number {
  return to - (isVariance(id) ? 2 * from : from)
}

function isVariance(id: SpreadId): boolean {
  return id === 'variance' || id === 'var_pop'
}

/** For the scales of the argument and of the result. The name ends with the shift: gh_stddev_12, gh_variance_down_4. */
export function spreadName(id: SpreadId, from: number, to: number): string {
  return functionName(id, resultShift(id, from, to))
}

function functionName(id: SpreadId, shift: number): string {
  return shift < 0 ? `gh_${id}_down_${-shift}` : `gh_${id}_${shift}`
}

export function doubleSpreadName(id: SpreadId): string {
  return `gh_${id}_double`
}

export function registerSpread(database: FunctionHost): void {
  for (const id of SPREADS) {
    for (let shift = isVariance(id) ? -DECIMAL_DIGITS : 0; shift <= QUOTIENT_SCALE; shift++) {
      const result = (sums: Sums): bigint | Uint8Array | null => {
        const spread = computeSpread(id, sums, shift)
        return spread === undefined ? null : fitted(spread, BigInt(DECIMAL_DIGITS))
      }
      movingAggregate(database, functionName(id, shift), {
        start: (): Sums => ({ total: 0n, squares: 0n, count: 0n }),
        add: (sums, sign, value) => add(sums, sign, toExact(value)),
        result,
      })
      movingAggregate(database, `${functionName(id, shift)}_parts`, {
        start: noDoubles,
        add: (sums, _sign, part) => addPart(sums, part),
        result,
      })
    }
    movingAggregate(database, doubleSpreadName(id), {
      start: noDoubles,
      add: (sums, sign, value) => addDouble(sums, sign, value),
      result: (sums) => doubleSpread(id, sums),
    })
    movingAggregate(database, `${doubleSpreadName(id)}_parts`, {
      start: noDoubles,
      add: (sums, _sign, part) => addPart(sums, part),
      result: (sums) => doubleSpread(id, sums),
    })
  }
  movingAggregate(database, 'gh_spread_part', {
    start: noDoubles,
    add: (sums, sign, value) => add(sums, sign, toExact(value)),
    result: writeSums,
  })
  movingAggregate(database, 'gh_spread_part_double', { start: noDoubles, add: addDouble, result: writeSums })
}

function doubleSpread(id: SpreadId, sums: DoubleSums): number | string | null {
  const spread = computeSpread(id, sums, resultShift(id, sums.scale, SPREAD_DIGITS))
  if (spread === undefined) return null
  return sums.special > 0n ? 'NaN' : nearestDouble(spread, SPREAD_DIGITS)
}

/** The sums of a part of the rows. The executor of column segments writes them too. */
function writeSums({ total, squares, count, scale, special }: DoubleSums): string | null {
  return count === 0n ? null : [total, squares, count, scale, special].join(':')
}

function addPart(sums: DoubleSums, part: Value | undefined): void {
  const [total = 0n, squares = 0n, count = 0n, digits = 0n, special = 0n] = String(part).split(':').map(BigInt)
  const scale = Number(digits)
  widen(sums, scale)
  const shift = 10n ** BigInt(sums.scale - scale)
  sums.total += total * shift
  sums.squares += squares * shift * shift
  sums.count += count
  sums.special += special
}

export interface Sums {
  total: bigint
  squares: bigint
  count: bigint
}

/** Sums of the shortest decimal forms, with `scale` digits after the point. NaN and infinities are only counted. */
export interface DoubleSums extends Sums {
  scale: number
  special: bigint
}

export const noDoubles = (): DoubleSums => ({ total: 0n, squares: 0n, count: 0n, scale: 0, special: 0n })

function add(sums: Sums, sign: bigint, number: bigint): void {
  sums.total += sign * number
  sums.squares += sign * number * number
  sums.count += sign
}

export function addDouble(sums: DoubleSums, sign: bigint, value: Value | undefined): void {
  const digits = toDigits(value)
  if (digits === undefined) {
    sums.count += sign
    sums.special += sign
    return
  }
  widen(sums, digits.scale)
  add(sums, sign, digits.unscaled * 10n ** BigInt(sums.scale - digits.scale))
}

/** Gives the sums as many digits after the point. */
function widen(sums: DoubleSums, scale: number): void {
  if (scale <= sums.scale) return
  const shift = 10n ** BigInt(scale - sums.scale)
  sums.total *= shift
  sums.squares *= shift * shift
  sums.scale = scale
}

/** Undefined for NaN and infinities. */
export function toDigits(value: Value | undefined): { readonly unscaled: bigint; readonly scale: number } | undefined {
  if (typeof value === 'bigint' || value instanceof Uint8Array) return { unscaled: toExact(value), scale: 0 }
  return readDigits(String(toReal(value)))
}

/** Unscaled; undefined for too few rows. */
function computeSpread(id: SpreadId, { total, squares, count }: Sums, shift: number): bigint | undefined {
  const isSample = id === 'variance' || id === 'stddev'
  if (count < (isSample ? 2n : 1n)) return undefined
  const powers = isVariance(id) ? shift : 2 * shift
  const numerator = (count * squares - total * total) * 10n ** BigInt(Math.max(powers, 0))
  const denominator = count * (isSample ? count - 1n : count) * 10n ** BigInt(Math.max(-powers, 0))
  return isVariance(id) ? roundedQuotient(numerator, denominator) : roundedRoot(numerator, denominator)
}

/** The square root of n/d, rounded to the nearest integer. */
export function roundedRoot(n: bigint, d: bigint): bigint {
  const low = integerRoot(n / d)
  const middle = 2n * low + 1n
  return middle * middle * d <= 4n * n ? low + 1n : low
}

function integerRoot(value: bigint): bigint {
  if (value < 2n) return value
  let guess = 1n << BigInt((value.toString(2).length + 1) >> 1)
  for (;;) {
    const next = (guess + value / guess) >> 1n
    if (next >= guess) return guess
    guess = next
  }
}

export function nearestDouble(unscaled: bigint, scale: number): number | string {
  const number = Number(writeDecimal(unscaled, scale))
  if (!Number.isFinite(number)) throw overflowError('Double')
  return storedDouble(number)
}

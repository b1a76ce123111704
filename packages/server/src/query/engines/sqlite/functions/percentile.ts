/**
 * median, percentile_cont and percentile_disc. 64-bit integers are gathered by SQLite itself as one text, so that our function is called
 * once for each group: a median of all rows takes a third of the time. Doubles and longer Decimals are held by an aggregate, up to a limit.
 */
import { FRACTION_SCALE, QUOTIENT_SCALE } from 'gatehouse-iql'
import { badFractionError, manyValuesError } from '../../runtime-error.ts'
import { aggregate, type Raw, toExact, toReal } from './aggregate.ts'
import type { FunctionHost } from './function-host.ts'
import { between, fitted, roundedQuotient, type SqliteFunction, storedDouble } from './number.ts'

const ONE = 10n ** BigInt(FRACTION_SCALE)
const RESULT_DIGITS = 38n
/** Numbers with as many characters are exact as Doubles. */
const SHORT_CHARACTERS = 15
const [COMMA, MINUS, ZERO] = [0x2c, 0x2d, 0x30]

type Values = Float64Array | BigInt64Array | bigint[]

/** The arguments are the values, divided by commas, the fraction in units of 1 / ONE and the number of values that are allowed. */
export const PERCENTILE_FUNCTIONS = {
  /** The result has `shift` more digits after the point than the values. */
  gh_percentile_cont_of: (gathered: string, fraction: bigint, most: bigint, shift: bigint) =>
    exactBetween(readValues(gathered, fraction, most), fraction, shift),
  gh_percentile_disc_of: (gathered: string, fraction: bigint, most: bigint) => {
    const values = readValues(gathered, fraction, most)
    return BigInt(valueAt(values, findRank(fraction, values.length)))
  },
} as const satisfies Record<string, SqliteFunction>

/** In the order of the rows. */
function readValues(gathered: string, fraction: bigint, most: bigint): Values {
  refuseBadFraction(fraction)
  const count = countValues(gathered)
  refuseMany(count, Number(most))
  return readShort(gathered, count) ?? BigInt64Array.from(gathered.split(','), BigInt)
}

export function refuseBadFraction(fraction: bigint): void {
  if (fraction < 0n || fraction > ONE) throw badFractionError()
}

export function refuseMany(count: number, most: number): void {
  if (count > most) throw manyValuesError()
}

function countValues(gathered: string): number {
  let count = 1
  for (let at = 0; at < gathered.length; at++) if (gathered.charCodeAt(at) === COMMA) count++
  return count
}

/** Undefined if a value is too long to be exact as a Double. */
function readShort(gathered: string, count: number): Float64Array | undefined {
  const values = new Float64Array(count)
  let index = 0
  let start = 0
  let number = 0
  for (let at = 0; at <= gathered.length; at++) {
    const code = at === gathered.length ? COMMA : gathered.charCodeAt(at)
    if (code === COMMA) {
      if (at - start > SHORT_CHARACTERS) return undefined
      values[index++] = gathered.charCodeAt(start) === MINUS ? -number : number
      start = at + 1
      number = 0
    } else if (code !== MINUS) number = number * 10 + (code - ZERO)
  }
  return values
}

/**
 * The value that would be at the index if they were sorted (quickselect, in place): afterwards none before it is greater, and none after
 * it is less. The pivots are random, so that no order of the rows makes it slow. With a sort, a median of all rows takes 1.8 times as long.
 */
function valueAt(values: Values, index: number): number | bigint {
  let first = 0
  let last = values.length - 1
  while (first < last) {
    const pivot = values[first + Math.floor(Math.random() * (last - first + 1))] ?? 0
    let low = first
    let high = last
    while (low <= high) {
      while ((values[low] ?? 0) < pivot) low++
      while ((values[high] ?? 0) > pivot) high--
      if (low > high) break
      const value = values[low] ?? 0
      values[low] = values[high] ?? 0
      values[high] = value
      low++
      high--
    }
    if (index <= high) last = high
    else if (index >= low) first = low
    else break
  }
  return values[index] ?? 0
}

function leastFrom(values: Values, index: number): number | bigint {
  let least = values[index] ?? 0
  for (let at = index + 1; at < values.length; at++) {
    const value = values[at] ?? 0
    if (value < least) least = value
  }
  return least
}

function exactBetween(values: Values, fraction: bigint, shift: bigint): bigint | Uint8Array {
  const { index, part } = findPosition(fraction, values.length)
  const low = valueAt(values, index)
  const high = part === 0n ? low : leastFrom(values, index + 1)
  return weigh(BigInt(low), BigInt(high), part, shift)
}

function weigh(low: bigint, high: bigint, part: bigint, shift: bigint): bigint | Uint8Array {
  const weighted = low * (ONE - part) + high * part
  return fitted(roundedQuotient(weighted * 10n ** shift, ONE), RESULT_DIGITS)
}

/** The values of rows as if they were sorted. */
export interface SortedValues<Item> {
  readonly count: number
  readonly at: (index: number) => Item
}

export function sortedBetween(
  { count, at }: SortedValues<bigint>,
  fraction: bigint,
  shift: bigint,
): bigint | Uint8Array {
  const { index, part } = findPosition(fraction, count)
  return weigh(at(index), part === 0n ? 0n : at(index + 1), part, shift)
}

export function sortedDoubleBetween({ count, at }: SortedValues<number>, fraction: bigint): number | string {
  const { index, part } = findPosition(fraction, count)
  return betweenDoubles(at(index), part === 0n ? 0 : at(index + 1), part)
}

/** The first value whose share of the values up to it is not below the fraction. */
export function findSorted<Item>({ count, at }: SortedValues<Item>, fraction: bigint): Item {
  return at(findRank(fraction, count))
}

/** The index of the value at or before the fraction, and how far it is to the next, in units of 1 / ONE. */
function findPosition(fraction: bigint, count: number): { readonly index: number; readonly part: bigint } {
  const position = fraction * BigInt(count - 1)
  return { index: Number(position / ONE), part: position % ONE }
}

/** The index of the first value whose share of the values up to it is not below the fraction. */
function findRank(fraction: bigint, count: number): number {
  const rank = (fraction * BigInt(count) + ONE - 1n) / ONE
  return Math.max(Number(rank), 1) - 1
}

interface Held<Item> {
  readonly values: Item[]
  /** In units of 1 / ONE; null until the first value. */
  fraction: bigint | null
  most: number
}

/**
 * The arguments are the value, the fraction and the number of values that may be held. gh_percentile_cont_4 has four more digits
 * after the point than its argument; gh_percentile_cont_distinct_4 counts equal values once.
 */
export function percentileName(shift: number | 'double', isDistinct: boolean): string {
  return `gh_percentile_cont_${isDistinct ? 'distinct_' : ''}${shift}`
}

export function registerPercentiles(database: FunctionHost): void {
  for (const isDistinct of [false, true]) {
    for (let shift = 0; shift <= QUOTIENT_SCALE; shift++)
      holding(database, percentileName(shift, isDistinct), toExact, (values, fraction) =>
        exactBetween(isDistinct ? [...new Set(values)] : values, fraction, BigInt(shift)),
      )
    holding(database, percentileName('double', isDistinct), toReal, (values, fraction) =>
      doubleBetween(Float64Array.from(isDistinct ? new Set(values) : values).sort(), fraction),
    )
  }
  holding(database, 'gh_percentile_disc_wide', toExact, (values, fraction) =>
    fitted(BigInt(valueAt(values, findRank(fraction, values.length))), RESULT_DIGITS),
  )
  holding(database, 'gh_percentile_disc_double', toReal, (values, fraction) =>
    storedDouble(Float64Array.from(values).sort()[findRank(fraction, values.length)] ?? 0),
  )
}

/** Registers an aggregate that holds the values of a group until its end. */
function holding<Item>(
  database: FunctionHost,
  name: string,
  read: (value: Raw | undefined) => Item,
  result: (values: Item[], fraction: bigint) => Raw,
): void {
  aggregate(database, name, {
    start: (): Held<Item> => ({ values: [], fraction: null, most: 0 }),
    step: (state, value, fraction, most) => {
      if (value === null || !isHeld(state, fraction, most)) return
      state.values.push(read(value))
    },
    result: ({ values, fraction }) => (fraction === null ? null : result(values, fraction)),
  })
}

/** Whether the value is needed: without a fraction there is no result. */
function isHeld(state: Held<unknown>, fraction: Raw | undefined, most: Raw | undefined): boolean {
  if (state.fraction === null) {
    if (typeof fraction !== 'bigint') return false
    refuseBadFraction(fraction)
    state.fraction = fraction
    state.most = Number(most)
  }
  if (state.values.length >= state.most) throw manyValuesError()
  return true
}

/** Exact over the shortest decimal forms, and rounded once. NaN comes last. */
function doubleBetween(values: Float64Array, fraction: bigint): number | string {
  const { index, part } = findPosition(fraction, values.length)
  const low = values[index] ?? 0
  return betweenDoubles(low, values[index + 1] ?? low, part)
}

function betweenDoubles(low: number, high: number, part: bigint): number | string {
  return storedDouble(part === 0n || low === high ? low : between(low, high, part, ONE))
}

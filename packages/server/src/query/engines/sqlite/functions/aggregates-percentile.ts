/**
 * median, percentile_cont and percentile_disc of Doubles and of Decimals with more than 18 digits: the values of one group are held, up to
 * a limit, and sorted at its end.
 */
import type { Database } from 'better-sqlite3'
import { FRACTION_SCALE, QUOTIENT_SCALE } from 'gatehouse-iql'
import { badFractionError, manyValuesError } from '../../runtime-error.ts'
import { aggregate, exactOf, type Raw } from './aggregate.ts'
import { between, fitted, real, roundedQuotient, storedDouble } from './number.ts'
import { positionOf, rankOf } from './percentile.ts'

const ONE = 10n ** BigInt(FRACTION_SCALE)
const RESULT_DIGITS = 38n
const FIRST_CAPACITY = 64

/** Integers of 64 bits take eight bytes each; longer ones are held as they are. */
type Exacts = BigInt64Array | bigint[]

interface Held<Values extends Exacts | Float64Array> {
  values: Values
  count: number
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

export function registerPercentiles(database: Database): void {
  const exacts = { start: (): Held<Exacts> => held(new BigInt64Array(FIRST_CAPACITY)), step: stepExact }
  const doubles = { start: (): Held<Float64Array> => held(new Float64Array(FIRST_CAPACITY)), step: stepDouble }
  for (const isDistinct of [false, true]) {
    for (let shift = 0; shift <= QUOTIENT_SCALE; shift++) {
      aggregate(database, percentileName(shift, isDistinct), {
        ...exacts,
        result: (state: Held<Exacts>) => exactBetween(state, isDistinct, 10n ** BigInt(shift)),
      })
    }
    aggregate(database, percentileName('double', isDistinct), {
      ...doubles,
      result: (state: Held<Float64Array>) => doubleBetween(state, isDistinct),
    })
  }
  aggregate(database, 'gh_percentile_disc_wide', {
    ...exacts,
    result: (state: Held<Exacts>) => {
      const value = exactAtRank(state)
      return value === null ? null : fitted(value, RESULT_DIGITS)
    },
  })
  aggregate(database, 'gh_percentile_disc_double', {
    ...doubles,
    result: ({ fraction, values, count }: Held<Float64Array>) =>
      fraction === null ? null : storedDouble(values.subarray(0, count).sort()[rankOf(fraction, count)] ?? 0),
  })
}

function held<Values extends Exacts | Float64Array>(values: Values): Held<Values> {
  return { values, count: 0, fraction: null, most: 0 }
}

function stepExact(state: Held<Exacts>, value: Raw, fraction: Raw, most: Raw): void {
  if (value === null || !isHeld(state, fraction, most)) return
  const number = exactOf(value)
  const { values, count } = state
  if (!Array.isArray(values)) {
    if (BigInt.asIntN(64, number) !== number) state.values = Array.from(values.subarray(0, count))
    else if (count === values.length) {
      state.values = new BigInt64Array(capacityAfter(state))
      state.values.set(values)
    }
  }
  state.values[state.count++] = number
}

function stepDouble(state: Held<Float64Array>, value: Raw, fraction: Raw, most: Raw): void {
  const number = value instanceof Uint8Array ? null : real(value)
  if (number === null || !isHeld(state, fraction, most)) return
  const { values, count } = state
  if (count === values.length) {
    state.values = new Float64Array(capacityAfter(state))
    state.values.set(values)
  }
  state.values[state.count++] = number
}

/** Whether the value is needed: without a fraction there is no result. */
function isHeld(state: Held<Exacts | Float64Array>, fraction: Raw, most: Raw): boolean {
  if (state.count === 0) {
    if (typeof fraction !== 'bigint') return false
    if (fraction < 0n || fraction > ONE) throw badFractionError()
    state.fraction = fraction
    state.most = Number(most)
  }
  if (state.count >= state.most) throw manyValuesError()
  return true
}

function capacityAfter({ count, most }: Held<Exacts | Float64Array>): number {
  return Math.min(2 * count, most)
}

function sortedExacts({ values, count }: Held<Exacts>): Exacts {
  return Array.isArray(values) ? values.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)) : values.subarray(0, count).sort()
}

function exactBetween(state: Held<Exacts>, isDistinct: boolean, shift: bigint): Raw {
  if (state.fraction === null) return null
  const all = sortedExacts(state)
  const values = isDistinct ? all.filter((value, index) => value !== all[index - 1]) : all
  const { index, part } = positionOf(state.fraction, values.length)
  const low = values[index] ?? 0n
  const weighted = low * (ONE - part) + (values[index + 1] ?? low) * part
  return fitted(roundedQuotient(weighted * shift, ONE), RESULT_DIGITS)
}

/** Exact over the shortest decimal forms, and rounded once. */
function doubleBetween({ fraction, values: held, count }: Held<Float64Array>, isDistinct: boolean): Raw {
  if (fraction === null) return null
  // NaN comes last.
  const all = held.subarray(0, count).sort()
  const values = isDistinct ? all.filter((value, index) => index === 0 || !isSame(value, all[index - 1])) : all
  const { index, part } = positionOf(fraction, values.length)
  const low = values[index] ?? 0
  const high = values[index + 1] ?? low
  if (part === 0n || low === high) return storedDouble(low)
  return storedDouble(between(low, high, part, ONE))
}

function isSame(a: number, b: number | undefined): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b))
}

function exactAtRank(state: Held<Exacts>): bigint | null {
  return state.fraction === null ? null : (sortedExacts(state)[rankOf(state.fraction, state.count)] ?? null)
}

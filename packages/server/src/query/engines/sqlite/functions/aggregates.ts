/** Aggregates that SQLite lacks or computes inexactly: sums, means, first and last, and the check for a single row. */
import type { Database } from 'better-sqlite3'
import { MAX_INTEGER, MIN_INTEGER, QUOTIENT_SCALE, readDigits, writeDecimal } from 'gatehouse-iql'
import { manyRowsError, overflowError } from '../../runtime-error.ts'
import { aggregate, exactOf, type Raw } from './aggregate.ts'
import { registerPercentiles } from './aggregates-percentile.ts'
import { registerSpread } from './aggregates-spread.ts'
import { fitted, real, roundedQuotient, storedDouble } from './number.ts'
import { requireFit } from './text.ts'

const RESULT_DIGITS = 38n

export function registerAggregates(database: Database): void {
  registerExact(database, 'gh_sum', (sum) => fitted(sum.total, RESULT_DIGITS))
  for (let shift = 0n; shift <= QUOTIENT_SCALE; shift++) {
    registerExact(database, `gh_avg_${shift}`, (sum) =>
      fitted(roundedQuotient(sum.total * 10n ** shift, sum.count), RESULT_DIGITS),
    )
  }
  registerSpread(database)
  registerPercentiles(database)
  registerDoubles(database)
  registerProducts(database)
  registerVwap(database)
  registerEnds(database)
  registerJoins(database)
  aggregate(database, 'gh_locf', {
    start: () => ({ value: null as Raw }),
    step: (last: { value: Raw }, value: Raw) => {
      if (value !== null) last.value = value
    },
    // Its frame begins with the partition, so that no row leaves it. SQLite wants the function all the same.
    inverse: () => {
      throw new Error('gh_locf over a moving frame')
    },
    result: (last: { value: Raw }) => last.value,
  })
  aggregate(database, 'gh_single', {
    start: () => ({ rows: 0, value: null as Raw }),
    step: (seen, value) => {
      if (seen.rows > 0) throw manyRowsError()
      Object.assign(seen, { rows: 1, value })
    },
    result: (seen) => seen.value,
  })
}

interface ExactSum {
  total: bigint
  count: bigint
}

function registerExact(database: Database, name: string, result: (sum: ExactSum) => Raw): void {
  const step = (sum: ExactSum, value: Raw): void => {
    if (value === null) return
    sum.total += exactOf(value)
    sum.count++
  }
  const inverse = (sum: ExactSum, value: Raw): void => {
    if (value === null) return
    sum.total -= exactOf(value)
    sum.count--
  }
  aggregate(database, name, {
    start: (): ExactSum => ({ total: 0n, count: 0n }),
    step,
    inverse,
    result: (sum: ExactSum) => (sum.count === 0n ? null : result(sum)),
  })
}

/** The exact sum of doubles as a decimal; NaN and infinities are counted separately. */
interface DoubleSum {
  unscaled: bigint
  scale: number
  count: number
  nan: number
  positive: number
  negative: number
}

function registerDoubles(database: Database): void {
  const start = (): DoubleSum => ({ unscaled: 0n, scale: 0, count: 0, nan: 0, positive: 0, negative: 0 })
  const add = (sum: DoubleSum, value: Raw, sign: 1 | -1): void => {
    const number = value instanceof Uint8Array ? null : real(value)
    if (number === null) return
    sum.count += sign
    if (Number.isNaN(number)) sum.nan += sign
    else if (number === Number.POSITIVE_INFINITY) sum.positive += sign
    else if (number === Number.NEGATIVE_INFINITY) sum.negative += sign
    else addExactly(sum, number, sign)
  }
  const common = {
    start,
    step: (sum: DoubleSum, value: Raw) => add(sum, value, 1),
    inverse: (sum: DoubleSum, value: Raw) => add(sum, value, -1),
  }
  aggregate(database, 'gh_fsum', {
    ...common,
    result: (sum: DoubleSum) => (sum.count === 0 ? null : storedDouble(totalOf(sum))),
  })
  aggregate(database, 'gh_favg', {
    ...common,
    result: (sum: DoubleSum) => (sum.count === 0 ? null : storedDouble(totalOf(sum) / sum.count)),
  })
}

function addExactly(sum: DoubleSum, number: number, sign: 1 | -1): void {
  const parsed = readDigits(String(number))
  if (parsed === undefined) return
  let { unscaled, scale } = parsed
  if (scale > sum.scale) {
    sum.unscaled *= 10n ** BigInt(scale - sum.scale)
    sum.scale = scale
  } else if (scale < sum.scale) {
    unscaled *= 10n ** BigInt(sum.scale - scale)
    scale = sum.scale
  }
  sum.unscaled += sign === 1 ? unscaled : -unscaled
}

function totalOf(sum: DoubleSum): number {
  if (sum.nan > 0 || (sum.positive > 0 && sum.negative > 0)) return Number.NaN
  if (sum.positive > 0) return Number.POSITIVE_INFINITY
  if (sum.negative > 0) return Number.NEGATIVE_INFINITY
  const total = Number(writeDecimal(sum.unscaled, sum.scale))
  if (!Number.isFinite(total)) throw overflowError('Double')
  return total
}

interface Weighted {
  value: bigint
  weight: bigint
}

/** What is missing in sums of products that exceed 64 bits, if each counts as the nearest integer of 64 bits. */
function registerProducts(database: Database): void {
  const add = (sum: ExactSum, left: Raw, right: Raw, sign: bigint): void => {
    const product = exactOf(left) * exactOf(right)
    const nearest = product > MAX_INTEGER ? MAX_INTEGER : product < MIN_INTEGER ? MIN_INTEGER : product
    sum.total += sign * (product - nearest)
  }
  aggregate(database, 'gh_missing_products', {
    start: (): ExactSum => ({ total: 0n, count: 0n }),
    step: (sum: ExactSum, left: Raw, right: Raw) => add(sum, left, right, 1n),
    inverse: (sum: ExactSum, left: Raw, right: Raw) => add(sum, left, right, -1n),
    result: (sum: ExactSum) => fitted(sum.total, RESULT_DIGITS),
  })
  const refuseReal = (_state: object, value: Raw): void => {
    if (typeof value === 'number') throw overflowError('Integer')
  }
  aggregate(database, 'gh_no_real', { start: () => ({}), step: refuseReal, inverse: refuseReal, result: () => null })
}

/** The scale of the weights cancels out; `shift` is the difference between the scales of the result and the price. */
function registerVwap(database: Database): void {
  const add = (sum: Weighted, price: Raw, weight: Raw, sign: bigint): void => {
    if (price === null || weight === null) return
    const quantity = exactOf(weight) * sign
    sum.value += exactOf(price) * quantity
    sum.weight += quantity
  }
  // The scale of the result is at least that of the weights, which can have any.
  for (let shift = 0n; shift <= RESULT_DIGITS; shift++) {
    aggregate(database, `gh_vwap_${shift}`, {
      start: (): Weighted => ({ value: 0n, weight: 0n }),
      step: (sum: Weighted, price: Raw, weight: Raw) => add(sum, price, weight, 1n),
      inverse: (sum: Weighted, price: Raw, weight: Raw) => add(sum, price, weight, -1n),
      result: (sum: Weighted) =>
        sum.weight === 0n ? null : fitted(roundedQuotient(sum.value * 10n ** shift, sum.weight), RESULT_DIGITS),
    })
  }
}

/** string_agg(DISTINCT …): SQLite allows DISTINCT only with one argument. */
function registerJoins(database: Database): void {
  for (const [name, sign] of [['gh_join_rising', 1] as const, ['gh_join_falling', -1] as const]) {
    aggregate(database, name, {
      start: () => ({ seen: new Map<string, Raw>(), bytes: 0 }),
      step: (state, text, separator, maxBytes) => {
        if (typeof text !== 'string' || state.seen.has(text)) return
        state.seen.set(text, separator)
        state.bytes += Buffer.byteLength(text) + Buffer.byteLength(String(separator))
        requireFit(BigInt(state.bytes), BigInt(Number(maxBytes)))
      },
      result: ({ seen }) => {
        if (seen.size === 0) return null
        const entries = [...seen].sort(([a], [b]) => sign * compareRaw(a, b))
        return entries.map(([text, separator], index) => (index === 0 ? text : `${separator}${text}`)).join('')
      },
    })
  }
}

function registerEnds(database: Database): void {
  for (const [name, sign] of [['gh_first', -1] as const, ['gh_last', 1] as const]) {
    aggregate(database, name, {
      start: () => ({ value: null as Raw, key: null as Raw }),
      step: (best: { value: Raw; key: Raw }, value: Raw, key: Raw) => {
        if (value === null || key === null) return
        const order = best.key === null ? sign : compareRaw(key, best.key) || compareRaw(value, best.value)
        if (order * sign <= 0) return
        best.value = value
        best.key = key
      },
      result: (best: { value: Raw }) => best.value,
    })
  }
}

/** least and greatest. SQLite's min and max of several arguments are NULL when one of them is. */
export function extremeOf(values: readonly Raw[], sign: 1 | -1): Raw {
  let best: Raw = null
  for (const value of values) {
    if (value !== null && (best === null || compareRaw(value, best) * sign > 0)) best = value
  }
  return best
}

/** SQLite's own order: numbers, then texts by code point, then bytes. */
function compareRaw(a: Raw, b: Raw): number {
  // Most values: the times of first and last.
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0
  const ranks = rankOf(a) - rankOf(b)
  if (ranks !== 0) return ranks
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  return a === b || a === null || b === null ? 0 : a < b ? -1 : 1
}

function rankOf(value: Raw): number {
  return value === null ? 0 : typeof value === 'string' ? 2 : value instanceof Uint8Array ? 3 : 1
}

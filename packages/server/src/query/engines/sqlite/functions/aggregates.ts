/** Aggregates that SQLite lacks or computes inexactly: sums, means, first and last, and the check for a single row. */
import { MAX_INTEGER, MIN_INTEGER, QUOTIENT_SCALE, readDigits, writeDecimal } from 'gatehouse-iql'
import { manyRowsError, overflowError } from '../../runtime-error.ts'
import { aggregate, movingAggregate, type Raw, toExact, toReal } from './aggregate.ts'
import { registerPairs } from './aggregates-pairs.ts'
import { registerSpread } from './aggregates-spread.ts'
import type { FunctionHost } from './function-host.ts'
import { fitted, roundedQuotient, storedDouble } from './number.ts'
import { registerPercentiles } from './percentile.ts'
import { requireFit } from './text.ts'
import { registerValueParts } from './value-parts.ts'

const RESULT_DIGITS = 38n

export function registerAggregates(database: FunctionHost): void {
  registerSums(database)
  registerSpread(database)
  registerPairs(database)
  registerPercentiles(database)
  registerValueParts(database)
  registerDoubles(database)
  registerProducts(database)
  registerVwap(database)
  registerEnds(database)
  registerJoins(database)
  aggregate(database, 'gh_locf', {
    start: () => ({ value: null as Raw }),
    step: (last, value = null) => {
      if (value !== null) last.value = value
    },
    // Its frame begins with the partition, so that no row leaves it. SQLite wants the function all the same.
    inverse: () => {
      throw new Error('gh_locf over a moving frame')
    },
    result: (last) => last.value,
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

const EXACT_SUM = {
  start: (): ExactSum => ({ total: 0n, count: 0n }),
  add: (sum: ExactSum, sign: bigint, value?: Raw): void => {
    sum.total += sign * toExact(value)
    sum.count += sign
  },
}

function registerSums(database: FunctionHost): void {
  const register = (name: string, result: (sum: ExactSum) => bigint): void =>
    movingAggregate(database, name, {
      ...EXACT_SUM,
      result: (sum) => (sum.count === 0n ? null : fitted(result(sum), RESULT_DIGITS)),
    })
  register('gh_sum', ({ total }) => total)
  for (let shift = 0n; shift <= QUOTIENT_SCALE; shift++)
    register(`gh_avg_${shift}`, ({ total, count }) => roundedQuotient(total * 10n ** shift, count))
}

/** The exact sum of doubles as a decimal; NaN and infinities are counted separately. */
interface DoubleSum {
  unscaled: bigint
  scale: number
  count: bigint
  nan: bigint
  positive: bigint
  negative: bigint
}

function registerDoubles(database: FunctionHost): void {
  const register = (name: string, result: (sum: DoubleSum) => number): void =>
    movingAggregate(database, name, {
      start: (): DoubleSum => ({ unscaled: 0n, scale: 0, count: 0n, nan: 0n, positive: 0n, negative: 0n }),
      add: addDouble,
      result: (sum) => (sum.count === 0n ? null : storedDouble(result(sum))),
    })
  register('gh_fsum', computeTotal)
  register('gh_favg', (sum) => computeTotal(sum) / Number(sum.count))
  const start = (): DoubleSum => ({ unscaled: 0n, scale: 0, count: 0n, nan: 0n, positive: 0n, negative: 0n })
  movingAggregate(database, 'gh_fsum_part', {
    start,
    add: addDouble,
    result: (sum) => (sum.count === 0n ? null : writeDoubleSum(sum)),
  })
  const combine = (name: string, result: (sum: DoubleSum) => number): void =>
    aggregate(database, name, {
      start,
      // What a step returns would be the new state.
      step: (sum, part) => {
        if (typeof part === 'string') addPart(sum, part)
      },
      result: (sum) => (sum.count === 0n ? null : storedDouble(result(sum))),
    })
  combine('gh_fsum_parts', computeTotal)
  combine('gh_favg_parts', (sum) => computeTotal(sum) / Number(sum.count))
}

/** The sum of a part of the rows. The executor of column segments writes it too: without what it has no rows with. */
function writeDoubleSum({ scale, unscaled, count, nan, positive, negative }: DoubleSum): string {
  return [scale, unscaled, count, nan, positive, negative].join(':')
}

function addPart(sum: DoubleSum, part: string): void {
  const [scale = '0', unscaled = 0n, count = 0n, nan = 0n, positive = 0n, negative = 0n] = part
    .split(':')
    .map((text, index) => (index === 0 ? text : BigInt(text)))
  sum.count += BigInt(count)
  sum.nan += BigInt(nan)
  sum.positive += BigInt(positive)
  sum.negative += BigInt(negative)
  addScaled(sum, BigInt(unscaled), Number(scale))
}

function addDouble(sum: DoubleSum, sign: bigint, value?: Raw): void {
  const number = toReal(value)
  sum.count += sign
  if (Number.isNaN(number)) sum.nan += sign
  else if (number === Number.POSITIVE_INFINITY) sum.positive += sign
  else if (number === Number.NEGATIVE_INFINITY) sum.negative += sign
  else addExactly(sum, number, sign)
}

function addExactly(sum: DoubleSum, number: number, sign: bigint): void {
  const parsed = readDigits(String(number))
  if (parsed !== undefined) addScaled(sum, sign * parsed.unscaled, parsed.scale)
}

function addScaled(sum: DoubleSum, unscaled: bigint, scale: number): void {
  if (scale > sum.scale) {
    sum.unscaled *= 10n ** BigInt(scale - sum.scale)
    sum.scale = scale
  }
  sum.unscaled += unscaled * 10n ** BigInt(sum.scale - scale)
}

function computeTotal(sum: DoubleSum): number {
  if (sum.nan > 0n || (sum.positive > 0n && sum.negative > 0n)) return Number.NaN
  if (sum.positive > 0n) return Number.POSITIVE_INFINITY
  if (sum.negative > 0n) return Number.NEGATIVE_INFINITY
  const total = Number(writeDecimal(sum.unscaled, sum.scale))
  if (!Number.isFinite(total)) throw overflowError('Double')
  return total
}

/** What is missing in sums of products that exceed 64 bits, if each counts as the nearest integer of 64 bits. */
function registerProducts(database: FunctionHost): void {
  movingAggregate(database, 'gh_missing_products', {
    start: EXACT_SUM.start,
    add: (sum, sign, left, right) => {
      const product = toExact(left) * toExact(right)
      const nearest = product > MAX_INTEGER ? MAX_INTEGER : product < MIN_INTEGER ? MIN_INTEGER : product
      sum.total += sign * (product - nearest)
    },
    result: (sum) => fitted(sum.total, RESULT_DIGITS),
  })
  movingAggregate(database, 'gh_no_real', {
    start: () => ({}),
    add: (_state, _sign, value) => {
      if (typeof value === 'number') throw overflowError('Integer')
    },
    result: () => null,
  })
}

/** The scale of the weights cancels out; `shift` is the difference between the scales of the result and the price. */
function registerVwap(database: FunctionHost): void {
  // The scale of the result is at least that of the weights, which can have any.
  for (let shift = 0n; shift <= RESULT_DIGITS; shift++) {
    const result = ({ value, weight }: WeightedSum): bigint | Uint8Array | null =>
      weight === 0n ? null : fitted(roundedQuotient(value * 10n ** shift, weight), RESULT_DIGITS)
    movingAggregate(database, `gh_vwap_${shift}`, { ...WEIGHTED_SUM, result })
    movingAggregate(database, `gh_vwap_parts_${shift}`, {
      start: WEIGHTED_SUM.start,
      add: (sum, _sign, part) => {
        const [value = 0n, weight = 0n] = String(part).split(':').map(BigInt)
        sum.value += value
        sum.weight += weight
      },
      result,
    })
  }
  // The executor of column segments writes it too.
  movingAggregate(database, 'gh_vwap_part', {
    ...WEIGHTED_SUM,
    result: ({ value, weight }) => `${value}:${weight}`,
  })
}

interface WeightedSum {
  value: bigint
  weight: bigint
}

const WEIGHTED_SUM = {
  start: (): WeightedSum => ({ value: 0n, weight: 0n }),
  add: (sum: WeightedSum, sign: bigint, price?: Raw, weight?: Raw): void => {
    const quantity = toExact(weight) * sign
    sum.value += toExact(price) * quantity
    sum.weight += quantity
  },
}

/** string_agg(DISTINCT …): SQLite allows DISTINCT only with one argument. */
function registerJoins(database: FunctionHost): void {
  for (const [name, sign] of [['gh_join_rising', 1] as const, ['gh_join_falling', -1] as const]) {
    aggregate(database, name, {
      start: () => ({ seen: new Map<string, Raw>(), bytes: 0 }),
      step: (state, text, separator, maxBytes) => {
        if (typeof text !== 'string' || state.seen.has(text)) return
        state.seen.set(text, separator ?? null)
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

function registerEnds(database: FunctionHost): void {
  for (const [name, sign] of [['gh_first', -1] as const, ['gh_last', 1] as const]) {
    aggregate(database, name, {
      start: () => ({ value: null as Raw, key: null as Raw }),
      step: (best, value = null, key = null) => {
        if (value === null || key === null) return
        const order = best.key === null ? sign : compareRaw(key, best.key) || compareRaw(value, best.value)
        if (order * sign <= 0) return
        best.value = value
        best.key = key
      },
      result: (best) => best.value,
    })
  }
}

/** least and greatest. SQLite's min and max of several arguments are NULL when one of them is. */
export function findExtreme(values: readonly Raw[], sign: 1 | -1): Raw {
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
  const ranks = typeRank(a) - typeRank(b)
  if (ranks !== 0) return ranks
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  return a === b || a === null || b === null ? 0 : a < b ? -1 : 1
}

function typeRank(value: Raw): number {
  return value === null ? 0 : typeof value === 'string' ? 2 : value instanceof Uint8Array ? 3 : 1
}

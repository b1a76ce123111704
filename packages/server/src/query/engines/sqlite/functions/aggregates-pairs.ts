/** Correlation, covariances and regression of two numbers, from exact sums; and the exponential moving average. */
import { ROOT_DIGITS, SPREAD_DIGITS, writeDecimal } from 'gatehouse-iql'
import { averagedRowsError } from '../../runtime-error.ts'
import { aggregate, movingAggregate, type Raw, toExact, toReal, type Value } from './aggregate.ts'
import {
  addDouble,
  type DoubleSums,
  nearestDouble,
  noDoubles,
  roundedRoot,
  type Sums,
  toDigits,
} from './aggregates-spread.ts'
import type { FunctionHost } from './function-host.ts'
import { NUMBER_FUNCTIONS, roundedQuotient, storedDouble } from './number.ts'

export type PairId = 'covar_pop' | 'covar_samp' | 'regr_slope' | 'regr_intercept' | 'regr_r2'

export function pairName(id: PairId): string {
  return `gh_${id}`
}

export function registerPairs(database: FunctionHost): void {
  movingAggregate(database, 'gh_corr', { start: noPairs, add: addPair, result: computeCorrelation })
  for (const [id, result] of Object.entries(RESULTS))
    movingAggregate(database, `gh_${id}`, { start: noPairs, add: addPair, result })
  registerAverage(database)
}

/** The scale of an exact argument is given, that of a Double grows with its digits. A correlation does not depend on them. */
interface PairSums {
  readonly y: DoubleSums
  readonly x: DoubleSums
  readonly exact: { y: number; x: number }
  products: bigint
}

const noPairs = (): PairSums => ({ y: noDoubles(), x: noDoubles(), exact: { y: 0, x: 0 }, products: 0n })

function addPair(sums: PairSums, sign: bigint, y?: Value, x?: Value, ...scales: Value[]): void {
  const [before, earlier] = [sums.y.scale, sums.x.scale]
  const [b, a] = [toDigits(y), toDigits(x)]
  addDouble(sums.y, sign, y)
  addDouble(sums.x, sign, x)
  const [ofY = 0n, ofX = 0n] = scales
  sums.exact.y = Number(ofY)
  sums.exact.x = Number(ofX)
  sums.products *= 10n ** BigInt(sums.y.scale - before + sums.x.scale - earlier)
  if (a === undefined || b === undefined) return
  const left = b.unscaled * 10n ** BigInt(sums.y.scale - b.scale)
  sums.products += sign * left * a.unscaled * 10n ** BigInt(sums.x.scale - a.scale)
}

function computeCorrelation(sums: PairSums): Raw {
  const { x, y } = sums
  if (x.count < 1n) return null
  if (x.special > 0n || y.special > 0n) return 'NaN'
  const spreads = computeSpread(x) * computeSpread(y)
  if (spreads === 0n) return null
  const together = jointSpread(sums)
  const root = roundedRoot(together * together * 10n ** BigInt(2 * ROOT_DIGITS), spreads)
  return nearestDouble(together < 0n ? -root : root, ROOT_DIGITS)
}

const RESULTS: Readonly<Record<PairId, (sums: PairSums) => Raw>> = {
  covar_pop: (sums) => computeCovariance(sums, sums.x.count * sums.x.count),
  covar_samp: (sums) => computeCovariance(sums, sums.x.count * (sums.x.count - 1n)),
  regr_slope: (sums) => regressionLine(sums, jointSpread(sums), sumScale(sums, 'y') - sumScale(sums, 'x')),
  regr_intercept: (sums) =>
    regressionLine(sums, sums.y.total * sums.x.squares - sums.x.total * sums.products, sumScale(sums, 'y')),
  regr_r2: (sums) => {
    const { x, y } = sums
    if (x.special === 0n && y.special === 0n && x.count > 0n && computeSpread(x) !== 0n && computeSpread(y) === 0n)
      return 1
    return regressionLine(sums, jointSpread(sums) ** 2n, 0, computeSpread(y))
  },
}

function computeCovariance(sums: PairSums, divisor: bigint): Raw {
  if (divisor <= 0n) return null
  if (sums.x.special > 0n || sums.y.special > 0n) return 'NaN'
  return ratio(jointSpread(sums), divisor, sumScale(sums, 'y') + sumScale(sums, 'x'))
}

/** The numerator divided by the spread of x, and by `further`. */
function regressionLine({ x, y }: PairSums, numerator: bigint, scale: number, further = 1n): Raw {
  if (x.count < 1n) return null
  if (x.special > 0n) return 'NaN'
  if (computeSpread(x) === 0n) return null
  return y.special > 0n ? 'NaN' : ratio(numerator, computeSpread(x) * further, scale)
}

/** Where the numerator has `scale` more digits after the point than the divisor. */
function ratio(numerator: bigint, divisor: bigint, scale: number): Raw {
  const shift = SPREAD_DIGITS - scale
  const [grown, shrunk] = [10n ** BigInt(Math.max(shift, 0)), 10n ** BigInt(Math.max(-shift, 0))]
  return nearestDouble(roundedQuotient(numerator * grown, divisor * shrunk), SPREAD_DIGITS)
}

function computeSpread({ count, squares, total }: Sums): bigint {
  return count * squares - total * total
}

function jointSpread({ x, y, products }: PairSums): bigint {
  return x.count * products - x.total * y.total
}

function sumScale(sums: PairSums, of: 'x' | 'y'): number {
  return sums[of].scale + sums.exact[of]
}

function registerAverage(database: FunctionHost): void {
  const { gh_fadd: plus, gh_fmul: times } = NUMBER_FUNCTIONS
  aggregate(database, 'gh_ema', {
    start: () => ({ average: null as number | string | null }),
    step: (state, value = null, rows = null, scale = null) => {
      if (value === null || rows === null) return
      if (toExact(rows) < 1n) throw averagedRowsError()
      const number = toDouble(value, Number(scale))
      const weight = 2 / (Number(rows) + 1)
      state.average =
        state.average === null ? storedDouble(number) : plus(times(weight, number), times(1 - weight, state.average))
    },
    // Its frame begins with the partition, so that no row leaves it. SQLite wants the function all the same.
    inverse: () => {
      throw new Error('gh_ema over a moving frame')
    },
    result: ({ average }) => average,
  })
}

function toDouble(value: Value, scale: number): number {
  if (typeof value === 'bigint' || value instanceof Uint8Array) return Number(writeDecimal(toExact(value), scale))
  return toReal(value)
}

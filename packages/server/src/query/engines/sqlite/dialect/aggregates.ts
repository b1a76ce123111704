/** IQL's aggregate and window functions in SQLite. */
import { type Aggregate, type Arithmetic, asDecimal, type IqlType, isWide, type WindowCall } from 'gatehouse-iql'
import {
  type AggregateShape,
  type AggregateSql,
  aggregateCall,
  COMMON_WINDOWS,
  type Dialect,
  isDouble,
  type PercentileParts,
  type Sql,
} from '../../emit/dialect.ts'
import { type PairId, pairName } from '../functions/aggregates-pairs.ts'
import { doubleSpreadName, type SpreadId, spreadName } from '../functions/aggregates-spread.ts'
import { percentileName } from '../functions/percentile.ts'

type Node = Aggregate | WindowCall

export const SQLITE_AGGREGATES: Dialect['aggregates'] = {
  count: (args, _node, shape) => (args.length === 0 ? `count(*)${shape.tail}` : aggregateCall('count', args, shape)),
  sum: (args, node, shape) => {
    if (isDouble(node)) return aggregateCall('gh_fsum', args, shape)
    return isHalvable(node, shape) ? `gh_joined(${halves(args, shape)})` : aggregateCall('gh_sum', args, shape)
  },
  avg: (args, node, shape) => {
    if (isDouble(node)) return aggregateCall('gh_favg', args, shape)
    if (!isHalvable(node, shape)) return aggregateCall(`gh_avg_${scaleShift(node)}`, args, shape)
    return `gh_joined_mean(${halves(args, shape)}, ${aggregateCall('count', args, shape)}, ${scaleShift(node)})`
  },
  min: (args, _node, shape) => aggregateCall('min', args, shape),
  max: (args, _node, shape) => aggregateCall('max', args, shape),
  bool_and: (args, _node, shape) => aggregateCall('min', args, shape),
  bool_or: (args, _node, shape) => aggregateCall('max', args, shape),
  variance: spread('variance'),
  stddev: spread('stddev'),
  var_pop: spread('var_pop'),
  stddev_pop: spread('stddev_pop'),
  corr: (args, _node, shape) => aggregateCall('gh_corr', args, shape),
  covar_pop: pairs('covar_pop'),
  covar_samp: pairs('covar_samp'),
  regr_slope: pairs('regr_slope'),
  regr_intercept: pairs('regr_intercept'),
  regr_r2: pairs('regr_r2'),
  first: (args, _node, shape) => aggregateCall('gh_first', args, shape),
  last: (args, _node, shape) => aggregateCall('gh_last', args, shape),
  vwap: (args, node, shape) => aggregateCall(`gh_vwap_${scaleShift(node)}`, args, shape),
}

/**
 * SQLite itself multiplies and sums. A product that exceeds 64 bits becomes a REAL; bit operators convert it to the nearest 64-bit
 * integer. Our function is called for those products only, and adds the missing part. An Integer must not exceed 64 bits.
 */
export function sumOfProductsSql(left: Sql, right: Sql, { operator }: Arithmetic, shape: AggregateShape): Sql {
  const product = `(${left} * ${right})`
  // A range test costs less than typeof. It excludes -2^63, because a product just below that is rounded to a REAL equal to it.
  const long = shape.tailWhere(`${product} NOT BETWEEN -9223372036854775807 AND 9223372036854775807`)
  const missing =
    operator === 'integer*integer' ? `gh_no_real(${product})${long}` : `gh_missing_products(${left}, ${right})${long}`
  return `gh_joined_products(${halves([product], shape)}, ${missing})`
}

export function percentileSql({ isDiscrete, fraction, value, from, to, shape, limit }: PercentileParts): Sql {
  const call = (name: string): Sql => `${name}(${value}, ${fraction}, ${limit})${shape.tail}`
  if (from.kind !== 'Double' && !isWide(from)) {
    const gathered = aggregateCall('group_concat', [value], shape)
    if (isDiscrete) return `gh_percentile_disc_of(${gathered}, ${fraction}, ${limit})`
    return `gh_percentile_cont_of(${gathered}, ${fraction}, ${limit}, ${typeScale(to) - typeScale(from)})`
  }
  if (isDiscrete) {
    return call(from.kind === 'Double' ? 'gh_percentile_disc_double' : 'gh_percentile_disc_wide')
  }
  const shift = from.kind === 'Double' ? 'double' : typeScale(to) - typeScale(from)
  return call(percentileName(shift, shape.distinct))
}

export const SQLITE_WINDOWS: Dialect['windows'] = {
  ...COMMON_WINDOWS,
  // SQLite refuses NULL.
  ntile: ([parts], _node, over) => `(CASE WHEN ${parts} IS NOT NULL THEN ntile(coalesce(${parts}, 1))${over} END)`,
  lag: ([x, rows = '1'], _node, over) => `lag(${x}, ${near(rows)})${over}`,
  lead: ([x, rows = '1'], _node, over) => `lead(${x}, ${near(rows)})${over}`,
  lag_default: ([x, rows = '1', other], _node, over) => knownRows(rows, `lag(${x}, ${near(rows)}, ${other})${over}`),
  lead_default: ([x, rows = '1', other], _node, over) => knownRows(rows, `lead(${x}, ${near(rows)}, ${other})${over}`),
  locf: ([x], _node, over) => `gh_locf(${x})${over}`,
  ema: ([x, n], node, over) => `gh_ema(${x}, ${n}, ${typeScale(node.arguments[0]?.type)})${over}`,
  interpolate: interpolateSql,
  interpolate_integer: interpolateSql,
  // SQLite refuses NULL, and adds the number to that of the first row.
  nth_value: ([x, n = '1'], _node, over) => knownRows(n, `nth_value(${x}, min(coalesce(${n}, 1), 2147483647))${over}`),
}

function interpolateSql([x = '', at]: readonly Sql[], node: WindowCall, over: Sql, reversed: Sql): Sql {
  const known = `CASE WHEN ${x} IS NOT NULL THEN ${at} END`
  const around = [over, reversed].flatMap((tail) => [`gh_locf(${x})${tail}`, `gh_locf(${known})${tail}`])
  if (isDouble(node)) return `gh_finterpolate(${[x, at, ...around].join(', ')})`
  return `gh_interpolate(${[x, at, ...around, scaleShift(node)].join(', ')})`
}

/** Without a number of rows the result is NULL, not the default. */
function knownRows(rows: Sql, call: Sql): Sql {
  return `(CASE WHEN ${rows} IS NOT NULL THEN ${call} END)`
}

/** A number of rows that SQLite can add to that of the row. */
function near(rows: Sql): Sql {
  return `max(min(${rows}, 2147483647), -2147483647)`
}

function spread(id: SpreadId): AggregateSql {
  return (args, node, shape) => aggregateCall(spreadFunction(id, node), args, shape)
}

export function spreadFunction(id: SpreadId, node: Node): Sql {
  return isDouble(node) ? doubleSpreadName(id) : spreadName(id, ...nodeScales(node))
}

function pairs(id: PairId): AggregateSql {
  return (args, { arguments: [y, x] }, shape) =>
    aggregateCall(pairName(id), [...args, String(typeScale(y?.type)), String(typeScale(x?.type))], shape)
}

/** A column stored as 64-bit integers can be summed by SQLite itself, without calling our function for each row. */
export function isHalvable(node: Node, { distinct }: AggregateShape): boolean {
  const [argument] = node.arguments
  return !distinct && argument?.kind === 'column' && !isWide(argument.type)
}

/** The sums of the upper and the lower 32 bits: neither exceeds 64 bits before two billion rows. */
export function halves([x]: readonly Sql[], shape: AggregateShape): Sql {
  return `${aggregateCall('sum', [`${x} >> 32`], shape)}, ${aggregateCall('sum', [`${x} & 4294967295`], shape)}`
}

/** How many more digits after the point the result has than the argument. */
export function scaleShift(node: Node): number {
  const [from, to] = nodeScales(node)
  return to - from
}

function nodeScales(node: Node): [number, number] {
  return [typeScale(node.arguments[0]?.type), typeScale(node.type)]
}

export function typeScale(type: IqlType | undefined): number {
  return (type === undefined ? undefined : asDecimal(type)?.scale) ?? 0
}

/** IQL's aggregate and window functions in PostgreSQL. */
import { type Aggregate, type IqlType, isWide, SPREAD_DIGITS, type WindowCall } from 'gatehouse-iql'
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
import { SCHEMA, sqlType } from '../representation.ts'

type Node = Aggregate | WindowCall

export const POSTGRES_AGGREGATES: Dialect['aggregates'] = {
  count: (args, _node, shape) => (args.length === 0 ? `count(*)${shape.tail}` : aggregateCall('count', args, shape)),
  sum: ([x = ''], node, shape) =>
    isDouble(node) ? doubleSum(x, shape) : `(${aggregateCall('sum', [x], shape)})::${sqlType(node.type)}`,
  avg: ([x = ''], node, shape) => {
    if (isDouble(node)) return `(${doubleSum(x, shape)} / (${aggregateCall('count', [x], shape)})::float8)`
    return `${SCHEMA}.gh_round_div(${aggregateCall('sum', [x], shape)}, ${aggregateCall('count', [x], shape)}, ${nodeScale(node)})::${sqlType(node.type)}`
  },
  min: extreme('min', 'bool_and'),
  max: extreme('max', 'bool_or'),
  bool_and: (args, _node, shape) => aggregateCall('bool_and', args, shape),
  bool_or: (args, _node, shape) => aggregateCall('bool_or', args, shape),
  variance: spread('gh_variance'),
  stddev: spread('gh_stddev'),
  var_pop: spread('gh_var_pop'),
  stddev_pop: spread('gh_stddev_pop'),
  corr: pairs('gh_corr', (x, y) => [x, y, `${x} * ${x}`, `${y} * ${y}`, `${x} * ${y}`]),
  covar_pop: pairs('gh_covar_pop', (y, x) => [y, x, `${y} * ${x}`]),
  covar_samp: pairs('gh_covar_samp', (y, x) => [y, x, `${y} * ${x}`]),
  regr_slope: pairs('gh_regr_slope', (y, x) => [y, x, `${x} * ${x}`, `${y} * ${x}`]),
  regr_intercept: pairs('gh_regr_intercept', (y, x) => [y, x, `${x} * ${x}`, `${y} * ${x}`]),
  regr_r2: pairs('gh_regr_r2', (y, x) => [y, x, `${y} * ${y}`, `${x} * ${x}`, `${y} * ${x}`]),
  first: end('ASC'),
  last: end('DESC'),
  vwap: ([price, weight], node, shape) => {
    const tail = shape.tailWhere(`${price} IS NOT NULL AND ${weight} IS NOT NULL`)
    const value = `sum(${price}::numeric * ${weight}::numeric)${tail}`
    const total = `nullif(sum(${weight}::numeric)${tail}, 0)`
    return `${SCHEMA}.gh_round_div(${value}, ${total}, ${nodeScale(node)})::${sqlType(node.type)}`
  },
}

/**
 * The values are sorted by the database, on disk if they are many, and then held as an array: Decimals of up to 18 digits as
 * integers, which take eight bytes.
 */
export function percentileSql({ isDiscrete, fraction, value, from, to, shape, limit }: PercentileParts): Sql {
  const isShort = from.kind === 'Decimal' && !isWide(from)
  const held = isShort ? `((${value}) * ${10n ** BigInt(from.scale)})::bigint` : value
  const tail = shape.tailWhere(`(${value}) IS NOT NULL`)
  const values = `array_agg(${shape.distinct ? 'DISTINCT ' : ''}${held} ORDER BY ${held})${tail}`
  // Fails as soon as there are too many values, before any is held.
  const count = `${SCHEMA}.gh_at_most((2147483648 / (${limit} + 1))::int)${tail}`
  const scale = isShort ? from.scale : 0
  if (isDiscrete) {
    const found = `${SCHEMA}.gh_percentile_disc(${values}, ${fraction}, ${count})`
    return isShort ? `(${found} * '1e-${scale}'::numeric)::${sqlType(to)}` : found
  }
  if (from.kind === 'Double') return `${SCHEMA}.gh_percentile_cont(${values}, ${fraction}, ${count})`
  const digits = to.kind === 'Decimal' ? to.scale : 0
  return `${SCHEMA}.gh_percentile_cont(${values}, ${fraction}, ${scale}, ${digits}, ${count})::${sqlType(to)}`
}

export const POSTGRES_WINDOWS: Dialect['windows'] = {
  ...COMMON_WINDOWS,
  ntile: ([parts], _node, over) => `(ntile(${asInt(parts)})${over})::bigint`,
  lag: ([x, rows = '1'], _node, over) => `lag(${x}, ${asInt(rows)})${over}`,
  lead: ([x, rows = '1'], _node, over) => `lead(${x}, ${asInt(rows)})${over}`,
  lag_default: ([x, rows = '1', other], _node, over) => `lag(${x}, ${asInt(rows)}, ${other})${over}`,
  lead_default: ([x, rows = '1', other], _node, over) => `lead(${x}, ${asInt(rows)}, ${other})${over}`,
  locf: ([x], _node, over) => `${SCHEMA}.gh_locf(${x})${over}`,
  ema: ([x, n], _node, over) => `${SCHEMA}.gh_ema((${x})::float8, ${n})${over}`,
  interpolate: (args, node, over, reversed) => interpolateSql(args, node, over, reversed, micros),
  interpolate_integer: (args, node, over, reversed) => interpolateSql(args, node, over, reversed, (at) => at),
  nth_value: ([x, n], _node, over) => `nth_value(${x}, ${asInt(n)})${over}`,
}

function micros(timestamp: Sql): Sql {
  return `${SCHEMA}.gh_micros(${timestamp})`
}

function interpolateSql(
  [x = '', at = '']: readonly Sql[],
  node: WindowCall,
  over: Sql,
  reversed: Sql,
  position: (at: Sql) => Sql,
): Sql {
  const known = `CASE WHEN (${x}) IS NOT NULL THEN ${position(at)} END`
  const around = [over, reversed].flatMap((tail) => [
    `${SCHEMA}.gh_locf(${x})${tail}`,
    `${SCHEMA}.gh_locf(${known})${tail}`,
  ])
  if (isDouble(node)) return `${SCHEMA}.gh_interpolate(${[x, position(at), ...around].join(', ')})`
  return `${SCHEMA}.gh_interpolate(${[x, position(at), ...around, nodeScale(node)].join(', ')})::${sqlType(node.type)}`
}

/** No partition has more rows. greatest and least alone would ignore a NULL. */
function asInt(rows: Sql | undefined): Sql {
  return `(CASE WHEN ${rows} IS NOT NULL THEN least(greatest(${rows}, -2147483647), 2147483647) END)::int`
}

/** Exact over the shortest decimal form of each double, so that the order of rows does not matter. numeric has NaN and Infinity. */
function doubleSum(x: Sql, shape: AggregateShape): Sql {
  return `(${aggregateCall('sum', [`(${x})::text::numeric`], shape)})::float8`
}

/** PostgreSQL has min and max of booleans under other names, and of some types only in recent versions. */
function extreme(name: 'min' | 'max', ofBoolean: string): AggregateSql {
  return (args, node, shape) => {
    const [x = ''] = args
    switch (node.type.kind) {
      case 'Boolean':
        return aggregateCall(ofBoolean, args, shape)
      case 'Uuid':
        return `(${aggregateCall(name, [`${x}::text COLLATE "C"`], shape)})::uuid`
      default:
        return aggregateCall(name, args, shape)
    }
  }
}

function spread(name: string): AggregateSql {
  return ([x = ''], node, shape) => {
    const number = exactly(x, node.arguments[0]?.type)
    // Different numbers can have equal squares, so DISTINCT cannot be applied to a sum of squares.
    const squares = shape.distinct
      ? aggregateCall(`${SCHEMA}.gh_squares`, [number], shape)
      : `sum(${number} * ${number})${shape.tail}`
    const parts = `${aggregateCall('count', [number], shape)}, ${aggregateCall('sum', [number], shape)}, ${squares}`
    if (isDouble(node)) return `${SCHEMA}.gh_nearest_double(${SCHEMA}.${name}(${parts}, ${SPREAD_DIGITS}))`
    return `${SCHEMA}.${name}(${parts}, ${nodeScale(node)})::${sqlType(node.type)}`
  }
}

/** From the number of the rows in which neither is NULL, and the sums of the terms in them. */
function pairs(name: string, terms: (first: Sql, second: Sql) => readonly Sql[]): AggregateSql {
  return ([first = '', second = ''], node, shape) => {
    const tail = shape.tailWhere(`(${first}) IS NOT NULL AND (${second}) IS NOT NULL`)
    const exact = terms(exactly(first, node.arguments[0]?.type), exactly(second, node.arguments[1]?.type))
    return `${SCHEMA}.${name}(count(*)${tail}, ${exact.map((term) => `sum(${term})${tail}`).join(', ')})`
  }
}

/** A number as it is calculated with: exactly, a Double by its shortest decimal form. */
function exactly(x: Sql, type: IqlType | undefined): Sql {
  return type?.kind === 'Double' ? `(${x})::text::numeric` : `(${x})::numeric`
}

function end(order: 'ASC' | 'DESC'): AggregateSql {
  return ([x, key], _node, shape) =>
    `${SCHEMA}.gh_first(${x} ORDER BY ${key} ${order}, ${x} ${order})${shape.tailWhere(`${x} IS NOT NULL AND ${key} IS NOT NULL`)}`
}

function nodeScale(node: Node): number {
  return node.type.kind === 'Decimal' ? node.type.scale : 0
}

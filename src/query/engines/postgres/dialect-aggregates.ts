/** IQL's aggregate and window functions in PostgreSQL. */
import type { Aggregate, WindowCall } from '../../iql/bound-query.ts'
import {
  type AggregateShape,
  type AggregateSql,
  aggregateCall,
  COMMON_WINDOWS,
  type Dialect,
  isDouble,
  type Sql,
} from '../emit/dialect.ts'
import { SCHEMA, sqlType } from './representation.ts'

type Node = Aggregate | WindowCall

export const POSTGRES_AGGREGATES: Dialect['aggregates'] = {
  count: (args, _node, shape) => (args.length === 0 ? `count(*)${shape.tail}` : aggregateCall('count', args, shape)),
  sum: ([x = ''], node, shape) =>
    isDouble(node) ? doubleSum(x, shape) : `(${aggregateCall('sum', [x], shape)})::${sqlType(node.type)}`,
  avg: ([x = ''], node, shape) => {
    if (isDouble(node)) return `(${doubleSum(x, shape)} / (${aggregateCall('count', [x], shape)})::float8)`
    return `${SCHEMA}.gh_round_div(${aggregateCall('sum', [x], shape)}, ${aggregateCall('count', [x], shape)}, ${scaleOf(node)})::${sqlType(node.type)}`
  },
  min: extreme('min', 'bool_and'),
  max: extreme('max', 'bool_or'),
  bool_and: (args, _node, shape) => aggregateCall('bool_and', args, shape),
  bool_or: (args, _node, shape) => aggregateCall('bool_or', args, shape),
  variance: spread('gh_variance'),
  stddev: spread('gh_stddev'),
  first: end('ASC'),
  last: end('DESC'),
  vwap: ([price, weight], node, shape) => {
    const tail = shape.tailWhere(`${price} IS NOT NULL AND ${weight} IS NOT NULL`)
    const value = `sum(${price}::numeric * ${weight}::numeric)${tail}`
    const total = `nullif(sum(${weight}::numeric)${tail}, 0)`
    return `${SCHEMA}.gh_round_div(${value}, ${total}, ${scaleOf(node)})::${sqlType(node.type)}`
  },
}

export const POSTGRES_WINDOWS: Dialect['windows'] = {
  ...COMMON_WINDOWS,
  ntile: ([parts], _node, over) => `(ntile(${asInt(parts)})${over})::bigint`,
  lag: ([x, rows = '1'], _node, over) => `lag(${x}, ${asInt(rows)})${over}`,
  lead: ([x, rows = '1'], _node, over) => `lead(${x}, ${asInt(rows)})${over}`,
  lag_default: ([x, rows = '1', other], _node, over) => `lag(${x}, ${asInt(rows)}, ${other})${over}`,
  lead_default: ([x, rows = '1', other], _node, over) => `lead(${x}, ${asInt(rows)}, ${other})${over}`,
  nth_value: ([x, n], _node, over) => `nth_value(${x}, ${asInt(n)})${over}`,
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
  return ([x], node, shape) => {
    const number = `(${x})::numeric`
    // Different numbers can have equal squares, so DISTINCT cannot be applied to a sum of squares.
    const parts = shape.distinct
      ? `array_agg(DISTINCT ${number})${shape.tailWhere(`${x} IS NOT NULL`)}`
      : `count(${x})${shape.tail}, sum(${number})${shape.tail}, sum(${number} * ${number})${shape.tail}`
    return `${SCHEMA}.${name}(${parts}, ${scaleOf(node)})::${sqlType(node.type)}`
  }
}

function end(order: 'ASC' | 'DESC'): AggregateSql {
  return ([x, key], _node, shape) =>
    `${SCHEMA}.gh_first(${x} ORDER BY ${key} ${order}, ${x} ${order})${shape.tailWhere(`${x} IS NOT NULL AND ${key} IS NOT NULL`)}`
}

function scaleOf(node: Node): number {
  return node.type.kind === 'Decimal' ? node.type.scale : 0
}

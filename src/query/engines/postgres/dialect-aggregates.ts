/** The aggregate and window functions of IQL as PostgreSQL says them. */
import type { Aggregate, WindowCall } from '../../iql/bound-expression.ts'
import type { AggregateId, WindowId } from '../../iql/functions.ts'
import { type AggregateShape, type AggregateSql, joinOrder, type Sql } from '../emit/dialect.ts'
import { SCHEMA, sqlType } from './representation.ts'

type Node = Aggregate | WindowCall

export const POSTGRES_AGGREGATES: Readonly<Record<AggregateId, AggregateSql>> = {
  count: (args, _node, shape) => (args.length === 0 ? `count(*)${shape.tail}` : call('count', args, shape)),
  sum: ([x = ''], node, shape) =>
    isDouble(node) ? doubleSum(x, shape) : `(${call('sum', [x], shape)})::${sqlType(node.type)}`,
  avg: ([x = ''], node, shape) => {
    if (isDouble(node)) return `(${doubleSum(x, shape)} / (${call('count', [x], shape)})::float8)`
    return `${SCHEMA}.gh_round_div(${call('sum', [x], shape)}, ${call('count', [x], shape)}, ${scaleOf(node)})::${sqlType(node.type)}`
  },
  min: extreme('min', 'bool_and', 'ASC'),
  max: extreme('max', 'bool_or', 'DESC'),
  bool_and: (args, _node, shape) => call('bool_and', args, shape),
  bool_or: (args, _node, shape) => call('bool_or', args, shape),
  variance: spread('gh_variance'),
  stddev: spread('gh_stddev'),
  string_agg: ([x = '', separator], node, { distinct, orderBy, tail }) => {
    const between = `coalesce(${separator}, '')`
    return `(string_agg(${distinct ? 'DISTINCT ' : ''}${x}, ${between} ORDER BY ${joinOrder(orderBy, x, between, node)})${tail} COLLATE "C")`
  },
  first: end('ASC'),
  last: end('DESC'),
  vwap: ([price, weight], node, shape) => {
    const tail = shape.tailWhere(`${price} IS NOT NULL AND ${weight} IS NOT NULL`)
    const value = `sum(${price}::numeric * ${weight}::numeric)${tail}`
    const total = `nullif(sum(${weight}::numeric)${tail}, 0)`
    return `${SCHEMA}.gh_round_div(${value}, ${total}, ${scaleOf(node)})::${sqlType(node.type)}`
  },
}

export const POSTGRES_WINDOWS: Readonly<Record<WindowId, (args: readonly Sql[], node: WindowCall, over: Sql) => Sql>> =
  {
    row_number: (_args, _node, over) => `row_number()${over}`,
    rank: (_args, _node, over) => `rank()${over}`,
    dense_rank: (_args, _node, over) => `dense_rank()${over}`,
    ntile: ([parts], _node, over) => `(ntile(${parts}::int)${over})::bigint`,
    lag: ([x, rows = '1'], _node, over) => `lag(${x}, ${rows}::int)${over}`,
    lead: ([x, rows = '1'], _node, over) => `lead(${x}, ${rows}::int)${over}`,
    first_value: ([x], _node, over) => `first_value(${x})${over}`,
    last_value: ([x], _node, over) => `last_value(${x})${over}`,
  }

function call(name: string, args: readonly Sql[], { distinct, tail }: AggregateShape): Sql {
  return `${name}(${distinct ? 'DISTINCT ' : ''}${args.join(', ')})${tail}`
}

/** Exact over the shortest digits of each double, so that the order of rows does not matter; numeric knows NaN and Infinity. */
function doubleSum(x: Sql, shape: AggregateShape): Sql {
  return `(${call('sum', [`(${x})::text::numeric`], shape)})::float8`
}

/** PostgreSQL has min and max of booleans under another name, and of some types only in its newest versions. */
function extreme(name: string, ofBoolean: string, order: 'ASC' | 'DESC'): AggregateSql {
  return (args, node, shape) => {
    const [x = ''] = args
    switch (node.type.kind) {
      case 'Boolean':
        return call(ofBoolean, args, shape)
      case 'Uuid':
        return `(${call(name, [`${x}::text COLLATE "C"`], shape)})::uuid`
      case 'Binary':
        return shape.tail.includes(' OVER ')
          ? `decode(${call(name, [`encode(${x}, 'hex') COLLATE "C"`], shape)}, 'hex')`
          : `(array_agg(${x} ORDER BY ${x} ${order})${shape.tailWhere(`${x} IS NOT NULL`)})[1]`
      default:
        return call(name, args, shape)
    }
  }
}

function spread(name: string): AggregateSql {
  return ([x], node, shape) => {
    const number = `(${x})::numeric`
    // Equal squares of different numbers must both count, so DISTINCT cannot stand in a sum of squares.
    const parts = shape.distinct
      ? `array_agg(DISTINCT ${number})${shape.tailWhere(`${x} IS NOT NULL`)}`
      : `count(${x})${shape.tail}, sum(${number})${shape.tail}, sum(${number} * ${number})${shape.tail}`
    return `${SCHEMA}.${name}(${parts}, ${scaleOf(node)})::${sqlType(node.type)}`
  }
}

function end(order: 'ASC' | 'DESC'): AggregateSql {
  return ([x, key], _node, shape) =>
    `(array_agg(${x} ORDER BY ${key} ${order}, ${x} ${order})${shape.tailWhere(`${x} IS NOT NULL AND ${key} IS NOT NULL`)})[1]`
}

function isDouble(node: Node): boolean {
  return node.type.kind === 'Double'
}

function scaleOf(node: Node): number {
  return node.type.kind === 'Decimal' ? node.type.scale : 0
}

/** The aggregate and window functions of IQL as SQLite says them. */
import type { Aggregate, WindowCall } from '../../iql/bound-expression.ts'
import type { AggregateId, WindowId } from '../../iql/functions.ts'
import { asDecimal, type IqlType } from '../../iql/types.ts'
import { type AggregateShape, type AggregateSql, joinOrder, type Sql } from '../emit/dialect.ts'
import { spreadName } from './aggregates.ts'
import { isWide } from './representation.ts'

type Node = Aggregate | WindowCall

export const SQLITE_AGGREGATES: Readonly<Record<AggregateId, AggregateSql>> = {
  count: (args, _node, shape) => (args.length === 0 ? `count(*)${shape.tail}` : call('count', args, shape)),
  sum: (args, node, shape) => {
    if (isDouble(node)) return call('gh_fsum', args, shape)
    return isHalvable(node, shape) ? `gh_joined(${halves(args, shape)})` : call('gh_sum', args, shape)
  },
  avg: (args, node, shape) => {
    if (isDouble(node)) return call('gh_favg', args, shape)
    if (!isHalvable(node, shape)) return call(`gh_avg_${shiftOf(node)}`, args, shape)
    return `gh_joined_mean(${halves(args, shape)}, ${call('count', args, shape)}, ${shiftOf(node)})`
  },
  min: (args, _node, shape) => call('min', args, shape),
  max: (args, _node, shape) => call('max', args, shape),
  bool_and: (args, _node, shape) => call('min', args, shape),
  bool_or: (args, _node, shape) => call('max', args, shape),
  variance: (args, node, shape) => call(spreadName('variance', ...scalesOf(node)), args, shape),
  stddev: (args, node, shape) => call(spreadName('stddev', ...scalesOf(node)), args, shape),
  string_agg: ([x = '', separator], node, shape) => {
    const between = `coalesce(${separator}, '')`
    if (shape.distinct) {
      const isFalling = node.kind === 'aggregate' && node.orderBy[0]?.descending === true
      return `${isFalling ? 'gh_join_falling' : 'gh_join_rising'}(${x}, ${between})${shape.tail}`
    }
    return `group_concat(${x}, ${between} ORDER BY ${joinOrder(shape.orderBy, x, between, node)})${shape.tail}`
  },
  first: (args, _node, shape) => call('gh_first', args, shape),
  last: (args, _node, shape) => call('gh_last', args, shape),
  vwap: (args, node, shape) => call(`gh_vwap_${shiftOf(node)}`, args, shape),
}

export const SQLITE_WINDOWS: Readonly<Record<WindowId, (args: readonly Sql[], node: WindowCall, over: Sql) => Sql>> = {
  row_number: (_args, _node, over) => `row_number()${over}`,
  rank: (_args, _node, over) => `rank()${over}`,
  dense_rank: (_args, _node, over) => `dense_rank()${over}`,
  ntile: ([parts], _node, over) => `ntile(${parts})${over}`,
  lag: (args, _node, over) => `lag(${args.join(', ')})${over}`,
  lead: (args, _node, over) => `lead(${args.join(', ')})${over}`,
  first_value: ([x], _node, over) => `first_value(${x})${over}`,
  last_value: ([x], _node, over) => `last_value(${x})${over}`,
}

/** What rests as a 64-bit integer in a column can be summed by SQLite itself, without a call of ours for each row. */
function isHalvable(node: Node, { distinct }: AggregateShape): boolean {
  const [argument] = node.arguments
  return !distinct && argument?.kind === 'column' && !isWide(argument.type)
}

/** The sums of the upper and of the lower 32 bits: neither leaves 64 bits before two thousand million rows. */
function halves([x]: readonly Sql[], shape: AggregateShape): Sql {
  return `${call('sum', [`${x} >> 32`], shape)}, ${call('sum', [`${x} & 4294967295`], shape)}`
}

function call(name: string, args: readonly Sql[], { distinct, tail }: AggregateShape): Sql {
  return `${name}(${distinct ? 'DISTINCT ' : ''}${args.join(', ')})${tail}`
}

function isDouble(node: Node): boolean {
  return node.type.kind === 'Double'
}

/** Digits after the point that the result has beyond those of the argument. */
function shiftOf(node: Node): number {
  const [from, to] = scalesOf(node)
  return to - from
}

function scalesOf(node: Node): [number, number] {
  return [scaleOf(node.arguments[0]?.type), scaleOf(node.type)]
}

function scaleOf(type: IqlType | undefined): number {
  return (type === undefined ? undefined : asDecimal(type)?.scale) ?? 0
}

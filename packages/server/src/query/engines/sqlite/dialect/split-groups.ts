/** Aggregates that SQLite computes from those of parts of the rows, exactly. */
import type { Aggregate } from 'gatehouse-iql'
import {
  type AggregateShape,
  aggregateCall,
  isDouble,
  type PartAggregate,
  type SplitAggregate,
  type SplitGroupsSql,
  type Sql,
} from '../../emit/dialect.ts'
import { halves, isHalvable, SQLITE_AGGREGATES, scaleShift } from './aggregates.ts'
import { rowId } from './row-id.ts'

export const SQLITE_SPLIT_GROUPS: SplitGroupsSql = {
  rowId: ({ columns }) => rowId(columns.map(({ name }) => name)),
  aggregate: splitAggregate,
}

function splitAggregate(
  node: Aggregate,
  args: readonly Sql[],
  shape: AggregateShape,
  product: Sql | undefined,
): SplitAggregate | undefined {
  if (shape.distinct) return undefined
  switch (node.function) {
    case 'count':
      return { parts: [integers(SQLITE_AGGREGATES.count(args, node, shape))], whole: ([part]) => `sum(${part})` }
    case 'min':
    case 'bool_and':
      return extreme('min', args, shape)
    case 'max':
    case 'bool_or':
      return extreme('max', args, shape)
    case 'sum':
      return isDouble(node) ? undefined : splitSum(node, product === undefined ? args : [product], shape, product)
    case 'avg':
      if (isDouble(node) || !isHalvable(node, shape)) return undefined
      return {
        parts: [integers(aggregateCall('sum', args, shape)), integers(aggregateCall('count', args, shape))],
        whole: ([sum = '', count]) => `gh_joined_mean(${columnHalves(sum)}, sum(${count}), ${scaleShift(node)})`,
      }
    default:
      return undefined
  }
}

/** SQLite's own sum is exact, fails where it exceeds 64 bits, and is a real only if a product is one, because that exceeds them. */
function splitSum(
  node: Aggregate,
  args: readonly Sql[],
  shape: AggregateShape,
  product: Sql | undefined,
): SplitAggregate {
  if (product !== undefined || isHalvable(node, shape))
    return {
      parts: [integers(aggregateCall('sum', args, shape))],
      whole: ([part = '']) => `gh_joined(${columnHalves(part)})`,
    }
  const part: PartAggregate = { sql: aggregateCall('gh_sum', args, shape), combine: 'gh_sum', isInteger: false }
  return { parts: [part], whole: ([column]) => `gh_sum(${column})` }
}

function extreme(name: 'min' | 'max', args: readonly Sql[], shape: AggregateShape): SplitAggregate {
  const part: PartAggregate = { sql: aggregateCall(name, args, shape), combine: name, isInteger: false }
  return { parts: [part], whole: ([column]) => `${name}(${column})` }
}

function integers(sql: Sql): PartAggregate {
  return { sql, combine: 'sum', isInteger: true }
}

function columnHalves(column: Sql): Sql {
  return halves([column], { distinct: false, orderBy: '', tail: '', tailWhere: () => '' })
}

/** Aggregates that SQLite computes from those of parts of the rows, exactly. */
import {
  type Aggregate,
  BOOLEAN,
  type BoundCall,
  type BoundExpression,
  combineConditions,
  DECIMAL_DIGITS,
  isConstant,
  isWide,
  type TableView,
} from 'gatehouse-iql'
import { canBeStored, isText } from '../../../columns/segment.ts'
import {
  type AggregateShape,
  aggregateCall,
  type ColumnStateSql,
  type DecimalTerms,
  isDouble,
  type PartAggregate,
  type PartGroupsSql,
  type PercentileParts,
  type RisingTime,
  type SplitAggregate,
  type Sql,
  type TimeBucket,
} from '../../emit/dialect.ts'
import type { SpreadId } from '../functions/aggregates-spread.ts'
import { FIRST_MONDAY, UNIT_MICROS } from '../functions/time.ts'
import { columnAffinity } from '../representation.ts'
import { halves, isHalvable, SQLITE_AGGREGATES, scaleShift, spreadFunction, typeScale } from './aggregates.ts'
import { rowId } from './row-id.ts'

export const SQLITE_PART_GROUPS: PartGroupsSql = {
  rowId: ({ columns }) => rowId(columns.map(({ name }) => name)),
  rowKey: findRowKey,
  aggregate: splitAggregate,
  percentile: splitPercentile,
  bucket: findBucket,
  rising: findRising,
}

/** A key of one column of integers is the row identifier. */
function findRowKey({ columns, primaryKey }: TableView): string | undefined {
  const [name, ...others] = primaryKey
  const type = columns.find((column) => column.name === name)?.type
  return type !== undefined && others.length === 0 && columnAffinity(type) === 'INTEGER' ? name : undefined
}

function splitAggregate(
  node: Aggregate,
  args: readonly Sql[],
  shape: AggregateShape,
  { product, terms }: Parameters<PartGroupsSql['aggregate']>[3],
): SplitAggregate | undefined {
  if (shape.distinct) return node.function === 'count' ? splitDistinct(node, args, shape) : undefined
  switch (node.function) {
    case 'count': {
      const state = createState(args.length === 0 ? 'rows' : 'count', node)
      const part = integers(SQLITE_AGGREGATES.count(args, node, shape), state)
      return { parts: [part], whole: ([part]) => `coalesce(sum(${part}), 0)`, single: 'value' }
    }
    case 'min':
    case 'bool_and':
      return extreme('min', node, args, shape)
    case 'max':
    case 'bool_or':
      return extreme('max', node, args, shape)
    case 'sum':
      return isDouble(node)
        ? doubles('gh_fsum', node, args, shape)
        : terms === undefined
          ? splitSum(node, product === undefined ? args : [product], shape, product)
          : splitTerms(node, terms, shape)
    case 'avg':
      if (isDouble(node)) return doubles('gh_favg', node, args, shape)
      if (!isHalvable(node, shape)) return undefined
      return {
        parts: [
          integers(aggregateCall('sum', args, shape), createState('sum', node)),
          integers(aggregateCall('count', args, shape), createState('count', node)),
        ],
        whole: ([sum = '', count]) => `gh_joined_mean(${columnHalves(sum)}, sum(${count}), ${scaleShift(node)})`,
        single: { meanShift: scaleShift(node) },
      }
    case 'first':
      return end('first', 'min', node, args, shape)
    case 'last':
      return end('last', 'max', node, args, shape)
    case 'vwap': {
      const part = text(aggregateCall('gh_vwap_part', args, shape), createState('weighted', node))
      return { parts: [part], whole: ([part]) => `gh_vwap_parts_${scaleShift(node)}(${part})` }
    }
    case 'variance':
    case 'stddev':
    case 'var_pop':
    case 'stddev_pop': {
      const name = isDouble(node) ? 'gh_spread_part_double' : 'gh_spread_part'
      const part = text(aggregateCall(name, args, shape), createState('spread', node))
      return { parts: [part], whole: ([part]) => `${spreadFunction(node.function as SpreadId, node)}_parts(${part})` }
    }
    default:
      return undefined
  }
}

/** The different values of a part, by the function that writes them; undefined for types that have none. */
function valuesPart(node: Aggregate, args: readonly Sql[], shape: AggregateShape): PartAggregate | undefined {
  const value = node.arguments.at(-1)
  if (value === undefined || !canBeStored(value.type)) return undefined
  const name = isText(value.type) ? 'gh_texts_part' : 'gh_values_part'
  const state = { ...createState('values', node), arguments: [value] }
  return { ...text(aggregateCall(name, [args.at(-1) ?? ''], { ...shape, distinct: false }), state), isSlow: true }
}

function splitDistinct(node: Aggregate, args: readonly Sql[], shape: AggregateShape): SplitAggregate | undefined {
  const part = valuesPart(node, args, shape)
  return part && { parts: [part], whole: ([part]) => `gh_distinct_parts(${part})` }
}

/** The fraction and the limit are those of the usual plan. */
function splitPercentile(
  node: Aggregate,
  { isDiscrete, fraction, value, from, to, shape, limit }: PercentileParts,
): SplitAggregate | undefined {
  if (shape.distinct) return undefined
  const part = valuesPart(node, [value], shape)
  if (part === undefined || isText(from)) return undefined
  const isOfDoubles = from.kind === 'Double'
  const name = `gh_percentile_${isDiscrete ? 'disc' : 'cont'}_parts${isOfDoubles ? '_double' : ''}`
  const shift = isOfDoubles || isDiscrete ? 0 : typeScale(to) - typeScale(from)
  return { parts: [part], whole: ([part]) => `${name}(${[part, fraction, limit, shift].join(', ')})` }
}

function createState(kind: ColumnStateSql['kind'], { arguments: args, filter }: Aggregate): ColumnStateSql {
  return { kind, arguments: args, filter }
}

/** SQLite's own sum is exact, fails where it exceeds 64 bits, and is a real only if a product is one, because that exceeds them. */
function splitSum(
  node: Aggregate,
  args: readonly Sql[],
  shape: AggregateShape,
  product: Sql | undefined,
): SplitAggregate {
  if (product !== undefined || isHalvable(node, shape)) {
    const state = product === undefined ? createState('sum', node) : ofFactors(node)
    const part = integers(aggregateCall('sum', args, shape), state)
    return { parts: [part], whole: ([part = '']) => `gh_joined(${columnHalves(part)})`, single: 'sum' }
  }
  const part: PartAggregate = { sql: aggregateCall('gh_sum', args, shape), isInteger: false, state: undefined }
  return { parts: [part], whole: ([column]) => `gh_sum(${column})` }
}

/** The sum of a sum or a difference is that of the sums, over the rows with both values. */
function splitTerms(node: Aggregate, { operator, terms }: DecimalTerms, shape: AggregateShape): SplitAggregate {
  const parts = terms.map(({ column, sql }, index): PartAggregate => {
    const other = terms[1 - index]
    const isKnown = other?.column.nullable === true
    const tail = isKnown ? shape.tailWhere(`${other.sql} IS NOT NULL`) : shape.tail
    const known = isKnown ? isNotNull(other.column) : undefined
    const state: ColumnStateSql = { kind: 'sum', arguments: [column], filter: combineConditions(node.filter, known) }
    return integers(aggregateCall('sum', [sql], { ...shape, tail }), state)
  })
  const name = operator === '+' ? 'gh_dadd' : 'gh_dsub'
  const sum = (part = '') => `gh_joined(${columnHalves(part)})`
  return { parts, whole: ([one, other]) => `${name}(${sum(one)}, ${sum(other)}, ${DECIMAL_DIGITS})` }
}

function isNotNull(operand: BoundExpression): BoundExpression {
  return { kind: 'is-null', operand, negated: true, type: BOOLEAN, nullable: false }
}

/** The columns of a product. */
function ofFactors(node: Aggregate): ColumnStateSql | undefined {
  const [product] = node.arguments
  if (product?.kind !== 'arithmetic') return undefined
  const column = (factor: BoundExpression) => (factor.kind === 'widen' ? factor.operand : factor)
  return { ...createState('products', node), arguments: [column(product.left), column(product.right)] }
}

function text(sql: Sql, state: ColumnStateSql): PartAggregate {
  return { sql, isInteger: false, state }
}

/** A sum of Doubles is that of their shortest decimals, which the parts have as texts. */
function doubles(name: string, node: Aggregate, args: readonly Sql[], shape: AggregateShape): SplitAggregate {
  const sql = aggregateCall('gh_fsum_part', args, shape)
  const part: PartAggregate = { sql, isInteger: false, state: createState('double-sum', node) }
  return { parts: [part], whole: ([column]) => `${name}_parts(${column})` }
}

function extreme(name: 'min' | 'max', node: Aggregate, args: readonly Sql[], shape: AggregateShape): SplitAggregate {
  const sql = aggregateCall(name, args, shape)
  const [argument] = node.arguments
  const state = argument !== undefined && isWide(argument.type) ? undefined : createState(name, node)
  return { parts: [{ sql, isInteger: false, state }], whole: ([column]) => `${name}(${column})`, single: 'value' }
}

/** Of the rows with the first value of the order, or the last, the least value, or the greatest: so the parts need the order too. */
function end(
  kind: 'first' | 'last',
  extremeOrder: 'min' | 'max',
  node: Aggregate,
  args: readonly Sql[],
  shape: AggregateShape,
): SplitAggregate {
  const [value, order] = args
  const known: AggregateShape = { ...shape, tail: shape.tailWhere(`${value} IS NOT NULL`) }
  const parts: PartAggregate[] = [
    { sql: aggregateCall(`gh_${kind}`, args, shape), isInteger: false, state: createState(kind, node) },
    {
      sql: aggregateCall(extremeOrder, [String(order)], known),
      isInteger: false,
      state: { ...createState(kind, node), value: 1 },
    },
  ]
  return { parts, whole: ([value, order]) => `gh_${kind}(${value}, ${order})`, single: 'value' }
}

function integers(sql: Sql, state: ColumnStateSql | undefined): PartAggregate {
  return { sql, isInteger: true, state }
}

function columnHalves(column: Sql): Sql {
  return halves([column], { distinct: false, orderBy: '', tail: '', tailWhere: () => '' })
}

/** time_bucket of a fixed width, and date_trunc to a unit of a fixed length. */
function findBucket({ function: id, arguments: args }: BoundCall): TimeBucket | undefined {
  const [first, time] = args
  if (first === undefined || time?.type.kind !== 'Timestamp') return undefined
  if (id === 'time_bucket') return { time, width: first, origin: FIRST_MONDAY }
  if (id !== 'date_trunc' || first.kind !== 'literal' || typeof first.value !== 'string') return undefined
  const width = UNIT_MICROS.get(first.value.toLowerCase())
  return width === undefined ? undefined : { time, width, origin: FIRST_MONDAY }
}

/** date_trunc, and time_bucket of months, of dates and of zones. */
function findRising(node: BoundExpression): RisingTime | undefined {
  if (node.kind !== 'call') return undefined
  const [width, time, zone] = node.arguments
  if (width === undefined || !isConstant(width) || time?.type.kind !== 'Timestamp') return undefined
  switch (node.function) {
    case 'date_trunc':
    case 'time_bucket':
    case 'time_bucket_months':
      return { time: time.kind === 'cast' && time.operand.type.kind === 'Date' ? time.operand : time }
    case 'date_trunc_zone':
    case 'time_bucket_zone':
    case 'time_bucket_months_zone':
      return zone === undefined || !isConstant(zone) ? undefined : { time, zone }
    default:
      return undefined
  }
}

/** Emits aggregates, window functions and sort orders. */
import {
  type Aggregate,
  type AggregateId,
  asDecimal,
  type BoundExpression,
  type BoundFrame,
  type BoundFrameBound,
  type BoundOrder,
  decimal,
  directOperands,
  FRACTION_SCALE,
  isLongType,
  isPlain,
  isWide,
  MAX_GROUP_BYTES,
  WINDOW_FUNCTIONS,
  type WindowCall,
  type WindowId,
} from 'gatehouse-iql'
import { type AggregateShape, type DecimalTerms, isPercentile, type PercentileParts, type Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'

export function emitAggregate(node: Aggregate, emission: Emission): Sql {
  const { dialect, placeholders } = emission
  if (isPercentile(node.function)) return emitPercentile(node, emission)
  const shape = aggregateShape(node, emission)
  if (node.function === 'string_agg') {
    const args = node.arguments.map((argument) => emitExpression(argument, emission))
    return dialect.stringAgg(args, node, shape, placeholders.createdLimit())
  }
  const sum = emitSum(node, shape, emission)
  if (sum !== undefined) return sum
  const args = node.arguments.map((argument) => emitHeld(node, argument, emission))
  return dialect.aggregates[node.function](args, node, shape)
}

export function aggregateShape(node: Aggregate, emission: Emission): AggregateShape {
  const filter = node.filter === undefined ? undefined : emitExpression(node.filter, emission)
  return createShape(node.distinct, node.orderBy.length === 0 ? '' : emitOrder(node.orderBy, emission), filter, '')
}

export function emitWindow(node: WindowCall, emission: Emission): Sql {
  const args = node.arguments.map((argument) => emitExpression(argument, emission))
  const over = ` OVER (${windowClauses(node, emission).join(' ')})`
  if (isWindowFunction(node.function)) {
    const orderBy = node.orderBy.map(opposite)
    const reversed = ` OVER (${windowClauses({ ...node, orderBy }, emission).join(' ')})`
    return emission.dialect.windows[node.function](args, node, over, reversed)
  }
  const filter = node.filter === undefined ? undefined : emitExpression(node.filter, emission)
  const shape = createShape(false, '', filter, over)
  if (isPercentile(node.function)) throw new Error(`${node.function} over a window`)
  if (node.function === 'string_agg')
    return emission.dialect.stringAgg(args, node, shape, emission.placeholders.createdLimit())
  return emitSum(node, shape, emission) ?? emission.dialect.aggregates[node.function](args, node, shape)
}

/** A value that each group holds once. */
function emitHeld(node: Aggregate, value: BoundExpression, emission: Emission): Sql {
  const sql = emitExpression(value, emission)
  const { groupFits } = emission.dialect
  const inGroups = groupFits === undefined ? undefined : emission.weight()?.inGroups
  return groupFits && inGroups?.has(node) ? groupFits(sql, Math.floor(MAX_GROUP_BYTES / inGroups.size)) : sql
}

/** sum(a * b) of two columns, where the dialect has a faster way than to sum the products. */
function emitSum(node: Aggregate | WindowCall, shape: AggregateShape, emission: Emission): Sql | undefined {
  const { sumOfProducts } = emission.dialect
  const [product] = node.arguments
  if (sumOfProducts === undefined || node.function !== 'sum' || shape.distinct) return undefined
  const factors = product === undefined ? undefined : emitFactors(product, emission)
  return factors && sumOfProducts(factors.left, factors.right, factors.product, shape)
}

/** The columns of a product of two whose values are integers of 64 bits. */
export function emitFactors(product: BoundExpression, emission: Emission) {
  if (product.kind !== 'arithmetic') return undefined
  if (product.operator !== 'decimal*decimal' && product.operator !== 'integer*integer') return undefined
  const [left, right] = [shortColumn(product.left), shortColumn(product.right)]
  if (left === undefined || right === undefined) return undefined
  return { product, left: emitExpression(left, emission), right: emitExpression(right, emission) }
}

/** The columns of a sum or a difference of two whose values are decimals in integers of 64 bits: the result cannot exceed its type. */
export function emitTerms(sum: BoundExpression | undefined, emission: Emission): DecimalTerms | undefined {
  if (sum?.kind !== 'arithmetic') return undefined
  if (sum.operator !== 'decimal+decimal' && sum.operator !== 'decimal-decimal') return undefined
  const columns = [sum.left, sum.right].map(shortColumn)
  if (columns.includes(undefined)) return undefined
  const terms = columns.flatMap((column) => (column ? [{ column, sql: emitExpression(column, emission) }] : []))
  return { operator: sum.operator === 'decimal+decimal' ? '+' : '-', terms }
}

/** The column, if its values are integers of 64 bits, scaled or not. */
function shortColumn(factor: BoundExpression): BoundExpression | undefined {
  const column = factor.kind === 'widen' ? factor.operand : factor
  const [type, widened] = [asDecimal(column.type), asDecimal(factor.type)]
  if (column.kind !== 'column' || type === undefined || type.scale !== widened?.scale) return undefined
  return isWide(column.type) ? undefined : column
}

function emitPercentile(node: Aggregate, emission: Emission): Sql {
  const { value } = percentileArguments(node)
  const limit = emission.placeholders.heldLimit(isWide(value.type) ? 4 : 1)
  return emission.dialect.percentile(percentileParts(node, limit, emission))
}

export function percentileParts(node: Aggregate, limit: Sql, emission: Emission): PercentileParts {
  const { fraction, value } = percentileArguments(node)
  return {
    isDiscrete: node.function === 'percentile_disc',
    fraction: emitExpression(fraction, emission),
    value: emitExpression(value, emission),
    from: value.type,
    to: node.type,
    shape: aggregateShape(node, emission),
    limit,
  }
}

/** median(x) is percentile_cont(0.5, x). */
function percentileArguments(node: Aggregate): { readonly fraction: BoundExpression; readonly value: BoundExpression } {
  const [first, second] = node.arguments
  const [fraction, value] = second === undefined ? [HALF, first] : [first, second]
  if (fraction === undefined || value === undefined) throw new Error(`${node.function} without an argument`)
  return { fraction, value }
}

const HALF: BoundExpression = {
  kind: 'literal',
  type: decimal(FRACTION_SCALE + 1, FRACTION_SCALE),
  value: 5n * 10n ** BigInt(FRACTION_SCALE - 1),
  nullable: false,
}

function createShape(distinct: boolean, orderBy: Sql, filter: Sql | undefined, over: Sql): AggregateShape {
  const tailWith = (conditions: readonly Sql[]): Sql =>
    conditions.length === 0 ? over : ` FILTER (WHERE ${conditions.join(' AND ')})${over}`
  const given = filter === undefined ? [] : [filter]
  return { distinct, orderBy, tail: tailWith(given), tailWhere: (condition) => tailWith([...given, condition]) }
}

function windowClauses(node: WindowCall, emission: Emission): Sql[] {
  const clauses: Sql[] = []
  if (node.partitionBy.length > 0) {
    clauses.push(`PARTITION BY ${node.partitionBy.map((key) => emitExpression(key, emission)).join(', ')}`)
  }
  if (node.orderBy.length > 0) clauses.push(`ORDER BY ${emitSort(node.orderBy, emission)}`)
  if (node.frame !== undefined) clauses.push(emitFrame(node, node.frame, emission))
  return clauses
}

function opposite({ expression, descending, nulls }: BoundOrder): BoundOrder {
  return { expression, descending: !descending, nulls: nulls === 'first' ? 'last' : 'first' }
}

/** The order of a sort of rows, with a further key where the database needs one. */
export function emitSort(items: readonly BoundOrder[], emission: Emission): Sql {
  const { sortKey } = emission.dialect
  const isLong = ({ expression }: BoundOrder): boolean =>
    isLongType(expression.type) && !isPlain(expression, emission.weight())
  const order = emitOrder(items, emission)
  return sortKey !== undefined && items.some(isLong) ? `${order}, ${sortKey}` : order
}

export function emitOrder(items: readonly BoundOrder[], emission: Emission): Sql {
  return items
    .map(({ expression, descending, nulls }) => {
      const key = expression.kind === 'output' ? String(expression.ordinal + 1) : emitExpression(expression, emission)
      const order = `${key} ${descending ? 'DESC' : 'ASC'}`
      return expression.nullable ? `${order} NULLS ${nulls.toUpperCase()}` : order
    })
    .join(', ')
}

function isWindowFunction(id: WindowId | AggregateId): id is WindowId {
  return Object.hasOwn(WINDOW_FUNCTIONS, id)
}

function emitFrame({ orderBy: [key] }: WindowCall, { unit, start, end }: BoundFrame, { dialect }: Emission): Sql {
  const edge = (bound: BoundFrameBound): Sql => {
    const words = bound.kind.replace('-', ' ').toUpperCase()
    if (!('distance' in bound)) return words
    const isAlongKey = unit === 'range' && key !== undefined
    return `${isAlongKey ? dialect.distance(bound.distance, key.expression.type) : bound.distance} ${words}`
  }
  return `${unit.toUpperCase()} BETWEEN ${edge(start)} AND ${edge(end)}`
}

/** Whether the expression contains an aggregate of the same select; those of sub-queries do not count. */
export function containsAggregate(node: BoundExpression): boolean {
  if (node.kind === 'aggregate') return true
  return directOperands(node).some(containsAggregate)
}

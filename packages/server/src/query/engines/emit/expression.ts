/** Emits bound expressions as SQL; every operation has its own parentheses. */

import {
  type Aggregate,
  type AggregateId,
  type Arithmetic,
  asDecimal,
  type BoundCall,
  type BoundExpression,
  type BoundOrder,
  type BoundQuery,
  cannotFail,
  concatOperands,
  decimal,
  FRACTION_SCALE,
  type IndexesOf,
  type InList,
  type InQuery,
  type IqlType,
  type IqlValue,
  isConstant,
  isCreating,
  isGrowing,
  isLongType,
  isPlain,
  isSmallText,
  isWide,
  type Literal,
  MAX_GROUP_BYTES,
  MAX_LIST_BYTES,
  type NullIf,
  operandsOf,
  type Parameter,
  safestFirst,
  TEXT,
  type TextWeight,
  type TypeKind,
  WINDOW_FUNCTIONS,
  type WindowCall,
  type WindowId,
} from 'gatehouse-iql'
import { refuse } from '../../errors.ts'
import { type AggregateShape, type Dialect, isPercentile, type Sql } from './dialect.ts'
import { emitFrame } from './frame.ts'
import { itemKey, type ParameterSource, type Placeholders } from './parameters.ts'
import { emitSearch, isSearch } from './search.ts'

/** The state of one statement while it is emitted. */
export interface Emission {
  readonly dialect: Dialect
  readonly placeholders: Placeholders
  /** How a column of a source is referenced, by the source's id. */
  readonly sources: Map<number, (ordinal: number, name: string) => Sql>
  /** All tables are read as they were at the positions in the placeholders `since`. */
  readonly isFormer: boolean
  readonly indexesOf: IndexesOf
  /** The text that the statement holds; undefined for those of the service itself. */
  readonly weight: () => TextWeight | undefined
  /** Whether an expression of the statement can be an error: then it matters which are evaluated. */
  readonly mayFail: () => boolean
  /** Inside a part of CASE, COALESCE or OR that may not be needed: `later` if the database would evaluate it before the first row. */
  readonly evaluated?: 'if needed' | 'later'
  /** The indexes of the placeholders of literals that become parameters, by `WrittenAt.index`. */
  readonly autoParameters: ReadonlyMap<number, number>
  /** Aggregates and keys of groups that are columns of another table: see split-groups.ts. */
  readonly replaced?: ReadonlyMap<BoundExpression, Sql>
  /** Emits the query of a sub-query. */
  readonly subquery: (query: BoundQuery) => Sql
}

/** Far more than a statement of the allowed size needs; less than would harm the server. */
const MAX_SQL_LENGTH = 8 * 1024 * 1024

export function emitExpression(node: BoundExpression, emission: Emission): Sql {
  const sql = emitNode(node, emission)
  if (sql.length > MAX_SQL_LENGTH) throw refuse('Limit.Complexity', 'The statement is too large for the database')
  return sql
}

function emitNode(node: BoundExpression, emission: Emission): Sql {
  const { dialect, placeholders } = emission
  const replaced = emission.replaced?.get(node)
  if (replaced !== undefined) return replaced
  if (emission.evaluated === 'if needed' && isLater(node)) return emitNode(node, { ...emission, evaluated: 'later' })
  const emit = (operand: BoundExpression): Sql => emitExpression(operand, emission)
  switch (node.kind) {
    case 'literal':
      if (node.value === null) return dialect.nullOf(node.type)
      if (typeof node.value === 'boolean') return dialect.truth(node.value)
      return emitParameter(literalSource(node, node.value, emission), node.type, emission)
    case 'parameter':
      return emitParameter({ kind: 'parameter', index: node.index }, node.type, emission)
    case 'claim':
      return emitParameter({ kind: 'claim', claim: node.claim }, TEXT, emission)
    case 'claim-in': {
      const isIn = dialect.isIn(emit(node.operand), placeholders.of({ kind: 'roles' }, TEXT))
      return node.negated ? `(NOT ${isIn})` : isIn
    }
    case 'column': {
      const source = emission.sources.get(node.source)
      if (source === undefined) throw new Error(`Column ${node.name} of a source that is not emitted`)
      return source(node.ordinal, node.name)
    }
    case 'group-key':
      return emit(node.expression)
    case 'output':
      throw new Error('An output column inside an expression')
    case 'widen':
      return dialect.widen(emit(node.operand), node.operand.type, node.type)
    case 'fit':
      return dialect.fit(emit(node.operand), node.operand.type, node.type, node.column)
    case 'cast':
      return dialect.cast(emit(node.operand), node.operand.type, node.type)
    case 'arithmetic':
      if (node.operator === 'text||text') return emitConcat(node, concatOperands(node), emission)
      return dialect.operators[node.operator](emit(node.left), emit(node.right), node)
    case 'negate':
      return dialect.negate(emit(node.operand), node.type)
    case 'compare':
      if (node.operator === '=')
        return `(${emitEqual(node.left, node.right, emission)} = ${emitEqual(node.right, node.left, emission)})`
      return `(${emit(node.left)} ${node.operator.toUpperCase()} ${emit(node.right)})`
    case 'logic':
      if (node.operator === 'or') return `(${node.operands.map(laterOf(emission)).join(' OR ')})`
      return `(${(emission.mayFail() ? safestFirst(node.operands) : node.operands).map(emit).join(' AND ')})`
    case 'not':
      return `(NOT ${emit(node.operand)})`
    case 'is-null':
      return `(${emit(node.operand)} IS ${node.negated ? 'NOT ' : ''}NULL)`
    case 'like': {
      const escapeSql = node.escape === undefined ? undefined : emit(node.escape)
      const [operand, pattern] = [emit(node.operand), emit(node.pattern)]
      const like = emitSearch(node, [operand, pattern], emission, {
        native: () => dialect.like(operand, pattern, escapeSql, node),
        checked: () => dialect.searches.like(operand, pattern, escapeSql, node),
      })
      return node.negated ? `(NOT ${like})` : like
    }
    case 'between':
      return `(${emit(node.operand)} ${negation(node)}BETWEEN ${emit(node.low)} AND ${emit(node.high)})`
    case 'in-list': {
      if (node.items.length > MAX_SINGLE_ITEMS && isListable(node, emission)) return emitLongList(node, emission)
      const isEqual = node.items.length === 1
      const items = node.items.map((item) => (isEqual ? emitEqual(item, node.operand, emission) : emit(item)))
      return `(${emit(node.operand)} ${negation(node)}IN (${items.join(', ')}))`
    }
    case 'in-query':
      return `(${emit(node.operand)} ${negation(node)}IN (${emitListed(node, emission)}))`
    case 'case': {
      const emitLater = laterOf(emission)
      const operand = node.operand === undefined ? '' : ` ${emit(node.operand)}`
      const branches = node.branches.map(
        ({ when, result }, index) => ` WHEN ${index === 0 ? emit(when) : emitLater(when)} THEN ${emitLater(result)}`,
      )
      const otherwise = node.otherwise === undefined ? '' : ` ELSE ${emitLater(node.otherwise)}`
      return `(CASE${operand}${branches.join('')}${otherwise} END)`
    }
    case 'coalesce': {
      const [first = '', ...others] = node.arguments.map((argument, index) =>
        index === 0 ? emit(argument) : laterOf(emission)(argument),
      )
      return others.length === 0 ? first : `coalesce(${[first, ...others].join(', ')})`
    }
    case 'nullif':
      return emitNullIf(node, emission)
    case 'call':
      if (node.function === 'now') return emitParameter({ kind: 'now' }, node.type, emission)
      if (node.function === 'current_date') return emitParameter({ kind: 'today' }, node.type, emission)
      if (node.function === 'concat') return emitConcat(node, node.arguments, emission)
      if (isGrowing(node.function)) {
        const limit = isCreating(node) ? placeholders.createdLimit() : undefined
        return dialect.growing[node.function](node.arguments.map(emit), node, limit)
      }
      return emitScalar(node, node.function, node.arguments.map(emit), emission)
    case 'aggregate':
      if (node.function === 'string_agg') {
        const shape = aggregateShape(node, emission)
        return dialect.stringAgg(node.arguments.map(emit), node, shape, placeholders.createdLimit())
      }
      if (isPercentile(node.function)) return emitPercentile(node, emission)
      return emitPlainAggregate(node, node.function, emission)
    case 'window':
      return emitWindow(node, emission)
    case 'scalar-query':
      return dialect.scalarQuery(emission.subquery(node.query))
    case 'exists':
      return `(EXISTS (${emission.subquery(node.query)}))`
  }
}

function emitScalar(node: BoundCall, id: keyof Dialect['scalars'], args: readonly Sql[], emission: Emission): Sql {
  const [text = '', part] = args
  const { scalars, searches } = emission.dialect
  const native = (): Sql => scalars[id](args, node)
  if (!isSearch(id)) return native()
  return emitSearch(node, [text, part], emission, { native, checked: () => searches[id](args, node) })
}

function emitParameter(source: ParameterSource, type: IqlType, { dialect, placeholders, evaluated }: Emission): Sql {
  const value = dialect.value(placeholders.of(source, type), type)
  return evaluated === 'later' && dialect.later !== undefined ? dialect.later(value) : value
}

/** For an operand of CASE, COALESCE or OR that may not be needed. */
function laterOf(emission: Emission): (operand: BoundExpression) => Sql {
  const { evaluated = 'if needed', dialect, mayFail } = emission
  const isEager = dialect.later !== undefined && mayFail()
  return (operand) => emitExpression(operand, isEager ? { ...emission, evaluated } : emission)
}

/**
 * A side of a comparison with =. If the other side is a column and this one a value, a database could replace the column with the
 * value everywhere, and so evaluate an expression that fails before it has found a row.
 */
function emitEqual(side: BoundExpression, other: BoundExpression, emission: Emission): Sql {
  const { dialect, mayFail } = emission
  const sql = emitExpression(side, emission)
  if (dialect.fixed === undefined || other.kind !== 'column' || side.kind === 'column') return sql
  return isConstant(side) && mayFail() ? dialect.fixed(sql) : sql
}

/** Times are evaluated first, so that an index can find later rows. */
function isLater(node: BoundExpression): boolean {
  return isConstant(node) && !cannotFail(node) && node.type.kind !== 'Timestamp' && node.type.kind !== 'Date'
}

function literalSource({ written }: Literal, value: IqlValue, { autoParameters }: Emission): ParameterSource {
  const index = written === undefined ? undefined : autoParameters.get(written.index)
  return index === undefined ? { kind: 'literal', value } : { kind: 'auto-parameter', index }
}

/** a || b || c, or concat(a, b, c), which counts NULL as empty. The length is checked unless it is proven to be small. */
function emitConcat(node: Arithmetic | BoundCall, operands: readonly BoundExpression[], emission: Emission): Sql {
  const parts = operands.map((operand) => {
    const sql = emitExpression(operand, emission)
    return node.kind === 'call' ? `coalesce(${sql}, '')` : sql
  })
  if (isSmallText(node)) return emission.dialect.concat(parts)
  // Values that are free to read again are measured before they are joined; others are counted as separate values.
  const isMeasured = operands.every((operand) => isPlain(operand, emission.weight()))
  const limit = emission.placeholders.createdLimit(isMeasured ? 1 : operands.length)
  const firstColumn = operands.findIndex(({ kind }) => kind === 'column')
  return emission.dialect.concat(parts, {
    limit,
    isMeasured,
    constants: firstColumn === -1 ? parts.length : firstColumn,
  })
}

function emitNullIf({ value, compared, right }: NullIf, emission: Emission): Sql {
  const sql = emitExpression(value, emission)
  const other = emitExpression(right, emission)
  if (compared === 'value') return `nullif(${sql}, ${other})`
  const left =
    'widenedTo' in compared
      ? emission.dialect.widen(sql, value.type, compared.widenedTo)
      : emitExpression(compared, emission)
  return `(CASE WHEN ${left} = ${other} THEN NULL ELSE ${sql} END)`
}

/** Lists with more items are one value of the SQL: it is short then, and quickly prepared. */
export const MAX_SINGLE_ITEMS = 100

interface ListedInList extends InList {
  readonly items: readonly (Literal | Parameter)[]
}

/** Whether all items are literals and parameters of a type that is stored as a short integer or a text. */
function isListable(node: InList, { autoParameters }: Emission): node is ListedInList {
  const { type } = node.operand
  if (!LISTED_KINDS.has(type.kind) || isWide(type)) return false
  return node.items.every((item) => {
    if (item.kind !== 'literal') return item.kind === 'parameter'
    return item.written === undefined || !autoParameters.has(item.written.index)
  })
}

const LISTED_KINDS: ReadonlySet<TypeKind> = new Set(['Text', 'Integer', 'Decimal', 'Timestamp', 'Date', 'Time', 'Uuid'])

/** A parameter that occurs as several items is one item: otherwise the list would hold its text several times. */
function emitLongList({ operand, items: written, negated }: ListedInList, emission: Emission): Sql {
  const items = [...new Map(written.map((item) => [itemKey(item), item])).values()]
  const { dialect, placeholders } = emission
  const { type } = operand
  const sql = emitExpression(operand, emission)
  const write = (values: readonly IqlValue[]): string => dialect.list(values, type)
  return dialect.inList(sql, placeholders.of({ kind: 'list', items, write }, type), type, negated)
}

/** The rows of a query, with a limit where the database holds them as a list. */
function emitListed(node: InQuery, { weight, dialect, subquery }: Emission): Sql {
  const query = subquery(node.query)
  if (dialect.listFits === undefined || weight()?.joined.has(node) !== false) return query
  return dialect.listFits(query, node.operand.type, MAX_LIST_BYTES)
}

function negation(node: { readonly negated: boolean }): string {
  return node.negated ? 'NOT ' : ''
}

export function aggregateShape(node: Aggregate, emission: Emission): AggregateShape {
  const filter = node.filter === undefined ? undefined : emitExpression(node.filter, emission)
  return shapeOf(node.distinct, node.orderBy.length === 0 ? '' : emitOrder(node.orderBy, emission), filter, '')
}

function emitWindow(node: WindowCall, emission: Emission): Sql {
  const args = node.arguments.map((argument) => emitExpression(argument, emission))
  const over = ` OVER (${windowClauses(node, emission).join(' ')})`
  if (isWindowFunction(node.function)) {
    const orderBy = node.orderBy.map(opposite)
    const reversed = ` OVER (${windowClauses({ ...node, orderBy }, emission).join(' ')})`
    return emission.dialect.windows[node.function](args, node, over, reversed)
  }
  const filter = node.filter === undefined ? undefined : emitExpression(node.filter, emission)
  const shape = shapeOf(false, '', filter, over)
  if (isPercentile(node.function)) throw new Error(`${node.function} over a window`)
  if (node.function === 'string_agg')
    return emission.dialect.stringAgg(args, node, shape, emission.placeholders.createdLimit())
  return emitSum(node, shape, emission) ?? emission.dialect.aggregates[node.function](args, node, shape)
}

function emitPlainAggregate(node: Aggregate, id: keyof Dialect['aggregates'], emission: Emission): Sql {
  const shape = aggregateShape(node, emission)
  const args = (): Sql[] => node.arguments.map((argument) => emitHeld(node, argument, emission))
  return emitSum(node, shape, emission) ?? emission.dialect.aggregates[id](args(), node, shape)
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

/** The column, if its values are integers of 64 bits, scaled or not. */
function shortColumn(factor: BoundExpression): BoundExpression | undefined {
  const column = factor.kind === 'widen' ? factor.operand : factor
  const [type, widened] = [asDecimal(column.type), asDecimal(factor.type)]
  if (column.kind !== 'column' || type === undefined || type.scale !== widened?.scale) return undefined
  return isWide(column.type) ? undefined : column
}

/** median(x) is percentile_cont(0.5, x). */
function emitPercentile(node: Aggregate, emission: Emission): Sql {
  const [first, second] = node.arguments
  const [fraction, value] = second === undefined ? [HALF, first] : [first, second]
  if (fraction === undefined || value === undefined) throw new Error(`${node.function} without an argument`)
  const isLong = isWide(value.type)
  return emission.dialect.percentile({
    isDiscrete: node.function === 'percentile_disc',
    fraction: emitExpression(fraction, emission),
    value: emitExpression(value, emission),
    from: value.type,
    to: node.type,
    shape: aggregateShape(node, emission),
    limit: emission.placeholders.heldLimit(isLong ? 4 : 1),
  })
}

const HALF: BoundExpression = {
  kind: 'literal',
  type: decimal(FRACTION_SCALE + 1, FRACTION_SCALE),
  value: 5n * 10n ** BigInt(FRACTION_SCALE - 1),
  nullable: false,
}

function shapeOf(distinct: boolean, orderBy: Sql, filter: Sql | undefined, over: Sql): AggregateShape {
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
  if (node.frame !== undefined) clauses.push(emitFrame(node.frame))
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

/** Whether the expression contains an aggregate of the same select; those of sub-queries do not count. */
export function containsAggregate(node: BoundExpression): boolean {
  if (node.kind === 'aggregate') return true
  return operandsOf(node).some(containsAggregate)
}

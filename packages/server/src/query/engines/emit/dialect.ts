/** The differences between the databases' SQL, as tables and small functions that each engine supplies. */
import {
  type Aggregate,
  type AggregateId,
  type Arithmetic,
  type BoundCall,
  type BoundExpression,
  type GrowingId,
  type IqlType,
  type IqlValue,
  type Like,
  type OperatorId,
  type ScalarId,
  type SetOperation,
  sameName,
  type TableFunctionId,
  type TableView,
  type WindowCall,
  type WindowId,
} from 'gatehouse-iql'
import type { ColumnState } from '../../columns/plan.ts'
import type { ZonePart } from './parameter-source.ts'
import type { Placeholders } from './parameters.ts'

/** SQL text; values are placeholders of Placeholders. */
export type Sql = string

/** The arguments have already been emitted; `node` has their types. */
export type ScalarSql = (args: readonly Sql[], node: BoundCall) => Sql
export type AggregateSql = (args: readonly Sql[], node: Aggregate | WindowCall, shape: AggregateShape) => Sql

/** Searches of one text for another by functions of the databases. */
export type SearchId = 'position' | 'contains' | 'trim' | 'ltrim' | 'rtrim'

/** Aggregates that hold the values of a group. */
export type PercentileId = 'median' | 'percentile_cont' | 'percentile_disc'

export function isPercentile(id: WindowId | AggregateId): id is PercentileId {
  return id === 'median' || id === 'percentile_cont' || id === 'percentile_disc'
}

export interface PercentileParts {
  readonly isDiscrete: boolean
  readonly fraction: Sql
  readonly value: Sql
  readonly from: IqlType
  readonly to: IqlType
  readonly shape: AggregateShape
  /** The number of values that it may hold. */
  readonly limit: Sql
}

export interface ConcatCheck {
  /** The number of bytes that the result may have. */
  readonly limit: Sql
  /** The parts can be evaluated twice: once to measure them, before anything is joined. */
  readonly isMeasured: boolean
  /** How many of the first parts are the same for every row, if the parts are measured. */
  readonly constants: number
}

/** The clauses of an aggregate call: DISTINCT before the arguments, ORDER BY after them, then FILTER and OVER. */
export interface AggregateShape {
  readonly distinct: boolean
  readonly orderBy: Sql
  readonly tail: Sql
  /** The tail with a further FILTER condition. */
  readonly tailWhere: (condition: Sql) => Sql
}

/** Refuses to change a row that the same statement has written. */
export interface RowTracking {
  /** True, or an error when the row was tracked. Emitted before the condition of DO UPDATE. */
  readonly refuseTracked: Sql
  /** Tracks the row. Emitted in RETURNING. */
  readonly track: Sql
}

/** An aggregate computed in two steps: over parts of the rows, then over the results of the parts. */
export interface SplitAggregate {
  readonly parts: readonly PartAggregate[]
  /** Over the columns with the parts. */
  readonly whole: (columns: readonly Sql[]) => Sql
  /** What it is where a group has one part: the part itself, a sum, or a mean with more digits after the point. */
  readonly single?: SingleValue
}

export type SingleValue = 'value' | 'sum' | { readonly meanShift: number }

export interface PartAggregate {
  /** Over the rows of a part. */
  readonly sql: Sql
  /** A value that is not an integer would be inexact. */
  readonly isInteger: boolean
  /** What has the same value in the executor of column segments; undefined if nothing has. */
  readonly state: ColumnStateSql | undefined
  /** Set if the usual plan is faster where all parts come from rows. */
  readonly isSlow?: true
}

export interface ColumnStateSql {
  readonly kind: ColumnState['kind']
  readonly arguments: readonly BoundExpression[]
  readonly filter: BoundExpression | undefined
  /** Which of its values; the first one unless it is given. */
  readonly value?: 1
}

/** Two columns of decimals that are added or subtracted. */
export interface DecimalTerms {
  readonly operator: '+' | '-'
  readonly terms: readonly { readonly column: BoundExpression; readonly sql: Sql }[]
}

export interface PartGroupsSql {
  /** The name of the row identifier; undefined if it has none. */
  readonly rowId: (table: TableView) => Sql | undefined
  /** The column that is the row identifier; undefined if none is. */
  readonly rowKey: (table: TableView) => string | undefined
  /** Undefined if the aggregate cannot be computed from parts. `product` is the argument, if it is a product of short columns, and `terms` if it is a sum or a difference. */
  readonly aggregate: (
    node: Aggregate,
    args: readonly Sql[],
    shape: AggregateShape,
    of: { readonly product: Sql | undefined; readonly terms: DecimalTerms | undefined },
  ) => SplitAggregate | undefined
  readonly percentile: (node: Aggregate, parts: PercentileParts) => SplitAggregate | undefined
  /** The column of times, if the expression never falls while they rise, at least between the transitions of a zone. */
  readonly rising: (node: BoundExpression) => RisingTime | undefined
  /** A call whose value is the last time that is a multiple of a width after an origin. */
  readonly bucket: (node: BoundCall) => TimeBucket | undefined
}

export interface RisingTime {
  readonly time: BoundExpression
  /** Its name. */
  readonly zone?: BoundExpression
}

export interface TimeBucket {
  readonly time: BoundExpression
  readonly width: bigint | BoundExpression
  readonly origin: bigint
}

export interface Dialect {
  readonly identifier: (name: string) => Sql
  /** The table's name with its schema. */
  readonly tableName: (table: TableView) => Sql
  /** A system table, as a query in parentheses. */
  readonly systemTable: (table: TableView, placeholders: Placeholders) => Sql
  /** The keys, in the order of the primary key, that have changed since the position in the slot `since`: a query. */
  readonly changedKeys: (table: TableView, placeholders: Placeholders) => Sql
  /** The rows of a table that have changed since the position in the slot `since`, as they were then: a query of all columns. */
  readonly formerRows: (table: TableView, placeholders: Placeholders) => Sql
  /** The rows of a table before each change since the position in the slot `since`: a query of all columns. */
  readonly loggedRows: (table: TableView, placeholders: Placeholders) => Sql
  /** Whether a key, in the order of the primary key, is none of `changedKeys`. */
  readonly isUnchanged: (key: readonly Sql[], changedKeys: Sql) => Sql
  /** The rows of a bulk insert, in their order: a table `b` with a condition. */
  readonly bulkRows: Sql
  /** Whether RETURNING accepts an alias of the target. */
  readonly aliasesTargets: boolean
  /** Whether a column holds a parameter of its type exactly as it was bound. */
  readonly keepsParameters: boolean
  /** Absent when the database itself refuses to change a row twice in one statement. */
  readonly rowTracking?: (table: TableView) => RowTracking
  /** A condition that fails the statement when a row to be changed has long values and would be changed on the event loop. */
  readonly shortRow?: (longColumns: readonly Sql[], maxBytes: number) => Sql
  /** A condition that fails the statement when the texts of a row are longer together. `length` is their length. */
  readonly rowFits: (length: Sql, maxBytes: number) => Sql
  /** A condition that fails the statement when a text is longer, and comes before all others; absent where it is not needed. */
  readonly textFits?: (column: Sql, maxBytes: number) => Sql
  /** A key, the same for all rows, that a sort by computed texts needs. */
  readonly sortKey?: Sql
  /** A value that fails the statement when it is longer; absent where groups are on disk. */
  readonly groupFits?: (value: Sql, maxBytes: number) => Sql
  /** The rows of a query of one column, c0, which fail the statement when they are longer together; absent where it is not needed. */
  readonly listFits?: (query: Sql, type: IqlType, maxBytes: number) => Sql
  /** The value of a column that is in a key or an index; fails the statement when it is longer. */
  readonly keyFits: (value: Sql, type: IqlType, column: string, maxBytes: number) => Sql
  /** Ends a sub-query that no outer condition may be pushed into. */
  readonly fence: Sql
  readonly value: (placeholder: Sql, type: IqlType) => Sql
  /** A value that stays where it is written; absent where the database does not move it. */
  readonly fixed?: (value: Sql) => Sql
  /** A value that is not known before the first row; absent where nothing is evaluated before it is needed. */
  readonly later?: (value: Sql) => Sql
  readonly typedNull: (type: IqlType) => Sql
  readonly truth: (value: boolean) => Sql
  readonly widen: (operand: Sql, from: IqlType, to: IqlType) => Sql
  readonly fit: (operand: Sql, from: IqlType, to: IqlType, column: string) => Sql
  readonly cast: (operand: Sql, from: IqlType, to: IqlType) => Sql
  readonly negate: (operand: Sql, type: IqlType) => Sql
  readonly like: (operand: Sql, pattern: Sql, escapeSql: Sql | undefined, node: Like) => Sql
  /** Whether a text is an element of a parameter that is a JSON array of texts. */
  readonly isIn: (operand: Sql, placeholder: Sql) => Sql
  /** The values as one text, for `inList`. */
  readonly list: (values: readonly IqlValue[], type: IqlType) => string
  /** operand [NOT] IN the values of a `list`. */
  readonly inList: (operand: Sql, placeholder: Sql, type: IqlType, negated: boolean) => Sql
  readonly operators: Readonly<
    Record<Exclude<OperatorId, 'text||text'>, (left: Sql, right: Sql, node: Arithmetic) => Sql>
  >
  /** The texts joined, NULL if one is; without a check if the result is known to be small. */
  readonly concat: (parts: readonly Sql[], check?: ConcatCheck) => Sql
  /** Excludes the functions of the current time, which is a parameter, and those that can create long texts. */
  readonly scalars: Readonly<Record<Exclude<ScalarId, 'now' | 'current_date' | 'concat' | GrowingId>, ScalarSql>>
  /** `limit` is the number of bytes that the result may have; undefined if it is known to be small. */
  readonly growing: Readonly<Record<GrowingId, (args: readonly Sql[], node: BoundCall, limit: Sql | undefined) => Sql>>
  /** Searches that fail the statement when they would take too many steps. */
  readonly searches: Readonly<Record<SearchId, ScalarSql>> & {
    readonly like: Dialect['like']
    /** A condition that fails the statement when the text is longer, and comes before all others. */
    readonly fits: (text: Sql, maxBytes: number) => Sql
  }
  readonly aggregates: Readonly<Record<Exclude<AggregateId, 'string_agg' | PercentileId>, AggregateSql>>
  /** The sum of products of columns that are Integers or Decimals of up to 18 digits; absent if `aggregates.sum` is as fast. */
  readonly sumOfProducts?: (left: Sql, right: Sql, product: Arithmetic, shape: AggregateShape) => Sql
  /** How to group a part of a table, and the parts; absent where the database groups without a sort. */
  readonly partGroups?: PartGroupsSql
  readonly percentile: (parts: PercentileParts) => Sql
  readonly stringAgg: (args: readonly Sql[], node: Aggregate | WindowCall, shape: AggregateShape, limit: Sql) => Sql
  /** `reversed` is the tail in the opposite order. */
  readonly windows: Readonly<
    Record<WindowId, (args: readonly Sql[], node: WindowCall, tail: Sql, reversed: Sql) => Sql>
  >
  /** The distance of a RANGE frame along a key of the type. */
  readonly distance: (distance: bigint, key: IqlType) => Sql
  /** generate_series as a query in parentheses, whose column is c0. */
  readonly series: (kind: TableFunctionId, start: Sql, stop: Sql, step: Sql, zone: Sql | undefined) => Sql
  /** A time zone as an argument, or several, of the dialect's functions. */
  readonly zone: (placeholder: (part: ZonePart) => Sql) => Sql
  /** `query` has one column, c0. No row is NULL, several are an error. */
  readonly scalarQuery: (query: Sql) => Sql
  readonly setOperation: (left: Sql, right: Sql, node: SetOperation) => Sql
  /** An output of a grouped select without keys and without aggregates in its outputs, which is one row. */
  readonly loneGroup: (output: Sql) => Sql
  readonly asof: AsofSql
  /** A value that must not be NULL although its expression may be. */
  readonly required: (operand: Sql, column: string, type: IqlType) => Sql
}

export type AsofSql = (join: AsofParts) => { readonly from: Sql; readonly with: readonly Sql[] }

export interface AsofParts {
  readonly outer: boolean
  readonly left: Sql
  /** The right side without its alias: a table's name, or a query in parentheses. */
  readonly right: Sql
  /** The right side is a plain table, whose rows have a row identifier. */
  readonly isPlainTable: boolean
  /** The names of the right side's columns. */
  readonly names: readonly string[]
  readonly id: number
  readonly condition: Sql
  readonly order: Sql
}

/** Names are case-insensitive by Unicode's rules: the database knows only the lower-case spelling. */
export function quoteIdentifier(name: string): Sql {
  return `"${name.toLowerCase().replaceAll('"', '""')}"`
}

/** A name that no column has. */
export function freeName(wanted: string, columns: readonly string[]): string {
  return columns.some((column) => sameName(column, wanted)) ? freeName(`${wanted}_`, columns) : wanted
}

export const SET_OPERATORS = { union: 'UNION', intersect: 'INTERSECT', except: 'EXCEPT' } as const

export function hasMonths(type: IqlType): boolean {
  return type.kind === 'Interval' && type.months
}

export function aggregateCall(name: string, args: readonly Sql[], { distinct, tail }: AggregateShape): Sql {
  return `${name}(${distinct ? 'DISTINCT ' : ''}${args.join(', ')})${tail}`
}

export function isDouble(node: Aggregate | WindowCall): boolean {
  return node.type.kind === 'Double'
}

/** Window functions that are the same in both databases. */
export const COMMON_WINDOWS = {
  row_number: (_args, _node, over) => `row_number()${over}`,
  rank: (_args, _node, over) => `rank()${over}`,
  dense_rank: (_args, _node, over) => `dense_rank()${over}`,
  percent_rank: (_args, _node, over) => `percent_rank()${over}`,
  cume_dist: (_args, _node, over) => `cume_dist()${over}`,
  first_value: ([x], _node, over) => `first_value(${x})${over}`,
  last_value: ([x], _node, over) => `last_value(${x})${over}`,
} as const satisfies Partial<Dialect['windows']>

/** The order of string_agg: its ORDER BY, then the texts, then their separators. */
export function joinOrder(orderBy: Sql, x: Sql, separator: Sql, { arguments: args }: Aggregate | WindowCall): Sql {
  const keys = orderBy === '' ? [x] : [orderBy, x]
  if (args[1] !== undefined && !isConstant(args[1])) keys.push(separator)
  return keys.join(', ')
}

function isConstant(expression: BoundExpression): boolean {
  return expression.kind === 'literal' || expression.kind === 'parameter'
}

/** The parts joined in pairs. From left to right, each would be copied once for every later part. */
export function joinPairs(parts: readonly Sql[]): Sql {
  if (parts.length < 2) return parts.join('')
  const middle = Math.ceil(parts.length / 2)
  return `(${joinPairs(parts.slice(0, middle))} || ${joinPairs(parts.slice(middle))})`
}

/**
 * Bound queries and the expressions in them: every name resolved, every type known, every widening explicit. An engine only
 * needs to know how each node is written in its SQL.
 */

import type { AggregateId, ScalarId, TableFunctionId, WindowId } from '../functions/functions.ts'
import type { Frame } from '../syntax/ast-query.ts'
import type { OperatorId } from '../types/operators.ts'
import type { IqlType } from '../types/types.ts'
import type { AttributeClaim, Claim, Column, Literal, Output, Parameter, Typed } from './bound-leaf.ts'
import type { TableView } from './catalogue-view.ts'

export type BoundExpression =
  | Literal
  | Parameter
  | Claim
  | ClaimIn
  | Column
  | GroupKey
  | Output
  | Widen
  | Fit
  | Cast
  | Arithmetic
  | Negate
  | Compare
  | Logic
  | Not
  | IsNull
  | Like
  | Between
  | InList
  | InQuery
  | Case
  | Coalesce
  | NullIf
  | BoundCall
  | Aggregate
  | WindowCall
  | ScalarQuery
  | Exists

interface OfOperand<Kind extends string> extends Typed {
  readonly kind: Kind
  readonly operand: BoundExpression
}

/** operand [NOT] … */
interface Test<Kind extends string> extends OfOperand<Kind> {
  readonly negated: boolean
}

interface OfTwo<Kind extends string> extends Typed {
  readonly kind: Kind
  readonly left: BoundExpression
  readonly right: BoundExpression
}

/**
 * operand [NOT] IN (:role) or operand = :role in a row filter: whether it is one of the caller's roles. Likewise for an attribute with a set
 * of values; if that is empty, the result is unknown.
 */
export interface ClaimIn extends Test<'claim-in'> {
  readonly claim: 'role' | AttributeClaim
}

/** In the output, HAVING and ORDER BY of a grouped select: the value of its GROUP BY expression at `index`. */
export interface GroupKey extends Typed {
  readonly kind: 'group-key'
  readonly index: number
  /** The GROUP BY expression. */
  readonly expression: BoundExpression
}

/** An Integer or Decimal as a Decimal with at least its digits and scale, or NULL as any type. Always exact. */
export type Widen = OfOperand<'widen'>

/** An Integer or Decimal stored in a Decimal column, whose digits it may exceed (IQL.Overflow). */
export interface Fit extends OfOperand<'fit'> {
  readonly column: string
}

/** CAST(operand AS type). A value that cannot be converted is the error IQL.BadValue or IQL.Overflow. */
export type Cast = OfOperand<'cast'>

/** left + - * / % || right, as OPERATORS describes. */
export interface Arithmetic extends OfTwo<'arithmetic'> {
  readonly operator: OperatorId
}

/** -operand, of a number or an Interval. */
export type Negate = OfOperand<'negate'>

/** left = <> < <= > >= right, or IS [NOT] DISTINCT FROM, which is never NULL. Both sides have the same type and scale. */
export interface Compare extends OfTwo<'compare'> {
  readonly operator: '=' | '<>' | '<' | '<=' | '>' | '>=' | 'is distinct from' | 'is not distinct from'
}

/** operand AND | OR operand, … with at least one operand. */
export interface Logic extends Typed {
  readonly kind: 'logic'
  readonly operator: 'and' | 'or'
  readonly operands: readonly BoundExpression[]
}

/** NOT operand */
export type Not = OfOperand<'not'>

/** operand IS [NOT] NULL */
export type IsNull = Test<'is-null'>

/** operand [NOT] LIKE | ILIKE pattern [ESCAPE escape]. Without ESCAPE there is no escape character. */
export interface Like extends Test<'like'> {
  readonly pattern: BoundExpression
  readonly escape: BoundExpression | undefined
  readonly ignoreCase: boolean
}

/** operand [NOT] BETWEEN low AND high; all have the same type. */
export interface Between extends Test<'between'> {
  readonly low: BoundExpression
  readonly high: BoundExpression
}

/** operand [NOT] IN (item, …); all have the same type, and there is at least one item. */
export interface InList extends Test<'in-list'> {
  readonly items: readonly BoundExpression[]
}

/** operand [NOT] IN (query); the query has one column of the operand's type. */
export interface InQuery extends Test<'in-query'> {
  readonly query: BoundQuery
}

/** CASE [operand] WHEN … THEN … [ELSE …] END. With an operand each `when` has its type, otherwise it is Boolean. */
export interface Case extends Typed {
  readonly kind: 'case'
  readonly operand: BoundExpression | undefined
  readonly branches: readonly { readonly when: BoundExpression; readonly result: BoundExpression }[]
  readonly otherwise: BoundExpression | undefined
}

/** COALESCE(argument, …); all have the same type. */
export interface Coalesce extends Typed {
  readonly kind: 'coalesce'
  readonly arguments: readonly BoundExpression[]
}

/**
 * NULLIF(value, right). `type` is that of the value. `right` is compared with the value, with the value widened to a type, or
 * with another form of a literal value. The tree holds the value once, since copies would double it at every nesting level.
 */
export interface NullIf extends Typed {
  readonly kind: 'nullif'
  readonly value: BoundExpression
  readonly compared: 'value' | { readonly widenedTo: IqlType } | Literal
  readonly right: BoundExpression
}

/** name(argument, …) of a scalar function. */
export interface BoundCall extends Typed {
  readonly kind: 'call'
  readonly function: ScalarId
  readonly arguments: readonly BoundExpression[]
}

/** name([DISTINCT] argument, … [ORDER BY …]) [FILTER (WHERE filter)]; count(*) has no arguments. */
export interface Aggregate extends Typed {
  readonly kind: 'aggregate'
  readonly function: AggregateId
  readonly arguments: readonly BoundExpression[]
  readonly distinct: boolean
  readonly orderBy: readonly BoundOrder[]
  readonly filter: BoundExpression | undefined
}

export interface BoundFrame {
  readonly unit: Frame['unit']
  readonly start: BoundFrameBound
  readonly end: BoundFrameBound
}

/** `distance` is a number of rows; in a RANGE it is a difference of the key of the order: microseconds, or a number. */
export type BoundFrameBound =
  | { readonly kind: 'unbounded-preceding' | 'current-row' | 'unbounded-following' }
  | { readonly kind: 'preceding' | 'following'; readonly distance: bigint }

/** function(argument, …) [FILTER (WHERE filter)] OVER ([PARTITION BY …] [ORDER BY …] [frame]) */
export interface WindowCall extends Typed {
  readonly kind: 'window'
  readonly function: WindowId | AggregateId
  readonly arguments: readonly BoundExpression[]
  readonly filter: BoundExpression | undefined
  readonly partitionBy: readonly BoundExpression[]
  readonly orderBy: readonly BoundOrder[]
  readonly frame: BoundFrame | undefined
}

/** (query) as a value: the single column of its single row; NULL without a row. A second row is the error IQL.ManyRows. */
export interface ScalarQuery extends Typed {
  readonly kind: 'scalar-query'
  readonly query: BoundQuery
}

/** EXISTS (query) */
export interface Exists extends Typed {
  readonly kind: 'exists'
  readonly query: BoundQuery
}

/** expression ASC | DESC NULLS FIRST | LAST, with the defaults filled in: NULLs last ascending, first descending. */
export interface BoundOrder {
  readonly expression: BoundExpression
  readonly descending: boolean
  readonly nulls: 'first' | 'last'
}

/** [WITH …] body [ORDER BY …] [LIMIT n] [OFFSET n]; limit and offset are a literal or a parameter of type Integer. */
export interface BoundQuery {
  readonly kind: 'query'
  /** In the order written: each may use those before it. Unused ones are included. */
  readonly with: readonly Cte[]
  readonly body: BoundBody
  /** For a select: any expression over its input, or Output. For a set operation: only Output. */
  readonly orderBy: readonly BoundOrder[]
  readonly limit: BoundExpression | undefined
  readonly offset: BoundExpression | undefined
  readonly columns: readonly ResultColumn[]
}

/** name AS (query); `columns` has the final names, which the statement may give in parentheses. */
export interface Cte {
  readonly id: number
  readonly name: string
  readonly query: BoundQuery
  readonly columns: readonly ResultColumn[]
}

export type BoundBody = BoundSelect | SetOperation | BoundQuery

/** SELECT [DISTINCT] output, … [FROM …] [WHERE …] [LATEST ON …] [GROUP BY …] [HAVING …] */
export interface BoundSelect {
  readonly kind: 'select'
  readonly distinct: boolean
  readonly outputs: readonly OutputItem[]
  readonly from: Source | undefined
  readonly where: BoundExpression | undefined
  readonly latest?: BoundLatest | undefined
  /** True with GROUP BY, HAVING or an aggregate. Without keys the result is one row, even if no rows are read. */
  readonly grouped: boolean
  readonly groupBy: readonly BoundExpression[]
  readonly having: BoundExpression | undefined
  readonly columns: readonly ResultColumn[]
}

/** LATEST ON: of the rows for which WHERE holds and `on` is not NULL, the first of each key by `order`. FROM is one source. */
export interface BoundLatest {
  /** Of the columns that are its keys, as they are written; key1, key2, … for other expressions. */
  readonly names: readonly string[]
  readonly on: BoundExpression
  readonly partitionBy: readonly BoundExpression[]
  /** By `on`, descending, then by what breaks ties. */
  readonly order: readonly BoundOrder[]
}

export interface OutputItem {
  readonly name: string
  readonly expression: BoundExpression
}

/** left UNION | INTERSECT | EXCEPT [ALL] right; both sides have the same types, after widening. */
export interface SetOperation {
  readonly kind: 'set'
  readonly operator: 'union' | 'intersect' | 'except'
  readonly all: boolean
  readonly left: BoundBody
  readonly right: BoundBody
  readonly columns: readonly ResultColumn[]
}

/** Where rows come from. Ids are unique in the statement, so that engines can use them as aliases. */
export type Source = TableSource | DerivedSource | CteSource | SeriesSource | Join | AsofJoin

/** table [AS alias]. No other part of the statement may see rows for which `filter`, over this source, is not true. */
export interface TableSource {
  readonly kind: 'table'
  readonly id: number
  readonly table: TableView
  readonly filter: BoundExpression | undefined
  /**
   * Only rows whose key has changed since a position of the change log: as they are, as they were then, or as they were before each of the
   * changes. Of the last, long rows have only the columns that materialized views need.
   */
  readonly changedOnly?: 'as they are' | 'as they were' | 'before each change'
}

/** (query) AS alias */
export interface DerivedSource {
  readonly kind: 'derived'
  readonly id: number
  readonly query: BoundQuery
}

/** A reference to a WITH query; `cte` is the id of the Cte. */
export interface CteSource {
  readonly kind: 'cte'
  readonly id: number
  readonly cte: number
  readonly columns: readonly ResultColumn[]
}

/** generate_series(start, stop, step[, zone]) AS alias: one column. The arguments have no columns. */
export interface SeriesSource {
  readonly kind: 'series'
  readonly id: number
  readonly function: TableFunctionId
  readonly start: BoundExpression
  readonly stop: BoundExpression
  readonly step: BoundExpression
  /** A literal or a parameter. */
  readonly zone: BoundExpression | undefined
  readonly column: ResultColumn
}

/** left [INNER | LEFT | RIGHT | FULL | CROSS] JOIN right [ON on] */
export interface Join {
  readonly kind: 'join'
  readonly join: 'inner' | 'left' | 'right' | 'full' | 'cross'
  readonly left: Source
  readonly right: Source
  readonly on: BoundExpression | undefined
}

/**
 * left ASOF [LEFT] JOIN right ON a.k = b.k AND a.ts >= b.ts: joins each left row with the one right row with equal keys whose
 * `near` value is closest; of tied rows with the first by `tie`. With `outer`, left rows without a match are kept, with NULLs.
 */
export interface AsofJoin {
  readonly kind: 'asof'
  readonly outer: boolean
  readonly left: Source
  readonly right: TableSource | DerivedSource | CteSource
  /** Equal keys: an expression over the left and one over the right, of the same type. */
  readonly keys: readonly { readonly left: BoundExpression; readonly right: BoundExpression }[]
  /** left operator right. With >= and > the greatest right value is the closest, with <= and < the least. */
  readonly near: {
    readonly operator: '>=' | '>' | '<=' | '<'
    readonly left: BoundExpression
    readonly right: BoundExpression
  }
  /** Columns of the right that break ties: its primary key, or else every comparable column. */
  readonly tie: readonly BoundOrder[]
}

export interface ResultColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
}

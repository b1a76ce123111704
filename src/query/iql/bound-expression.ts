/**
 * Bound expressions: every name resolved, every type known, every widening explicit. An engine needs no rule of its own
 * beyond how to say each node in its SQL.
 */
import type { Query } from './bound.ts'
import type { AggregateId, ScalarId, WindowId } from './functions.ts'
import type { OperatorId } from './operators.ts'
import type { IqlType, IqlValue } from './types.ts'

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
  | Call
  | Aggregate
  | WindowCall
  | ScalarQuery
  | Exists

/** What every node says of its value. `nullable: false` is a promise; true means it may be NULL. */
interface Typed {
  readonly type: IqlType
  readonly nullable: boolean
}

/** A constant, in the form that IqlValue gives for the type. */
export interface Literal extends Typed {
  readonly kind: 'literal'
  readonly value: IqlValue
}

/** :name or $1. `index` is the place in Bound.parameters and in the array of values that readParameters makes. */
export interface Parameter extends Typed {
  readonly kind: 'parameter'
  readonly index: number
}

/** The caller's own subject or client in a row filter; never under the control of the statement. */
export interface Claim extends Typed {
  readonly kind: 'claim'
  readonly claim: 'sub' | 'client_id'
}

/** operand [NOT] IN (:role), and operand = :role, in a row filter: whether it is among the caller's roles. */
export interface ClaimIn extends Typed {
  readonly kind: 'claim-in'
  readonly claim: 'role'
  readonly operand: BoundExpression
  readonly negated: boolean
}

/** [table.]column: the column at `ordinal` of the source with the id `source`, here or in an enclosing query. */
export interface Column extends Typed {
  readonly kind: 'column'
  readonly source: number
  readonly ordinal: number
  readonly name: string
}

/** In the output, HAVING and ORDER BY of a grouped select: the value of its GROUP BY expression number `index`. */
export interface GroupKey extends Typed {
  readonly kind: 'group-key'
  readonly index: number
  /** That expression itself. */
  readonly expression: BoundExpression
}

/** In ORDER BY: the output column at `ordinal` (by name, by number, or by repeating its expression). */
export interface Output extends Typed {
  readonly kind: 'output'
  readonly ordinal: number
}

/** Integer or Decimal as a Decimal of at least its digits and scale, NULL as any type: always exact. */
export interface Widen extends Typed {
  readonly kind: 'widen'
  readonly operand: BoundExpression
}

/** A value on its way into a column: Integer or Decimal into a Decimal column whose digits it may exceed (IQL.Overflow). */
export interface Fit extends Typed {
  readonly kind: 'fit'
  readonly operand: BoundExpression
  readonly column: string
}

/** CAST(operand AS type). What it cannot read or hold is the error IQL.BadValue or IQL.Overflow. */
export interface Cast extends Typed {
  readonly kind: 'cast'
  readonly operand: BoundExpression
}

/** left + - * / % || right, as OPERATORS describes. */
export interface Arithmetic extends Typed {
  readonly kind: 'arithmetic'
  readonly operator: OperatorId
  readonly left: BoundExpression
  readonly right: BoundExpression
}

/** -operand, of a number or an Interval. */
export interface Negate extends Typed {
  readonly kind: 'negate'
  readonly operand: BoundExpression
}

/** left = <> < <= > >= right, or IS [NOT] DISTINCT FROM (never NULL). Both sides have one type; Decimals have one scale. */
export interface Compare extends Typed {
  readonly kind: 'compare'
  readonly operator: '=' | '<>' | '<' | '<=' | '>' | '>=' | 'is distinct from' | 'is not distinct from'
  readonly left: BoundExpression
  readonly right: BoundExpression
}

/** operand AND | OR operand, …: at least two. */
export interface Logic extends Typed {
  readonly kind: 'logic'
  readonly operator: 'and' | 'or'
  readonly operands: readonly BoundExpression[]
}

/** NOT operand */
export interface Not extends Typed {
  readonly kind: 'not'
  readonly operand: BoundExpression
}

/** operand IS [NOT] NULL */
export interface IsNull extends Typed {
  readonly kind: 'is-null'
  readonly operand: BoundExpression
  readonly negated: boolean
}

/** operand [NOT] LIKE | ILIKE pattern [ESCAPE escape]. Without ESCAPE no character escapes. */
export interface Like extends Typed {
  readonly kind: 'like'
  readonly operand: BoundExpression
  readonly pattern: BoundExpression
  readonly escape: BoundExpression | undefined
  readonly ignoreCase: boolean
  readonly negated: boolean
}

/** operand [NOT] BETWEEN low AND high; all of one type. */
export interface Between extends Typed {
  readonly kind: 'between'
  readonly operand: BoundExpression
  readonly low: BoundExpression
  readonly high: BoundExpression
  readonly negated: boolean
}

/** operand [NOT] IN (item, …); all of one type, at least one item. */
export interface InList extends Typed {
  readonly kind: 'in-list'
  readonly operand: BoundExpression
  readonly items: readonly BoundExpression[]
  readonly negated: boolean
}

/** operand [NOT] IN (query); the query's one column has the operand's type. */
export interface InQuery extends Typed {
  readonly kind: 'in-query'
  readonly operand: BoundExpression
  readonly query: Query
  readonly negated: boolean
}

/** CASE [operand] WHEN … THEN … [ELSE …] END. With an operand the whens have its type, without one they are Boolean. */
export interface Case extends Typed {
  readonly kind: 'case'
  readonly operand: BoundExpression | undefined
  readonly branches: readonly { readonly when: BoundExpression; readonly result: BoundExpression }[]
  readonly otherwise: BoundExpression | undefined
}

/** COALESCE(argument, …); all of one type. */
export interface Coalesce extends Typed {
  readonly kind: 'coalesce'
  readonly arguments: readonly BoundExpression[]
}

/**
 * NULLIF(value, right). `type` is the value's. What is compared with `right` is the value, or the value widened to a type, or
 * another form of it where it is a literal; it never stands in the tree twice, or nesting would double the tree.
 */
export interface NullIf extends Typed {
  readonly kind: 'nullif'
  readonly value: BoundExpression
  readonly compared: 'value' | { readonly widenedTo: IqlType } | Literal
  readonly right: BoundExpression
}

/** name(argument, …) of a scalar entry of the functions table. */
export interface Call extends Typed {
  readonly kind: 'call'
  readonly function: ScalarId
  readonly arguments: readonly BoundExpression[]
}

/** name([DISTINCT] argument, … [ORDER BY …]) [FILTER (WHERE filter)]; count(*) is count without arguments. */
export interface Aggregate extends Typed {
  readonly kind: 'aggregate'
  readonly function: AggregateId
  readonly arguments: readonly BoundExpression[]
  readonly distinct: boolean
  readonly orderBy: readonly BoundOrder[]
  readonly filter: BoundExpression | undefined
}

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

/** ROWS | RANGE BETWEEN start AND end; `rows` counts rows before or after the current one. */
export interface BoundFrame {
  readonly unit: 'rows' | 'range'
  readonly start: BoundFrameEdge
  readonly end: BoundFrameEdge
}

export type BoundFrameEdge =
  | { readonly kind: 'unbounded-preceding' | 'current-row' | 'unbounded-following' }
  | { readonly kind: 'preceding' | 'following'; readonly rows: number }

/** (query) as a value: its one column in its one row, NULL without a row; more than one row is IQL.ManyRows. */
export interface ScalarQuery extends Typed {
  readonly kind: 'scalar-query'
  readonly query: Query
}

/** EXISTS (query) */
export interface Exists extends Typed {
  readonly kind: 'exists'
  readonly query: Query
}

/** expression ASC | DESC NULLS FIRST | LAST: always said in full (last ascending, first descending unless written). */
export interface BoundOrder {
  readonly expression: BoundExpression
  readonly descending: boolean
  readonly nulls: 'first' | 'last'
}

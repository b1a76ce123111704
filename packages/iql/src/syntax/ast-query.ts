/** The syntax tree of IQL queries and of the expressions in them. */

export interface Placed {
  /** An offset in the statement's text. */
  readonly at: number
}

export interface Name extends Placed {
  readonly text: string
}

/** expression [ASC | DESC] [NULLS FIRST | LAST] */
export interface OrderItem {
  readonly expression: Expression
  readonly descending: boolean
  readonly nulls: 'first' | 'last' | undefined
}

export type Expression =
  | NumberLiteral
  | TextLiteral
  | BooleanLiteral
  | NullLiteral
  | TypedLiteral
  | BytesLiteral
  | Parameter
  | ColumnRef
  | Unary
  | Binary
  | Like
  | Between
  | InList
  | InQuery
  | IsNull
  | IsTruth
  | Case
  | Cast
  | Call
  | Subquery
  | Exists

/** 42, 4.20, 6.02e23: the text as written. */
export interface NumberLiteral extends Placed {
  readonly kind: 'number'
  readonly text: string
}

export interface TextLiteral extends Placed {
  readonly kind: 'text'
  readonly value: string
}

export interface BooleanLiteral extends Placed {
  readonly kind: 'boolean'
  readonly value: boolean
}

export interface NullLiteral extends Placed {
  readonly kind: 'null'
}

export type LiteralTypeName = 'Timestamp' | 'LocalTimestamp' | 'Date' | 'Time' | 'Interval' | 'Uuid' | 'Json'

/** TIMESTAMP '2026-01-31T09:30:00Z', INTERVAL '5 minutes', … */
export interface TypedLiteral extends Placed {
  readonly kind: 'typed'
  readonly type: LiteralTypeName
  readonly value: string
}

/** X'0aff': the digits in lower case. */
export interface BytesLiteral extends Placed {
  readonly kind: 'bytes'
  readonly hex: string
}

/** :name, or $1 (whose name is '1'). */
export interface Parameter extends Placed {
  readonly kind: 'parameter'
  readonly name: string
}

/** [table.]column */
export interface ColumnRef {
  readonly kind: 'column'
  readonly table: Name | undefined
  readonly name: Name
}

export interface Unary extends Placed {
  readonly kind: 'unary'
  readonly operator: '-' | '+' | 'not'
  readonly operand: Expression
}

export type BinaryOperator =
  | 'or'
  | 'and'
  | '='
  | '<>'
  | '<'
  | '<='
  | '>'
  | '>='
  | 'is distinct from'
  | 'is not distinct from'
  | '||'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'

/** Its position is that of the operator. */
export interface Binary extends Placed {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}

/** operand [NOT] … */
interface Test<Kind extends string> extends Placed {
  readonly kind: Kind
  readonly negated: boolean
  readonly operand: Expression
}

/** operand [NOT] LIKE | ILIKE pattern [ESCAPE escape] */
export interface Like extends Test<'like'> {
  readonly ignoreCase: boolean
  readonly pattern: Expression
  readonly escape: Expression | undefined
}

/** operand [NOT] BETWEEN low AND high */
export interface Between extends Test<'between'> {
  readonly low: Expression
  readonly high: Expression
}

/** operand [NOT] IN (item, …) */
export interface InList extends Test<'in-list'> {
  readonly items: readonly Expression[]
  /** Of `= ANY(parameter)`: the name of the parameter, whose value is an array (rewrite/expand-arrays.ts). */
  readonly array?: string
}

/** operand [NOT] IN (query) */
export interface InQuery extends Test<'in-query'> {
  readonly query: Query
}

/** operand IS [NOT] NULL */
export type IsNull = Test<'is-null'>

/** operand IS [NOT] TRUE | FALSE */
export interface IsTruth extends Test<'is-truth'> {
  readonly value: boolean
}

/** CASE [operand] WHEN … THEN … [ELSE …] END */
export interface Case extends Placed {
  readonly kind: 'case'
  readonly operand: Expression | undefined
  readonly branches: readonly { readonly when: Expression; readonly result: Expression }[]
  readonly otherwise: Expression | undefined
}

/** CAST(operand AS type) */
export interface Cast extends Placed {
  readonly kind: 'cast'
  readonly operand: Expression
  readonly type: TypeRef
}

/** A type as written: its name and, for Decimal, its digits. */
export interface TypeRef {
  readonly name: Name
  readonly arguments: readonly number[]
}

/** name([DISTINCT] argument, … [ORDER BY …]) [FILTER (WHERE …)] [OVER (…)]; also COALESCE and NULLIF. */
export interface Call {
  readonly kind: 'call'
  readonly name: Name
  /** count(*) */
  readonly star: boolean
  readonly distinct: boolean
  readonly arguments: readonly Expression[]
  readonly orderBy: readonly OrderItem[]
  readonly filter: Expression | undefined
  readonly over: WindowSpec | undefined
}

/** A window with a name: WINDOW name AS (window) */
export interface NamedWindow {
  readonly name: Name
  readonly window: WindowSpec
}

/** ([base] [PARTITION BY …] [ORDER BY …] [ROWS | RANGE frame]) */
export interface WindowSpec extends Placed {
  /** The named window that it repeats or extends; the parser replaces it at the end of the SELECT. */
  readonly base?: Name
  readonly partitionBy: readonly Expression[]
  readonly orderBy: readonly OrderItem[]
  readonly frame: Frame | undefined
}

export interface Frame {
  readonly unit: 'rows' | 'range'
  readonly start: FrameBound
  readonly end: FrameBound
}

/** `rows` is a whole number as written, and `interval` the text of an interval: n PRECEDING, INTERVAL '5 minutes' PRECEDING. */
export type FrameBound =
  | { readonly kind: 'unbounded-preceding' | 'current-row' | 'unbounded-following' }
  | { readonly kind: 'preceding' | 'following'; readonly rows: number }
  | { readonly kind: 'preceding' | 'following'; readonly interval: string }

/** (query) as a value */
export interface Subquery extends Placed {
  readonly kind: 'subquery'
  readonly query: Query
}

/** EXISTS (query) */
export interface Exists extends Placed {
  readonly kind: 'exists'
  readonly query: Query
}

/** [WITH cte, …] body [ORDER BY …] [LIMIT n] [OFFSET n] */
export interface Query extends Placed {
  readonly kind: 'query'
  readonly with: readonly Cte[]
  readonly body: Body
  readonly orderBy: readonly OrderItem[]
  readonly limit: Expression | undefined
  readonly offset: Expression | undefined
}

/** name [(column, …)] AS (query) */
export interface Cte {
  readonly name: Name
  readonly columns: readonly Name[]
  readonly query: Query
}

/** A Query here is in parentheses and has its own WITH, ORDER BY, LIMIT or OFFSET. */
export type Body = Select | SetOperation | Query

/** SELECT [DISTINCT [ON (…)]] item, … [FROM …] [WHERE …] [LATEST ON …] [GROUP BY …] [HAVING …] [QUALIFY …] */
export interface Select extends Placed {
  readonly kind: 'select'
  readonly distinct: boolean
  /** The keys of DISTINCT ON; `distinct` is false then. */
  readonly distinctOn?: readonly Expression[] | undefined
  readonly items: readonly SelectItem[]
  readonly from: From | undefined
  readonly where: Expression | undefined
  readonly latest?: Latest | undefined
  readonly groupBy: readonly Expression[]
  /** GROUP BY ALL: `groupBy` is empty then. */
  readonly groupByAll?: true | undefined
  readonly having: Expression | undefined
  readonly qualify?: Expression | undefined
}

/** LATEST ON column PARTITION BY key, …: of the rows that WHERE keeps, the last of each key. */
export interface Latest extends Placed {
  readonly on: Expression
  readonly partitionBy: readonly Expression[]
}

export interface SetOperation extends Placed {
  readonly kind: 'set'
  readonly operator: 'union' | 'intersect' | 'except'
  readonly all: boolean
  readonly left: Body
  readonly right: Body
}

/** `*`, `t.*`, or an expression with an optional alias. */
export type SelectItem =
  | { readonly kind: 'all'; readonly table: Name | undefined; readonly at: number }
  | { readonly kind: 'item'; readonly expression: Expression; readonly alias: Name | undefined }

export type From = TableRef | DerivedTable | FunctionTable | Join

export interface TableRef {
  readonly kind: 'table'
  readonly name: Name
  readonly alias: Name | undefined
}

/** (query) AS alias */
export interface DerivedTable {
  readonly kind: 'derived'
  readonly query: Query
  readonly alias: Name
}

/** name(argument, …) [AS alias [(column)]] */
export interface FunctionTable {
  readonly kind: 'function'
  readonly name: Name
  readonly arguments: readonly Expression[]
  readonly alias: Name | undefined
  /** Only with an alias. */
  readonly column: Name | undefined
}

export type JoinKind = 'inner' | 'left' | 'right' | 'full' | 'cross' | 'asof' | 'asof-left'

export interface Join extends Placed {
  readonly kind: 'join'
  readonly join: JoinKind
  readonly left: From
  readonly right: From
  /** Undefined only for a cross join and with USING. */
  readonly on: Expression | undefined
  /** USING (column, …) */
  readonly using?: readonly Name[] | undefined
}

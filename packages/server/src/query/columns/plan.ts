/** What the executor computes from segments: data that can be sent to a reader process. */
import type { IqlType } from 'gatehouse-iql'

/** An expression of the statement, which the engine computes: an index into the expressions of the plan. */
export type ExpressionIndex = number

export interface ColumnPlan {
  /** The names of the columns that are read. The other members refer to them by index. */
  readonly columns: readonly string[]
  /** All must be true for a row. */
  readonly filters: readonly ColumnFilter[]
  readonly keys: readonly ColumnKey[]
  readonly states: readonly ColumnState[]
  /** The columns of the parts that follow the keys. */
  readonly parts: readonly PartColumn[]
  /** The right side of an ASOF JOIN. */
  readonly joined?: JoinPlan | undefined
  /** The result, where the executor has all groups. */
  readonly result?: ColumnResult | undefined
}

/** A result that needs no further statement: outputs of each group, in the order of the keys. */
export interface ColumnResult {
  readonly outputs: readonly ColumnOutput[]
  /** Of all keys. */
  readonly order: readonly KeyOrder[]
}

/** `part` is an index into the parts. */
export type ColumnOutput =
  | { readonly kind: 'key'; readonly key: number }
  | { readonly kind: 'value' | 'sum'; readonly part: number }
  /** The mean has `shift` more digits after the point than the values. */
  | { readonly kind: 'mean'; readonly part: number; readonly count: number; readonly shift: number }

export interface KeyOrder {
  readonly key: number
  readonly descending: boolean
  readonly nulls: 'first' | 'last'
}

/** A statement that reads the columns of the table itself, of its rows from @first to @last that count. */
export interface OwnRows<Statement> {
  readonly rows: Statement
  readonly columns: readonly { readonly name: string; readonly type: IqlType }[]
}

/** Each row is joined with the one of another table with an equal key whose `near` is closest: of several, the one with the least row number. */
export interface JoinPlan {
  /** Those of the columns of the plan that are the other table's. */
  readonly columns: readonly number[]
  readonly key: { readonly left: number; readonly right: number } | undefined
  readonly near: { readonly left: number; readonly right: number; readonly operator: '>=' | '>' | '<=' | '<' }
  /** Whether rows without such a one are kept, with NULLs. */
  readonly outer: boolean
  /** On the other table: all must be true for its rows. */
  readonly filters: readonly ColumnFilter[]
}

export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>='

export type Membership = 'in' | 'not in' | 'is distinct from' | 'is not distinct from'

export type ColumnFilter =
  /** With values that are the same for all rows: one, or a list. The column's value counts 10 ^ `shift` times. */
  | {
      readonly kind: 'compare'
      readonly column: number
      readonly operator: Comparison | Membership
      readonly values: readonly ExpressionIndex[]
      readonly shift: number
    }
  | { readonly kind: 'null'; readonly column: number; readonly isNull: boolean }
  /** Any condition on one column of texts: `test` has its value for the text @v. */
  | { readonly kind: 'text'; readonly column: number; readonly test: ExpressionIndex }

export type ColumnKey =
  | { readonly kind: 'column'; readonly column: number }
  /** An expression over one column of texts: `value` has its value for the text @v. */
  | { readonly kind: 'text'; readonly column: number; readonly value: ExpressionIndex }
  /**
   * An expression over one column of times that never falls while they rise, or not between the transitions of the time zone whose name is
   * `zone`: `value` has its value for the time @v.
   */
  | {
      readonly kind: 'steps'
      readonly column: number
      readonly value: ExpressionIndex
      readonly zone?: ExpressionIndex
    }
  /** The last time that is a multiple of `width` after `origin`. */
  | {
      readonly kind: 'bucket'
      readonly column: number
      readonly width: ExpressionIndex | bigint
      readonly origin: bigint
    }

export interface Filtered {
  /** FILTER: all must be true. */
  readonly filters: readonly ColumnFilter[]
}

/** What is known of a group: one value, but `first` and `last` have the value and its order. */
export type ColumnState = Filtered &
  (
    | { readonly kind: 'rows' }
    | { readonly kind: 'count' | 'sum' | 'double-sum' | 'min' | 'max'; readonly column: number }
    | { readonly kind: 'first' | 'last'; readonly column: number; readonly order: number }
    /** The different values, and how many rows have each; or sums of a column and of its squares. */
    | { readonly kind: 'values' | 'spread'; readonly column: number }
    /** The sum of products of two columns; for `weighted` the sum of the second one too. */
    | { readonly kind: 'products' | 'weighted'; readonly column: number; readonly order: number }
  )

/** A column of the parts. */
export interface PartColumn {
  /** An index into the states. */
  readonly state: number
  readonly value: 0 | 1
}

/** What differs between the databases' SQL: each of these is a table or a small function of one engine. */

import type { SetOperation } from '../../iql/bound.ts'
import type { Aggregate, Arithmetic, BoundExpression, Call, Like, WindowCall } from '../../iql/bound-expression.ts'
import type { TableView } from '../../iql/catalogue-view.ts'
import type { AggregateId, ScalarId, WindowId } from '../../iql/functions.ts'
import type { OperatorId } from '../../iql/operators.ts'
import type { IqlType } from '../../iql/types.ts'
import type { Slots } from './slots.ts'

/** SQL text; values stand in it as marks of Slots. */
export type Sql = string

/** `arguments` are emitted already; `node` has their types. */
export type ScalarSql = (args: readonly Sql[], node: Call) => Sql
export type AggregateSql = (args: readonly Sql[], node: Aggregate | WindowCall, shape: AggregateShape) => Sql

/** How the call is closed: DISTINCT before the arguments, ORDER BY after them, FILTER and OVER behind. */
export interface AggregateShape {
  readonly distinct: boolean
  readonly orderBy: Sql
  readonly tail: Sql
  /** The tail with a further condition on the rows that count. */
  readonly tailWhere: (condition: Sql) => Sql
}

/** Refuses a row that the statement has written before. */
export interface Touching {
  /** Holds for any other row, and fails for such a one; it stands before the condition of DO UPDATE. */
  readonly untouched: Sql
  /** Stands in RETURNING. */
  readonly touch: Sql
}

export interface Dialect {
  readonly identifier: (name: string) => Sql
  /** The table with its schema. */
  readonly tableName: (table: TableView) => Sql
  /** A table of the service itself, as a query in parentheses. */
  readonly systemTable: (table: TableView, slots: Slots) => Sql
  /** Whether the target of a write takes an alias that RETURNING understands. */
  readonly aliasesTargets: boolean
  /** Where the database itself would change a row twice in a statement without a word. */
  readonly touching: ((table: TableView) => Touching) | undefined
  /** A subquery that no condition from outside is pushed into. */
  readonly fence: Sql
  /** A marked value of a type. */
  readonly value: (mark: Sql, type: IqlType) => Sql
  readonly nullOf: (type: IqlType) => Sql
  readonly truth: (value: boolean) => Sql
  readonly widen: (operand: Sql, from: IqlType, to: IqlType) => Sql
  readonly fit: (operand: Sql, from: IqlType, to: IqlType, column: string) => Sql
  readonly cast: (operand: Sql, from: IqlType, to: IqlType) => Sql
  readonly negate: (operand: Sql, type: IqlType) => Sql
  readonly like: (operand: Sql, pattern: Sql, mark: Sql | undefined, node: Like) => Sql
  /** Whether a text is among the JSON array of texts in the mark. */
  readonly isIn: (operand: Sql, mark: Sql) => Sql
  readonly operators: Readonly<Record<OperatorId, (left: Sql, right: Sql, node: Arithmetic) => Sql>>
  readonly scalars: Readonly<Record<ScalarId, ScalarSql>>
  readonly aggregates: Readonly<Record<AggregateId, AggregateSql>>
  readonly windows: Readonly<Record<WindowId, (args: readonly Sql[], node: WindowCall, tail: Sql) => Sql>>
  /** `query` gives one column, c0; NULL without rows, an error with several. */
  readonly scalarQuery: (query: Sql) => Sql
  readonly setOperation: (left: Sql, right: Sql, node: SetOperation) => Sql
  /** Makes a select without keys and without aggregates in its output one row. */
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
  /** Set when the right side is a plain table: its rows have an identity of their own. */
  readonly isPlainTable: boolean
  /** The names that the right side's columns have there. */
  readonly names: readonly string[]
  readonly id: number
  readonly condition: Sql
  readonly order: Sql
}

/** The order of string_agg: as asked, then that of the texts, then that of what stands before each of them. */
export function joinOrder(orderBy: Sql, x: Sql, separator: Sql, { arguments: args }: Aggregate | WindowCall): Sql {
  const keys = orderBy === '' ? [x] : [orderBy, x]
  if (args[1] !== undefined && !isConstant(args[1])) keys.push(separator)
  return keys.join(', ')
}

export function isConstant(expression: BoundExpression): boolean {
  return expression.kind === 'literal' || expression.kind === 'parameter'
}

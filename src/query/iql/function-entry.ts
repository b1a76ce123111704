/** The shape of an entry of the functions table, and the short words in which entries are written. */
import type { IqlType, TypeKind } from './types.ts'

export interface FunctionEntry {
  /** What is written in a statement, in lower case. Entries of one name are told apart by their arguments. */
  readonly name: string
  readonly kind: 'scalar' | 'aggregate' | 'window'
  readonly group: 'Text' | 'Numbers' | 'Time' | 'Json and Uuid' | 'Aggregates' | 'Market data' | 'Windows'
  readonly arguments: readonly ArgumentKind[]
  /** How many of the last arguments may be left out. */
  readonly optional?: number
  /** The last argument may be repeated. */
  readonly variadic?: true
  /** The types given are those of the bound arguments, widened where the entry says so. */
  readonly result: IqlType | ((argumentTypes: readonly IqlType[], literals: readonly (bigint | undefined)[]) => IqlType)
  /** strict: NULL when an argument is NULL; all: NULL when every argument is; else always or never possibly NULL. */
  readonly nullable: 'strict' | 'all' | 'always' | 'never'
  /** An aggregate that may also stand before OVER. */
  readonly overWindow?: true
  /** An aggregate that takes ORDER BY between its parentheses. */
  readonly ordered?: true
  readonly description: string
  readonly example: string
}

/** What an argument may be where that is more, or less, than one type. */
export const ARGUMENT_WORDS = {
  number: 'Integer, Decimal or Double',
  exact: 'Integer or Decimal',
  ordered: 'Text, Integer, Decimal, Double, Timestamp, Date or Time',
  comparable: 'any type but Json',
  any: 'any type',
  common: 'types that can be compared, brought to one',
  moment: 'Timestamp, or Date as the midnight that begins it',
  part: 'one of the words that the description lists, as a literal',
  unit: 'one of the words that the description lists, as a literal',
  span: 'one of the words that the description lists, as a literal',
  digits: 'a whole number from 0 to 18, as a literal',
  fixed: 'an Interval without months',
  months: 'an Interval of whole months, as a literal',
} as const

export type ArgumentKind = Exclude<TypeKind, 'Null' | 'Interval'> | keyof typeof ARGUMENT_WORDS

/** What date_part can take out of a point in time. */
export const PARTS = [
  'year',
  'quarter',
  'month',
  'week',
  'day',
  'dayofweek',
  'dayofyear',
  'hour',
  'minute',
  'second',
  'millisecond',
  'microsecond',
  'epoch',
] as const

/** What date_trunc can cut a point in time to. */
export const UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond'] as const

/** What date_diff can count in: lengths that are always the same. */
export const SPANS = ['week', 'day', 'hour', 'minute', 'second', 'millisecond', 'microsecond'] as const

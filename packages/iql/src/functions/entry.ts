/** An entry of the function table, and the abbreviations used in entries. */
import type { IqlType, TypeKind } from '../types/types.ts'

/** The arguments that are literals of whole numbers or words; undefined for all others. */
export type Literals = readonly (bigint | string | undefined)[]

export interface FunctionEntry {
  /** In lower case. Entries with the same name differ in their arguments. */
  readonly name: string
  readonly kind: 'scalar' | 'aggregate' | 'window' | 'table'
  readonly group: 'Text' | 'Numbers' | 'Time' | 'Json and Uuid' | 'Aggregates' | 'Market data' | 'Windows' | 'Tables'
  readonly arguments: readonly ArgumentKind[]
  /** How many of the last arguments may be omitted. */
  readonly optional?: number
  /** The last argument may be repeated. */
  readonly variadic?: true
  /** `argumentTypes` are those of the bound arguments, after widening. */
  readonly result: IqlType | ((argumentTypes: readonly IqlType[], literals: Literals) => IqlType)
  /** When the result may be NULL. strict: if any argument is NULL; all: if every argument is NULL. */
  readonly nullable: 'strict' | 'all' | 'always' | 'never'
  /** An aggregate that can also be used with OVER. */
  readonly overWindow?: true
  /** An aggregate that takes ORDER BY inside its parentheses. */
  readonly ordered?: true
  /**
   * When equal arguments can give another result, in PostgreSQL's words. stable: in another statement, since it depends on the
   * time; volatile: in every row. Absent: never.
   */
  readonly volatility?: 'stable' | 'volatile'
  readonly description: string
  readonly example: string
}

/** Arguments that are not simply of one type. */
export const ARGUMENT_WORDS = {
  number: 'Integer, Decimal or Double',
  exact: 'Integer or Decimal',
  ordered: 'Text, Integer, Decimal, Double, Timestamp, LocalTimestamp, Date or Time',
  comparable: 'any type but Json',
  any: 'any type',
  common: 'any types that can be compared; converted to a common type',
  moment: 'Timestamp, LocalTimestamp, or Date as the midnight at its start',
  zone: 'a literal or a parameter: the name of a time zone, such as America/New_York',
  part: 'a literal: one of the words in the description',
  fine: 'one of the words in the description',
  unit: 'a literal: one of the words in the description',
  span: 'a literal: one of the words in the description',
  digits: 'a literal: a whole number from 0 to 38',
  fraction: 'a literal or a parameter: a number from 0 to 1, with up to 17 digits after the point',
  fixed: 'an Interval without months',
  months: 'a literal: an Interval of whole months',
} as const

export type ArgumentKind = Exclude<TypeKind, 'Null' | 'Interval'> | keyof typeof ARGUMENT_WORDS

/** substr(Text, Integer[, Integer]) */
export function formatSignature({ name, arguments: kinds, optional = 0, variadic }: FunctionEntry): string {
  const required = kinds.slice(0, kinds.length - optional).join(', ')
  const rest = kinds.slice(kinds.length - optional).join(', ')
  const tail = optional > 0 ? `[${required === '' ? '' : ', '}${rest}]` : variadic === true ? ', …' : ''
  return `${name}(${required}${tail})`
}

/** The parts that date_part extracts. */
export const PARTS = [
  'year',
  'isoyear',
  'quarter',
  'month',
  'week',
  'day',
  'dayofweek',
  'dow',
  'dayofyear',
  'hour',
  'minute',
  'second',
  'millisecond',
  'microsecond',
  'epoch',
] as const

/** The units that date_trunc truncates to. */
export const UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond'] as const

/** The units that date_diff counts in: those of fixed length. */
export const SPANS = ['week', 'day', 'hour', 'minute', 'second', 'millisecond', 'microsecond'] as const

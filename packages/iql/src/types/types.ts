/** The types of IQL, their values in memory, and which types combine. */

export type IqlType =
  | { readonly kind: 'Text' }
  /** 64-bit, signed. */
  | { readonly kind: 'Integer' }
  /** Exact, with `precision` digits in total, at most 38, of which `scale` follow the point. */
  | { readonly kind: 'Decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'Double' }
  | { readonly kind: 'Boolean' }
  | { readonly kind: 'Timestamp' }
  /** A reading of a local clock: of expressions and results, never of a column. */
  | { readonly kind: 'LocalTimestamp' }
  | { readonly kind: 'Date' }
  | { readonly kind: 'Time' }
  | { readonly kind: 'Uuid' }
  | { readonly kind: 'Json' }
  | { readonly kind: 'Binary' }
  /** Never the type of a column. Without months it is a fixed length of time and can be compared. */
  | { readonly kind: 'Interval'; readonly months: boolean }
  /** The type of a NULL literal until its context determines another. */
  | { readonly kind: 'Null' }

export type TypeKind = IqlType['kind']

/**
 * A value in memory, depending on its type:
 * Text string · Integer bigint · Decimal bigint (unscaled: 45.10 with scale 2 is 4510n) · Double number · Boolean boolean ·
 * Timestamp bigint (microseconds since 1970-01-01T00:00Z) · LocalTimestamp bigint (the same, as if its clock were in UTC) · Date bigint (days since 1970-01-01) ·
 * Time bigint (microseconds since midnight) · Uuid string (lower case, with hyphens) · Json string (its text) ·
 * Binary Uint8Array · Interval {months, micros}. NULL of every type is null.
 */
export type IqlValue = null | string | bigint | number | boolean | Uint8Array | Interval

/** Days and weeks count as `micros`, since a day in UTC has 24 hours. */
export interface Interval {
  readonly months: bigint
  readonly micros: bigint
}

export const TEXT: IqlType = { kind: 'Text' }
export const INTEGER: IqlType = { kind: 'Integer' }
export const DOUBLE: IqlType = { kind: 'Double' }
export const BOOLEAN: IqlType = { kind: 'Boolean' }
export const TIMESTAMP: IqlType = { kind: 'Timestamp' }
export const LOCAL_TIMESTAMP: IqlType = { kind: 'LocalTimestamp' }
export const DATE: IqlType = { kind: 'Date' }
export const TIME: IqlType = { kind: 'Time' }
export const UUID: IqlType = { kind: 'Uuid' }
export const JSON_TYPE: IqlType = { kind: 'Json' }
export const BINARY: IqlType = { kind: 'Binary' }
export const INTERVAL: IqlType = { kind: 'Interval', months: true }
export const FIXED_INTERVAL: IqlType = { kind: 'Interval', months: false }
export const NULL: IqlType = { kind: 'Null' }

/** Digits of a Decimal, in columns and in results. */
export const DECIMAL_DIGITS = 38
/** As many digits as a scaled 64-bit integer can always hold. */
export const SHORT_DIGITS = 18
/** Digits of an Integer as a Decimal: 19 hold every 64-bit integer. */
const INTEGER_DIGITS = 19

export const MIN_INTEGER = -(2n ** 63n)
export const MAX_INTEGER = 2n ** 63n - 1n

export type DecimalType = Extract<IqlType, { kind: 'Decimal' }>

export function decimal(precision: number, scale: number): DecimalType {
  return { kind: 'Decimal', precision: Math.min(precision, DECIMAL_DIGITS), scale }
}

/** A Decimal that may exceed a 64-bit integer. */
export function isWide(type: IqlType): boolean {
  return type.kind === 'Decimal' && type.precision > SHORT_DIGITS
}

/** A Decimal with more digits than a column can have, used to compare two Decimals of different scales. */
export function isExtraWide(type: IqlType): boolean {
  return type.kind === 'Decimal' && type.precision > DECIMAL_DIGITS
}

/** Whether a value of the type can have any length. */
export function isLongType({ kind }: IqlType): boolean {
  return kind === 'Text' || kind === 'Json' || kind === 'Binary'
}

/** The types of columns, in the order in which messages list them. */
export const COLUMN_TYPES = [
  'Text',
  'Integer',
  'Decimal',
  'Double',
  'Boolean',
  'Timestamp',
  'Date',
  'Time',
  'Uuid',
  'Json',
  'Binary',
] as const satisfies readonly TypeKind[]

/** The type as written in statements and messages: `Decimal(12, 4)`, `Text`. */
export function typeName(type: IqlType): string {
  return type.kind === 'Decimal' ? `Decimal(${type.precision}, ${type.scale})` : type.kind
}

export function sameType(a: IqlType, b: IqlType): boolean {
  if (a.kind === 'Decimal') return b.kind === 'Decimal' && a.precision === b.precision && a.scale === b.scale
  return a.kind === b.kind
}

export function isNumber(type: IqlType): boolean {
  return type.kind === 'Integer' || type.kind === 'Decimal' || type.kind === 'Double'
}

/** The engines share no order or equality of Json, and a NULL literal has no type to compare by. */
export function isComparable(type: IqlType): boolean {
  return type.kind !== 'Json' && type.kind !== 'Null' && !(type.kind === 'Interval' && type.months)
}

/** Whether a column can have the type. */
export function isStorable(type: IqlType): boolean {
  return type.kind !== 'Interval'
}

/** The type of an exact number as a Decimal; undefined for other types. */
export function asDecimal(type: IqlType): DecimalType | undefined {
  if (type.kind === 'Decimal') return type
  return type.kind === 'Integer' ? decimal(INTEGER_DIGITS, 0) : undefined
}

/**
 * The type of values of both types, or undefined. Integer and Decimal become a Decimal, which is exact; with a Double both
 * become the nearest Double, as in PostgreSQL. NULL takes the other type.
 */
export function commonType(a: IqlType, b: IqlType): IqlType | undefined {
  const type = comparedType(a, b)
  return type?.kind === 'Decimal' ? decimal(type.precision, type.scale) : type
}

/** As `commonType`, but a Decimal gets enough digits for all values of both types, so it cannot be the type of a result. */
export function comparedType(a: IqlType, b: IqlType): IqlType | undefined {
  if (sameType(a, b)) return a.kind === 'Interval' && b.kind === 'Interval' ? (a.months ? a : b) : a
  if (a.kind === 'Null') return b
  if (b.kind === 'Null') return a
  if (isNumber(a) && isNumber(b) && (a.kind === 'Double' || b.kind === 'Double')) return DOUBLE
  const left = asDecimal(a)
  const right = asDecimal(b)
  if (left === undefined || right === undefined) return undefined
  const scale = Math.max(left.scale, right.scale)
  const whole = Math.max(left.precision - left.scale, right.precision - right.scale)
  return { kind: 'Decimal', precision: whole + scale, scale }
}

/** The text form of a value of each type. */
export const FORMS: Readonly<Record<Exclude<TypeKind, 'Null'>, string>> = {
  Text: 'a text',
  Integer: 'a whole number from -9223372036854775808 to 9223372036854775807',
  Decimal: 'a number such as 45.10',
  Double: 'a number such as 1.5e3, NaN, Infinity or -Infinity',
  Boolean: 'true or false',
  Timestamp: 'a timestamp such as 2026-01-31T09:30:00.000001Z',
  LocalTimestamp: 'a local time such as 2026-01-31T09:30:00, without Z or an offset',
  Date: 'a date such as 2026-01-31',
  Time: 'a time such as 09:30:00.000001',
  Uuid: 'a Uuid such as 123e4567-e89b-12d3-a456-426614174000',
  Json: 'JSON',
  Binary: 'Base-64',
  Interval: 'an interval such as 5 minutes or 1 day 12 hours',
}

/** The types of IQL, the values they hold in memory, and which of them may stand for one another. */

export type IqlType =
  | { readonly kind: 'Text' }
  /** 64-bit, signed. */
  | { readonly kind: 'Integer' }
  /** Exact; `precision` digits in all (≤ 18 in a column, ≤ 38 in a result), `scale` of them after the point. */
  | { readonly kind: 'Decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'Double' }
  | { readonly kind: 'Boolean' }
  | { readonly kind: 'Timestamp' }
  | { readonly kind: 'Date' }
  | { readonly kind: 'Time' }
  | { readonly kind: 'Uuid' }
  | { readonly kind: 'Json' }
  | { readonly kind: 'Binary' }
  /** Never a column or a result. Without months it is a fixed length of time and can be compared. */
  | { readonly kind: 'Interval'; readonly months: boolean }
  /** The type of a bare NULL before its context gives it one. */
  | { readonly kind: 'Null' }

export type TypeKind = IqlType['kind']

/**
 * A value in memory; its type says how to read it:
 * Text string · Integer bigint · Decimal bigint (unscaled: 45.10 of scale 2 is 4510n) · Double number · Boolean boolean ·
 * Timestamp bigint (microseconds since 1970-01-01T00:00Z) · Date bigint (days since 1970-01-01) ·
 * Time bigint (microseconds since midnight) · Uuid string (lower case, with hyphens) · Json string (its text) ·
 * Binary Uint8Array · Interval {months, micros}. NULL is null for every type.
 */
export type IqlValue = null | string | bigint | number | boolean | Uint8Array | Interval

/** Days and weeks are part of `micros`: a day of UTC has 24 hours. */
export interface Interval {
  readonly months: bigint
  readonly micros: bigint
}

export const TEXT: IqlType = { kind: 'Text' }
export const INTEGER: IqlType = { kind: 'Integer' }
export const DOUBLE: IqlType = { kind: 'Double' }
export const BOOLEAN: IqlType = { kind: 'Boolean' }
export const TIMESTAMP: IqlType = { kind: 'Timestamp' }
export const DATE: IqlType = { kind: 'Date' }
export const TIME: IqlType = { kind: 'Time' }
export const UUID: IqlType = { kind: 'Uuid' }
export const JSON_TYPE: IqlType = { kind: 'Json' }
export const BINARY: IqlType = { kind: 'Binary' }
export const INTERVAL: IqlType = { kind: 'Interval', months: true }
export const FIXED_INTERVAL: IqlType = { kind: 'Interval', months: false }
export const NULL: IqlType = { kind: 'Null' }

/** Digits a Decimal column may have: what a scaled 64-bit integer always holds. */
export const COLUMN_DIGITS = 18
/** Digits a Decimal result may have. */
export const RESULT_DIGITS = 38
/** An Integer as a Decimal: 19 digits hold every 64-bit integer. */
const INTEGER_DIGITS = 19

export const MIN_INTEGER = -(2n ** 63n)
export const MAX_INTEGER = 2n ** 63n - 1n

export type DecimalType = Extract<IqlType, { kind: 'Decimal' }>

export function decimal(precision: number, scale: number): DecimalType {
  return { kind: 'Decimal', precision: Math.min(precision, RESULT_DIGITS), scale }
}

/** The types a column may have, in the order in which messages list them. */
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

/** How a type is written in a statement and in a message: `Decimal(12, 4)`, `Text`. */
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

/** Json has no order and no equality that both engines share; NULL alone has no type to compare by. */
export function isComparable(type: IqlType): boolean {
  return type.kind !== 'Json' && type.kind !== 'Null' && !(type.kind === 'Interval' && type.months)
}

/** Whether a value of the type may leave the service in a result or rest in a column. */
export function isStorable(type: IqlType): boolean {
  return type.kind !== 'Interval'
}

/** An exact number seen as a Decimal; undefined for everything else. */
export function asDecimal(type: IqlType): DecimalType | undefined {
  if (type.kind === 'Decimal') return type
  return type.kind === 'Integer' ? decimal(INTEGER_DIGITS, 0) : undefined
}

/**
 * The one type that holds both exactly, or undefined.
 * Integer and Decimal meet in a Decimal; NULL takes the other's type; nothing becomes a Double, since not every
 * Integer or Decimal is one: that takes a CAST.
 */
export function commonType(a: IqlType, b: IqlType): IqlType | undefined {
  if (sameType(a, b)) return a.kind === 'Interval' && b.kind === 'Interval' ? (a.months ? a : b) : a
  if (a.kind === 'Null') return b
  if (b.kind === 'Null') return a
  const left = asDecimal(a)
  const right = asDecimal(b)
  if (left === undefined || right === undefined) return undefined
  const scale = Math.max(left.scale, right.scale)
  return decimal(Math.max(left.precision - left.scale, right.precision - right.scale) + scale, scale)
}

/** The arithmetic operators of IQL with their operand types, result types and decimal scales. */
import type { BinaryOperator } from '../syntax/ast-query.ts'
import {
  asDecimal,
  DATE,
  DECIMAL_DIGITS,
  type DecimalType,
  DOUBLE,
  decimal,
  FIXED_INTERVAL,
  INTEGER,
  INTERVAL,
  type IqlType,
  LOCAL_TIMESTAMP,
  TEXT,
  TIME,
  TIMESTAMP,
  type TypeKind,
} from './types.ts'

/** The scale of a quotient or an average, unless its operands have more. */
export const QUOTIENT_SCALE = 16
/** The least scale, where the whole part may need the digits. */
const LEAST_QUOTIENT_SCALE = 12

/** `whole` is the number of digits that the whole part may need. */
export function quotientScale(scale: number, whole: number): number {
  const room = Math.max(DECIMAL_DIGITS - whole, LEAST_QUOTIENT_SCALE)
  return Math.max(scale, Math.min(QUOTIENT_SCALE, room))
}

/** Digits after the point to which a variance of Doubles is calculated before it becomes a Double: more than the smallest Double needs. */
export const SPREAD_DIGITS = 400
/** Digits after the point to which a correlation of Doubles is calculated. */
export const ROOT_DIGITS = 40

/** Digits after the point of the fraction of a percentile. */
export const FRACTION_SCALE = 17

/**
 * An operation that engines implement, named by its operand types. For all of them: NULL in, NULL out; a result out of the
 * range of its type is the error IQL.Overflow, and a divisor of zero is IQL.DivisionByZero.
 */
export type OperatorId = keyof typeof OPERATORS

export interface OperatorRule {
  readonly symbol: BinaryOperator
  readonly left: TypeKind
  readonly right: TypeKind
  /** Undefined if no Decimal has the scale of the result. */
  readonly result: (left: IqlType, right: IqlType) => IqlType | undefined
  /** 'result': both operands are first widened to the scale of the result, as sums require. */
  readonly widen: 'result' | undefined
  readonly meaning: string
}

export const OPERATORS = {
  'integer+integer': rule('+', 'Integer', 'Integer', () => INTEGER, 'sum of 64-bit integers'),
  'integer-integer': rule('-', 'Integer', 'Integer', () => INTEGER, 'difference of 64-bit integers'),
  'integer*integer': rule('*', 'Integer', 'Integer', () => INTEGER, 'product of 64-bit integers'),
  'integer/integer': rule('/', 'Integer', 'Integer', () => INTEGER, 'quotient, truncated toward zero: 5 / 2 is 2'),
  'integer%integer': rule('%', 'Integer', 'Integer', () => INTEGER, 'remainder, with the sign of the dividend'),
  'decimal+decimal': rule('+', 'Decimal', 'Decimal', sum, 'exact sum; scale max(s1, s2)', 'result'),
  'decimal-decimal': rule('-', 'Decimal', 'Decimal', sum, 'exact difference; scale max(s1, s2)', 'result'),
  'decimal*decimal': rule('*', 'Decimal', 'Decimal', product, 'exact product; scale s1 + s2'),
  'decimal/decimal': rule(
    '/',
    'Decimal',
    'Decimal',
    quotient,
    'quotient rounded half away from zero; scale max(s1, s2, 16), or 12 where the whole part may need the digits',
  ),
  'decimal%decimal': rule('%', 'Decimal', 'Decimal', sum, 'remainder, with the sign of the dividend', 'result'),
  'double+double': rule('+', 'Double', 'Double', () => DOUBLE, 'IEEE 754 sum'),
  'double-double': rule('-', 'Double', 'Double', () => DOUBLE, 'IEEE 754 difference'),
  'double*double': rule('*', 'Double', 'Double', () => DOUBLE, 'IEEE 754 product'),
  'double/double': rule('/', 'Double', 'Double', () => DOUBLE, 'IEEE 754 quotient; a zero divisor is an error'),
  'text||text': rule('||', 'Text', 'Text', () => TEXT, 'concatenation'),
  'timestamp+interval': rule(
    '+',
    'Timestamp',
    'Interval',
    () => TIMESTAMP,
    'later; adding months keeps the day of the month, or takes the last day of a shorter month',
  ),
  'interval+timestamp': rule('+', 'Interval', 'Timestamp', () => TIMESTAMP, 'the same with the operands swapped'),
  'timestamp-interval': rule('-', 'Timestamp', 'Interval', () => TIMESTAMP, 'earlier'),
  'timestamp-timestamp': rule('-', 'Timestamp', 'Timestamp', () => FIXED_INTERVAL, 'the time between, in microseconds'),
  'localtimestamp+interval': rule(
    '+',
    'LocalTimestamp',
    'Interval',
    () => LOCAL_TIMESTAMP,
    'later by the local clock, in the same way: days of 24 hours, whatever the clock does meanwhile',
  ),
  'interval+localtimestamp': rule(
    '+',
    'Interval',
    'LocalTimestamp',
    () => LOCAL_TIMESTAMP,
    'the same with the operands swapped',
  ),
  'localtimestamp-interval': rule(
    '-',
    'LocalTimestamp',
    'Interval',
    () => LOCAL_TIMESTAMP,
    'earlier by the local clock',
  ),
  'localtimestamp-localtimestamp': rule(
    '-',
    'LocalTimestamp',
    'LocalTimestamp',
    () => FIXED_INTERVAL,
    'the difference of the readings, in microseconds',
  ),
  'date+integer': rule('+', 'Date', 'Integer', () => DATE, 'that many days later'),
  'date-integer': rule('-', 'Date', 'Integer', () => DATE, 'that many days earlier'),
  'date-date': rule('-', 'Date', 'Date', () => INTEGER, 'days between'),
  'date+interval': rule('+', 'Date', 'Interval', () => TIMESTAMP, 'later than the midnight at the start of the date'),
  'date-interval': rule('-', 'Date', 'Interval', () => TIMESTAMP, 'earlier than the midnight at the start of the date'),
  'time+interval': rule(
    '+',
    'Time',
    'Interval',
    () => TIME,
    'later, wrapping around at midnight; the interval has no months',
  ),
  'time-interval': rule('-', 'Time', 'Interval', () => TIME, 'earlier, wrapping around in the same way'),
  'interval+interval': rule('+', 'Interval', 'Interval', eitherMonths, 'sum of the intervals'),
  'interval-interval': rule('-', 'Interval', 'Interval', eitherMonths, 'difference of the intervals'),
  'interval*integer': rule('*', 'Interval', 'Integer', (left) => left, 'that many times as long'),
  'integer*interval': rule('*', 'Integer', 'Interval', (_left, right) => right, 'that many times as long'),
} as const satisfies Record<string, OperatorRule>

/** The operator for two operand types, or undefined. With a Decimal, an Integer counts as a Decimal; with a Double, both count as Doubles. */
export function findOperator(symbol: BinaryOperator, left: IqlType, right: IqlType): OperatorId | undefined {
  return BY_SIGNATURE.get(signature(symbol, left.kind, right.kind))
}

/** The numbers that are converted to the type of the other operand. */
const NARROWER: ReadonlyMap<TypeKind, readonly TypeKind[]> = new Map([
  ['Decimal', ['Integer']],
  ['Double', ['Integer', 'Decimal']],
])

const BY_SIGNATURE: ReadonlyMap<string, OperatorId> = indexOperators()

function indexOperators(): Map<string, OperatorId> {
  const index = new Map<string, OperatorId>()
  for (const id of Object.keys(OPERATORS)) {
    if (!isOperatorId(id)) continue
    const { symbol, left, right } = OPERATORS[id]
    index.set(signature(symbol, left, right), id)
    if (left !== right) continue
    for (const narrower of NARROWER.get(left) ?? []) {
      index.set(signature(symbol, narrower, left), id)
      index.set(signature(symbol, left, narrower), id)
    }
  }
  return index
}

function isOperatorId(id: string): id is OperatorId {
  return Object.hasOwn(OPERATORS, id)
}

function signature(symbol: BinaryOperator, left: TypeKind, right: TypeKind): string {
  return `${left}${symbol}${right}`
}

function rule(
  symbol: BinaryOperator,
  left: TypeKind,
  right: TypeKind,
  result: OperatorRule['result'],
  meaning: string,
  widen?: 'result',
): OperatorRule {
  return { symbol, left, right, result, meaning, widen }
}

function sum(left: IqlType, right: IqlType): IqlType | undefined {
  return combine(left, right, (a, b) => {
    const scale = Math.max(a.scale, b.scale)
    return decimal(Math.max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
  })
}

function product(left: IqlType, right: IqlType): IqlType | undefined {
  return combine(left, right, (a, b) => {
    const scale = a.scale + b.scale
    return scale > DECIMAL_DIGITS ? undefined : decimal(a.precision + b.precision, scale)
  })
}

function quotient(left: IqlType, right: IqlType): IqlType | undefined {
  return combine(left, right, (a, b) => {
    const whole = a.precision - a.scale + b.scale
    const scale = quotientScale(Math.max(a.scale, b.scale), whole)
    return decimal(whole + scale, scale)
  })
}

function combine(
  left: IqlType,
  right: IqlType,
  by: (left: DecimalType, right: DecimalType) => IqlType | undefined,
): IqlType | undefined {
  const a = asDecimal(left)
  const b = asDecimal(right)
  return a && b && by(a, b)
}

function eitherMonths(left: IqlType, right: IqlType): IqlType {
  const months = (left.kind === 'Interval' && left.months) || (right.kind === 'Interval' && right.months)
  return months ? INTERVAL : FIXED_INTERVAL
}

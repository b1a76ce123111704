/** Every arithmetic operator of IQL with its operand types and its result: the one table of decimal scales. */
import type { BinaryOperator } from './ast-expression.ts'
import {
  asDecimal,
  DATE,
  type DecimalType,
  DOUBLE,
  decimal,
  FIXED_INTERVAL,
  INTEGER,
  INTERVAL,
  type IqlType,
  RESULT_DIGITS,
  TEXT,
  TIME,
  TIMESTAMP,
  type TypeKind,
} from './types.ts'

/** Digits after the point that a quotient or an average has at least. */
export const QUOTIENT_SCALE = 6

/**
 * What an engine must do, told apart by the operand types. All of them: NULL in, NULL out; leaving the range of the
 * result type is the error IQL.Overflow, a divisor of zero is IQL.DivisionByZero.
 */
export type OperatorId = keyof typeof OPERATORS

export interface OperatorRule {
  readonly symbol: BinaryOperator
  readonly left: TypeKind
  readonly right: TypeKind
  /** Undefined when no Decimal can hold the result's scale. */
  readonly result: (left: IqlType, right: IqlType) => IqlType | undefined
  /** 'result': both operands are widened to the result's scale first, as sums need; otherwise they stay as they are. */
  readonly widen: 'result' | undefined
  readonly meaning: string
}

export const OPERATORS = {
  'integer+integer': rule('+', 'Integer', 'Integer', () => INTEGER, 'sum of 64-bit integers'),
  'integer-integer': rule('-', 'Integer', 'Integer', () => INTEGER, 'difference of 64-bit integers'),
  'integer*integer': rule('*', 'Integer', 'Integer', () => INTEGER, 'product of 64-bit integers'),
  'integer/integer': rule('/', 'Integer', 'Integer', () => INTEGER, 'quotient, cut toward zero: 5 / 2 is 2'),
  'integer%integer': rule('%', 'Integer', 'Integer', () => INTEGER, 'remainder, with the sign of the dividend'),
  'decimal+decimal': rule('+', 'Decimal', 'Decimal', sum, 'exact sum; scale max(s1, s2)', 'result'),
  'decimal-decimal': rule('-', 'Decimal', 'Decimal', sum, 'exact difference; scale max(s1, s2)', 'result'),
  'decimal*decimal': rule('*', 'Decimal', 'Decimal', product, 'exact product; scale s1 + s2'),
  'decimal/decimal': rule(
    '/',
    'Decimal',
    'Decimal',
    quotient,
    'quotient rounded half away from zero; scale max(s1, s2, 6)',
  ),
  'decimal%decimal': rule('%', 'Decimal', 'Decimal', sum, 'remainder, with the sign of the dividend', 'result'),
  'double+double': rule('+', 'Double', 'Double', () => DOUBLE, 'IEEE 754 sum'),
  'double-double': rule('-', 'Double', 'Double', () => DOUBLE, 'IEEE 754 difference'),
  'double*double': rule('*', 'Double', 'Double', () => DOUBLE, 'IEEE 754 product'),
  'double/double': rule('/', 'Double', 'Double', () => DOUBLE, 'IEEE 754 quotient; a zero divisor is an error'),
  'text||text': rule('||', 'Text', 'Text', () => TEXT, 'one text after the other'),
  'timestamp+interval': rule(
    '+',
    'Timestamp',
    'Interval',
    () => TIMESTAMP,
    'later; a month keeps the day or takes the last one',
  ),
  'interval+timestamp': rule('+', 'Interval', 'Timestamp', () => TIMESTAMP, 'the same, the other way round'),
  'timestamp-interval': rule('-', 'Timestamp', 'Interval', () => TIMESTAMP, 'earlier'),
  'timestamp-timestamp': rule(
    '-',
    'Timestamp',
    'Timestamp',
    () => FIXED_INTERVAL,
    'the time between, to the microsecond',
  ),
  'date+integer': rule('+', 'Date', 'Integer', () => DATE, 'that many days later'),
  'date-integer': rule('-', 'Date', 'Integer', () => DATE, 'that many days earlier'),
  'date-date': rule('-', 'Date', 'Date', () => INTEGER, 'days between'),
  'date+interval': rule('+', 'Date', 'Interval', () => TIMESTAMP, 'later than the midnight that begins the date'),
  'date-interval': rule('-', 'Date', 'Interval', () => TIMESTAMP, 'earlier than the midnight that begins the date'),
  'time+interval': rule(
    '+',
    'Time',
    'Interval',
    () => TIME,
    'later, past midnight from the start; the interval has no months',
  ),
  'time-interval': rule('-', 'Time', 'Interval', () => TIME, 'earlier, in the same way'),
  'interval+interval': rule('+', 'Interval', 'Interval', eitherMonths, 'both together'),
  'interval-interval': rule('-', 'Interval', 'Interval', eitherMonths, 'the one without the other'),
  'interval*integer': rule('*', 'Interval', 'Integer', (left) => left, 'that many times as long'),
  'integer*interval': rule('*', 'Integer', 'Interval', (_left, right) => right, 'that many times as long'),
} as const satisfies Record<string, OperatorRule>

/** The operator for two operand types, or undefined. An Integer beside a Decimal counts as a Decimal. */
export function findOperator(symbol: BinaryOperator, left: IqlType, right: IqlType): OperatorId | undefined {
  return BY_SIGNATURE.get(signature(symbol, left.kind, right.kind))
}

const BY_SIGNATURE: ReadonlyMap<string, OperatorId> = indexOperators()

function indexOperators(): Map<string, OperatorId> {
  const index = new Map<string, OperatorId>()
  for (const id of Object.keys(OPERATORS)) {
    if (!isOperatorId(id)) continue
    const { symbol, left, right } = OPERATORS[id]
    index.set(signature(symbol, left, right), id)
    if (left !== 'Decimal' || right !== 'Decimal') continue
    index.set(signature(symbol, 'Integer', 'Decimal'), id)
    index.set(signature(symbol, 'Decimal', 'Integer'), id)
  }
  return index
}

function isOperatorId(id: string): id is OperatorId {
  return id in OPERATORS
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
    return scale > RESULT_DIGITS ? undefined : decimal(a.precision + b.precision, scale)
  })
}

function quotient(left: IqlType, right: IqlType): IqlType | undefined {
  return combine(left, right, (a, b) => {
    const scale = Math.max(a.scale, b.scale, QUOTIENT_SCALE)
    return decimal(a.precision - a.scale + b.scale + scale, scale)
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

/** Types literals: on their own, or as the type that the context expects. */

import type { Literal, WrittenAt } from '../bound/bound-leaf.ts'
import type { BoundExpression } from '../bound/bound-query.ts'
import type { Binding } from '../scope/binding.ts'
import type { Expression, NumberLiteral, TextLiteral, TypedLiteral } from '../syntax/ast-query.ts'
import {
  asDecimal,
  BINARY,
  DATE,
  DECIMAL_DIGITS,
  DOUBLE,
  decimal,
  FIXED_INTERVAL,
  INTEGER,
  INTERVAL,
  type IqlType,
  type IqlValue,
  isExtraWide,
  isWide,
  JSON_TYPE,
  LOCAL_TIMESTAMP,
  MAX_INTEGER,
  MIN_INTEGER,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
} from '../types/types.ts'
import { powerOfTen, readRoundedValue, readValue, writeDecimal } from '../types/values.ts'
import { literalHint } from './literal-hint.ts'

/**
 * Whether the expression can take its type from the context: a parameter, NULL, a number (as a Double), or a text (as a type
 * such as Timestamp). The literal is not converted but parsed as that type.
 */
export function isFlexible(expression: Expression): boolean {
  switch (expression.kind) {
    case 'parameter':
    case 'null':
    case 'text':
    case 'number':
      return true
    case 'unary':
      return expression.operator !== 'not' && expression.operand.kind === 'number'
    default:
      return false
  }
}

export function literal(type: IqlType, value: IqlValue, written?: WrittenAt): Literal {
  const nullable = value === null
  return written === undefined
    ? { kind: 'literal', type, value, nullable }
    : { kind: 'literal', type, value, nullable, written }
}

export function bindNumber(
  binding: Binding,
  written: NumberLiteral,
  expected: IqlType | undefined,
  sign: '' | '-' = '',
): Literal {
  const { text, at } = written
  if (expected?.kind !== 'Double' && SHORT_INTEGER.test(text))
    return literal(INTEGER, BigInt(sign + text), binding.writtenAt(written, sign))
  const short = expected?.kind === 'Double' ? null : SHORT_DECIMAL.exec(text)
  if (short !== null) return shortDecimal(short, binding.writtenAt(written, sign), sign)
  const type = expected?.kind === 'Double' ? DOUBLE : numberType(binding, `${sign}${text}`, at)
  const read = readValue(type, `${sign}${text}`)
  if ('problem' in read) throw binding.fail('BadLiteral', at, `${text} ${read.problem}`)
  return literal(type, read.value, binding.writtenAt(written, sign))
}

/** Fits in 64 bits, whatever its digits are. */
const SHORT_INTEGER = /^\d{1,18}$/
const SHORT_DECIMAL = /^0*(\d{0,9})\.(\d{1,9})$/

function shortDecimal([, whole = '', fraction = '']: RegExpExecArray, written: WrittenAt | undefined, sign: '' | '-') {
  return literal(decimal(whole.length + fraction.length, fraction.length), BigInt(sign + whole + fraction), written)
}

/** 42 is an Integer, 4.2 a Decimal with its digits, 4e2 a Double. A whole number beyond 64 bits is a Decimal. */
function numberType(binding: Binding, text: string, at: number): IqlType {
  if (/e/i.test(text)) return DOUBLE
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  if (fraction === '' && whole.length <= 40) {
    const value = BigInt(text.replace('.', ''))
    if (value >= MIN_INTEGER && value <= MAX_INTEGER) return INTEGER
  }
  const digits = whole.replace(/^0+/, '').length + fraction.length
  if (digits <= DECIMAL_DIGITS) return decimal(Math.max(digits, 1), fraction.length)
  throw binding.fail('BadLiteral', at, `A number has at most ${DECIMAL_DIGITS} digits`, {
    hint: `write ${text.slice(0, 8)}…e0 for a Double`,
  })
}

/** A number that is compared with an Integer or Decimal can have any number of digits. Undefined for everything else. */
export function longNumber(expression: Expression, other: IqlType | undefined): Literal | undefined {
  const isNegative = expression.kind === 'unary' && expression.operator === '-'
  const number = expression.kind === 'unary' && expression.operator !== 'not' ? expression.operand : expression
  if (number.kind !== 'number' || number.text.length <= DECIMAL_DIGITS) return undefined
  if (other?.kind !== 'Integer' && other?.kind !== 'Decimal') return undefined
  const [written = '', fraction = ''] = number.text.split('.')
  const whole = written.replace(/^0+/, '')
  if (/e/i.test(number.text) || whole.length + fraction.length <= DECIMAL_DIGITS) return undefined
  const value = whole.length > DECIMAL_DIGITS ? beyondAll() : between(whole, fraction)
  return literal(value.type, isNegative ? -value.unscaled : value.unscaled)
}

/** Greater than every value. */
function beyondAll() {
  return {
    type: { kind: 'Decimal', precision: DECIMAL_DIGITS + 1, scale: 0 },
    unscaled: 10n ** BigInt(DECIMAL_DIGITS),
  } as const
}

/** Of the digits beyond those of any value, it only matters whether any is not 0. */
function between(whole: string, fraction: string) {
  const rest = /[1-9]/.test(fraction.slice(DECIMAL_DIGITS)) ? '5' : '0'
  const digits = fraction.slice(0, DECIMAL_DIGITS) + rest
  const scale = digits.length - (/0*$/.exec(digits)?.[0].length ?? 0)
  const type = { kind: 'Decimal', precision: Math.max(1, whole.length + scale), scale } as const
  return { type, unscaled: BigInt(whole + digits.slice(0, scale)) }
}

/** The types that a text literal is parsed as if the context expects them. */
const PARSED_FROM_TEXT: ReadonlySet<string> = new Set([
  'Timestamp',
  'LocalTimestamp',
  'Date',
  'Time',
  'Uuid',
  'Json',
  'Interval',
])

export function bindText(binding: Binding, written: TextLiteral, expected: IqlType | undefined): Literal {
  const { value, at } = written
  const writtenAt = binding.writtenAt(written)
  if (expected === undefined || !PARSED_FROM_TEXT.has(expected.kind)) return literal(TEXT, value, writtenAt)
  return readLiteral(binding, expected, value, at, writtenAt)
}

const LITERAL_TYPES: Readonly<Record<TypedLiteral['type'], IqlType>> = {
  Timestamp: TIMESTAMP,
  LocalTimestamp: LOCAL_TIMESTAMP,
  Date: DATE,
  Time: TIME,
  Uuid: UUID,
  Json: JSON_TYPE,
  Interval: INTERVAL,
}

export function bindTyped(binding: Binding, written: TypedLiteral): Literal {
  const { type, value, at } = written
  return readLiteral(binding, LITERAL_TYPES[type], value, at, binding.writtenAt(written))
}

export function readLiteral(binding: Binding, type: IqlType, text: string, at: number, writtenAt?: WrittenAt): Literal {
  const read = readRoundedValue(type, text)
  if ('problem' in read)
    throw binding.fail('BadLiteral', at, `'${shorten(text)}' ${read.problem}`, { hint: literalHint(type, text) })
  const { value } = read
  const isFixed = typeof value === 'object' && 'months' in value && value.months === 0n
  return literal(isFixed ? FIXED_INTERVAL : type, value, writtenAt)
}

export function bindBytes(hex: string): Literal {
  return literal(
    BINARY,
    Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
  )
}

/** The same value as a wider type. Literals are converted here, so that engines do not have to widen them. */
export function widen(expression: BoundExpression, type: IqlType): BoundExpression {
  const from = expression.type
  if (from.kind === 'Interval' && type.kind === 'Interval') {
    if (from.months === type.months) return expression
    if (expression.kind === 'literal') return literal(type, expression.value, expression.written)
  } else if (from.kind === type.kind && (from.kind !== 'Decimal' || type.kind !== 'Decimal')) return expression
  if (from.kind === 'Decimal' && type.kind === 'Decimal') {
    // Engines represent a Decimal by its scale, and by whether its digits fit into a 64-bit integer.
    if (from.scale === type.scale && isWide(from) === isWide(type) && isExtraWide(from) === isExtraWide(type))
      return expression.kind === 'literal' ? literal(type, expression.value, expression.written) : expression
  }
  if (expression.kind === 'literal') {
    const { value } = expression
    if (value === null) return literal(type, null)
    const source = asDecimal(from)
    if (source !== undefined && type.kind === 'Double' && typeof value === 'bigint')
      return literal(type, Number(writeDecimal(value, source.scale)), expression.written)
    if (source !== undefined && type.kind === 'Decimal' && typeof value === 'bigint' && type.scale >= source.scale) {
      const unscaled = value * powerOfTen(type.scale - source.scale)
      const limit = powerOfTen(type.precision)
      // A value that does not fit is an error only if the engine evaluates it.
      if (unscaled < limit && -unscaled < limit) {
        return literal(type, unscaled, expression.written)
      }
    }
  }
  return { kind: 'widen', operand: expression, type, nullable: expression.nullable }
}

/** As a Decimal, an Integer literal has as many digits as are written. */
export function tightDecimal(expression: BoundExpression): IqlType {
  if (expression.kind !== 'literal' || expression.type.kind !== 'Integer' || typeof expression.value !== 'bigint') {
    return expression.type
  }
  return decimal(expression.value.toString().replace('-', '').length, 0)
}

function shorten(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`
}

/** The kinds of arguments that functions take: which expressions and literals match them. */

import type { BoundExpression } from '../bound/bound-query.ts'
import type { ArgumentKind } from '../functions/entry.ts'
import type { Expression } from '../syntax/ast-query.ts'
import { FRACTION_SCALE } from '../types/operators.ts'
import { readInterval } from '../types/time-values.ts'
import {
  BOOLEAN,
  DOUBLE,
  decimal,
  FIXED_INTERVAL,
  INTEGER,
  INTERVAL,
  type IqlType,
  isComparable,
  isNumber,
  isStorable,
  JSON_TYPE,
  LOCAL_TIMESTAMP,
  sameType,
  TEXT,
  TIME,
  TIMESTAMP,
  type TypeKind,
} from '../types/types.ts'

/** What percentiles take. */
export const FRACTION = decimal(FRACTION_SCALE + 1, FRACTION_SCALE)

/** What matches a kind of argument. */
interface KindRule {
  /** Whether an expression with a type of its own does. */
  readonly takes: (bound: BoundExpression) => boolean
  /** Which literals do, and whether NULL and parameters without a type do. */
  readonly literals: LiteralForms
  /** The type that these take here. */
  readonly expected?: IqlType
}

interface LiteralForms {
  readonly text?: boolean | ((text: string) => boolean)
  /** Numbers in this form. */
  readonly number?: RegExp
  readonly untyped: boolean
}

const WHOLE = /^\d+$/
const EXACT = /^[^e]*$/i
const ANY_NUMBER = /^/

/** Literals that count as values of several types. */
const ANY_LITERAL: LiteralForms = { text: true, number: ANY_NUMBER, untyped: true }
const FROM_TEXT: LiteralForms = { text: true, untyped: true }
/** One of a list of words. */
const WORD: KindRule = { takes: () => false, literals: { text: true, untyped: false }, expected: TEXT }

const KINDS: Readonly<Record<ArgumentKind, KindRule>> = {
  Text: { takes: ofType('Text'), literals: FROM_TEXT, expected: TEXT },
  Integer: { takes: ofType('Integer'), literals: { number: WHOLE, untyped: true }, expected: INTEGER },
  Decimal: { takes: ofType('Decimal'), literals: { number: EXACT, untyped: true } },
  Double: {
    takes: ({ kind, type }) => type.kind === 'Double' || (kind === 'parameter' && isNumber(type)),
    literals: { number: ANY_NUMBER, untyped: true },
    expected: DOUBLE,
  },
  Boolean: { takes: ofType('Boolean'), literals: { untyped: true }, expected: BOOLEAN },
  Timestamp: { takes: ofType('Timestamp'), literals: FROM_TEXT, expected: TIMESTAMP },
  LocalTimestamp: { takes: ofType('LocalTimestamp'), literals: FROM_TEXT, expected: LOCAL_TIMESTAMP },
  Date: { takes: ofType('Date'), literals: FROM_TEXT },
  Time: { takes: ofType('Time'), literals: FROM_TEXT, expected: TIME },
  Uuid: { takes: ofType('Uuid'), literals: FROM_TEXT },
  Json: { takes: ofType('Json'), literals: FROM_TEXT, expected: JSON_TYPE },
  Binary: { takes: ofType('Binary'), literals: { untyped: true } },
  number: { takes: ({ type }) => isNumber(type), literals: { number: ANY_NUMBER, untyped: true } },
  exact: { takes: ofType('Integer', 'Decimal'), literals: { number: EXACT, untyped: true } },
  // Those that min, max, first and last can order on both engines.
  ordered: {
    takes: ofType('Text', 'Integer', 'Decimal', 'Double', 'Timestamp', 'LocalTimestamp', 'Date', 'Time'),
    literals: ANY_LITERAL,
  },
  comparable: { takes: ({ type }) => isComparable(type) && isStorable(type), literals: ANY_LITERAL },
  any: { takes: ({ type }) => type.kind !== 'Interval', literals: ANY_LITERAL },
  common: { takes: ({ type }) => type.kind !== 'Json' && type.kind !== 'Interval', literals: ANY_LITERAL },
  moment: { takes: ofType('Timestamp', 'LocalTimestamp', 'Date'), literals: FROM_TEXT, expected: TIMESTAMP },
  zone: {
    takes: ({ kind, type }) => kind === 'parameter' && type.kind === 'Text',
    literals: FROM_TEXT,
    expected: TEXT,
  },
  part: WORD,
  fine: WORD,
  unit: WORD,
  span: WORD,
  digits: { takes: () => false, literals: { number: WHOLE, untyped: false }, expected: INTEGER },
  fraction: {
    takes: ({ kind, type }) => kind === 'parameter' && sameType(type, FRACTION),
    literals: { number: EXACT, untyped: true },
    expected: FRACTION,
  },
  fixed: {
    takes: ({ type }) => type.kind === 'Interval' && !type.months,
    literals: { text: (text) => !countsMonths(text), untyped: true },
    expected: FIXED_INTERVAL,
  },
  months: {
    takes: ({ kind, type }) => type.kind === 'Interval' && type.months && kind === 'literal',
    literals: { text: countsMonths, untyped: false },
    expected: INTERVAL,
  },
}

function ofType(...kinds: readonly TypeKind[]): KindRule['takes'] {
  return ({ type }) => kinds.includes(type.kind)
}

function countsMonths(text: string): boolean {
  return (readInterval(text)?.months ?? 0n) !== 0n
}

/** Whether the argument matches the kind. Literals, and parameters at their first use, are judged by their syntax. */
export function accepts(kind: ArgumentKind, written: Expression, bound: BoundExpression | undefined): boolean {
  const { takes, literals } = KINDS[kind]
  if (bound !== undefined) return takes(bound)
  const number = written.kind === 'unary' ? written.operand : written
  if (written.kind === 'text')
    return typeof literals.text === 'function' ? literals.text(written.value) : literals.text === true
  return number.kind === 'number' ? literals.number?.test(number.text) === true : literals.untyped
}

/** The type that literals and parameters without a type of their own take as an argument of the kind. */
export function expectedType(kind: ArgumentKind): IqlType | undefined {
  return KINDS[kind].expected
}

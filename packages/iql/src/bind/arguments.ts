/** Matches the arguments of a call with the signatures of a function, and types literals and parameters accordingly. */

import type { BoundExpression } from '../bound/bound-query.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { ARGUMENT_WORDS, type ArgumentKind, formatSignature, PARTS, SPANS, UNITS } from '../functions/entry.ts'
import type { FunctionDefinition, ScalarId, TableFunctionId } from '../functions/functions.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import type { Scope } from '../scope/scope.ts'
import type { Call, Expression } from '../syntax/ast-query.ts'
import { FINE_PARTS, PART_ALIASES } from '../syntax/time-parts.ts'
import { FRACTION_SCALE } from '../types/operators.ts'
import { MICROS_PER_DAY } from '../types/time-values.ts'
import {
  asDecimal,
  DECIMAL_DIGITS,
  DOUBLE,
  INTEGER,
  type IqlType,
  isNumber,
  LOCAL_TIMESTAMP,
  sameType,
  TEXT,
  TIMESTAMP,
  typeName,
} from '../types/types.ts'
import { accepts, expectedType, FRACTION } from './argument-kinds.ts'
import { isFlexible, literal, readLiteral, widen } from './literal.ts'
import { widenToCommonType } from './operators.ts'
import { bindZone, ZONE_WIDTH } from './zone.ts'

export interface BoundArguments {
  readonly definition: FunctionDefinition
  readonly arguments: readonly BoundExpression[]
  readonly type: IqlType
}

export function matchArguments(
  binding: Binding,
  scope: Scope,
  call: Call,
  definitions: readonly FunctionDefinition[],
): BoundArguments {
  const fitting = definitions.filter((definition) => takesCount(definition, call.arguments.length))
  if (fitting.length === 0)
    throw badArguments(
      binding,
      call,
      definitions,
      call.name.at,
      `takes ${describeArgumentCounts(definitions)}`,
      valueHint(definitions),
    )
  const own = call.arguments.map((argument) => {
    const takesType = isFlexible(argument) && !(argument.kind === 'parameter' && binding.isTyped(argument.name))
    return takesType ? undefined : binding.expression(scope, argument)
  })
  const chosen = fitting.find((definition) => {
    return call.arguments.every((argument, index) => {
      return accepts(kindAt(definition, index), argument, own[index])
    })
  })
  if (chosen === undefined) throw doesNotFit(binding, call, fitting, own)
  const moment = momentType(chosen, own)
  const common = own.find((bound, index) => bound !== undefined && kindAt(chosen, index) === 'common')?.type
  const given = call.arguments.map((argument, index) => {
    const kind = kindAt(chosen, index)
    const bound = own[index] ?? binding.expression(scope, argument, expectedArgumentType(kind, moment, common))
    // It may have got another type from an earlier argument.
    if (bound.kind === 'parameter' && !accepts(kind, argument, bound))
      throw doesNotFit(binding, call, fitting, own.with(index, bound))
    return finish(binding, call, chosen, kind, argument, bound, moment)
  })
  refuseMixedMoments(binding, call, chosen, given)
  const args = widenCommon(binding, call, chosen, given)
  const literals = args.map((argument) => {
    const value = argument.kind === 'literal' ? argument.value : undefined
    return typeof value === 'bigint' || typeof value === 'string' ? value : undefined
  })
  const type =
    typeof chosen.result === 'function'
      ? chosen.result(
          args.map((argument) => argument.type),
          literals,
        )
      : chosen.result
  return { definition: chosen, arguments: args, type }
}

/** Widens the arguments of the kind `common`, and leaves the others unchanged. */
function widenCommon(
  binding: Binding,
  call: Call,
  definition: FunctionDefinition,
  given: readonly BoundExpression[],
): readonly BoundExpression[] {
  const isCommon = (index: number): boolean => kindAt(definition, index) === 'common'
  const common = given.filter((_argument, index) => isCommon(index))
  if (common.length === 0) return given
  const widened = widenToCommonType(binding, definition.name, common, call.name.at).values()
  return given.map((argument, index) => (isCommon(index) ? (widened.next().value ?? argument) : argument))
}

function takesCount({ arguments: kinds, optional = 0, variadic }: FunctionDefinition, count: number): boolean {
  return count >= kinds.length - optional && (variadic === true || count <= kinds.length)
}

function kindAt({ arguments: kinds }: FunctionDefinition, index: number): ArgumentKind {
  return kinds[Math.min(index, kinds.length - 1)] ?? 'any'
}

/** Arguments that are widened to a common type take the type of the first typed argument. */
function expectedArgumentType(kind: ArgumentKind, moment: IqlType, common: IqlType | undefined): IqlType | undefined {
  if (kind === 'moment') return moment
  return kind === 'common' ? common : expectedType(kind)
}

/** The type of the arguments that are times: Timestamp, unless one is a LocalTimestamp. */
function momentType(definition: FunctionDefinition, own: readonly (BoundExpression | undefined)[]): IqlType {
  const isLocal = own.some(
    (argument, index) => kindAt(definition, index) === 'moment' && argument?.type.kind === 'LocalTimestamp',
  )
  return isLocal ? LOCAL_TIMESTAMP : TIMESTAMP
}

function refuseMixedMoments(
  binding: Binding,
  call: Call,
  definition: FunctionDefinition,
  given: readonly BoundExpression[],
): void {
  const moments = given.filter((_argument, index) => kindAt(definition, index) === 'moment')
  if (new Set(moments.map(({ type }) => type.kind)).size < 2) return
  throw badArguments(
    binding,
    call,
    [definition],
    call.name.at,
    'does not take a Timestamp and a LocalTimestamp together',
    'convert one of them with AT TIME ZONE',
  )
}

/** Checks what the type does not express, and converts a Date to a Timestamp and the number of a parameter to a Double. */
function finish(
  binding: Binding,
  call: Call,
  definition: FunctionDefinition,
  kind: ArgumentKind,
  written: Expression,
  bound: BoundExpression,
  moment: IqlType,
): BoundExpression {
  switch (kind) {
    case 'moment':
      return bound.type.kind === 'Date' ? castTo(moment, bound) : bound
    case 'zone':
      return bindZone(binding, startPosition(written), bound)
    case 'Double':
      return bound.type.kind === 'Double' ? bound : castTo(DOUBLE, bound)
    case 'Integer':
      // A whole number with many digits is a Decimal.
      return bound.kind === 'literal' && bound.type.kind === 'Decimal'
        ? readLiteral(binding, INTEGER, String(bound.value), startPosition(written))
        : bound
    case 'part':
      return bindWord(binding, definition.id === 'date_part_time' ? PARTS.filter(isOfTime) : PARTS, written, bound)
    case 'fine':
      return bindWord(binding, FINE_PARTS, written, bound)
    case 'unit':
      return bindWord(binding, UNITS, written, bound)
    case 'span':
      return bindWord(binding, SPANS, written, bound)
    case 'digits': {
      const digits = bound.kind === 'literal' && typeof bound.value === 'bigint' ? bound.value : -1n
      if (digits >= 0n && digits <= BigInt(DECIMAL_DIGITS)) return bound
      throw badArguments(
        binding,
        call,
        [definition],
        startPosition(written),
        `takes from 0 to ${DECIMAL_DIGITS} digits`,
      )
    }
    case 'fraction': {
      const fraction = asFraction(bound)
      if (fraction !== undefined) return fraction
      throw badArguments(binding, call, [definition], startPosition(written), `takes ${ARGUMENT_WORDS.fraction}`)
    }
    case 'fixed':
    case 'months': {
      const value = bound.kind === 'literal' ? bound.value : null
      if (value === null || typeof value !== 'object' || !('months' in value)) return bound
      const width = kind === 'months' ? value.months : value.micros
      const isOfZone = BUCKETS_OF_ZONES.has(definition.id) && kind === 'fixed'
      if (isOfZone && width > MICROS_PER_DAY && width % MICROS_PER_DAY !== 0n)
        throw badArguments(binding, call, [definition], startPosition(written), `with a time zone takes ${ZONE_WIDTH}`)
      if (width > 0n && (kind === 'fixed' || value.micros === 0n)) return bound
      throw badArguments(
        binding,
        call,
        [definition],
        startPosition(written),
        'takes a positive width, in whole months or in days and smaller units',
      )
    }
    case 'number':
    case 'exact':
      return bound.type.kind === 'Null' ? literal(INTEGER, null) : bound
    case 'any':
    case 'ordered':
    case 'comparable':
      return bound.type.kind === 'Null' ? literal(TEXT, null) : bound
    default:
      return bound
  }
}

function castTo(type: IqlType, operand: BoundExpression): BoundExpression {
  return { kind: 'cast', operand, type, nullable: operand.nullable }
}

/** A literal from 0 to 1, or a parameter that is not used as another type too. */
function asFraction(bound: BoundExpression): BoundExpression | undefined {
  if (bound.kind === 'parameter') return sameType(bound.type, FRACTION) ? bound : undefined
  if (bound.kind === 'literal' && bound.value === null) return literal(FRACTION, null)
  const scale = asDecimal(bound.type)?.scale
  if (bound.kind !== 'literal' || typeof bound.value !== 'bigint' || scale === undefined || scale > FRACTION_SCALE)
    return undefined
  return bound.value >= 0n && bound.value <= 10n ** BigInt(scale) ? widen(bound, FRACTION) : undefined
}

const BUCKETS_OF_ZONES: ReadonlySet<string> = new Set<ScalarId | TableFunctionId>(['time_bucket_zone', 'bucket_series'])

function isOfTime(part: string): boolean {
  return ['hour', 'minute', 'second', 'millisecond', 'microsecond'].includes(part)
}

function bindWord(
  binding: Binding,
  words: readonly string[],
  written: Expression,
  bound: BoundExpression,
): BoundExpression {
  const given = bound.kind === 'literal' && typeof bound.value === 'string' ? bound.value.toLowerCase() : ''
  const word = PART_ALIASES.get(given) ?? given
  if (words.includes(word)) return literal(TEXT, word)
  throw binding.fail('BadArguments', startPosition(written), `'${given.slice(0, 40)}' is not a time unit here`, {
    expected: words,
    hint: didYouMean(given, words),
  })
}

function doesNotFit(
  binding: Binding,
  call: Call,
  definitions: readonly FunctionDefinition[],
  own: readonly (BoundExpression | undefined)[],
) {
  const wrong = call.arguments.findIndex((argument, index) => {
    return !definitions.some((definition) => accepts(kindAt(definition, index), argument, own[index]))
  })
  const index = Math.max(wrong, 0)
  const argument = call.arguments[index]
  const type = own[index]?.type
  const at = argument === undefined ? call.name.at : startPosition(argument)
  const found = type === undefined ? 'this' : typeName(type)
  const needsDouble =
    definitions.some((definition) => kindAt(definition, index) === 'Double') && type !== undefined && isNumber(type)
  return badArguments(
    binding,
    call,
    definitions,
    at,
    `does not take ${found} as argument ${index + 1}`,
    needsDouble ? 'write CAST(… AS Double)' : wordHint(definitions, index),
  )
}

/** A word that chooses what the function does must be known when the statement is planned. */
function wordHint(definitions: readonly FunctionDefinition[], index: number): string | undefined {
  const kind = definitions.map((definition) => kindAt(definition, index)).find((each) => Object.hasOwn(WORDS, each))
  if (kind !== 'unit' && kind !== 'part' && kind !== 'span') return undefined
  const words = WORDS[kind].map((word) => `'${word}'`).join(', ')
  return `the ${kind} is a literal, not a parameter or a column: ${words}`
}

const WORDS = { unit: UNITS, part: PARTS, span: SPANS } as const

function badArguments(
  binding: Binding,
  call: Call,
  definitions: readonly FunctionDefinition[],
  at: number,
  why: string,
  hint?: string,
) {
  const message = `${call.name.text.toLowerCase()} ${why}`
  return binding.fail('BadArguments', at, message, { expected: definitions.map(formatSignature), hint })
}

/** A percentile needs the values besides the fraction. */
function valueHint([definition]: readonly FunctionDefinition[]): string | undefined {
  if (definition?.arguments[0] !== 'fraction') return undefined
  return `write ${definition.name}(0.5) WITHIN GROUP (ORDER BY x), or ${definition.name}(0.5, x)`
}

function describeArgumentCounts(definitions: readonly FunctionDefinition[]): string {
  const counts = definitions.flatMap(({ arguments: kinds, optional = 0, variadic }) => {
    if (variadic === true) return [`${kinds.length} or more`]
    return Array.from({ length: optional + 1 }, (_, index) => String(kinds.length - optional + index))
  })
  const distinct = [...new Set(counts)].join(' or ')
  return distinct === '0' ? 'no arguments' : `${distinct} ${distinct === '1' ? 'argument' : 'arguments'}`
}

/** The error for operands whose types do not combine, with a hint at what to write. */

import type { BoundExpression } from '../bound/bound-query.ts'
import type { Binding } from '../scope/binding.ts'
import { writeLocalTimestamp } from '../types/time-values.ts'
import { asDecimal, type IqlType, isNumber, typeName } from '../types/types.ts'
import { numberHint } from './literal-hint.ts'

/** `operands` are the expressions with these types, where they are known: hints can then name their values. */
export function mismatch(
  binding: Binding,
  what: string,
  left: IqlType,
  right: IqlType,
  at: number,
  operands: readonly BoundExpression[] = [],
) {
  const message = `${what.toUpperCase()} does not take ${typeName(left)} and ${typeName(right)}`
  const hint =
    remainderHint(left, right) ?? timeHint(what, left, right, operands) ?? textHint(what, left, right, operands)
  return binding.fail('TypeMismatch', at, message, { hint })
}

const COMPARES = /^(=|<>|!=|<=?|>=?|in|between|is (not )?distinct from)$/i

const CALCULATES = /^[-+*/%]$/

function remainderHint(left: IqlType, right: IqlType): string | undefined {
  const isOfBoth = [left.kind, right.kind].includes('Double') && (asDecimal(left) ?? asDecimal(right)) !== undefined
  return isOfBoth ? '% takes Integers and Decimals: write CAST(… AS Decimal(18, 6))' : undefined
}

/** Dates, Timestamps and LocalTimestamps that meet each other or a number. */
function timeHint(
  what: string,
  left: IqlType,
  right: IqlType,
  operands: readonly BoundExpression[],
): string | undefined {
  const kinds = [left.kind, right.kind].sort().join()
  if (kinds === 'Integer,Timestamp' || kinds === 'Integer,LocalTimestamp')
    return COMPARES.test(what) ? undefined : "write an interval: INTERVAL '7 days'"
  if (!COMPARES.test(what)) return undefined
  switch (kinds) {
    case 'Date,Timestamp':
      return operands.some(isShiftedDate)
        ? 'a Date with an Interval is a Timestamp: count days as a number, such as current_date - 13, or write CAST(… AS Date)'
        : 'write CAST(… AS Timestamp) around the Date'
    case 'LocalTimestamp,Timestamp':
      return operands.map(zonedLiteralHint).find((hint) => hint !== undefined) ?? LOCAL_HINT
    default:
      return undefined
  }
}

const LOCAL_HINT = "a local time becomes a Timestamp with its zone: LOCALTIMESTAMP '…' AT TIME ZONE 'America/New_York'"

function isShiftedDate(operand: BoundExpression): boolean {
  return (
    operand.kind === 'arithmetic' &&
    operand.type.kind !== 'Date' &&
    [operand.left, operand.right].some(({ type }) => type.kind === 'Date')
  )
}

/** TIMESTAMP '…' AT TIME ZONE, which in PostgreSQL is a time of the zone, and here a time in UTC as the zone shows it. */
function zonedLiteralHint(operand: BoundExpression): string | undefined {
  if (operand.kind !== 'call') return undefined
  const [time, zone] = [...operand.arguments].sort((a, b) => a.type.kind.localeCompare(b.type.kind)).reverse()
  if (time?.kind !== 'literal' || time.type.kind !== 'Timestamp' || typeof time.value !== 'bigint') return undefined
  const name = zone?.kind === 'literal' && typeof zone.value === 'string' ? zone.value : '…'
  const local = writeLocalTimestamp(time.value).replace('T', ' ')
  return `a TIMESTAMP is in UTC; for a time of the zone write LOCALTIMESTAMP '${local}' AT TIME ZONE '${name}'`
}

/** A Text that meets another type: what is compared should have the type of the other side, what is joined together be Text. */
function textHint(
  what: string,
  left: IqlType,
  right: IqlType,
  operands: readonly BoundExpression[],
): string | undefined {
  const others = [left, right].filter(({ kind }) => kind !== 'Text')
  const [other] = others
  if (other === undefined || others.length === 2) return undefined
  const isCompared = COMPARES.test(what)
  if (isNumber(other) && (isCompared || CALCULATES.test(what))) {
    const text = operands.find(({ kind, type }) => kind === 'literal' && type.kind === 'Text')
    const written =
      text?.kind === 'literal' && typeof text.value === 'string' ? numberHint(other, text.value) : undefined
    return written ?? `a number is written without quotes; a Text with a number in it is CAST(… AS ${typeName(other)})`
  }
  if (isCompared) return `write CAST(… AS ${typeName(other)}) around the Text`
  return other.kind === 'Date' && CALCULATES.test(what)
    ? "write a number of days, or INTERVAL '1 day'"
    : 'write CAST(… AS Text)'
}

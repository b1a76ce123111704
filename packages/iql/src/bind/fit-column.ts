/** Decides whether a value can be stored in a column, and adds a check at run time where the type alone does not decide. */

import type { BoundExpression } from '../bound/bound-query.ts'
import type { ColumnView } from '../bound/catalogue-view.ts'
import type { Binding } from '../scope/binding.ts'
import { asDecimal, type DecimalType, sameType, typeName } from '../types/types.ts'
import { writeDecimal } from '../types/values.ts'
import { literal, widen } from './literal.ts'
import { numberHint } from './literal-hint.ts'

/** A column takes values of its type, and a Decimal column exact numbers up to its scale. Everything else needs a CAST. */
export function fitColumn(binding: Binding, column: ColumnView, value: BoundExpression, at: number): BoundExpression {
  if (value.kind === 'literal' && value.value === null) {
    if (column.nullable) return widen(value, column.type)
    throw binding.fail('NotNull', at, `${column.name} cannot be NULL`)
  }
  if (column.type.kind === 'Decimal') return fitDecimal(binding, column, column.type, value, at)
  if (sameType(value.type, column.type)) return value
  throw doesNotFit(binding, column, value, at)
}

function fitDecimal(
  binding: Binding,
  column: ColumnView,
  type: DecimalType,
  value: BoundExpression,
  at: number,
): BoundExpression {
  const from = asDecimal(value.type)
  if (from === undefined) throw doesNotFit(binding, column, value, at)
  if (value.kind === 'literal' && typeof value.value === 'bigint')
    return literal(type, fitLiteral(binding, column, type, value.value, from.scale, at), value.written)
  if (from.scale > type.scale) {
    throw binding.fail(
      'TypeMismatch',
      at,
      `${column.name} has ${type.scale} digits after the point, the value has ${from.scale}`,
      { hint: `write round(…, ${type.scale})` },
    )
  }
  if (from.precision - from.scale <= type.precision - type.scale) return widen(value, type)
  return {
    kind: 'fit',
    operand: widen(value, { ...from, precision: 38, scale: type.scale }),
    column: column.name,
    type,
    nullable: value.nullable,
  }
}

function fitLiteral(
  binding: Binding,
  column: ColumnView,
  type: DecimalType,
  unscaled: bigint,
  scale: number,
  at: number,
): bigint {
  const shift = BigInt(Math.abs(type.scale - scale))
  const fitted = type.scale >= scale ? unscaled * 10n ** shift : unscaled / 10n ** shift
  const isExact = type.scale >= scale || fitted * 10n ** shift === unscaled
  const limit = 10n ** BigInt(type.precision)
  if (isExact && fitted < limit && -fitted < limit) return fitted
  throw binding.fail(
    'TypeMismatch',
    at,
    `${writeDecimal(unscaled, scale)} does not fit ${column.name}, which is ${typeName(type)}`,
  )
}

function doesNotFit(binding: Binding, column: ColumnView, value: BoundExpression, at: number) {
  return binding.fail(
    'TypeMismatch',
    at,
    `${column.name} is ${typeName(column.type)}, the value is ${typeName(value.type)}`,
    { hint: numberText(column, value) ?? `write CAST(… AS ${typeName(column.type)})` },
  )
}

/** For a text that is written for a number. */
function numberText({ type }: ColumnView, value: BoundExpression): string | undefined {
  const isText = value.kind === 'literal' && value.type.kind === 'Text' && typeof value.value === 'string'
  return isText ? numberHint(type, String(value.value)) : undefined
}

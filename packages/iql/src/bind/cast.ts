/** Binds CAST and `::`, with the forms that PostgreSQL's drivers give literals. */
import type { BoundExpression } from '../bound/bound-query.ts'
import type { Binding } from '../scope/binding.ts'
import type { Scope } from '../scope/scope.ts'
import type { Cast, TypeRef } from '../syntax/ast-query.ts'
import { canCast } from '../types/casts.ts'
import { asDecimal, DECIMAL_DIGITS, decimal, type IqlType, sameType, typeName } from '../types/types.ts'
import { withHyphens } from '../types/values.ts'
import { bindBytes, readLiteral } from './literal.ts'
import { bindType, isDecimalName } from './type.ts'

export function bindCast(binding: Binding, scope: Scope, cast: Cast): BoundExpression {
  const { operand: written, type: ref, at } = cast
  if (isDecimalName(ref.name) && ref.arguments.length === 0) return bindPlainDecimal(binding, scope, cast)
  const type = bindType(binding, ref, { forCast: true })
  if (written.kind === 'text' && type.kind !== 'Text') return bindTextAs(binding, type, written.value, written.at)
  // CAST types a parameter where the context does not.
  const expected = written.kind === 'parameter' || written.kind === 'null' ? type : undefined
  const operand = binding.expression(scope, written, expected)
  if (sameType(operand.type, type)) return operand
  if (type.kind === 'Interval' || !canCast(operand.type, type)) {
    throw binding.fail('TypeMismatch', at, `${typeName(operand.type)} cannot be cast to ${typeName(type)}`, {
      hint: isMoment(operand.type) && isMoment(type) ? "write … AT TIME ZONE 'UTC'" : undefined,
    })
  }
  return { kind: 'cast', operand, type, nullable: operand.nullable }
}

/** A text literal as another type: in IQL's form, or in the form that PostgreSQL writes for the type. */
function bindTextAs(binding: Binding, type: IqlType, text: string, at: number): BoundExpression {
  if (type.kind === 'Binary' && /^\\x(?:[0-9a-f]{2})*$/i.test(text)) return bindBytes(text.slice(2).toLowerCase())
  if (type.kind === 'Boolean') return readLiteral(binding, type, BOOLEANS.get(text) ?? text, at)
  // As Python's drivers write it.
  if (type.kind === 'Uuid') return readLiteral(binding, type, withHyphens(text), at)
  // A time of Go or Java as a date: at midnight nothing is lost.
  if (type.kind === 'Date') return readLiteral(binding, type, text.replace(/[T ]00:00:00(?:Z|\+00)?$/, ''), at)
  return readLiteral(binding, type, text, at)
}

const BOOLEANS: ReadonlyMap<string, string> = new Map([
  ['t', 'true'],
  ['f', 'false'],
])

/** `numeric` without digits takes those of the value, which must be known: an exact number, or a text with one. */
function bindPlainDecimal(binding: Binding, scope: Scope, { operand: written, type }: Cast): BoundExpression {
  if (written.kind === 'text') {
    const match = /^[+-]?(\d*)(?:\.(\d*))?$/.exec(written.value)
    const [whole = '', fraction = ''] = [match?.[1], match?.[2]]
    const digits = Math.max(1, whole.replace(/^0+/, '').length + fraction.length)
    if (digits <= DECIMAL_DIGITS)
      return readLiteral(binding, decimal(digits, fraction.length), written.value, written.at)
  }
  if (written.kind === 'parameter' || written.kind === 'null') return refuseDigits(binding, type)
  const operand = binding.expression(scope, written)
  if (operand.type.kind === 'Decimal') return operand
  const exact = asDecimal(operand.type)
  if (exact === undefined) return refuseDigits(binding, type)
  return { kind: 'cast', operand, type: exact, nullable: operand.nullable }
}

function refuseDigits(binding: Binding, { name }: TypeRef): never {
  throw binding.fail('BadType', name.at, 'Decimal needs its digits', { hint: 'write Decimal(18, 4)' })
}

function isMoment({ kind }: IqlType): boolean {
  return kind === 'Timestamp' || kind === 'LocalTimestamp'
}

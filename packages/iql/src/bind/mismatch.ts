/** The error for operands whose types do not combine, with a hint at the CAST to write. */

import type { Binding } from '../scope/binding.ts'
import { asDecimal, type IqlType, typeName } from '../types/types.ts'

export function mismatch(binding: Binding, what: string, left: IqlType, right: IqlType, at: number) {
  const message = `${what.toUpperCase()} does not take ${typeName(left)} and ${typeName(right)}`
  const numbers = [left.kind, right.kind].includes('Double') && (asDecimal(left) ?? asDecimal(right)) !== undefined
  const hint = numbers ? '% takes Integers and Decimals: write CAST(… AS Decimal(18, 6))' : textHint(what, left, right)
  return binding.fail('TypeMismatch', at, message, { hint })
}

const COMPARES = /^(=|<>|!=|<=?|>=?|in|between|is (not )?distinct from)$/i

/** A Text that meets another type: what is compared should have the type of the other side, what is joined together be Text. */
function textHint(what: string, left: IqlType, right: IqlType): string | undefined {
  const others = [left, right].filter(({ kind }) => kind !== 'Text')
  const [other] = others
  if (other === undefined || others.length === 2) return undefined
  if (!COMPARES.test(what)) return 'write CAST(… AS Text)'
  return asDecimal(other) !== undefined || other.kind === 'Double'
    ? `a number is written without quotes; a Text with a number in it is CAST(… AS ${typeName(other)})`
    : `write CAST(… AS ${typeName(other)}) around the Text`
}

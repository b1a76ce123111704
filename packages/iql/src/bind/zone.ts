/** Binds the name of a time zone, which is a literal or a parameter. */

import type { BoundExpression } from '../bound/bound-query.ts'
import type { Binding } from '../scope/binding.ts'
import { TEXT } from '../types/types.ts'
import { literal } from './literal.ts'

/** A bucket of 36 hours would begin at no certain time of the day. */
export const ZONE_WIDTH = 'a width of whole days, or of less than a day'

/** In the spelling of the database; the value of a parameter is checked when the statement runs. */
export function bindZone(binding: Binding, at: number, bound: BoundExpression): BoundExpression {
  const { zones } = binding.catalogue
  if (bound.kind !== 'literal' || typeof bound.value !== 'string' || zones === undefined) return bound
  const name = zones.find(bound.value)
  if (name !== undefined) return literal(TEXT, name)
  throw binding.fail('BadLiteral', at, unknownZone(bound.value), { hint: zones.hint(bound.value) })
}

export function unknownZone(name: string): string {
  return `There is no time zone '${name.length <= 40 ? name : `${name.slice(0, 40)}…`}'`
}

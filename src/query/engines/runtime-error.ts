/** Errors of IQL that show only while a statement runs; they have no place in its text. */
import { Refusal } from '../../protocol/refusal.ts'
import { ERRORS, type ErrorName } from '../iql/errors.ts'

export function iqlError(name: ErrorName, detail: string): Refusal {
  return new Refusal(`IQL.${name}`, ERRORS[name].status, detail)
}

/** What either engine says of a Double that would round to zero. */
export const TOO_SMALL = 'The result is too small for a Double, and is not zero'

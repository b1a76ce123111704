/** Errors of IQL that show only while a statement runs; they have no place in its text. */
import { Refusal } from '../../protocol/refusal.ts'
import { ERRORS, type ErrorName } from '../iql/errors.ts'

export function iqlError(name: ErrorName, detail: string): Refusal {
  return new Refusal(`IQL.${name}`, ERRORS[name].status, detail)
}

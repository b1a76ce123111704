/** What is said of a row that may not be written. Plain data, which can cross to the writer process. */
import type { MissingLicence } from 'gatehouse-iql'

/** A CHECK constraint, or a licence that the caller lacks. */
export interface ConstraintText {
  readonly name: string
  readonly text: string
  readonly missing?: MissingLicence | undefined
}

export function constraintText({ name, text, missing }: ConstraintText): ConstraintText {
  return { name, text, missing }
}

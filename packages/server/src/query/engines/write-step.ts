/** A statement of a write, and what it is checked against. */
import type { ConstraintText } from './constraint-text.ts'
import type { Bindable } from './emit/parameters.ts'

/** The statement runs once for each parameter set. */
export interface WriteStep {
  readonly sql: string
  /** The statement returns nothing, but inserts one row for each set of parameters; these parameters are the returned rows. */
  readonly returned?: readonly number[] | undefined
  /** The write is refused (Data.Conflict) if the statement changes nothing. */
  readonly mustChange?: true | undefined
  /** The statement returns one more column, the verdict on the written row (emit/write.ts); undefined if it does not. */
  readonly constraints?: readonly ConstraintText[] | undefined
  readonly parameterSets: readonly (readonly Bindable[])[]
}

/** Refuses statements of which a database would copy too many expressions. */
import { copiedSize, type Runnable } from '../bound/copied-operands.ts'
import type { Binding } from '../scope/binding.ts'
import { MAX_COPIED_EXPRESSIONS } from '../syntax/limits.ts'

export function refuseCopies(binding: Binding, statement: Runnable): void {
  if (!binding.mayCopy || copiedSize(statement) <= MAX_COPIED_EXPRESSIONS) return
  throw binding.fail(
    'TooComplex',
    0,
    `The statement has more than ${MAX_COPIED_EXPRESSIONS} expressions, including those that BETWEEN, IN, ORDER BY and queries in FROM repeat`,
    { hint: 'use the columns of a query in FROM less often, or nest fewer BETWEENs and INs' },
  )
}

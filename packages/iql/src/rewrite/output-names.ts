/** Names of outputs inside the expressions of ORDER BY: in `ORDER BY abs(change)` the name stands for the expression of the output. */

import type { Binding } from '../scope/binding.ts'
import { withChildren } from '../syntax/ast-children.ts'
import type { Expression, Name } from '../syntax/ast-query.ts'
import { MAX_OUTPUT_USES } from '../syntax/limits.ts'

/** The written expressions of the outputs, by name in lower case. */
export type WrittenOutputs = ReadonlyMap<string, Expression>

/** The expression with the names replaced. A column of the sources of the select has precedence, as in GROUP BY. */
export function replaceOutputNames(
  binding: Binding,
  isColumn: (name: Name) => boolean,
  outputs: WrittenOutputs,
  expression: Expression,
): Expression {
  if (expression.kind !== 'column') {
    return withChildren(expression, (child) => replaceOutputNames(binding, isColumn, outputs, child))
  }
  const { table, name } = expression
  if (table !== undefined || isColumn(name)) return expression
  const output = outputs.get(name.text.toLowerCase())
  if (output === undefined) return expression
  binding.mayCopy = true
  if (++binding.outputUses <= MAX_OUTPUT_USES) return output
  throw binding.fail(
    'TooComplex',
    name.at,
    `The expressions of ORDER BY can use names of outputs at most ${MAX_OUTPUT_USES} times`,
    { hint: 'write SELECT * FROM (…) AS r ORDER BY …' },
  )
}

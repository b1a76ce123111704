/** Attributes of the caller in row filters: the parameters `:attribute.name`. */
import { childExpressions } from './ast-children.ts'
import type { Expression } from './ast-query.ts'
import { parseExpressionText } from './parser.ts'

const PREFIX = 'attribute.'

/** The attribute that a parameter names; undefined for any other expression. */
export function namedAttribute(expression: Expression): string | undefined {
  if (expression.kind !== 'parameter') return undefined
  const name = expression.name.toLowerCase()
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : undefined
}

/** The names of the attributes that a row filter uses. */
export function filterAttributes(filter: string): ReadonlySet<string> {
  // Most filters use none, and need not be parsed.
  return /:attribute\./i.test(filter) ? attributesWithin(parseExpressionText(filter)) : new Set()
}

export function attributesWithin(expression: Expression): ReadonlySet<string> {
  const names = new Set<string>()
  const rest = [expression]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const name = namedAttribute(next)
    if (name !== undefined) names.add(name)
    rest.push(...childExpressions(next))
  }
  return names
}

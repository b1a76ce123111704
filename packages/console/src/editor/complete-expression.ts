/** Completion of a condition alone, such as a row filter: given columns and variables, functions and keywords. */
import type { Completion, CompletionSource } from '@codemirror/autocomplete'
import { FUNCTION_OPTIONS } from './complete.ts'
import { printed } from './printed.ts'

export interface Expression {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** With their colon. */
  readonly variables: readonly { readonly name: string; readonly about: string }[]
}

const WORDS: readonly Completion[] = ['AND', 'OR', 'NOT', 'IN', 'BETWEEN', 'LIKE', 'IS NULL', 'IS NOT NULL'].map(
  (label) => ({ label, type: 'keyword', boost: -1 }),
)

export function expressionSource(expression: () => Expression): CompletionSource {
  return (context) => {
    const variable = context.matchBefore(/:[\p{L}\p{N}_.]*/u)
    if (variable !== null)
      return { from: variable.from, options: variables(expression()), validFor: /^:[\p{L}\p{N}_.]*$/u }
    const word = context.matchBefore(/"?[\p{L}_][\p{L}\p{N}\p{M}_]*/u)
    if (word === null && !context.explicit) return null
    // In a text nothing is completed.
    const before = context.state.sliceDoc(0, context.pos)
    if ((before.match(/'/g)?.length ?? 0) % 2 === 1) return null
    const options = [
      ...columns(expression()),
      ...(word === null ? variables(expression()) : FUNCTION_OPTIONS),
      ...WORDS,
    ]
    return { from: word?.from ?? context.pos, options, validFor: /^"?[\p{L}_][\p{L}\p{N}\p{M}_]*$/u }
  }
}

function columns({ columns: own }: Expression): Completion[] {
  return own.map(({ name, type }) => ({ label: name, apply: printed(name), type: 'property', detail: type, boost: 2 }))
}

function variables({ variables: known }: Expression): Completion[] {
  return known.map(({ name, about }) => ({ label: name, type: 'variable', detail: about, boost: 1 }))
}

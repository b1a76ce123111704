/** Replaces literals of a statement by parameters, some of whose values are hostile. */
import type { Statement } from 'gatehouse-iql'
import type { Choice } from './choice.ts'

export interface WithParameters {
  readonly statement: Statement
  readonly parameters: Readonly<Record<string, unknown>>
}

/** For values of each type, and of none: a value that the type does not take has to be refused alike. */
const HOSTILE: readonly unknown[] = [
  ...[
    null,
    true,
    '',
    ' ',
    '%',
    '_',
    '\\',
    '\\%',
    '%\\',
    "'",
    '"',
    '--',
    'a\u0000b',
    '\ud800',
    '😀',
    'e\u0301',
    'constructor',
    '__proto__',
  ],
  ...[
    -1,
    0,
    '-0',
    '9223372036854775807',
    '-9223372036854775808',
    '9223372036854775808',
    '1e400',
    '1e-400',
    '5e-324',
    'NaN',
  ],
  ...['Infinity', '-Infinity', '0.1', '1e5', '99999999999999999999999999999999999999', 'x'.repeat(3000), [1], { a: 1 }],
  ...[
    '2024-02-29',
    '2023-02-29',
    '0000-01-01',
    '9999-12-31T23:59:59.999999Z',
    '24:00:00',
    '1 month',
    '-5 minutes',
    '{"a":1',
  ],
]

/** Every literal that the choice takes becomes a parameter; about half of them keep their value. */
export function withParameters(statement: Statement, choice: Choice): WithParameters {
  const parameters: Record<string, unknown> = {}
  let count = 0
  const replaced = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(replaced)
    if (typeof node !== 'object' || node === null) return node
    const value = literalValue(node)
    if (value !== undefined && choice.oneIn(3)) {
      const name = `p${++count}`
      parameters[name] = choice.oneIn(2) ? value : choice.of(HOSTILE)
      return { kind: 'parameter', name, at: 0 }
    }
    return Object.fromEntries(Object.entries(node).map(([member, inner]) => [member, replaced(inner)]))
  }
  return { statement: replaced(statement) as Statement, parameters }
}

function literalValue(node: object): string | undefined {
  if (!('kind' in node)) return undefined
  if (node.kind === 'text' && 'value' in node) return String(node.value)
  if (node.kind === 'number' && 'text' in node) return String(node.text)
  return node.kind === 'typed' && 'value' in node ? String(node.value) : undefined
}

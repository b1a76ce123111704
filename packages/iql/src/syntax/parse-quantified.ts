/** Parses comparisons with the rows of a query or the elements of an array: `= ANY (…)` and `<> ALL (…)`, which are IN and NOT IN. */
import type { BinaryOperator, Expression, InList, InQuery } from './ast-query.ts'
import type { TokenStream } from './token-stream.ts'

const QUANTIFIERS: ReadonlySet<string> = new Set(['any', 'some', 'all'])

/**
 * Quantified = ("=" ("ANY" | "SOME") | ("<>" | "!=") "ALL") "(" (Query | Parameter) ")"
 *
 * Undefined if no such word follows the operator.
 */
export function parseQuantified(
  tokens: TokenStream,
  operand: Expression,
  operator: BinaryOperator,
  at: number,
): InQuery | InList | undefined {
  const { key, kind, at: quantifiedAt } = tokens.token
  if (kind !== 'word' || !QUANTIFIERS.has(key) || tokens.ahead(1).key !== '(') return undefined
  tokens.take()
  const isArray = tokens.ahead(1).kind === 'parameter' && tokens.ahead(2).key === ')'
  if (!isArray && !tokens.opensQuery()) {
    throw tokens.fail(`${key.toUpperCase()} takes a query`, quantifiedAt, 'Syntax', 'for a list write IN (…)')
  }
  const isAll = key === 'all'
  if (operator !== (isAll ? '<>' : '=')) {
    const hint = QUANTIFIED_HINTS.get(`${operator} ${isAll ? 'all' : 'any'}`)
    throw tokens.fail(`IQL has no ${operator} ${key.toUpperCase()} (query)`, at, 'Syntax', hint)
  }
  if (isArray) {
    tokens.take()
    const { text: array, at: parameterAt } = tokens.token
    tokens.take()
    tokens.expects(')')
    const items: Expression[] = [{ kind: 'parameter', name: array, at: parameterAt }]
    return { kind: 'in-list', negated: isAll, operand, items, array, at }
  }
  return { kind: 'in-query', negated: isAll, operand, query: tokens.subquery(), at }
}

const QUANTIFIED_HINTS: ReadonlyMap<string, string> = new Map([
  ['> any', 'write > (SELECT min(x) FROM …)'],
  ['>= any', 'write >= (SELECT min(x) FROM …)'],
  ['< any', 'write < (SELECT max(x) FROM …)'],
  ['<= any', 'write <= (SELECT max(x) FROM …)'],
  ['> all', 'write > (SELECT max(x) FROM …)'],
  ['>= all', 'write >= (SELECT max(x) FROM …)'],
  ['< all', 'write < (SELECT min(x) FROM …)'],
  ['<= all', 'write <= (SELECT min(x) FROM …)'],
  ['<> any', 'write EXISTS (SELECT 1 FROM … WHERE x <> value)'],
  ['= all', 'write NOT EXISTS (SELECT 1 FROM … WHERE x <> value)'],
])

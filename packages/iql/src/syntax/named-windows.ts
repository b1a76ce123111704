/** WINDOW w AS (…): every OVER that names a window gets its clauses, so that nothing after the parser knows names of windows. */
import { didYouMean } from '../errors/did-you-mean.ts'
import { childExpressions, withChildren } from './ast-children.ts'
import type { Expression, NamedWindow, WindowSpec } from './ast-query.ts'
import { sameName } from './names.ts'
import { parseWindow } from './parse-call.ts'
import type { TokenStream } from './token-stream.ts'

/** ["WINDOW" NamedWindow {"," NamedWindow}] */
export function parseNamedWindows(tokens: TokenStream): NamedWindow[] {
  if (!opensNamedWindows(tokens)) return []
  tokens.take()
  const named: NamedWindow[] = []
  do named.push(parseNamedWindow(tokens, named))
  while (tokens.accepts(','))
  return named
}

/** NamedWindow = Name "AS" Window */
function parseNamedWindow(tokens: TokenStream, before: readonly NamedWindow[]): NamedWindow {
  const name = tokens.name('the name of a window')
  if (before.some((other) => sameName(other.name.text, name.text)))
    throw tokens.fail(`There are two windows ${name.text}`, name.at)
  tokens.expects('as')
  // A window can extend those before it.
  return { name, window: new NamedWindows(tokens, before).resolve(parseWindow(tokens)) }
}

/** WINDOW is not reserved: it can be an alias. */
export function opensNamedWindows(tokens: TokenStream): boolean {
  if (tokens.token.kind !== 'word' || tokens.token.key !== 'window') return false
  return tokens.ahead(2).key === 'as' && tokens.ahead(3).key === '('
}

/** Far more than a statement needs; fewer than would take long to bind. */
const MAX_COPIED = 10_000

export class NamedWindows {
  readonly #tokens: TokenStream
  readonly #named: readonly NamedWindow[]
  #copied = 0

  constructor(tokens: TokenStream, named: readonly NamedWindow[]) {
    this.#tokens = tokens
    this.#named = named
  }

  /** The expression in which each OVER has the clauses of the window that it names. */
  within(expression: Expression): Expression {
    if (!this.#tokens.namesWindows || !usesName(expression)) return expression
    const replaced = withChildren(expression, (child) => this.within(child))
    if (replaced.kind !== 'call' || replaced.over === undefined) return replaced
    return { ...replaced, over: this.resolve(replaced.over) }
  }

  /** As in PostgreSQL, what names a window in parentheses can add an order and a frame, but change nothing. */
  resolve({ base, ...window }: WindowSpec): WindowSpec {
    if (base === undefined) return window
    const found = this.#named.find(({ name }) => sameName(name.text, base.text))?.window
    if (found === undefined) {
      const names = this.#named.map(({ name }) => name.text)
      const hint = didYouMean(base.text, names) ?? `write WINDOW ${base.text} AS (…) at the end of the SELECT`
      throw this.#tokens.fail(`There is no window ${base.text}`, base.at, 'BadArguments', hint)
    }
    this.#count(found, base.at)
    if (window.at === base.at) return { ...found, at: base.at }
    const fault =
      window.partitionBy.length > 0
        ? 'it cannot have another PARTITION BY'
        : window.orderBy.length > 0 && found.orderBy.length > 0
          ? 'it has an ORDER BY already'
          : found.frame !== undefined
            ? `it has a frame, and can only be used as it is: OVER ${base.text}`
            : undefined
    if (fault !== undefined)
      throw this.#tokens.fail(`The window ${base.text} cannot be changed: ${fault}`, base.at, 'BadArguments')
    const orderBy = found.orderBy.length > 0 ? found.orderBy : window.orderBy
    return { ...window, partitionBy: found.partitionBy, orderBy }
  }

  #count({ partitionBy, orderBy }: WindowSpec, at: number): void {
    const keys = [...partitionBy, ...orderBy.map(({ expression }) => expression)]
    this.#copied += keys.reduce((sum, key) => sum + countExpressions(key), 1)
    if (this.#copied > MAX_COPIED)
      throw this.#tokens.fail('The named windows are used too often for their size', at, 'TooComplex')
  }
}

function usesName(expression: Expression): boolean {
  if (expression.kind === 'call' && expression.over?.base !== undefined) return true
  return childExpressions(expression).some(usesName)
}

function countExpressions(expression: Expression): number {
  return childExpressions(expression).reduce((sum, child) => sum + countExpressions(child), 1)
}

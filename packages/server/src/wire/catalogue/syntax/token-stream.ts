/** The parser's position in the tokens. */
import { CatalogueError } from '../catalogue-error.ts'
import type { Expression, Query } from './ast.ts'
import { RESERVED } from './keywords.ts'
import type { Token } from './lexer.ts'

/** Bounds the stack of the parser and of what walks its trees; SQLite's own limit is 1,000. */
const MAX_NESTING = 120

/** Queries contain expressions and expressions contain queries: this keeps their parsers from importing each other. */
export interface Grammar {
  readonly query: (tokens: TokenStream) => Query
  readonly expression: (tokens: TokenStream) => Expression
  /** An expression without comparisons and IN. */
  readonly operand: (tokens: TokenStream) => Expression
}

export class TokenStream {
  readonly #tokens: readonly Token[]
  #index = 0
  #nesting = 0
  readonly #grammar: Grammar

  constructor(tokens: readonly Token[], grammar: Grammar) {
    this.#tokens = tokens
    this.#grammar = grammar
  }

  get token(): Token {
    return this.ahead(0)
  }

  get at(): number {
    return this.token.at
  }

  ahead(distance: number): Token {
    return this.#tokens[this.#index + distance] ?? END
  }

  take(): Token {
    const token = this.token
    this.#index++
    return token
  }

  sees(...keys: readonly string[]): boolean {
    return keys.every((key, distance) => this.ahead(distance).key === key)
  }

  /** Takes the keywords or symbols if all of them are next. */
  accepts(...keys: readonly string[]): boolean {
    if (!this.sees(...keys)) return false
    this.#index += keys.length
    return true
  }

  expects(...keys: readonly string[]): void {
    for (const key of keys) if (!this.accepts(key)) throw this.unexpected(key)
  }

  /** Any word as the part of a name after a dot or AS; elsewhere one that is not reserved. */
  name(isReservedAllowed = false): string {
    if (!this.isName(isReservedAllowed)) throw this.unexpected('a name')
    return this.take().text
  }

  isName(isReservedAllowed = false): boolean {
    const { kind, key } = this.token
    return kind === 'quoted' || (kind === 'word' && (isReservedAllowed || !RESERVED.has(key)))
  }

  /** Name {"." Name} */
  path(): string[] {
    const path = [this.name()]
    while (this.sees('.') && this.ahead(1).key !== '*') {
      this.take()
      path.push(this.name(true))
    }
    return path
  }

  list<Item>(parseItem: (tokens: TokenStream) => Item): Item[] {
    const items = [parseItem(this)]
    while (this.accepts(',')) items.push(parseItem(this))
    return items
  }

  /** "(" Query ")" is next, perhaps in further parentheses. */
  opensQuery(): boolean {
    if (!this.sees('(')) return false
    let distance = 1
    while (this.ahead(distance).key === '(') distance++
    return QUERY_STARTS.has(this.ahead(distance).key)
  }

  subquery(): Query {
    this.expects('(')
    const query = this.nested(() => this.#grammar.query(this))
    this.expects(')')
    return query
  }

  expression(): Expression {
    return this.nested(() => this.#grammar.expression(this))
  }

  operand(): Expression {
    return this.nested(() => this.#grammar.operand(this))
  }

  nested<Tree>(parse: () => Tree): Tree {
    if (++this.#nesting > MAX_NESTING)
      throw new CatalogueError('tooComplex', `A statement nests at most ${MAX_NESTING} levels deep`, this.at)
    const tree = parse()
    this.#nesting--
    return tree
  }

  /** Tries an alternative of the grammar; the position is restored if it does not match. */
  attempt<Tree>(parse: () => Tree | undefined): Tree | undefined {
    const index = this.#index
    const tree = parse()
    if (tree === undefined) this.#index = index
    return tree
  }

  unexpected(expected?: string): CatalogueError {
    const { kind, text, at } = this.token
    const hint =
      expected === undefined ? undefined : `Expected ${/^[a-z]+$/.test(expected) ? expected.toUpperCase() : expected}`
    if (kind === 'end') return new CatalogueError('syntax', 'syntax error at end of input', at, hint)
    return new CatalogueError('syntax', `syntax error at or near "${text}"`, at, hint)
  }
}

const QUERY_STARTS: ReadonlySet<string> = new Set(['select', 'with', 'values'])

const END: Token = { kind: 'end', text: '', key: '', at: 0 }

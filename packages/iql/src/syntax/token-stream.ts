/** The parser's position in the tokens: looks ahead, consumes, enforces limits, and reports what was expected. */
import type { Refusal } from 'gatehouse-protocol'
import { didYouMean } from '../errors/did-you-mean.ts'
import type { ErrorName } from '../errors/errors.ts'
import { refuse } from '../errors/refusal.ts'
import type { Expression, Name, Query } from './ast-query.ts'
import { findForeignSyntax } from './foreign-syntax.ts'
import { RESERVED, RESERVED_FUNCTIONS } from './keywords.ts'
import type { Token } from './lexer.ts'
import type { Limits } from './limits.ts'

/** Queries contain expressions and expressions contain queries: these keep their parsers from importing each other. */
export interface SharedRules {
  readonly subquery: (tokens: TokenStream) => Query
  readonly expression: (tokens: TokenStream, minimum: number) => Expression
}

export class TokenStream {
  /** The next token. */
  token: Token
  readonly statement: string
  readonly limits: Limits
  /** The height of the highest expression parsed since the enclosing one began. */
  height = 0
  /** Whether an OVER so far names a window. */
  namesWindows = false
  readonly #tokens: readonly Token[]
  #index = 0
  #nesting = 0
  #expressions = 0
  #conditions = 0
  #joins = 0
  #setOperations = 0
  #queries = 0
  #closes: ReadonlyMap<number, number> | undefined
  /** Undefined in the first pass. In the second, everything that was expected at `token`. */
  readonly #expected: Set<string> | undefined
  #expectedAt = -1
  /** The last word that was taken for an alias. */
  #aliasIndex = -1

  readonly #rules: SharedRules

  constructor(
    statement: string,
    tokens: readonly Token[],
    limits: Limits,
    recordExpected: boolean,
    rules: SharedRules,
  ) {
    this.statement = statement
    this.limits = limits
    this.#tokens = tokens
    this.#expected = recordExpected ? new Set() : undefined
    this.#rules = rules
    this.token = this.ahead(0)
  }

  ahead(distance: number): Token {
    return this.#tokens[this.#index + distance] ?? END
  }

  /** Consumes the next token of any kind. */
  take(): Token {
    const taken = this.token
    this.#index++
    this.token = this.ahead(0)
    return taken
  }

  /** Whether the keyword or symbol is next. */
  sees(key: string): boolean {
    if (this.token.key === key) return true
    this.couldBe(key)
    return false
  }

  /** Consumes the keyword or symbol if it is next. */
  accepts(key: string): boolean {
    if (!this.sees(key)) return false
    this.take()
    return true
  }

  /** Consumes the keyword or symbol, which must be next, and returns its position. */
  expects(key: string): number {
    if (!this.sees(key)) throw this.unexpected()
    return this.take().at
  }

  /** Name = Word that is not reserved | Quoted */
  name(what: string): Name {
    const { kind, text, key, at } = this.token
    if (kind === 'quoted' || (kind === 'word' && !RESERVED.has(key))) {
      this.take()
      return { text, at }
    }
    this.couldBe(what)
    throw this.unexpected(
      kind === 'word' ? `${key.toUpperCase()} is a reserved word; as a name write "${text}"` : undefined,
    )
  }

  /** A name that needs no AS before it. */
  bareAlias(): Name | undefined {
    if (!this.isName() || this.#opensClause()) return undefined
    this.#aliasIndex = this.token.kind === 'word' ? this.#index : -1
    return this.name('a name')
  }

  /** QUALIFY and FETCH are not reserved: they can be aliases, but not before what their clauses begin with. */
  #opensClause(): boolean {
    if (this.token.kind !== 'word') return false
    const { kind, key } = this.ahead(1)
    if (this.token.key === 'fetch') return key === 'first' || key === 'next'
    if (this.token.key !== 'qualify' || kind === 'end') return false
    if (kind === 'symbol') return key === '(' || key === '-' || key === '+'
    if (kind !== 'word' || !RESERVED.has(key) || CONDITION_WORDS.has(key)) return true
    return RESERVED_FUNCTIONS.has(key) && this.ahead(2).key === '('
  }

  isName(): boolean {
    return this.token.kind === 'quoted' || (this.token.kind === 'word' && !RESERVED.has(this.token.key))
  }

  /** A whole number that is part of the grammar: the digits of a type, the rows of a frame. */
  wholeNumber(what: string): number {
    if (this.token.kind !== 'number' || !/^\d{1,9}$/.test(this.token.text)) {
      this.couldBe(what)
      throw this.unexpected()
    }
    return Number(this.take().text)
  }

  text(what: string): string {
    if (this.token.kind !== 'text') {
      this.couldBe(what)
      throw this.unexpected()
    }
    return this.take().text
  }

  /** The word with BY after it: GROUP BY, ORDER BY, PARTITION BY. */
  acceptsBy(word: string): boolean {
    if (!this.accepts(word)) return false
    this.expects('by')
    return true
  }

  /** Table = ["public" "."] Name */
  tableName(what = 'a table'): Name {
    const name = this.name(what)
    if (this.token.key !== '.') return name
    if (!isPublic(name))
      throw this.fail(`There is no schema ${name.text}`, name.at, 'UnknownTable', 'all tables are in the schema public')
    this.take()
    return this.name(what)
  }

  columnName(): Name {
    return this.name('a column')
  }

  /** Item {"," Item} */
  list<Item>(parseItem: (tokens: this) => Item): Item[] {
    const items = [parseItem(this)]
    while (this.accepts(',')) items.push(parseItem(this))
    return items
  }

  /** A list whose length databases limit: one that is too long is refused before it is read to its end. */
  shortList<Item>(what: string, parseItem: (tokens: this) => Item): Item[] {
    const { listItems } = this.limits
    let count = 0
    return this.list((tokens) => {
      if (++count > listItems) throw this.fail(`${what} at most ${listItems} items`, this.token.at, 'TooComplex')
      return parseItem(tokens)
    })
  }

  /** Consumes the closing parenthesis after the tree. */
  closing<Tree>(tree: Tree): Tree {
    this.expects(')')
    return tree
  }

  /** "(" Query ")" */
  subquery(): Query {
    return this.#rules.subquery(this)
  }

  /** An expression of operators with a precedence above `minimum`. */
  expression(minimum = 0): Expression {
    return this.#rules.expression(this, minimum)
  }

  couldBe(what: string): void {
    if (this.#expected === undefined) return
    if (this.#expectedAt !== this.#index) this.#expected.clear()
    this.#expectedAt = this.#index
    this.#expected.add(/^[a-z]+$/.test(what) ? what.toUpperCase() : what)
  }

  /** Every construct that can contain itself is parsed through here, which bounds the parser's stack. */
  nested<Tree>(parse: () => Tree): Tree {
    if (++this.#nesting > this.limits.nesting) {
      throw this.fail(`A statement nests at most ${this.limits.nesting} levels deep`, this.token.at, 'TooComplex')
    }
    const tree = parse()
    this.#nesting--
    return tree
  }

  /** Conditions are counted for each outermost expression. */
  beginExpression(): void {
    if (this.#expressions++ === 0) this.#conditions = 0
  }

  endExpression(): void {
    this.#expressions--
  }

  countCondition(at: number): void {
    if (++this.#conditions <= this.limits.conditions) return
    throw this.fail(
      `An expression has at most ${this.limits.conditions} AND and OR operators`,
      at,
      'TooComplex',
      'use IN for lists',
    )
  }

  checkHeight(height: number, at: number): void {
    if (height <= this.limits.height) return
    throw this.fail(`Operators nest at most ${this.limits.height} levels deep`, at, 'TooComplex')
  }

  countJoin(at: number): void {
    if (++this.#joins <= this.limits.joins) return
    throw this.fail(`A statement has at most ${this.limits.joins} joins`, at, 'TooComplex')
  }

  countQuery(at: number): void {
    if (++this.#queries <= this.limits.queries) return
    throw this.fail(`A statement has at most ${this.limits.queries} SELECTs`, at, 'TooComplex')
  }

  countSetOperation(at: number): void {
    if (++this.#setOperations <= this.limits.setOperations) return
    throw this.fail(`A statement has at most ${this.limits.setOperations} set operations`, at, 'TooComplex')
  }

  /** Whether the next token opens a parenthesised query, and not an expression, a list or a join. */
  opensQuery(): boolean {
    return this.token.key === '(' && this.#holdsQuery()
  }

  #holdsQuery(): boolean {
    for (let inner = 1; inner <= this.limits.nesting + 1; inner++) {
      const { key } = this.ahead(inner)
      if (key === 'select' || key === 'with') return true
      if (key !== '(') return false
      const after = this.#tokens[this.#findClose(this.#index + inner) + 1]?.key ?? ''
      if (AFTER_QUERY.has(after)) return true
      if (after !== ')') return false
    }
    return false
  }

  /** The index of the matching parenthesis. All are matched in one pass, so that deep nesting does not cost quadratic time. */
  #findClose(open: number): number {
    this.#closes ??= matchParentheses(this.#tokens)
    return this.#closes.get(open) ?? this.#tokens.length
  }

  /** The error for the next token, which is not expected here. */
  unexpected(hint?: string): Refusal {
    const expected = this.#expectedAt === this.#index ? [...(this.#expected ?? [])] : []
    const words = expected.filter((word) => /^[A-Z]+$/.test(word))
    const { statement } = this
    const foreign = findForeignSyntax(this.#tokens, this.#index)
    if (foreign !== undefined)
      return refuse('Syntax', `IQL has no ${foreign.name}`, { statement, at: foreign.at, hint: foreign.advice })
    const misspelt = this.#misspeltKeyword(words)
    if (misspelt !== undefined) {
      const { text, at, meant } = misspelt
      return refuse('Syntax', `Unexpected ${text}`, { statement, at, expected, hint: meant })
    }
    const { kind, text, key, at } = this.token
    const message = kind === 'end' ? 'The statement ends too soon' : `Unexpected ${kind === 'text' ? 'text' : text}`
    const meant = kind === 'word' ? didYouMean(key, words) : undefined
    return refuse('Syntax', message, { statement, at, expected, hint: hint ?? meant })
  }

  /** In `SELECT a FRM t` the mistyped keyword was taken for an alias, and the error is found one word later. */
  #misspeltKeyword(words: readonly string[]): { text: string; at: number; meant: string } | undefined {
    if (this.#aliasIndex !== this.#index - 1) return undefined
    const { key, text, at } = this.ahead(-1)
    const meant = didYouMean(key, words)
    return meant === undefined ? undefined : { text, at, meant }
  }

  fail(message: string, at: number, name: ErrorName = 'Syntax', hint?: string): Refusal {
    return refuse(name, message, { statement: this.statement, at, hint })
  }
}

/** The schema of all tables, which can be written before their names. */
export function isPublic({ text }: Name): boolean {
  return text.toLowerCase() === 'public'
}

function matchParentheses(tokens: readonly Token[]): Map<number, number> {
  const closes = new Map<number, number>()
  const open: number[] = []
  for (const [index, { key }] of tokens.entries()) {
    if (key === '(') open.push(index)
    else if (key === ')') {
      const start = open.pop()
      if (start !== undefined) closes.set(start, index)
    }
  }
  return closes
}

/** Reserved words that a condition can begin with. */
const CONDITION_WORDS: ReadonlySet<string> = new Set(['not', 'case', 'cast', 'exists', 'null', 'true', 'false'])

/** What can follow an inner parenthesised query if the outer parenthesis holds a query too. */
const AFTER_QUERY: ReadonlySet<string> = new Set(['union', 'intersect', 'except', 'order', 'limit', 'offset'])

const END: Token = { kind: 'end', text: '', key: '', at: 0 }

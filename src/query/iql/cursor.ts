/** The parser's place among the tokens: looks, takes, counts what is limited, and says what was expected. */
import type { Refusal } from '../../protocol/refusal.ts'
import type { Name } from './ast-expression.ts'
import { didYouMean } from './did-you-mean.ts'
import { type ErrorName, refuse } from './errors.ts'
import { RESERVED } from './keywords.ts'
import type { Token } from './lexer.ts'
import type { Limits } from './limits.ts'

export class Cursor {
  /** The token that is next. */
  token: Token
  readonly statement: string
  readonly limits: Limits
  /** How high the highest expression is that has been read since the enclosing one began. */
  height = 0
  readonly #tokens: readonly Token[]
  #index = 0
  #nesting = 0
  #expressions = 0
  #conditions = 0
  #joins = 0
  #setOperations = 0
  #closes: ReadonlyMap<number, number> | undefined
  /** Undefined on the first, fast pass; on the second all that could stand at `token` is written down. */
  readonly #expected: Set<string> | undefined
  #expectedAt = -1

  constructor(statement: string, tokens: readonly Token[], limits: Limits, recordExpected: boolean) {
    this.statement = statement
    this.limits = limits
    this.#tokens = tokens
    this.#expected = recordExpected ? new Set() : undefined
    this.token = this.ahead(0)
  }

  ahead(distance: number): Token {
    return this.#tokens[this.#index + distance] ?? END
  }

  /** Takes the next token, whatever it is. */
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

  /** Takes the keyword or symbol if it is next. */
  accepts(key: string): boolean {
    if (!this.sees(key)) return false
    this.take()
    return true
  }

  /** Takes the keyword or symbol; returns where it stood. */
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
      kind === 'word' ? `${key.toUpperCase()} is a word of the language; as a name write "${text}"` : undefined,
    )
  }

  isName(): boolean {
    return this.token.kind === 'quoted' || (this.token.kind === 'word' && !RESERVED.has(this.token.key))
  }

  /** A whole number as written in the grammar itself (digits of a type, rows of a frame). */
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

  couldBe(what: string): void {
    if (this.#expected === undefined) return
    if (this.#expectedAt !== this.#index) this.#expected.clear()
    this.#expectedAt = this.#index
    this.#expected.add(/^[a-z]+$/.test(what) ? what.toUpperCase() : what)
  }

  /** Every construct that can hold itself enters and leaves, so that the parser's own stack is bounded. */
  enter(): void {
    if (++this.#nesting > this.limits.nesting) {
      throw this.fail(`A statement nests at most ${this.limits.nesting} deep`, this.token.at, 'TooComplex')
    }
  }

  leave(): void {
    this.#nesting--
  }

  /** Conditions are counted anew for each expression that is not part of another one. */
  beginExpression(): void {
    if (this.#expressions++ === 0) this.#conditions = 0
  }

  endExpression(): void {
    this.#expressions--
  }

  countCondition(at: number): void {
    if (++this.#conditions <= this.limits.conditions) return
    throw this.fail(
      `An expression has at most ${this.limits.conditions} AND and OR`,
      at,
      'TooComplex',
      'use IN for lists',
    )
  }

  checkHeight(height: number, at: number): void {
    if (height <= this.limits.height) return
    throw this.fail(`Operators stand at most ${this.limits.height} within one another`, at, 'TooComplex')
  }

  countJoin(at: number): void {
    if (++this.#joins <= this.limits.joins) return
    throw this.fail(`A statement has at most ${this.limits.joins} joins`, at, 'TooComplex')
  }

  countSetOperation(at: number): void {
    if (++this.#setOperations <= this.limits.setOperations) return
    throw this.fail(`A statement has at most ${this.limits.setOperations} set operations`, at, 'TooComplex')
  }

  /** Whether the parenthesis that is next holds a query, and not an expression, a list or a join. */
  opensQuery(): boolean {
    return this.token.key === '(' && this.#holdsQuery()
  }

  #holdsQuery(): boolean {
    for (let inner = 1; inner <= this.limits.nesting + 1; inner++) {
      const { key } = this.ahead(inner)
      if (key === 'select' || key === 'with') return true
      if (key !== '(') return false
      const after = this.#tokens[this.#closeOf(this.#index + inner) + 1]?.key ?? ''
      if (AFTER_QUERY.has(after)) return true
      if (after !== ')') return false
    }
    return false
  }

  /** Where the parenthesis at the index closes. All are matched at once, so that deep nesting costs no more than one pass. */
  #closeOf(open: number): number {
    this.#closes ??= matchParentheses(this.#tokens)
    return this.#closes.get(open) ?? this.#tokens.length
  }

  /** The token that is next cannot stand here. */
  unexpected(hint?: string): Refusal {
    const { kind, text, key, at } = this.token
    const expected = this.#expectedAt === this.#index ? [...(this.#expected ?? [])] : []
    const words = expected.filter((word) => /^[A-Z]+$/.test(word))
    const message = kind === 'end' ? 'The statement ends too soon' : `Unexpected ${kind === 'text' ? 'text' : text}`
    const meant = (kind === 'word' ? didYouMean(key, words) : undefined) ?? this.#misreadAlias(words)
    return refuse('Syntax', message, { statement: this.statement, at, expected, hint: hint ?? meant })
  }

  /** In `SELECT a FRM t` the mistyped word was taken for an alias, and the error comes one word late. */
  #misreadAlias(words: readonly string[]): string | undefined {
    const { kind, key, text } = this.ahead(-1)
    if (kind !== 'word' || RESERVED.has(key)) return undefined
    const meant = didYouMean(key, words)
    return meant === undefined ? undefined : `${meant.slice(0, -1)} instead of ${text}?`
  }

  fail(message: string, at: number, name: ErrorName = 'Syntax', hint?: string): Refusal {
    return refuse(name, message, { statement: this.statement, at, hint })
  }
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

/** What follows the parenthesis of an inner query when the outer one is a query too. */
const AFTER_QUERY: ReadonlySet<string> = new Set(['union', 'intersect', 'except', 'order', 'limit', 'offset'])

const END: Token = { kind: 'end', text: '', key: '', at: 0 }

/** Reads the tokens of a command of the session, after its first word. */
import { WireError } from '../failure.ts'
import { type CommandToken, skipBlank, skipToken, tokenAt } from '../statement/split.ts'

/** A part of the text, and where it begins. */
export interface TextPart {
  readonly text: string
  readonly offset: number
}

/** More than the columns of any table need, with their commas: a list of a million would hold the event loop. */
const MAX_TOKENS = 10_000

/** Of a token in an error. */
const MAX_QUOTED = 100

/** Tokens are read when they are needed: what follows PREPARE … AS may be a long statement. */
export class TokenReader {
  readonly text: string
  readonly #tokens: CommandToken[] = []
  #index = 1
  /** Whether the last token of the text has been read. */
  #isWhole = false

  constructor(text: string) {
    this.text = text
  }

  get next(): CommandToken | undefined {
    while (this.#tokens.length <= this.#index && !this.#isWhole) {
      const token = tokenAt(this.text, this.#tokens.at(-1)?.end ?? 0)
      this.#isWhole = token === undefined
      if (token === undefined) break
      if (this.#tokens.length >= MAX_TOKENS)
        throw new WireError('54001', `The command has more than ${MAX_TOKENS} words and values`, undefined, token.at)
      this.#tokens.push(token)
    }
    return this.#tokens[this.#index]
  }

  skip(): void {
    this.#index++
  }

  take(): CommandToken {
    const token = this.next
    if (token === undefined) return this.fail()
    this.#index++
    return token
  }

  sees(word: string): boolean {
    const token = this.next
    return token !== undefined && (token.kind === 'word' || token.kind === 'symbol') && token.text === word
  }

  accepts(word: string): boolean {
    const isThere = this.sees(word)
    if (isThere) this.#index++
    return isThere
  }

  /** The first of the words that is there. */
  acceptsOne<Word extends string>(...words: readonly Word[]): Word | undefined {
    return words.find((word) => this.accepts(word))
  }

  acceptsAll(...words: readonly string[]): boolean {
    const start = this.#index
    if (words.every((word) => this.accepts(word))) return true
    this.#index = start
    return false
  }

  expects(word: string): void {
    if (!this.accepts(word)) this.fail()
  }

  /** In lower case, unless it is quoted. */
  name(): string {
    const token = this.take()
    if (token.kind !== 'word' && token.kind !== 'name') this.fail(token)
    return token.text
  }

  /** What stands between the parentheses. */
  parenthesised(): TextPart {
    const open = this.take()
    const { text } = this
    let depth = 1
    for (let at = open.end; at < text.length; ) {
      const skipped = skipBlank(text, at)
      const end = skipped > at ? skipped : skipToken(text, at)
      if (text[at] === '(') depth++
      else if (text[at] === ')' && --depth === 0) {
        this.#continueAt(at, end)
        return { text: text.slice(open.end, at), offset: open.end }
      }
      at = end
    }
    this.#continueAt(text.length, text.length)
    return this.fail()
  }

  /** The rest of the text, which has at least one token. */
  rest(): TextPart {
    const { at: offset } = this.take()
    this.#continueAt(this.text.length, this.text.length)
    return { text: this.text.slice(offset), offset }
  }

  /** Leaves out what has been read otherwise. */
  #continueAt(at: number, end: number): void {
    this.#tokens.length = this.#index
    this.#tokens.push({ kind: 'symbol', text: this.text.slice(at, end), at, end })
    this.#index = this.#tokens.length
  }

  end(): void {
    if (this.next !== undefined) this.fail()
  }

  fail(token = this.next): never {
    const what =
      token === undefined
        ? 'the end'
        : JSON.stringify(this.text.slice(token.at, Math.min(token.end, token.at + MAX_QUOTED)))
    throw new WireError('42601', `Unexpected ${what}`, undefined, token?.at ?? this.text.length)
  }
}

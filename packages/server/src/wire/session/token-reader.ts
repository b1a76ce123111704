/** Reads the tokens of a command of the session, after its first word. */
import { WireError } from './failure.ts'
import { type CommandToken, commandTokens } from './split.ts'

/** A part of the text, and where it begins. */
export interface TextPart {
  readonly text: string
  readonly offset: number
}

export class TokenReader {
  readonly text: string
  readonly #tokens: readonly CommandToken[]
  #index = 1

  constructor(text: string) {
    this.text = text
    this.#tokens = commandTokens(text)
  }

  get next(): CommandToken | undefined {
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
    const offset = this.next?.end ?? 0
    let depth = 0
    for (;;) {
      const token = this.take()
      if (token.kind !== 'symbol') continue
      if (token.text === '(') depth++
      else if (token.text === ')' && --depth === 0) return { text: this.text.slice(offset, token.at), offset }
    }
  }

  /** The rest of the text, which has at least one token. */
  rest(): TextPart {
    const { at: offset } = this.take()
    this.#index = this.#tokens.length
    return { text: this.text.slice(offset), offset }
  }

  end(): void {
    if (this.next !== undefined) this.fail()
  }

  fail(token = this.next): never {
    const what = token === undefined ? 'the end' : JSON.stringify(this.text.slice(token.at, token.end))
    throw new WireError('42601', `Unexpected ${what}`, undefined, token?.at ?? this.text.length)
  }
}

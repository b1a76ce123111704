/** Whether a text is JSON (RFC 8259), without making values of it: those of a long text would take seconds and a hundred times its memory. */

export function isJson(text: string): boolean {
  return new Scanner(text).isJson()
}

const [OBJECT, ARRAY] = [1, 0]
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORDS = ['true', 'false', 'null']
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
/** What may follow a backslash, besides u and four digits. */
const ESCAPED: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)))

class Scanner {
  readonly #text: string
  #at = 0
  /** The arrays and objects around the place, the innermost last. */
  readonly #open: number[] = []

  constructor(text: string) {
    this.#text = text
  }

  isJson(): boolean {
    for (;;) {
      if (!this.#beginValue()) return false
      for (;;) {
        const inner = this.#open.at(-1)
        const next = this.#next()
        if (inner === undefined) return Number.isNaN(next)
        this.#at++
        if (next === COMMA) {
          if (inner === OBJECT && !this.#name()) return false
          break
        }
        if (next !== (inner === OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)) return false
        this.#open.pop()
      }
    }
  }

  /** Goes past a value that has no parts, after the beginnings of those around it. */
  #beginValue(): boolean {
    for (;;) {
      const first = this.#next()
      if (first === OPEN_ARRAY) {
        this.#at++
        if (this.#next() === CLOSE_ARRAY) return this.#skip()
        this.#open.push(ARRAY)
      } else if (first === OPEN_OBJECT) {
        this.#at++
        if (this.#next() === CLOSE_OBJECT) return this.#skip()
        this.#open.push(OBJECT)
        if (!this.#name()) return false
      } else return first === QUOTE ? this.#string() : this.#word() || this.#number()
    }
  }

  #skip(): true {
    this.#at++
    return true
  }

  /** A name and its colon. */
  #name(): boolean {
    if (this.#next() !== QUOTE || !this.#string() || this.#next() !== COLON) return false
    return this.#skip()
  }

  #string(): boolean {
    const text = this.#text
    for (this.#at++; this.#at < text.length; this.#at++) {
      const code = text.charCodeAt(this.#at)
      if (code === QUOTE) return this.#skip()
      if (code < 0x20) return false
      if (code !== BACKSLASH) continue
      this.#at++
      if (text[this.#at] === 'u') {
        if (!isHex(text, this.#at + 1)) return false
        this.#at += 4
      } else if (!ESCAPED.has(text.charCodeAt(this.#at))) return false
    }
    return false
  }

  #word(): boolean {
    const word = WORDS.find((candidate) => this.#text.startsWith(candidate, this.#at))
    if (word === undefined) return false
    this.#at += word.length
    return true
  }

  #number(): boolean {
    NUMBER.lastIndex = this.#at
    if (!NUMBER.test(this.#text)) return false
    this.#at = NUMBER.lastIndex
    return true
  }

  /** The next character that is no white space; NaN at the end. */
  #next(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code
      this.#at++
    }
  }
}

function isHex(text: string, from: number): boolean {
  for (let at = from; at < from + 4; at++) {
    const code = text.charCodeAt(at)
    const isDigit = code >= 0x30 && code <= 0x39
    const letter = code | 0x20
    if (!isDigit && !(letter >= 0x61 && letter <= 0x66)) return false
  }
  return true
}

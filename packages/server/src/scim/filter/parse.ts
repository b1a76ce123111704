/** Parses filters and attribute paths (RFC 7644 §3.4.2.2, §3.5.2). */
import { badRequest, type ScimErrorType } from '../scim-error.ts'
import { type AttributePath, type Filter, type FilterValue, OPERATORS, type Operator } from './ast.ts'

const MOST_BYTES = 2048
const MOST_DEPTH = 8

export function parseFilter(text: string): Filter {
  if (Buffer.byteLength(text) > MOST_BYTES)
    throw badRequest('invalidFilter', `A filter has at most ${MOST_BYTES} bytes`)
  return new Parser(text, 'invalidFilter').filter()
}

/** The path of a PATCH operation: it names an attribute, and may choose among its values. */
export function parsePath(text: string): AttributePath {
  if (Buffer.byteLength(text) > MOST_BYTES) throw badRequest('invalidPath', `A path has at most ${MOST_BYTES} bytes`)
  return new Parser(text, 'invalidPath').path()
}

/** An attribute name of RFC 7643 §2.1 after an optional URN, and a sub-attribute. URNs of schemas contain dots and digits. */
const NAME = /(?:(urn:[a-z0-9][\w.:-]*):)?([a-z$][\w$-]*)(?:\.([a-z$][\w$-]*))?/iy
const WORD = /[a-z]+/iy
const JSON_VALUE = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true\b|false\b|null\b/iy
const SPACE = / */y

class Parser {
  readonly #text: string
  readonly #fault: ScimErrorType
  #at = 0
  #depth = 0

  constructor(text: string, fault: ScimErrorType) {
    this.#text = text
    this.#fault = fault
  }

  /** filter = or, to the end of the text */
  filter(): Filter {
    const filter = this.#or()
    this.#end()
    return filter
  }

  /** PATH = attrPath / valuePath [subAttr], to the end of the text */
  path(): AttributePath {
    const path = this.#attribute()
    this.#end()
    return path
  }

  /** or = and *( "or" and ) */
  #or(): Filter {
    const parts = [this.#and()]
    while (this.#takeWord('or')) parts.push(this.#and())
    return one(parts) ?? { kind: 'or', parts }
  }

  /** and = term *( "and" term ) */
  #and(): Filter {
    const parts = [this.#term()]
    while (this.#takeWord('and')) parts.push(this.#term())
    return one(parts) ?? { kind: 'and', parts }
  }

  /** term = [ "not" ] "(" filter ")" / attrPath "pr" / attrPath op value / valuePath */
  #term(): Filter {
    if (this.#takeNot()) return { kind: 'not', part: this.#group() }
    if (this.#peek('(')) return this.#group()
    const path = this.#attribute()
    this.#spaces()
    const from = this.#at
    const word = this.#take(WORD)?.[0].toLowerCase()
    if (word === 'pr') return { kind: 'present', path }
    const op = OPERATORS.find((known) => known === word)
    if (op !== undefined) return { kind: 'compare', path, op, value: this.#value(op) }
    this.#at = from
    // A value path is a filter by itself: some value meets it.
    if (path.filter !== undefined && path.sub === undefined && (word === undefined || ['and', 'or'].includes(word)))
      return { kind: 'present', path }
    throw this.#refuse(`an operator is expected: ${[...OPERATORS, 'pr'].join(', ')}`)
  }

  #group(): Filter {
    this.#expect('(')
    this.#enter()
    const filter = this.#or()
    this.#depth--
    this.#expect(')')
    return filter
  }

  #attribute(): AttributePath {
    this.#spaces()
    const [found, urn, name, sub] = this.#take(NAME) ?? []
    if (found === undefined || name === undefined) throw this.#refuse('the name of an attribute is expected')
    const plain = { urn: urn?.toLowerCase(), name: name.toLowerCase(), filter: undefined, sub: sub?.toLowerCase() }
    if (sub !== undefined || this.#text[this.#at] !== '[') return plain
    this.#at++
    this.#enter()
    const filter = this.#or()
    this.#depth--
    this.#expect(']')
    if (this.#text[this.#at] !== '.') return { ...plain, filter }
    this.#at++
    const part = this.#take(/[a-z$][\w$-]*/iy)?.[0].toLowerCase()
    if (part === undefined) throw this.#refuse('the name of a sub-attribute is expected')
    return { ...plain, filter, sub: part }
  }

  #value(op: Operator): FilterValue {
    this.#spaces()
    const text = this.#take(JSON_VALUE)?.[0]
    if (text === undefined) throw this.#refuse('a value is expected: a JSON string, number, true, false or null')
    const value = this.#read(text)
    const isOrdered = typeof value === 'string' || typeof value === 'number'
    if (op !== 'eq' && op !== 'ne' && !isOrdered) throw this.#refuse(`${op} does not compare with ${text}`)
    if (['co', 'sw', 'ew'].includes(op) && typeof value !== 'string') throw this.#refuse(`${op} needs a string`)
    return value
  }

  #read(text: string): FilterValue {
    try {
      const value: unknown = JSON.parse(text.startsWith('"') ? text : text.toLowerCase())
      // PostgreSQL accepts neither in a parameter.
      const isStorable = typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
      if (isStorable || typeof value === 'number' || typeof value === 'boolean' || value === null) return value
    } catch {
      // Refused below.
    }
    throw this.#refuse('the value is not valid JSON')
  }

  /** Only in front of a group: an attribute may begin with these letters. */
  #takeNot(): boolean {
    this.#spaces()
    const isNot = /not *(?=\()/iy
    return this.#take(isNot) !== undefined
  }

  #takeWord(word: string): boolean {
    this.#spaces()
    const from = this.#at
    if (this.#take(WORD)?.[0].toLowerCase() === word) return true
    this.#at = from
    return false
  }

  #enter(): void {
    this.#depth++
    if (this.#depth > MOST_DEPTH) throw this.#refuse(`it nests more than ${MOST_DEPTH} levels deep`)
  }

  #peek(character: string): boolean {
    this.#spaces()
    return this.#text[this.#at] === character
  }

  #expect(character: string): void {
    if (!this.#peek(character)) throw this.#refuse(`${character} is expected`)
    this.#at++
  }

  #end(): void {
    this.#spaces()
    if (this.#at < this.#text.length) throw this.#refuse('nothing more is expected')
  }

  #spaces(): void {
    this.#take(SPACE)
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found !== null) this.#at = pattern.lastIndex
    return found ?? undefined
  }

  #refuse(reason: string) {
    const what = this.#fault === 'invalidPath' ? 'path' : 'filter'
    return badRequest(this.#fault, `The ${what} is not valid at character ${this.#at + 1}: ${reason}`)
  }
}

function one(parts: readonly Filter[]): Filter | undefined {
  return parts.length === 1 ? parts[0] : undefined
}

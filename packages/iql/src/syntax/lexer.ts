/** Splits a statement into tokens, in one pass. */
import type { Refusal } from 'gatehouse-protocol'
import type { ErrorName } from '../errors/errors.ts'
import { refuse } from '../errors/refusal.ts'
import { readEscapes } from './escaped-text.ts'
import { findForeignSyntax } from './foreign-syntax.ts'
import type { Limits } from './limits.ts'

export type TokenKind = 'word' | 'quoted' | 'text' | 'bytes' | 'number' | 'parameter' | 'symbol' | 'end'

/** All kinds share one shape, which keeps property access in the parser monomorphic. */
export interface Token {
  readonly kind: TokenKind
  /** word and quoted: as spelled; text: without quotes; bytes: the hex digits; number: as written; parameter: the name. */
  readonly text: string
  /** word: in lower case; symbol: itself; otherwise empty, so that a quoted name never equals a keyword. */
  readonly key: string
  readonly at: number
}

export function tokenize(statement: string, limits: Limits): Token[] {
  checkText(statement, limits)
  const tokens: Token[] = []
  const maxDepth = PARENTHESES_PER_LEVEL * limits.nesting
  let depth = 0
  let at = skipBlank(statement, 0)
  while (at < statement.length) {
    if (tokens.length >= limits.tokens) {
      throw fail(statement, at, `A statement has at most ${limits.tokens} tokens`, 'TooComplex')
    }
    const code = statement.charCodeAt(at)
    if (code === OPEN && ++depth > maxDepth)
      throw fail(statement, at, `A statement nests at most ${limits.nesting} levels deep`, 'TooComplex')
    if (code === CLOSE) depth--
    at = skipBlank(statement, readToken(statement, at, tokens))
  }
  tokens.push({ kind: 'end', text: '', key: '', at: statement.length })
  return tokens
}

/** The parser limits the levels. No construct opens more parentheses at one level than this, so deeper texts are refused before they are parsed. */
const PARENTHESES_PER_LEVEL = 4

const LONG_HINT = 'send fewer rows (in pandas: chunksize=500), or use COPY'

/** NUL and lone surrogates cannot be passed to either engine. */
function checkText(statement: string, { statementBytes }: Limits): void {
  if (statement.length > statementBytes || utf8Exceeds(statement, statementBytes)) {
    throw fail(statement, 0, `A statement has at most ${statementBytes} bytes`, 'TooLong', [], LONG_HINT)
  }
  const nul = statement.indexOf('\0')
  if (nul !== -1) throw fail(statement, nul, 'A statement cannot contain NUL')
  if (statement.isWellFormed()) return
  throw fail(statement, loneSurrogate(statement), 'A statement cannot contain a lone surrogate')
}

function utf8Exceeds(text: string, limit: number): boolean {
  // A UTF-16 code unit takes at most three bytes, so the bytes of most statements are not counted.
  if (text.length * 3 <= limit) return false
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    bytes += code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 2 : 3
  }
  return bytes > limit
}

function loneSurrogate(text: string): number {
  let at = 0
  for (const character of text) {
    if (!character.isWellFormed()) return at
    at += character.length
  }
  return at
}

/** Blanks, line comments (two hyphens to the end of the line) and block comments, which do not nest. */
function skipBlank(statement: string, from: number): number {
  let at = from
  for (;;) {
    const code = statement.charCodeAt(at)
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0 || code === 0xfeff) at++
    else if (code === 0x2d && statement.charCodeAt(at + 1) === 0x2d) {
      const end = statement.indexOf('\n', at)
      if (end === -1) return statement.length
      at = end + 1
    } else if (code === 0x2f && statement.charCodeAt(at + 1) === 0x2a) {
      const end = statement.indexOf('*/', at + 2)
      if (end === -1) throw fail(statement, at, 'The comment is never closed', 'Syntax', ['*/'])
      at = end + 2
    } else return at
  }
}

/** Reads the token at `at`, appends it, and returns its end. */
function readToken(statement: string, at: number, tokens: Token[]): number {
  const code = statement.charCodeAt(at)
  if (isDigit(code) || (code === DOT && isDigit(statement.charCodeAt(at + 1)))) return readNumber(statement, at, tokens)
  if (isWordStart(statement, at, code)) return readWord(statement, at, tokens)
  if (code === QUOTE) return readQuotes(statement, at, 'text', "'", tokens)
  if (code === DOUBLE_QUOTE) return readQuotes(statement, at, 'quoted', '"', tokens)
  if (code === COLON && statement.charCodeAt(at + 1) === COLON) return readSymbol(statement, at, tokens)
  if (code === COLON || code === DOLLAR) return readParameter(statement, at, code, tokens)
  return readSymbol(statement, at, tokens)
}

/** Word = (letter | "_") {letter | digit | "_"} */
function readWord(statement: string, at: number, tokens: Token[]): number {
  const end = wordEnd(statement, at)
  const text = statement.slice(at, end)
  if ((text === 'x' || text === 'X') && statement.charCodeAt(end) === QUOTE) return readBytes(statement, at, tokens)
  if ((text === 'e' || text === 'E') && statement.charCodeAt(end) === QUOTE) return readEscaped(statement, at, tokens)
  tokens.push({ kind: 'word', text, key: text.toLowerCase(), at })
  return end
}

function readBytes(statement: string, at: number, tokens: Token[]): number {
  const end = statement.indexOf("'", at + 2)
  const hex = statement.slice(at + 2, end === -1 ? undefined : end).toLowerCase()
  if (end === -1) throw fail(statement, at, 'The binary literal is never closed', 'Syntax', ["'"])
  if (hex.length % 2 === 1 || !/^[0-9a-f]*$/.test(hex)) {
    throw fail(statement, at, 'A binary literal consists of pairs of hexadecimal digits', 'BadLiteral')
  }
  tokens.push({ kind: 'bytes', text: hex, key: '', at })
  return end + 1
}

/**
 * Text = "'" {any character but "'" | "''"} "'"
 * Quoted = '"' {any character but '"' | '""'} '"'
 */
function readQuotes(statement: string, at: number, kind: 'text' | 'quoted', quote: string, tokens: Token[]): number {
  const end = closingQuote(statement, at, quote)
  if (end === -1) {
    const what = kind === 'text' ? 'The text' : 'The quoted name'
    throw fail(statement, at, `${what} is never closed`, 'Syntax', [quote])
  }
  const inner = statement.slice(at + 1, end)
  const text = inner.includes(quote) ? inner.replaceAll(quote + quote, quote) : inner
  if (kind === 'quoted' && text === '') throw fail(statement, at, 'A name has at least one character', 'BadName')
  tokens.push({ kind, text, key: '', at })
  return end + 1
}

/**
 * Escaped = "E" "'" {any character but "'" and "\\" | "''" | "\\" escape} "'"
 *
 * The escapes are PostgreSQL's.
 */
function readEscaped(statement: string, at: number, tokens: Token[]): number {
  const read = readEscapes(statement, at + 2)
  if ('problem' in read) throw fail(statement, read.at, read.problem, read.isOpen ? 'Syntax' : 'BadLiteral')
  tokens.push({ kind: 'text', text: read.text, key: '', at })
  return read.end
}

/** The position of the quote that ends what the one at `at` begins, -1 if there is none. */
export function closingQuote(statement: string, at: number, quote: string): number {
  let end = statement.indexOf(quote, at + 1)
  while (end !== -1 && statement[end + 1] === quote) end = statement.indexOf(quote, end + 2)
  return end
}

function readNumber(statement: string, at: number, tokens: Token[]): number {
  const end = numberEnd(statement, at)
  if (isWordStart(statement, end, statement.charCodeAt(end))) {
    const number = { kind: 'number', text: statement.slice(at, end), key: '', at } as const
    const foreign = findForeignSyntax([...tokens, number], tokens.length)
    if (foreign !== undefined)
      throw fail(statement, foreign.at, `IQL has no ${foreign.name}`, 'Syntax', [], foreign.advice)
    throw fail(statement, end, 'A number cannot run into a word: put a space between, or quote the name')
  }
  tokens.push({ kind: 'number', text: statement.slice(at, end), key: '', at })
  return end
}

/** Number = (digits ["." digits] | "." digits) [("e" | "E") ["+" | "-"] digits] */
export function numberEnd(statement: string, at: number): number {
  let end = digitsEnd(statement, at)
  if (statement.charCodeAt(end) === DOT && isDigit(statement.charCodeAt(end + 1))) end = digitsEnd(statement, end + 1)
  const exponent = statement.charCodeAt(end) | 0x20
  if (exponent === LETTER_E) {
    const sign = statement.charCodeAt(end + 1)
    const digits = sign === PLUS || sign === MINUS ? end + 2 : end + 1
    if (isDigit(statement.charCodeAt(digits))) return digitsEnd(statement, digits)
  }
  return end
}

/** Parameter = ":" Word | ":attribute." Word | "$" digits */
function readParameter(statement: string, at: number, mark: number, tokens: Token[]): number {
  const first = statement.charCodeAt(at + 1)
  const isName = mark === COLON ? isWordStart(statement, at + 1, first) : isDigit(first)
  if (!isName) {
    const [message, expected] =
      mark === COLON
        ? [': starts a parameter', ':name']
        : ['$ starts a parameter with a number; one with a name begins with a colon', '$1']
    throw fail(statement, at, message, 'Syntax', [expected])
  }
  const end = mark === COLON ? nameEnd(statement, at + 1) : digitsEnd(statement, at + 1)
  const text = statement.slice(at + 1, end)
  if (mark === DOLLAR && !/^[1-9]\d{0,3}$/.test(text)) {
    throw fail(statement, at, 'Numbered parameters count from $1 to $9999', 'Syntax', ['$1'])
  }
  tokens.push({ kind: 'parameter', text, key: '', at })
  return end
}

/** The end of the name of a parameter. That of an attribute of the caller, in a row filter, has two parts. */
function nameEnd(statement: string, at: number): number {
  const end = wordEnd(statement, at)
  const isAttribute = end - at === ATTRIBUTE.length && statement.slice(at, end).toLowerCase() === ATTRIBUTE
  const hasMore = isAttribute && statement.charCodeAt(end) === DOT
  return hasMore && isWordStart(statement, end + 1, statement.charCodeAt(end + 1)) ? wordEnd(statement, end + 1) : end
}

function readSymbol(statement: string, at: number, tokens: Token[]): number {
  const one = statement.charAt(at)
  // Most symbols are commas and parentheses.
  if (!LONE_SYMBOLS.has(one)) {
    const two = statement.slice(at, at + 2)
    if (TWO_CHARACTER_SYMBOLS.has(two)) {
      tokens.push({ kind: 'symbol', text: two, key: two === '!=' ? '<>' : two, at })
      return at + 2
    }
    if (two === '==') throw fail(statement, at, 'Unexpected ==', 'Syntax', ['='], 'equality is written with one =')
  }
  if (!ONE_CHARACTER_SYMBOLS.has(one)) {
    const character = String.fromCodePoint(statement.codePointAt(at) ?? 0)
    const before = tokens.at(-1)
    if (one === '[' && before?.key === 'array')
      throw fail(statement, before.at, 'IQL has no arrays', 'Syntax', [], ARRAY_HINT)
    throw fail(statement, at, `Unexpected ${JSON.stringify(character)}`, 'Syntax', [], hintFor(statement, at))
  }
  tokens.push({ kind: 'symbol', text: one, key: one, at })
  return at + 1
}

function hintFor(statement: string, at: number): string | undefined {
  return SYMBOL_HINTS.get(statement.slice(at, at + 2)) ?? SYMBOL_HINTS.get(statement.charAt(at))
}

const TWO_CHARACTER_SYMBOLS = new Set(['<>', '!=', '<=', '>=', '||', '::'])
const LONE_SYMBOLS = new Set(['(', ')', ',', '.', ';', '*', '+', '-', '/', '%'])
const ONE_CHARACTER_SYMBOLS = new Set([...LONE_SYMBOLS, '=', '<', '>'])
const ARRAY_HINT = 'write x IN (1, 2), or string_agg'
const SYMBOL_HINTS: ReadonlyMap<string, string> = new Map([
  ['`', 'quote names with "double quotes"'],
  ['[', 'quote names with "double quotes"'],
  ['^', 'write power(x, y)'],
  ['!', 'write NOT, or <> for unequal'],
  ['&', 'write AND'],
  ['|', 'write OR, or || to concatenate'],
  ['~', 'write LIKE or ILIKE: IQL has no regular expressions'],
  ['!~', 'write NOT LIKE or NOT ILIKE: IQL has no regular expressions'],
  ['?', 'write :name or $1'],
  ['“', "write texts in 'straight quotes'"],
  ['‘', "write texts in 'straight quotes'"],
])

/** Before a dot, the first part of a parameter. */
const ATTRIBUTE = 'attribute'

const [DOT, QUOTE, DOUBLE_QUOTE, COLON, DOLLAR, PLUS, MINUS, UNDERSCORE, LETTER_E, OPEN, CLOSE] = [
  0x2e, 0x27, 0x22, 0x3a, 0x24, 0x2b, 0x2d, 0x5f, 0x65, 0x28, 0x29,
] as const

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function digitsEnd(statement: string, from: number): number {
  let end = from
  while (isDigit(statement.charCodeAt(end))) end++
  return end
}

function isWordStart(statement: string, at: number, code: number): boolean {
  const lower = code | 0x20
  if ((lower >= 0x61 && lower <= 0x7a) || code === UNDERSCORE) return true
  return code >= 0x80 && /^\p{L}/u.test(String.fromCodePoint(statement.codePointAt(at) ?? 0))
}

function wordEnd(statement: string, at: number): number {
  let end = at
  for (;;) {
    const code = statement.charCodeAt(end)
    const lower = code | 0x20
    if ((lower >= 0x61 && lower <= 0x7a) || isDigit(code) || code === UNDERSCORE) end++
    else if (code >= 0x80) {
      const character = String.fromCodePoint(statement.codePointAt(end) ?? 0)
      if (!/^[\p{L}\p{N}\p{M}]/u.test(character)) return end
      end += character.length
    } else return end
  }
}

function fail(
  statement: string,
  at: number,
  message: string,
  name: ErrorName = 'Syntax',
  expected: readonly string[] = [],
  hint?: string,
): Refusal {
  return refuse(name, message, { statement, at, expected, hint })
}

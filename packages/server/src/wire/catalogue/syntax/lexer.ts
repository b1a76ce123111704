/**
 * Splits a catalogue statement into tokens by PostgreSQL's rules. IQL's lexer cannot: here comments nest, texts have escapes and dollar
 * quotes, and operators are any run of operator characters.
 */
import { CatalogueError } from '../catalogue-error.ts'

export type TokenKind = 'word' | 'quoted' | 'text' | 'number' | 'parameter' | 'symbol' | 'end'

export interface Token {
  readonly kind: TokenKind
  /** word: in lower case; quoted and text: without quotes; parameter: its number. */
  readonly text: string
  /** word and symbol: the text; otherwise empty, so that a quoted name never equals a keyword. */
  readonly key: string
  readonly at: number
}

const MAX_TOKENS = 20_000
/** Open at once: more than the parser takes, which counts levels. */
const MAX_PARENTHESES = 400

export function tokenize(statement: string): Token[] {
  const tokens: Token[] = []
  let depth = 0
  for (let at = skipBlank(statement, 0); at < statement.length; at = skipBlank(statement, at)) {
    if (tokens.length >= MAX_TOKENS)
      throw new CatalogueError('tooComplex', `A statement has at most ${MAX_TOKENS} tokens`, at)
    const first = statement[at]
    if (first === '(' && ++depth > MAX_PARENTHESES)
      throw new CatalogueError('tooComplex', 'The statement is nested too deeply', at)
    if (first === ')') depth--
    at = readToken(statement, at, tokens)
  }
  tokens.push({ kind: 'end', text: '', key: '', at: statement.length })
  return tokens
}

function skipBlank(statement: string, from: number): number {
  let at = from
  for (;;) {
    const code = statement.charCodeAt(at)
    if (code > SPACE && code !== HYPHEN && code !== SLASH) return at
    if (BLANKS.includes(statement.charAt(at)) && at < statement.length) at++
    else if (statement.startsWith('--', at)) {
      const end = statement.indexOf('\n', at)
      if (end === -1) return statement.length
      at = end + 1
    } else if (statement.startsWith('/*', at)) at = commentEnd(statement, at)
    else return at
  }
}

const BLANKS = ' \t\n\r\f\v'
const [SPACE, HYPHEN, SLASH, LAST_ASCII] = [0x20, 0x2d, 0x2f, 0x7f] as const

function commentEnd(statement: string, start: number): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = start
  for (let depth = 0; ; ) {
    const mark = marks.exec(statement)
    if (mark === null) throw new CatalogueError('syntax', 'unterminated /* comment', start)
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
}

const WORD = /[\p{L}_][\p{L}\p{N}\p{M}_$]*/uy
const BLANK = /\s/
const ASCII_WORD = /[A-Za-z_][A-Za-z0-9_$]*/y
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y
const PARAMETER = /\$(\d{1,5})/y
const DOLLAR_QUOTE = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy
/** Names in PostgreSQL have at most 63 bytes. A longer run would be read again for every operator in it. */
const OPERATOR = /[+\-*/<>=~!@#%^&|`?]{1,63}/y
const PUNCTUATION = '()[],;:.'

/** Appends the token at `at` and returns its end. */
function readToken(statement: string, at: number, tokens: Token[]): number {
  const add = (kind: TokenKind, text: string, end: number, key = ''): number => {
    tokens.push({ kind, text, key, at })
    return end
  }
  const first = statement.charAt(at)
  // Most tokens of a long statement.
  if (first === ',' || first === '(' || first === ')') return add('symbol', first, at + 1, first)
  if (first === "'") return readText(statement, at, at, false, tokens)
  if (first === '"') {
    const [text, end] = quoted(statement, at, '"', 'identifier')
    if (text === '') throw new CatalogueError('syntax', 'zero-length delimited identifier', at)
    return add('quoted', text, end)
  }
  if ((first === 'e' || first === 'E') && statement.charAt(at + 1) === "'")
    return readText(statement, at, at + 1, true, tokens)
  const word = wordAt(statement, at)
  if (word !== undefined) {
    const text = word.toLowerCase()
    return add('word', text, at + word.length, text)
  }
  const number = match(NUMBER, statement, at)
  if (number !== undefined) return add('number', number, at + number.length)
  if (first === '$') {
    const parameter = match(PARAMETER, statement, at)
    if (parameter !== undefined) return add('parameter', parameter.slice(1), at + parameter.length)
    const mark = match(DOLLAR_QUOTE, statement, at)
    const end = mark === undefined ? -1 : statement.indexOf(mark, at + mark.length)
    if (mark === undefined || end === -1) throw new CatalogueError('syntax', 'unterminated dollar-quoted string', at)
    return add('text', statement.slice(at + mark.length, end), end + mark.length)
  }
  if (statement.startsWith('::', at)) return add('symbol', '::', at + 2, '::')
  if (PUNCTUATION.includes(first)) return add('symbol', first, at + 1, first)
  const operator = operatorAt(statement, at)
  if (operator === undefined) throw new CatalogueError('syntax', `syntax error at or near ${JSON.stringify(first)}`, at)
  return add('symbol', operator, at + operator.length, operator === '!=' ? '<>' : operator)
}

function wordAt(statement: string, at: number): string | undefined {
  const word = match(ASCII_WORD, statement, at)
  const isWhole = statement.charCodeAt(at + (word?.length ?? 0)) <= LAST_ASCII
  return isWhole ? word : match(WORD, statement, at)
}

function match(pattern: RegExp, statement: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(statement)?.[0]
}

/** PostgreSQL's rule: a comment ends an operator, and one ends in + or - only if it also has one of ~ ! @ # % ^ & | ` ?. */
function operatorAt(statement: string, at: number): string | undefined {
  let operator = match(OPERATOR, statement, at)
  if (operator === undefined) return undefined
  const comment = operator.search(/--|\/\*/)
  if (comment > 0) operator = operator.slice(0, comment)
  if (/[~!@#%^&|`?]/.test(operator)) return operator
  let end = operator.length
  while (end > 1 && (operator[end - 1] === '+' || operator[end - 1] === '-')) end--
  return operator.slice(0, end)
}

function readText(statement: string, at: number, open: number, hasEscapes: boolean, tokens: Token[]): number {
  let [text, end] = hasEscapes ? escaped(statement, open) : quoted(statement, open, "'", 'string')
  for (let next = continuation(statement, end); next !== undefined; next = continuation(statement, end)) {
    const [more, moreEnd] = hasEscapes ? escaped(statement, next) : quoted(statement, next, "'", 'string')
    text += more
    end = moreEnd
  }
  tokens.push({ kind: 'text', text, key: '', at })
  return end
}

/** Texts that only blanks with a line break separate are one: where the next one opens. */
function continuation(statement: string, end: number): number | undefined {
  let next = end
  let hasBreak = false
  for (; BLANK.test(statement.charAt(next)); next++) hasBreak ||= statement[next] === '\n'
  return hasBreak && statement[next] === "'" ? next : undefined
}

function quoted(statement: string, open: number, quote: string, what: string): [text: string, end: number] {
  let end = statement.indexOf(quote, open + 1)
  while (end !== -1 && statement[end + 1] === quote) end = statement.indexOf(quote, end + 2)
  if (end === -1) throw new CatalogueError('syntax', `unterminated quoted ${what}`, open)
  return [statement.slice(open + 1, end).replaceAll(quote + quote, quote), end + 1]
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

function escaped(statement: string, open: number): [text: string, end: number] {
  const pattern = /'(?:[^'\\]|''|\\[\s\S])*'/y
  const whole = match(pattern, statement, open)
  if (whole === undefined) throw new CatalogueError('syntax', 'unterminated quoted string', open)
  const text = whole
    .slice(1, -1)
    .replaceAll(/''|\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|[0-7]{1,3}|[\s\S])/g, (pair, code: string | undefined) => {
      if (code === undefined) return pair.charAt(0)
      if (/^[xu]./.test(code)) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
      return /^\d/.test(code) ? String.fromCharCode(Number.parseInt(code, 8)) : (ESCAPES.get(code) ?? code)
    })
  return [text, open + whole.length]
}

/** The shape of a statement: its text without the values of its literals, found in one pass and without parsing. */
import type { Statement } from './ast.ts'
import type { NumberLiteral, TextLiteral, TypedLiteral } from './ast-query.ts'
import { closingQuote, isDigit, numberEnd } from './lexer.ts'

export interface Shape {
  /** The text with a mark in place of each literal. Equal keys have literals of the same kinds in the same places. */
  readonly key: string
  /** The numbers and texts as written, quotes included. */
  readonly literals: readonly string[]
  /** Where each of them begins. */
  readonly starts: readonly number[]
}

/** A mark starts with NUL, which no statement can contain. */
const MARKS = { whole: '\0i', fraction: '\0d', exponent: '\0e', text: '\0t' } as const

/**
 * Undefined for a statement without literals, with parameters, or with other characters than ASCII outside of its texts,
 * quoted names and comments. The rules are those of the lexer; a text that it refuses may have a shape.
 */
export function shapeOf(text: string): Shape | undefined {
  const literals: string[] = []
  const starts: number[] = []
  let key = ''
  let copied = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code !== QUOTE && !isDigit(code) && !(code === DOT && isDigit(text.charCodeAt(at + 1)))) {
      at = skip(text, at, code)
      if (at === -1) return undefined
      continue
    }
    const end = code === QUOTE ? closingQuote(text, at, "'") + 1 : numberEnd(text, at)
    if (end === 0 || (code !== QUOTE && isWordStart(text.charCodeAt(end)))) return undefined
    const literal = text.slice(at, end)
    key += text.slice(copied, at) + (code === QUOTE ? MARKS.text : markOfNumber(literal))
    literals.push(literal)
    starts.push(at)
    at = end
    copied = end
  }
  return literals.length === 0 ? undefined : { key: key + text.slice(copied), literals, starts }
}

function markOfNumber(literal: string): string {
  if (/[eE]/.test(literal)) return MARKS.exponent
  return literal.includes('.') ? MARKS.fraction : MARKS.whole
}

/** The end of what is at `at`: a comment, a word, a quoted name, bytes or one character; -1 if the statement has no shape. */
function skip(text: string, at: number, code: number): number {
  if (isWordStart(code)) {
    const end = wordEnd(text, at)
    const isBytes = end === at + 1 && (code | 0x20) === LETTER_X && text.charCodeAt(end) === QUOTE
    return isBytes ? afterOrNone(text.indexOf("'", end + 1)) : end
  }
  if (code === DOUBLE_QUOTE) return afterOrNone(closingQuote(text, at, '"'))
  if (code === MINUS && text.charCodeAt(at + 1) === MINUS) {
    const end = text.indexOf('\n', at)
    return end === -1 ? text.length : end + 1
  }
  if (code === SLASH && text.charCodeAt(at + 1) === STAR) {
    const end = text.indexOf('*/', at + 2)
    return end === -1 ? -1 : end + 2
  }
  return code === 0 || code === COLON || code === DOLLAR || code >= 0x80 ? -1 : at + 1
}

function afterOrNone(position: number): number {
  return position === -1 ? -1 : position + 1
}

function isWordStart(code: number): boolean {
  const lower = code | 0x20
  return (lower >= 0x61 && lower <= 0x7a) || code === UNDERSCORE
}

function wordEnd(text: string, at: number): number {
  let end = at + 1
  for (;;) {
    const code = text.charCodeAt(end)
    if (!isWordStart(code) && !isDigit(code)) return end
    end++
  }
}

const [DOT, QUOTE, DOUBLE_QUOTE, COLON, DOLLAR, MINUS, SLASH, STAR, UNDERSCORE, LETTER_X] = [
  0x2e, 0x27, 0x22, 0x3a, 0x24, 0x2d, 0x2f, 0x2a, 0x5f, 0x78,
] as const

export type WrittenLiteral = NumberLiteral | TextLiteral | TypedLiteral

/** The literals in the syntax tree of the statement, each with its index in the shape. */
export function literalsOf(statement: Statement, { starts }: Shape): ReadonlyMap<WrittenLiteral, number> {
  const indexes = new Map(starts.map((start, index) => [start, index]))
  const found = new Map<WrittenLiteral, number>()
  // A chain of AND is as deep as it is long.
  const rest: unknown[] = [statement]
  while (rest.length > 0) {
    const node = rest.pop()
    if (typeof node !== 'object' || node === null) continue
    if (!isLiteral(node)) {
      rest.push(...Object.values(node))
      continue
    }
    // Of TIMESTAMP '…' the text is the next literal.
    const index = node.kind === 'typed' ? starts.findIndex((start) => start > node.at) : indexes.get(node.at)
    if (index !== undefined && index !== -1) found.set(node, index)
  }
  return found
}

const LITERAL_KINDS: ReadonlySet<unknown> = new Set<WrittenLiteral['kind']>(['number', 'text', 'typed'])

function isLiteral(node: object): node is WrittenLiteral {
  return 'kind' in node && LITERAL_KINDS.has(node.kind)
}

/** The shape of a statement: its text without the values of its literals, found by the lexer alone. */
import { Refusal } from 'gatehouse-protocol'
import type { Statement } from './ast.ts'
import type { NumberLiteral, TextLiteral, TypedLiteral } from './ast-query.ts'
import { closingQuote, numberEnd, type Token, tokenize } from './lexer.ts'
import { DEFAULT_LIMITS } from './limits.ts'

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

/** Undefined for a statement without literals, with parameters, with a text E'…', or with an error of the lexer. */
export function readShape(text: string): Shape | undefined {
  const literals: string[] = []
  const starts: number[] = []
  let key = ''
  let copied = 0
  for (const { kind, at } of tryTokenize(text)) {
    if (kind === 'parameter') return undefined
    if (kind !== 'text' && kind !== 'number') continue
    if (kind === 'text' && text[at] !== "'") return undefined
    const end = kind === 'text' ? closingQuote(text, at, "'") + 1 : numberEnd(text, at)
    const literal = text.slice(at, end)
    key += text.slice(copied, at) + (kind === 'text' ? MARKS.text : markOfNumber(literal))
    literals.push(literal)
    starts.push(at)
    copied = end
  }
  return literals.length === 0 ? undefined : { key: key + text.slice(copied), literals, starts }
}

/** None of a text that the lexer refuses. */
function tryTokenize(text: string): readonly Token[] {
  try {
    return tokenize(text, DEFAULT_LIMITS)
  } catch (error) {
    if (error instanceof Refusal) return []
    throw error
  }
}

function markOfNumber(literal: string): string {
  if (/[eE]/.test(literal)) return MARKS.exponent
  return literal.includes('.') ? MARKS.fraction : MARKS.whole
}

export type WrittenLiteral = NumberLiteral | TextLiteral | TypedLiteral

/** The literals in the syntax tree of the statement, each with its index in the shape. */
export function findLiterals(statement: Statement, { starts }: Shape): ReadonlyMap<WrittenLiteral, number> {
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

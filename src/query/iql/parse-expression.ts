/** Reads expressions: a Pratt loop over the operators, from OR, which binds least, to the sign, which binds most. */
import type { BinaryOperator, Expression, InList, InQuery, Like } from './ast-expression.ts'
import type { Cursor } from './cursor.ts'
import { parsePrimary } from './parse-primary.ts'
import { closing, parseList, parseParenthesisedQuery } from './parse-select.ts'

/** How strongly each operator binds; the printer sets its parentheses by the same numbers. */
export const BINDING = {
  or: 1,
  and: 2,
  not: 3,
  is: 4,
  comparison: 5,
  /** BETWEEN, IN, LIKE */
  test: 6,
  concat: 7,
  sum: 8,
  product: 9,
  sign: 10,
} as const

export const BINARY_BINDING: Readonly<Record<BinaryOperator, number>> = {
  or: BINDING.or,
  and: BINDING.and,
  '=': BINDING.comparison,
  '<>': BINDING.comparison,
  '<': BINDING.comparison,
  '<=': BINDING.comparison,
  '>': BINDING.comparison,
  '>=': BINDING.comparison,
  'is distinct from': BINDING.is,
  'is not distinct from': BINDING.is,
  '||': BINDING.concat,
  '+': BINDING.sum,
  '-': BINDING.sum,
  '*': BINDING.product,
  '/': BINDING.product,
  '%': BINDING.product,
}

const SYMBOL_OPERATORS: ReadonlyMap<string, BinaryOperator> = new Map(
  (['or', 'and', '=', '<>', '<', '<=', '>', '>=', '||', '+', '-', '*', '/', '%'] as const).map((key) => [key, key]),
)

/**
 * Expression = Conjunction {"OR" Conjunction}
 * Conjunction = Negation {"AND" Negation}
 */
export function parseExpression(cursor: Cursor): Expression {
  cursor.beginExpression()
  const expression = parseBinding(cursor, 0)
  cursor.endExpression()
  return expression
}

/** Reads as long as the operators bind more strongly than `least`. */
function parseBinding(cursor: Cursor, least: number): Expression {
  const outerHeight = cursor.height
  cursor.height = 0
  let left = parsePrefix(cursor, least)
  for (;;) {
    const { at } = cursor.token
    const next = parseInfix(cursor, left, least)
    if (next === undefined) break
    left = next
    // A chain of AND or OR is bound as one node, however long it is.
    if (next.kind === 'binary' && (next.operator === 'and' || next.operator === 'or')) cursor.countCondition(at)
    else cursor.checkHeight(++cursor.height, at)
  }
  cursor.height = Math.max(outerHeight, cursor.height)
  return left
}

/**
 * Negation = "NOT" Negation | Truth
 * Sign = ("-" | "+") Sign | Primary
 */
function parsePrefix(cursor: Cursor, least: number): Expression {
  const { key, at } = cursor.token
  if (key === 'not') {
    if (least >= BINDING.not) throw cursor.fail('NOT binds less than what stands before it: put it in parentheses', at)
    return parseUnary(cursor, 'not', BINDING.not - 1)
  }
  if (key === '-' || key === '+') return parseUnary(cursor, key, BINDING.sign - 1)
  return parsePrimary(cursor)
}

function parseUnary(cursor: Cursor, operator: '-' | '+' | 'not', least: number): Expression {
  const at = cursor.take().at
  cursor.enter()
  const operand = parseBinding(cursor, least)
  cursor.leave()
  return { kind: 'unary', operator, operand, at }
}

/**
 * Truth = Comparison {"IS" ["NOT"] ("NULL" | "TRUE" | "FALSE" | "DISTINCT" "FROM" Comparison)}
 * Comparison = Test [("=" | "<>" | "!=" | "<" | "<=" | ">" | ">=") Test]
 * Concatenation = Sum {"||" Sum}
 * Sum = Product {("+" | "-") Product}
 * Product = Sign {("*" | "/" | "%") Sign}
 */
function parseInfix(cursor: Cursor, left: Expression, least: number): Expression | undefined {
  const { key, at } = cursor.token
  const operator = SYMBOL_OPERATORS.get(key)
  if (operator !== undefined) {
    const binding = BINARY_BINDING[operator]
    if (binding <= least) return undefined
    cursor.take()
    const right = parseBinding(cursor, binding)
    if (binding === BINDING.comparison) refuseChain(cursor)
    return { kind: 'binary', operator, left, right, at }
  }
  if (key === 'is') return least < BINDING.is ? parseIs(cursor, left) : undefined
  if (TEST_WORDS.has(key)) return least < BINDING.test ? parseTest(cursor, left) : undefined
  cursor.couldBe('an operator')
  return undefined
}

const TEST_WORDS: ReadonlySet<string> = new Set(['not', 'between', 'in', 'like', 'ilike'])

/** a < b < c would compare a truth value with c. */
function refuseChain(cursor: Cursor): void {
  const operator = SYMBOL_OPERATORS.get(cursor.token.key)
  if (operator === undefined || BINARY_BINDING[operator] !== BINDING.comparison) return
  throw cursor.fail('Comparisons do not chain', cursor.token.at, 'Syntax', 'write a < b AND b < c')
}

function parseIs(cursor: Cursor, operand: Expression): Expression {
  const at = cursor.expects('is')
  const negated = cursor.accepts('not')
  if (cursor.accepts('null')) return { kind: 'is-null', negated, operand, at }
  if (cursor.accepts('true')) return { kind: 'is-truth', negated, value: true, operand, at }
  if (cursor.accepts('false')) return { kind: 'is-truth', negated, value: false, operand, at }
  cursor.expects('distinct')
  cursor.expects('from')
  const right = parseBinding(cursor, BINDING.is)
  return { kind: 'binary', operator: negated ? 'is not distinct from' : 'is distinct from', left: operand, right, at }
}

/**
 * Test = Concatenation [["NOT"] (Between | In | Like)]
 * Between = "BETWEEN" Concatenation "AND" Concatenation
 */
function parseTest(cursor: Cursor, operand: Expression): Expression {
  const at = cursor.token.at
  const negated = cursor.accepts('not')
  let test: Expression
  if (cursor.accepts('between')) {
    const low = parseBinding(cursor, BINDING.test)
    cursor.expects('and')
    test = { kind: 'between', negated, operand, low, high: parseBinding(cursor, BINDING.test), at }
  } else if (cursor.accepts('in')) test = parseIn(cursor, operand, negated, at)
  else if (cursor.accepts('like')) test = parseLike(cursor, operand, negated, false, at)
  else if (cursor.accepts('ilike')) test = parseLike(cursor, operand, negated, true, at)
  else throw cursor.unexpected()
  if (TEST_WORDS.has(cursor.token.key)) {
    throw cursor.fail('Tests do not chain: put the first in parentheses', cursor.token.at)
  }
  return test
}

/** In = "IN" "(" (Query | Expression {"," Expression}) ")" */
function parseIn(cursor: Cursor, operand: Expression, negated: boolean, at: number): InList | InQuery {
  if (cursor.opensQuery()) {
    return { kind: 'in-query', negated, operand, query: parseParenthesisedQuery(cursor), at }
  }
  cursor.expects('(')
  if (cursor.token.key === ')') throw cursor.fail('IN needs at least one item', cursor.token.at)
  cursor.enter()
  const items = closing(cursor, parseList(cursor, parseExpression))
  cursor.leave()
  if (items.length > cursor.limits.inItems) {
    throw cursor.fail(`IN takes at most ${cursor.limits.inItems} items`, at, 'TooComplex')
  }
  return { kind: 'in-list', negated, operand, items, at }
}

/** Like = ("LIKE" | "ILIKE") Concatenation ["ESCAPE" Concatenation] */
function parseLike(cursor: Cursor, operand: Expression, negated: boolean, ignoreCase: boolean, at: number): Like {
  const pattern = parseBinding(cursor, BINDING.test)
  const escapedBy = cursor.accepts('escape') ? parseBinding(cursor, BINDING.test) : undefined
  return { kind: 'like', negated, ignoreCase, operand, pattern, escape: escapedBy, at }
}

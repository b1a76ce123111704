/** Parses expressions of catalogue statements, by PostgreSQL's precedence. */
import { CatalogueError } from '../catalogue-error.ts'
import type { Expression } from './ast.ts'
import { parsePrimary } from './parse-primary.ts'
import { parseType } from './parse-type.ts'
import type { TokenStream } from './token-stream.ts'

/** Or = And {"OR" And} */
export function parseExpression(tokens: TokenStream): Expression {
  return leftAssociative(tokens, and, () => (tokens.sees('or') ? 'OR' : undefined))
}

function and(tokens: TokenStream): Expression {
  return leftAssociative(tokens, not, () => (tokens.sees('and') ? 'AND' : undefined))
}

function leftAssociative(
  tokens: TokenStream,
  operand: (tokens: TokenStream) => Expression,
  operatorNext: () => string | undefined,
): Expression {
  let left = operand(tokens)
  for (let count = 0; ; count++) {
    const operator = operatorNext()
    if (operator === undefined) return left
    limitChain(count, tokens)
    const { at } = tokens.take()
    left = { kind: 'binary', operator, left, right: operand(tokens), at }
  }
}

/** SQLite's parser refuses trees higher than 1,000. */
const MAX_CHAIN = 300

function limitChain(count: number, { at }: TokenStream): void {
  if (count > MAX_CHAIN)
    throw new CatalogueError('tooComplex', `An expression chains at most ${MAX_CHAIN} operators`, at)
}

/** Not = "NOT" Not | Is */
function not(tokens: TokenStream): Expression {
  const { at } = tokens
  if (!tokens.accepts('not')) return is(tokens)
  return { kind: 'unary', operator: 'NOT', operand: tokens.nested(() => not(tokens)), at }
}

/** Is = Comparison {"IS" ["NOT"] ("NULL" | "TRUE" | "FALSE" | "UNKNOWN" | "DISTINCT FROM" Comparison) | "ISNULL" | "NOTNULL"} */
function is(tokens: TokenStream): Expression {
  let operand = comparison(tokens)
  for (let count = 0; ; count++) {
    const { at } = tokens
    limitChain(count, tokens)
    if (tokens.accepts('isnull')) operand = { kind: 'is', operand, what: 'NULL', isNegated: false, at }
    else if (tokens.accepts('notnull')) operand = { kind: 'is', operand, what: 'NULL', isNegated: true, at }
    else if (tokens.accepts('is')) {
      const isNegated = tokens.accepts('not')
      if (tokens.accepts('distinct', 'from')) {
        operand = { kind: 'distinct', left: operand, right: comparison(tokens), isNegated, at }
      } else if (tokens.accepts('null') || tokens.accepts('unknown'))
        operand = { kind: 'is', operand, what: 'NULL', isNegated, at }
      else if (tokens.accepts('true')) operand = { kind: 'is', operand, what: 'TRUE', isNegated, at }
      else if (tokens.accepts('false')) operand = { kind: 'is', operand, what: 'FALSE', isNegated, at }
      else throw tokens.unexpected()
    } else return operand
  }
}

const COMPARISONS: ReadonlySet<string> = new Set(['=', '<>', '<', '>', '<=', '>='])

function comparison(tokens: TokenStream): Expression {
  let left = membership(tokens)
  for (let count = 0; ; count++) {
    const operator = COMPARISONS.has(tokens.token.key) ? tokens.token.key : undefined
    if (operator === undefined) return left
    limitChain(count, tokens)
    const { at } = tokens.take()
    left = quantified(tokens, operator, left, at) ?? { kind: 'binary', operator, left, right: membership(tokens), at }
  }
}

/** ("ANY" | "SOME" | "ALL") "(" (Query | Expression) ")" */
function quantified(tokens: TokenStream, operator: string, left: Expression, at: number): Expression | undefined {
  const { key } = tokens.token
  if ((key !== 'any' && key !== 'some' && key !== 'all') || tokens.ahead(1).key !== '(') return undefined
  tokens.take()
  const quantifier = key === 'all' ? 'ALL' : 'ANY'
  if (tokens.opensQuery() && !isArrayOfQuery(tokens))
    return { kind: 'quantified', operator, quantifier, left, right: tokens.subquery(), at }
  tokens.expects('(')
  const right = tokens.expression()
  tokens.expects(')')
  return { kind: 'quantified', operator, quantifier, left, right, at }
}

/** `ANY ((SELECT array)::text[])` is an expression. */
function isArrayOfQuery(tokens: TokenStream): boolean {
  if (tokens.ahead(1).key !== '(') return false
  for (let depth = 0, distance = 1; ; distance++) {
    const { key, kind } = tokens.ahead(distance)
    if (kind === 'end') return false
    if (key === '(') depth++
    else if (key === ')' && --depth === 0) return tokens.ahead(distance + 1).key !== ')'
  }
}

/** Membership = Other [["NOT"] ("IN" … | "LIKE" … | "ILIKE" … | "BETWEEN" … )] */
function membership(tokens: TokenStream): Expression {
  let left = parseOperand(tokens)
  for (let count = 0; ; count++) {
    const { at } = tokens
    limitChain(count, tokens)
    const isNegated = tokens.sees('not') && MEMBERSHIPS.has(tokens.ahead(1).key)
    if (isNegated) tokens.take()
    if (tokens.accepts('in')) left = parseIn(tokens, left, isNegated, at)
    else if (tokens.sees('like') || tokens.sees('ilike')) left = parseLike(tokens, left, isNegated, at)
    else if (tokens.accepts('between')) left = parseBetween(tokens, left, isNegated, at)
    else return left
  }
}

const MEMBERSHIPS: ReadonlySet<string> = new Set(['in', 'like', 'ilike', 'between'])

function parseIn(tokens: TokenStream, left: Expression, isNegated: boolean, at: number): Expression {
  if (tokens.opensQuery()) return { kind: 'in', left, right: tokens.subquery(), isNegated, at }
  tokens.expects('(')
  const right = tokens.list((list) => list.expression())
  tokens.expects(')')
  return { kind: 'in', left, right, isNegated, at }
}

function parseLike(tokens: TokenStream, left: Expression, isNegated: boolean, at: number): Expression {
  const isInsensitive = tokens.take().key === 'ilike'
  const any = quantified(tokens, `${isNegated ? '!' : ''}~~${isInsensitive ? '*' : ''}`, left, at)
  if (any !== undefined) return any
  const pattern = parseOperand(tokens)
  const escapeWith = tokens.accepts('escape') ? parseOperand(tokens) : undefined
  return { kind: 'like', left, pattern, escape: escapeWith, isInsensitive, isNegated, at }
}

function parseBetween(tokens: TokenStream, left: Expression, isNegated: boolean, at: number): Expression {
  const low = parseOperand(tokens)
  tokens.expects('and')
  return { kind: 'between', left, low, high: parseOperand(tokens), isNegated, at }
}

const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '^'])

/** Other = Sum {Operator Sum}: every operator without a place of its own, also as OPERATOR(schema.operator). */
export function parseOperand(tokens: TokenStream): Expression {
  let left = sum(tokens)
  for (let count = 0; ; count++) {
    const { at } = tokens
    const operator = otherOperator(tokens)
    if (operator === undefined) return left
    limitChain(count, tokens)
    left = quantified(tokens, operator, left, at) ?? { kind: 'binary', operator, left, right: sum(tokens), at }
  }
}

function otherOperator(tokens: TokenStream): string | undefined {
  const { kind, key } = tokens.token
  if (key === 'operator' && tokens.ahead(1).key === '(') {
    tokens.take()
    tokens.expects('(')
    while (tokens.ahead(1).key === '.') {
      tokens.name()
      tokens.expects('.')
    }
    const { kind: inner, key: operator } = tokens.take()
    if (inner !== 'symbol') throw tokens.unexpected('an operator')
    tokens.expects(')')
    return operator
  }
  const isOther =
    kind === 'symbol' && !COMPARISONS.has(key) && !ARITHMETIC.has(key) && /^[+\-*/<>=~!@#%^&|`?]+$/.test(key)
  return isOther ? tokens.take().key : undefined
}

function sum(tokens: TokenStream): Expression {
  const next = (): string | undefined => (tokens.sees('+') || tokens.sees('-') ? tokens.token.key : undefined)
  return leftAssociative(tokens, product, next)
}

function product(tokens: TokenStream): Expression {
  const next = (): string | undefined =>
    tokens.sees('*') || tokens.sees('/') || tokens.sees('%') ? tokens.token.key : undefined
  return leftAssociative(tokens, unary, next)
}

function unary(tokens: TokenStream): Expression {
  const { key, at } = tokens.token
  if (key !== '-' && key !== '+' && key !== '~') return collated(tokens)
  tokens.take()
  return { kind: 'unary', operator: key, operand: tokens.nested(() => unary(tokens)), at }
}

/** Collations change nothing here: names are compared as bytes. */
function collated(tokens: TokenStream): Expression {
  const operand = postfix(tokens)
  while (tokens.accepts('collate')) tokens.path()
  return operand
}

/** Postfix = Primary {"[" Expression "]" | "::" Type | "." Name | "AT TIME ZONE" Postfix} */
function postfix(tokens: TokenStream): Expression {
  let operand = parsePrimary(tokens)
  for (let count = 0; ; count++) {
    const { at } = tokens
    limitChain(count, tokens)
    if (tokens.accepts('[')) {
      const index = tokens.expression()
      if (tokens.sees(':')) throw new CatalogueError('unsupported', 'Slices of arrays are not supported', tokens.at)
      tokens.expects(']')
      operand = { kind: 'subscript', operand, index, at }
    } else if (tokens.accepts('::')) operand = { kind: 'cast', operand, type: parseType(tokens), at }
    else if (tokens.sees('.') && tokens.ahead(1).key !== '*') {
      tokens.take()
      operand = { kind: 'field', operand, name: tokens.name(true), at }
    } else return operand
  }
}

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
    if (count > MAX_CHAIN)
      throw new CatalogueError('tooComplex', `An expression chains at most ${MAX_CHAIN} operators`, tokens.at)
    const { at } = tokens.take()
    left = { kind: 'binary', operator, left, right: operand(tokens), at }
  }
}

/** SQLite's parser refuses trees higher than 1,000. */
const MAX_CHAIN = 300

/** Not = "NOT" Not | Is */
function not(tokens: TokenStream): Expression {
  const { at } = tokens
  if (!tokens.accepts('not')) return is(tokens)
  return { kind: 'unary', operator: 'NOT', operand: tokens.nested(() => not(tokens)), at }
}

/** Is = Comparison {"IS" ["NOT"] ("NULL" | "TRUE" | "FALSE" | "UNKNOWN" | "DISTINCT FROM" Comparison) | "ISNULL" | "NOTNULL"} */
function is(tokens: TokenStream): Expression {
  let operand = comparison(tokens)
  for (;;) {
    const { at } = tokens
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
  for (;;) {
    const operator = COMPARISONS.has(tokens.token.key) ? tokens.token.key : undefined
    if (operator === undefined) return left
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
  for (;;) {
    const { at } = tokens
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
  const compare = (operator: string, right: Expression): Expression => ({ kind: 'binary', operator, left, right, at })
  const inside = {
    kind: 'binary',
    operator: 'AND',
    left: compare('>=', low),
    right: compare('<=', other(tokens)),
    right: compare('<=', parseOperand(tokens)),
    at,
  } as const
  return isNegated ? { kind: 'unary', operator: 'NOT', operand: inside, at } : inside
}

const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '^'])

/** Other = Sum {Operator Sum}: every operator without a place of its own, also as OPERATOR(schema.operator). */
export function parseOperand(tokens: TokenStream): Expression {
  let left = sum(tokens)
  for (let count = 0; ; count++) {
    const { at } = tokens
    const operator = otherOperator(tokens)
    if (operator === undefined) return left
    if (count > MAX_CHAIN)
      throw new CatalogueError('tooComplex', `An expression chains at most ${MAX_CHAIN} operators`, at)
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
  for (;;) {
    const { at } = tokens
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

/** Type = Name {"." Name} ["(" number {"," number} ")"] {"[" [number] "]"}, or one of two words. */
export function parseType(tokens: TokenStream): TypeName {
  const { at } = tokens
  const path = tokens.path()
  const [only] = path
  if (path.length === 1 && only === 'double') tokens.accepts('precision')
  if (path.length === 1 && only === 'character' && tokens.accepts('varying')) path[0] = 'varchar'
  if (tokens.accepts('(')) {
    tokens.list((list) => list.take())
    tokens.expects(')')
  }
  if (tokens.accepts('with', 'time', 'zone')) path[0] = `${only}tz`
  else tokens.accepts('without', 'time', 'zone')
  let isArray = tokens.accepts('array')
  while (tokens.accepts('[')) {
    isArray = true
    if (tokens.token.kind === 'number') tokens.take()
    tokens.expects(']')
  }
  return { path, isArray, at }
}

function primary(tokens: TokenStream): Expression {
  const { kind, key, text, at } = tokens.token
  switch (kind) {
    case 'text':
      tokens.take()
      return { kind: 'text', value: text, at }
    case 'number':
      tokens.take()
      return { kind: 'number', value: text, at }
    case 'parameter':
      tokens.take()
      if (Number(text) < 1) throw new CatalogueError('syntax', `there is no parameter $${text}`, at)
      return { kind: 'parameter', index: Number(text), at }
    case 'symbol':
      if (key === '(') return parenthesised(tokens)
      throw tokens.unexpected('an expression')
    case 'end':
      throw tokens.unexpected('an expression')
    case 'quoted':
      return named(tokens)
    case 'word':
      return keyword(tokens) ?? named(tokens)
  }
}

/** "(" (Query | Expression {"," Expression}) ")" */
function parenthesised(tokens: TokenStream): Expression {
  const { at } = tokens
  if (tokens.opensQuery() && !startsExpression(tokens)) return { kind: 'query', query: tokens.subquery(), at }
  tokens.expects('(')
  const [first, ...others] = tokens.list(parseExpression)
  tokens.expects(')')
  if (first === undefined) throw tokens.unexpected()
  return others.length === 0 ? first : { kind: 'row', items: [first, ...others], at }
}

/** In `((SELECT 1) + 2)` the inner parentheses are an operand, and not the whole. */
function startsExpression(tokens: TokenStream): boolean {
  if (tokens.ahead(1).key !== '(') return false
  for (let depth = 0, distance = 1; ; distance++) {
    const { key, kind } = tokens.ahead(distance)
    if (kind === 'end') return false
    if (key === '(') depth++
    else if (key === ')' && --depth === 0) return !AFTER_QUERY.has(tokens.ahead(distance + 1).key)
  }
}

const AFTER_QUERY: ReadonlySet<string> = new Set([')', 'union', 'intersect', 'except', 'order', 'limit', 'offset'])

function keyword(tokens: TokenStream): Expression | undefined {
  const { key, at } = tokens.token
  const opensParenthesis = tokens.ahead(1).key === '('
  switch (key) {
    case 'null':
      tokens.take()
      return { kind: 'null', at }
    case 'true':
    case 'false':
      tokens.take()
      return { kind: 'boolean', value: key === 'true', at }
    case 'case':
      return parseCase(tokens)
    case 'cast':
      return opensParenthesis ? parseCast(tokens) : undefined
    case 'exists':
      if (!opensParenthesis) return undefined
      tokens.take()
      return { kind: 'exists', query: tokens.subquery(), at }
    case 'array':
      tokens.take()
      if (tokens.opensQuery()) return { kind: 'array-query', query: tokens.subquery(), at }
      return { kind: 'array', items: arrayItems(tokens), at }
    case 'row':
      if (!opensParenthesis) return undefined
      tokens.take()
      return { kind: 'row', items: parseArguments(tokens), at }
    case 'substring':
    case 'position':
    case 'trim':
    case 'extract':
    case 'overlay':
      return opensParenthesis ? parseWordedCall(tokens) : undefined
    // As functions; elsewhere they are the words of joins.
    case 'left':
    case 'right':
      return opensParenthesis ? parseCall(tokens, [tokens.take().key], at) : undefined
    default:
      return undefined
  }
}

function arrayItems(tokens: TokenStream): Expression[] {
  tokens.expects('[')
  if (tokens.accepts(']')) return []
  const items = tokens.list((list) =>
    list.sees('[') ? ({ kind: 'array', items: arrayItems(list), at: list.at } as const) : parseExpression(list),
  )
  tokens.expects(']')
  return items
}

function parseCase(tokens: TokenStream): Expression {
  const { at } = tokens.take()
  const subject = tokens.sees('when') ? undefined : parseExpression(tokens)
  const branches = []
  while (tokens.accepts('when')) {
    const when = parseExpression(tokens)
    tokens.expects('then')
    branches.push({ when, then: parseExpression(tokens) })
  }
  if (branches.length === 0) throw tokens.unexpected('when')
  const otherwise = tokens.accepts('else') ? parseExpression(tokens) : undefined
  tokens.expects('end')
  return { kind: 'case', subject, branches, otherwise, at }
}

function parseCast(tokens: TokenStream): Expression {
  const { at } = tokens.take()
  tokens.expects('(')
  const operand = parseExpression(tokens)
  tokens.expects('as')
  const type = parseType(tokens)
  tokens.expects(')')
  return { kind: 'cast', operand, type, at }
}

/** Calls with words instead of commas: `substring(x FROM a FOR b)`, `position(a IN b)`, `trim(BOTH a FROM b)`. */
function parseWordedCall(tokens: TokenStream): Expression {
  const { key, at } = tokens.take()
  tokens.expects('(')
  const side = tokens.sees('leading') || tokens.sees('trailing') || tokens.sees('both') ? tokens.take().key : undefined
  const args = tokens.sees('from') ? [] : [other(tokens)]
  const isFrom = tokens.sees('from')
  while (tokens.accepts(',') || tokens.accepts('from') || tokens.accepts('for') || tokens.accepts('in'))
    args.push(other(tokens))
  tokens.expects(')')
  const name = key === 'trim' ? (side === 'leading' ? 'ltrim' : side === 'trailing' ? 'rtrim' : 'btrim') : key
  return callOf([name], key === 'trim' && isFrom ? args.reverse() : args, at)
}

function named(tokens: TokenStream): Expression {
  const { at, kind, key } = tokens.token
  if (kind === 'word' && BARE_FUNCTIONS.has(key) && tokens.ahead(1).key !== '(' && tokens.ahead(1).key !== '.') {
    tokens.take()
    return callOf([key], [], at)
  }
  const path = tokens.path()
  if (tokens.sees('(')) return parseCall(tokens, path, at)
  // A typed literal: oid '16384'.
  if (tokens.token.kind === 'text') {
    const { text, at: textAt } = tokens.take()
    return { kind: 'cast', operand: { kind: 'text', value: text, at: textAt }, type: { path, isArray: false, at }, at }
  }
  return { kind: 'column', path, at }
}

export function callOf(path: readonly string[], args: readonly Expression[], at: number): Call {
  const none = { isStar: false, isDistinct: false, orderBy: [], filter: undefined, over: undefined }
  return { kind: 'call', path, args, ...none, at }
}

/** Call = Path "(" ["DISTINCT"] [arguments] ["ORDER BY" …] ")" ["FILTER" …] ["OVER" …] */
export function parseCall(tokens: TokenStream, path: readonly string[], at: number): Call {
  tokens.expects('(')
  const isStar = tokens.accepts('*')
  const isDistinct = tokens.accepts('distinct')
  const args = isStar || tokens.sees(')') ? [] : tokens.list(parseArgument)
  const orderBy = parseOrderBy(tokens)
  tokens.expects(')')
  let filter: Expression | undefined
  if (tokens.accepts('filter', '(')) {
    tokens.expects('where')
    filter = parseExpression(tokens)
    tokens.expects(')')
  }
  const over = tokens.accepts('over') ? parseWindow(tokens) : undefined
  return { kind: 'call', path, args, isStar, isDistinct, orderBy, filter, over, at }
}

function parseArgument(tokens: TokenStream): Expression {
  tokens.accepts('variadic')
  return parseExpression(tokens)
}

function parseArguments(tokens: TokenStream): Expression[] {
  tokens.expects('(')
  const args = tokens.sees(')') ? [] : tokens.list(parseExpression)
  tokens.expects(')')
  return args
}

/** A name, or "(" [name] ["PARTITION BY" …] ["ORDER BY" …] ")" */
export function parseWindow(tokens: TokenStream): Window {
  if (!tokens.accepts('(')) return { base: tokens.name(), partitionBy: [], orderBy: [] }
  const base = tokens.isName() && !tokens.sees('partition') ? tokens.name() : undefined
  const partitionBy = tokens.accepts('partition', 'by') ? tokens.list(parseExpression) : []
  const orderBy = parseOrderBy(tokens)
  if (!tokens.sees(')')) throw new CatalogueError('unsupported', 'Window frames are not supported', tokens.at)
  tokens.expects(')')
  return { base, partitionBy, orderBy }
}

export function parseOrderBy(tokens: TokenStream): OrderItem[] {
  return tokens.accepts('order', 'by') ? tokens.list(parseOrderItem) : []
}

function parseOrderItem(tokens: TokenStream): OrderItem {
  const value = parseExpression(tokens)
  const isDescending = tokens.accepts('desc') || (tokens.accepts('asc') && false)
  const nulls = tokens.accepts('nulls', 'first') ? 'FIRST' : tokens.accepts('nulls', 'last') ? 'LAST' : undefined
  return { value, isDescending, nulls }
}

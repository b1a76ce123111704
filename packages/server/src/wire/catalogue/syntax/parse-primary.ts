/** Parses what expressions consist of: literals, names, calls, CASE, arrays and what is in parentheses. */
import { CatalogueError } from '../catalogue-error.ts'
import type { Call, Expression, OrderItem, WindowSpec } from './ast.ts'
import { BARE_FUNCTIONS } from './keywords.ts'
import { parseType } from './parse-type.ts'
import type { TokenStream } from './token-stream.ts'

export function parsePrimary(tokens: TokenStream): Expression {
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
  const [first, ...others] = tokens.list((list) => list.expression())
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
    list.sees('[') ? ({ kind: 'array', items: arrayItems(list), at: list.at } as const) : list.expression(),
  )
  tokens.expects(']')
  return items
}

function parseCase(tokens: TokenStream): Expression {
  const { at } = tokens.take()
  const subject = tokens.sees('when') ? undefined : tokens.expression()
  const branches = []
  while (tokens.accepts('when')) {
    const when = tokens.expression()
    tokens.expects('then')
    branches.push({ when, result: tokens.expression() })
  }
  if (branches.length === 0) throw tokens.unexpected('when')
  const otherwise = tokens.accepts('else') ? tokens.expression() : undefined
  tokens.expects('end')
  return { kind: 'case', subject, branches, otherwise, at }
}

function parseCast(tokens: TokenStream): Expression {
  const { at } = tokens.take()
  tokens.expects('(')
  const operand = tokens.expression()
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
  const args = tokens.sees('from') ? [] : [tokens.operand()]
  const isFrom = tokens.sees('from')
  if (key === 'substring' && tokens.accepts('for')) {
    const length = tokens.operand()
    args.push(tokens.accepts('from') ? tokens.operand() : { kind: 'number', value: '1', at }, length)
  }
  while (tokens.accepts(',') || tokens.accepts('from') || tokens.accepts('for') || tokens.accepts('in'))
    args.push(tokens.operand())
  tokens.expects(')')
  const name = key === 'trim' ? (side === 'leading' ? 'ltrim' : side === 'trailing' ? 'rtrim' : 'btrim') : key
  return buildCall([name], key === 'trim' && isFrom ? args.reverse() : args, at)
}

function named(tokens: TokenStream): Expression {
  const { at, kind, key } = tokens.token
  if (kind === 'word' && BARE_FUNCTIONS.has(key) && tokens.ahead(1).key !== '(' && tokens.ahead(1).key !== '.') {
    tokens.take()
    return buildCall([key], [], at)
  }
  const path = tokens.path()
  if (tokens.sees('(')) return parseCall(tokens, path, at)
  // A typed literal: oid '16384'.
  if (tokens.token.kind === 'text') {
    const { text, at: textAt } = tokens.take()
    const type = { path, isExact: kind === 'quoted' || path.length > 1, isArray: false, at }
    return { kind: 'cast', operand: { kind: 'text', value: text, at: textAt }, type, at }
  }
  return { kind: 'column', path, at }
}

export function buildCall(path: readonly string[], args: readonly Expression[], at: number): Call {
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
    filter = tokens.expression()
    tokens.expects(')')
  }
  const over = tokens.accepts('over') ? parseWindow(tokens) : undefined
  return { kind: 'call', path, args, isStar, isDistinct, orderBy, filter, over, at }
}

function parseArgument(tokens: TokenStream): Expression {
  tokens.accepts('variadic')
  return tokens.expression()
}

function parseArguments(tokens: TokenStream): Expression[] {
  tokens.expects('(')
  const args = tokens.sees(')') ? [] : tokens.list((list) => list.expression())
  tokens.expects(')')
  return args
}

/** A name, or "(" [name] ["PARTITION BY" …] ["ORDER BY" …] ")" */
export function parseWindow(tokens: TokenStream): WindowSpec {
  if (!tokens.accepts('(')) return { base: tokens.name(), partitionBy: [], orderBy: [] }
  const base = tokens.isName() && !tokens.sees('partition') ? tokens.name() : undefined
  const partitionBy = tokens.accepts('partition', 'by') ? tokens.list((list) => list.expression()) : []
  const orderBy = parseOrderBy(tokens)
  if (!tokens.sees(')')) throw new CatalogueError('unsupported', 'Window frames are not supported', tokens.at)
  tokens.expects(')')
  return { base, partitionBy, orderBy }
}

export function parseOrderBy(tokens: TokenStream): OrderItem[] {
  return tokens.accepts('order', 'by') ? tokens.list(parseOrderItem) : []
}

function parseOrderItem(tokens: TokenStream): OrderItem {
  const value = tokens.expression()
  const isDescending = tokens.accepts('desc') || (tokens.accepts('asc') && false)
  const nulls = tokens.accepts('nulls', 'first') ? 'FIRST' : tokens.accepts('nulls', 'last') ? 'LAST' : undefined
  return { value, isDescending, nulls }
}

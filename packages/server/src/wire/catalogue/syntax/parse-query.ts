/** Parses catalogue statements: one query, with PostgreSQL's clauses. */
import { CatalogueError } from '../catalogue-error.ts'
import type { Alias, Body, Cte, Expression, From, Query, Select, SelectItem, WindowSpec } from './ast.ts'
import { tokenize } from './lexer.ts'
import { parseExpression, parseOperand } from './parse-expression.ts'
import { parseCall, parseOrderBy, parseWindow } from './parse-primary.ts'
import { TokenStream } from './token-stream.ts'

export function parseStatement(statement: string): Query {
  const tokens = new TokenStream(tokenize(statement), {
    query: parseQuery,
    expression: parseExpression,
    operand: parseOperand,
  })
  const { key, text, kind, at } = tokens.token
  if (kind === 'word' && NOT_QUERIES.has(key))
    throw new CatalogueError(
      'unsupported',
      `${text.toUpperCase()} cannot be used on the catalogue, which is read by SELECT`,
      at,
    )
  const query = parseQuery(tokens)
  tokens.accepts(';')
  if (tokens.token.kind !== 'end') throw tokens.unexpected()
  return query
}

const NOT_QUERIES: ReadonlySet<string> = new Set(
  'insert update delete merge truncate create alter drop explain analyze vacuum copy call do lock comment grant revoke declare'.split(
    ' ',
  ),
)

/** Query = ["WITH" Cte {"," Cte}] Body ["ORDER BY" …] ["LIMIT" …] ["OFFSET" …] */
function parseQuery(tokens: TokenStream): Query {
  const hasWith = tokens.accepts('with')
  const isRecursive = hasWith && tokens.accepts('recursive')
  const ctes = hasWith ? tokens.list(parseCte) : []
  const body = parseSetOperations(tokens)
  const orderBy = parseOrderBy(tokens)
  let limit: Expression | undefined
  let offset: Expression | undefined
  for (;;) {
    if (tokens.accepts('limit')) limit = tokens.accepts('all') ? undefined : tokens.expression()
    else if (tokens.accepts('offset')) {
      offset = tokens.expression()
      void (tokens.accepts('rows') || tokens.accepts('row'))
    } else if (tokens.accepts('fetch')) limit = parseFetch(tokens)
    else if (tokens.sees('for'))
      throw new CatalogueError('unsupported', 'Rows of the catalogue cannot be locked', tokens.at)
    else return { isRecursive, ctes, body, orderBy, limit, offset }
  }
}

function parseFetch(tokens: TokenStream): Expression {
  if (!tokens.accepts('first')) tokens.expects('next')
  const isOne = tokens.sees('row') || tokens.sees('rows')
  const limit: Expression = isOne ? { kind: 'number', value: '1', at: tokens.at } : tokens.expression()
  if (!tokens.accepts('rows')) tokens.expects('row')
  tokens.expects('only')
  return limit
}

/** Cte = name ["(" columns ")"] "AS" [["NOT"] "MATERIALIZED"] "(" Query ")" */
function parseCte(tokens: TokenStream): Cte {
  const name = tokens.name()
  const columns = tokens.sees('(') ? parseNames(tokens) : []
  tokens.expects('as')
  tokens.accepts('not')
  tokens.accepts('materialized')
  return { name, columns, query: tokens.subquery() }
}

function parseNames(tokens: TokenStream): string[] {
  tokens.expects('(')
  const names = tokens.list((list) => list.name())
  tokens.expects(')')
  return names
}

/** INTERSECT binds more tightly than UNION and EXCEPT. */
function parseSetOperations(tokens: TokenStream): Body {
  let left = parseIntersections(tokens)
  for (let count = 0; tokens.sees('union') || tokens.sees('except'); count++) {
    limitSetOperations(count, tokens)
    const word = tokens.take().key
    const isAll = tokens.accepts('all')
    tokens.accepts('distinct')
    if (isAll && word === 'except') throw new CatalogueError('unsupported', 'EXCEPT ALL is not supported', tokens.at)
    const operator = word === 'except' ? 'EXCEPT' : isAll ? 'UNION ALL' : 'UNION'
    left = { kind: 'set', operator, left, right: parseIntersections(tokens) }
  }
  return left
}

const MAX_SET_OPERATIONS = 100

function limitSetOperations(count: number, { at }: TokenStream): void {
  if (count > MAX_SET_OPERATIONS)
    throw new CatalogueError('tooComplex', `A query has at most ${MAX_SET_OPERATIONS} set operations`, at)
}

function parseIntersections(tokens: TokenStream): Body {
  let left = parseBody(tokens)
  for (let count = 0; tokens.accepts('intersect'); count++) {
    limitSetOperations(count, tokens)
    left = { kind: 'set', operator: 'INTERSECT', left, right: parseBody(tokens) }
  }
  return left
}

function parseBody(tokens: TokenStream): Body {
  if (tokens.sees('(')) return { kind: 'query', query: tokens.subquery() }
  const { at } = tokens
  if (tokens.accepts('values')) {
    const rows = tokens.list((list) => {
      list.expects('(')
      const row = list.list((one) => one.expression())
      list.expects(')')
      return row
    })
    return { kind: 'values', rows, at }
  }
  return parseSelect(tokens)
}

function parseDistinctOn(tokens: TokenStream): Expression[] {
  tokens.expects('(')
  const keys = tokens.list((list) => list.expression())
  tokens.expects(')')
  return keys
}

function parseSelect(tokens: TokenStream): Select {
  tokens.expects('select')
  const hasDistinct = tokens.accepts('distinct')
  const distinctOn = hasDistinct && tokens.accepts('on') ? parseDistinctOn(tokens) : []
  const isDistinct = hasDistinct && distinctOn.length === 0
  if (!hasDistinct) tokens.accepts('all')
  const items = EMPTY_LIST_ENDS.has(tokens.token.key) || tokens.token.kind === 'end' ? [] : tokens.list(parseItem)
  const from = tokens.accepts('from') ? tokens.list(parseFrom) : []
  const where = tokens.accepts('where') ? tokens.expression() : undefined
  const groupBy = tokens.accepts('group', 'by') ? tokens.list((list) => list.expression()) : []
  const having = tokens.accepts('having') ? tokens.expression() : undefined
  const windows = new Map<string, WindowSpec>()
  if (tokens.accepts('window')) {
    tokens.list((list) => {
      const name = list.name()
      list.expects('as')
      windows.set(name, parseWindow(list))
    })
  }
  return { kind: 'select', isDistinct, distinctOn, items, from, where, groupBy, having, windows }
}

/** A select list can be empty: `EXISTS (SELECT FROM t)`. */
const EMPTY_LIST_ENDS: ReadonlySet<string> = new Set(['from', 'where', ')', ';', 'union'])

function parseItem(tokens: TokenStream): SelectItem {
  const { at } = tokens
  if (tokens.accepts('*')) return { kind: 'star', path: [], at }
  const star = tokens.attempt<SelectItem>(() => {
    if (!tokens.isName()) return undefined
    const path = tokens.path()
    return tokens.accepts('.', '*') ? { kind: 'star', path, at } : undefined
  })
  if (star !== undefined) return star
  const value = tokens.expression()
  if (tokens.sees('.', '*')) throw new CatalogueError('unsupported', 'A value cannot be expanded with .*', tokens.at)
  const alias = tokens.accepts('as') ? tokens.name(true) : tokens.isName() ? tokens.name() : undefined
  return { kind: 'value', value, alias }
}

const JOINS: readonly (readonly [words: readonly string[], join: 'JOIN' | 'LEFT JOIN' | 'RIGHT JOIN' | 'FULL JOIN'])[] =
  [
    [['join'], 'JOIN'],
    [['inner', 'join'], 'JOIN'],
    [['left', 'join'], 'LEFT JOIN'],
    [['left', 'outer', 'join'], 'LEFT JOIN'],
    [['right', 'join'], 'RIGHT JOIN'],
    [['right', 'outer', 'join'], 'RIGHT JOIN'],
    [['full', 'join'], 'FULL JOIN'],
    [['full', 'outer', 'join'], 'FULL JOIN'],
  ]

/** From = Source {("CROSS" | "NATURAL" | …) "JOIN" Source ["ON" … | "USING" …]} */
function parseFrom(tokens: TokenStream): From {
  let left = tokens.nested(() => parseSource(tokens))
  for (let count = 0; ; count++) {
    if (count > MAX_JOINS) throw new CatalogueError('tooComplex', `A query has at most ${MAX_JOINS} joins`, tokens.at)
    if (tokens.accepts('cross', 'join')) {
      left = { kind: 'join', join: 'JOIN', left, right: parseSource(tokens), on: undefined, using: [] }
      continue
    }
    const isNatural = tokens.accepts('natural')
    const found = JOINS.find(([words]) => tokens.accepts(...words))
    if (found === undefined) {
      if (isNatural) throw tokens.unexpected('join')
      return left
    }
    const right = tokens.nested(() => (opensJoin(tokens) ? parseFrom(tokens) : parseSource(tokens)))
    if (isNatural) left = { kind: 'join', join: found[1], left, right, on: undefined, using: 'natural' }
    else if (tokens.accepts('using')) {
      left = { kind: 'join', join: found[1], left, right, on: undefined, using: parseNames(tokens) }
      if (tokens.accepts('as')) tokens.name()
    } else {
      tokens.expects('on')
      left = { kind: 'join', join: found[1], left, right, on: tokens.expression(), using: [] }
    }
  }
}

/** SQLite joins at most 64 tables. */
const MAX_JOINS = 62

/** `a JOIN b JOIN c ON … ON …`: after the next source another join comes before ON. */
function opensJoin(tokens: TokenStream): boolean {
  for (let depth = 0, distance = 0; ; distance++) {
    const { key, kind } = tokens.ahead(distance)
    if (kind === 'end') return false
    if (key === '(') depth++
    else if (key === ')' && --depth < 0) return false
    else if (depth === 0 && (key === 'on' || key === 'using' || key === 'where' || key === ',' || key === 'cross'))
      return false
    else if (depth === 0 && key === 'join') return true
  }
}

function parseSource(tokens: TokenStream): From {
  const isLateral = tokens.accepts('lateral')
  const { at } = tokens
  if (tokens.opensQuery()) {
    const query = tokens.attempt(() => subqueryOrUndefined(tokens))
    if (query !== undefined) return { kind: 'query', query, alias: parseAlias(tokens), isLateral, at }
  }
  if (tokens.accepts('(')) {
    const inner = tokens.nested(() => parseFrom(tokens))
    tokens.expects(')')
    return inner
  }
  if (tokens.sees('rows', 'from')) throw new CatalogueError('unsupported', 'ROWS FROM is not supported', at)
  tokens.accepts('only')
  const path = tokens.path()
  if (!tokens.sees('(')) return { kind: 'table', path, alias: parseAlias(tokens), at }
  const call = parseCall(tokens, path, at)
  const hasOrdinality = tokens.accepts('with', 'ordinality')
  return { kind: 'call', call, hasOrdinality, alias: parseAlias(tokens) }
}

/** `((SELECT …) AS a JOIN b …)` begins like a query and is a join. */
function subqueryOrUndefined(tokens: TokenStream): Query | undefined {
  if (tokens.ahead(1).key === '(') {
    for (let depth = 0, distance = 1; ; distance++) {
      const { key, kind } = tokens.ahead(distance)
      if (kind === 'end') break
      if (key === '(') depth++
      else if (key === ')' && --depth === 0) {
        const after = tokens.ahead(distance + 1).key
        if (after !== ')' && after !== 'union' && after !== 'except' && after !== 'intersect' && after !== 'order')
          return undefined
        break
      }
    }
  }
  return tokens.subquery()
}

/** Alias = ["AS"] name ["(" columns ")"]; the columns of a function's result can have types. */
function parseAlias(tokens: TokenStream): Alias {
  const hasAs = tokens.accepts('as')
  if (!hasAs && !tokens.isName()) return { name: undefined, columns: [] }
  const name = tokens.name(hasAs)
  return { name, columns: tokens.sees('(') ? parseNames(tokens) : [] }
}

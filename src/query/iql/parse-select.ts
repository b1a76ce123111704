/** Reads queries: WITH, SELECT, FROM and joins, set operations, ORDER BY, LIMIT. */
import type { Body, Cte, From, JoinKind, Query, Select, SelectItem, SetOperation } from './ast.ts'
import type { Expression, Name, OrderItem } from './ast-expression.ts'
import type { Cursor } from './cursor.ts'
import { parseExpression } from './parse-expression.ts'

/**
 * Query = ["WITH" Cte {"," Cte}] Body ["ORDER" "BY" OrderItem {"," OrderItem}]
 *         ["LIMIT" Expression] ["OFFSET" Expression]
 */
export function parseQuery(cursor: Cursor): Query {
  const at = cursor.token.at
  const ctes = cursor.accepts('with') ? parseList(cursor, parseCte) : []
  const body = parseBody(cursor)
  const orderBy = parseOrderBy(cursor)
  let limit: Expression | undefined
  let offset: Expression | undefined
  for (;;) {
    if (limit === undefined && cursor.accepts('limit')) limit = parseExpression(cursor)
    else if (offset === undefined && cursor.accepts('offset')) offset = parseExpression(cursor)
    else break
  }
  const isBare = ctes.length === 0 && orderBy.length === 0 && limit === undefined && offset === undefined
  if (isBare && body.kind === 'query') return body
  return { kind: 'query', with: ctes, body, orderBy, limit, offset, at }
}

/** Cte = Name ["(" Name {"," Name} ")"] "AS" "(" Query ")" */
function parseCte(cursor: Cursor): Cte {
  const name = cursor.name('a name')
  if (name.text.toLowerCase() === 'recursive' && cursor.isName()) {
    throw cursor.fail('WITH RECURSIVE is not part of the language', name.at)
  }
  const columns = cursor.accepts('(') ? closing(cursor, parseList(cursor, parseColumnName)) : []
  cursor.expects('as')
  return { name, columns, query: parseParenthesisedQuery(cursor) }
}

/** "(" Query ")" */
export function parseParenthesisedQuery(cursor: Cursor): Query {
  cursor.expects('(')
  cursor.enter()
  if (!(cursor.sees('select') || cursor.sees('with') || cursor.sees('('))) throw cursor.unexpected()
  const query = parseQuery(cursor)
  cursor.leave()
  cursor.expects(')')
  return query
}

/** Body = Intersection {("UNION" | "EXCEPT") ["ALL" | "DISTINCT"] Intersection} */
function parseBody(cursor: Cursor): Body {
  let left = parseIntersection(cursor)
  for (;;) {
    if (cursor.sees('union')) left = parseSetOperation(cursor, 'union', left, parseIntersection)
    else if (cursor.sees('except')) left = parseSetOperation(cursor, 'except', left, parseIntersection)
    else return left
  }
}

/** Intersection = Operand {"INTERSECT" ["ALL" | "DISTINCT"] Operand} */
function parseIntersection(cursor: Cursor): Body {
  let left = parseOperand(cursor)
  while (cursor.sees('intersect')) left = parseSetOperation(cursor, 'intersect', left, parseOperand)
  return left
}

function parseSetOperation(
  cursor: Cursor,
  operator: SetOperation['operator'],
  left: Body,
  parseRight: (cursor: Cursor) => Body,
): SetOperation {
  const at = cursor.take().at
  cursor.countSetOperation(at)
  const all = cursor.accepts('all')
  if (!all) cursor.accepts('distinct')
  return { kind: 'set', operator, all, left, right: parseRight(cursor), at }
}

/** Operand = Select | "(" Query ")" */
function parseOperand(cursor: Cursor): Body {
  if (!cursor.sees('(')) return parseSelect(cursor)
  const query = parseParenthesisedQuery(cursor)
  return isBareQuery(query) ? query.body : query
}

/** Parentheses around a query that orders, limits and names nothing do not change what it means. */
function isBareQuery({ with: ctes, orderBy, limit, offset }: Query): boolean {
  return ctes.length === 0 && orderBy.length === 0 && limit === undefined && offset === undefined
}

/**
 * Select = "SELECT" ["DISTINCT" | "ALL"] SelectItem {"," SelectItem} ["FROM" From] ["WHERE" Expression]
 *          ["GROUP" "BY" Expression {"," Expression}] ["HAVING" Expression]
 */
function parseSelect(cursor: Cursor): Select {
  const at = cursor.expects('select')
  const distinct = cursor.accepts('distinct')
  if (!distinct) cursor.accepts('all')
  const items = parseList(cursor, parseSelectItem)
  const from = cursor.accepts('from') ? parseFrom(cursor) : undefined
  const where = cursor.accepts('where') ? parseExpression(cursor) : undefined
  const groupBy = acceptsBy(cursor, 'group') ? parseList(cursor, parseExpression) : []
  const having = cursor.accepts('having') ? parseExpression(cursor) : undefined
  return { kind: 'select', distinct, items, from, where, groupBy, having, at }
}

/** SelectItem = "*" | Name "." "*" | Expression [Alias] */
export function parseSelectItem(cursor: Cursor): SelectItem {
  if (cursor.token.key === '*') return { kind: 'all', table: undefined, at: cursor.take().at }
  cursor.couldBe('*')
  if (cursor.ahead(1).key === '.' && cursor.ahead(2).key === '*' && cursor.isName()) {
    const table = cursor.name('a table')
    cursor.take()
    cursor.take()
    return { kind: 'all', table, at: table.at }
  }
  const expression = parseExpression(cursor)
  return { kind: 'item', expression, alias: parseAlias(cursor) }
}

/** Alias = ["AS"] Name */
export function parseAlias(cursor: Cursor): Name | undefined {
  if (cursor.accepts('as')) return cursor.name('a name')
  return cursor.isName() ? cursor.name('a name') : undefined
}

/** From = Joined {"," Joined} */
function parseFrom(cursor: Cursor): From {
  let left = parseJoined(cursor)
  while (cursor.sees(',')) {
    const at = cursor.take().at
    cursor.countJoin(at)
    left = { kind: 'join', join: 'cross', left, right: parseJoined(cursor), on: undefined, at }
  }
  return left
}

/**
 * Joined = TableItem {Join}
 * Join = (["INNER"] | ("LEFT" | "RIGHT" | "FULL") ["OUTER"] | "ASOF" ["LEFT"]) "JOIN" TableItem "ON" Expression
 *      | "CROSS" "JOIN" TableItem
 */
function parseJoined(cursor: Cursor): From {
  let left = parseTableItem(cursor)
  for (;;) {
    const at = cursor.token.at
    const join = parseJoinKind(cursor)
    if (join === undefined) return left
    cursor.expects('join')
    cursor.countJoin(at)
    const right = parseTableItem(cursor)
    if (cursor.token.key === 'using') {
      cursor.couldBe('on')
      throw cursor.unexpected('write ON a.column = b.column')
    }
    let on: Expression | undefined
    if (join !== 'cross') {
      cursor.expects('on')
      on = parseExpression(cursor)
    }
    left = { kind: 'join', join, left, right, on, at }
  }
}

/** The words before JOIN; undefined when no join follows. */
function parseJoinKind(cursor: Cursor): JoinKind | undefined {
  if (cursor.sees('join')) return 'inner'
  if (cursor.accepts('inner')) return 'inner'
  if (cursor.accepts('cross')) return 'cross'
  if (cursor.accepts('asof')) return cursor.accepts('left') ? 'asof-left' : 'asof'
  for (const side of ['left', 'right', 'full'] as const) {
    if (!cursor.accepts(side)) continue
    cursor.accepts('outer')
    return side
  }
  return undefined
}

/** TableItem = Name [Alias] | "(" Query ")" Alias | "(" Joined ")" */
function parseTableItem(cursor: Cursor): From {
  if (!cursor.sees('(')) return { kind: 'table', name: cursor.name('a table'), alias: parseAlias(cursor) }
  if (cursor.opensQuery()) {
    const query = parseParenthesisedQuery(cursor)
    const alias = parseAlias(cursor)
    if (alias !== undefined) return { kind: 'derived', query, alias }
    cursor.couldBe('AS')
    throw cursor.unexpected('a sub-query in FROM needs a name: (…) AS name')
  }
  cursor.take()
  cursor.enter()
  const joined = parseJoined(cursor)
  cursor.leave()
  cursor.expects(')')
  return joined
}

function parseOrderBy(cursor: Cursor): OrderItem[] {
  return acceptsBy(cursor, 'order') ? parseList(cursor, parseOrderItem) : []
}

/** OrderItem = Expression ["ASC" | "DESC"] ["NULLS" ("FIRST" | "LAST")] */
export function parseOrderItem(cursor: Cursor): OrderItem {
  const expression = parseExpression(cursor)
  const descending = cursor.accepts('desc')
  if (!descending) cursor.accepts('asc')
  if (!cursor.accepts('nulls')) return { expression, descending, nulls: undefined }
  if (cursor.accepts('first')) return { expression, descending, nulls: 'first' }
  cursor.expects('last')
  return { expression, descending, nulls: 'last' }
}

/** GROUP BY, ORDER BY, PARTITION BY */
export function acceptsBy(cursor: Cursor, word: string): boolean {
  if (!cursor.accepts(word)) return false
  cursor.expects('by')
  return true
}

export function parseColumnName(cursor: Cursor): Name {
  return cursor.name('a column')
}

export function parseList<Item>(cursor: Cursor, parseItem: (cursor: Cursor) => Item): Item[] {
  const items = [parseItem(cursor)]
  while (cursor.accepts(',')) items.push(parseItem(cursor))
  return items
}

export function closing<Tree>(cursor: Cursor, tree: Tree): Tree {
  cursor.expects(')')
  return tree
}

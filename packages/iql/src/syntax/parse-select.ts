/** Parses queries: WITH, SELECT, FROM and joins, set operations, ORDER BY, LIMIT. */
import type {
  Body,
  Cte,
  Expression,
  From,
  JoinKind,
  Latest,
  Name,
  OrderItem,
  Query,
  Select,
  SelectItem,
  SetOperation,
} from './ast-query.ts'
import { NamedWindows, opensNamedWindows, parseNamedWindows } from './named-windows.ts'
import { parseOrderItem } from './parse-call.ts'
import { parseExpression } from './parse-expression.ts'
import { isPublic, type TokenStream } from './token-stream.ts'

/**
 * Query = ["WITH" Cte {"," Cte}] Body ["ORDER" "BY" OrderItem {"," OrderItem}]
 *         ["LIMIT" Expression] ["OFFSET" Expression [("ROW" | "ROWS")]] [Fetch]
 */
export function parseQuery(tokens: TokenStream): Query {
  const at = tokens.token.at
  const ctes = tokens.accepts('with') ? tokens.list(parseCte) : []
  const { body, windows } = parseBody(tokens)
  const orderBy = parseOrderBy(tokens, windows)
  let limit: Expression | undefined
  let offset: Expression | undefined
  for (;;) {
    if (limit === undefined && tokens.accepts('limit')) limit = parseExpression(tokens)
    else if (offset === undefined && tokens.accepts('offset')) offset = parseOffset(tokens)
    else if (limit === undefined && tokens.accepts('fetch')) limit = parseFetch(tokens)
    else break
  }
  const query: Query = { kind: 'query', with: ctes, body, orderBy, limit, offset, at }
  return body.kind === 'query' && isBareQuery(query) ? body : query
}

function parseOffset(tokens: TokenStream): Expression {
  const rows = parseExpression(tokens)
  if (!tokens.accepts('rows')) tokens.accepts('row')
  return rows
}

/** Fetch = "FETCH" ("FIRST" | "NEXT") [Expression] ("ROW" | "ROWS") "ONLY" */
function parseFetch(tokens: TokenStream): Expression {
  if (!tokens.accepts('first')) tokens.expects('next')
  const { key, at } = tokens.token
  const rows: Expression = key === 'row' || key === 'rows' ? { kind: 'number', text: '1', at } : parseExpression(tokens)
  if (!tokens.accepts('rows')) tokens.expects('row')
  tokens.expects('only')
  return rows
}

const RECURSIVE_HINT = 'write generate_series(…) in FROM, or join the table once for each level'

/** Cte = Name ["(" Name {"," Name} ")"] "AS" "(" Query ")" */
function parseCte(tokens: TokenStream): Cte {
  const name = tokens.name('a name')
  if (name.text.toLowerCase() === 'recursive' && tokens.isName()) {
    throw tokens.fail('WITH RECURSIVE is not supported', name.at, 'Syntax', RECURSIVE_HINT)
  }
  const columns = tokens.accepts('(') ? tokens.closing(tokens.list((tokens) => tokens.columnName())) : []
  tokens.expects('as')
  return { name, columns, query: parseParenthesisedQuery(tokens) }
}

/** "(" Query ")" */
export function parseParenthesisedQuery(tokens: TokenStream): Query {
  tokens.expects('(')
  return tokens.nested(() => {
    if (!(tokens.sees('select') || tokens.sees('with') || tokens.sees('('))) throw tokens.unexpected()
    return tokens.closing(parseQuery(tokens))
  })
}

/** A body, and the windows that its ORDER BY can name: those of a single SELECT. */
interface ParsedBody {
  readonly body: Body
  readonly windows?: NamedWindows
}

/** Body = Intersection {("UNION" | "EXCEPT") ["ALL" | "DISTINCT"] Intersection} */
function parseBody(tokens: TokenStream): ParsedBody {
  let left = parseIntersection(tokens)
  for (;;) {
    if (tokens.sees('union')) left = parseSetOperation(tokens, 'union', left.body, parseIntersection)
    else if (tokens.sees('except')) left = parseSetOperation(tokens, 'except', left.body, parseIntersection)
    else return left
  }
}

/** Intersection = Operand {"INTERSECT" ["ALL" | "DISTINCT"] Operand} */
function parseIntersection(tokens: TokenStream): ParsedBody {
  let left = parseOperand(tokens)
  while (tokens.sees('intersect')) left = parseSetOperation(tokens, 'intersect', left.body, parseOperand)
  return left
}

function parseSetOperation(
  tokens: TokenStream,
  operator: SetOperation['operator'],
  left: Body,
  parseRight: (tokens: TokenStream) => ParsedBody,
): ParsedBody {
  const at = tokens.take().at
  tokens.countSetOperation(at)
  const all = tokens.accepts('all')
  if (!all) tokens.accepts('distinct')
  return { body: { kind: 'set', operator, all, left, right: parseRight(tokens).body, at } }
}

/** Operand = Select | "(" Query ")" */
function parseOperand(tokens: TokenStream): ParsedBody {
  if (!tokens.sees('(')) return parseSelect(tokens)
  const query = parseParenthesisedQuery(tokens)
  return { body: isBareQuery(query) ? query.body : query }
}

/** Parentheses around a query without WITH, ORDER BY, LIMIT and OFFSET do not change its meaning. */
function isBareQuery({ with: ctes, orderBy, limit, offset }: Query): boolean {
  return ctes.length === 0 && orderBy.length === 0 && limit === undefined && offset === undefined
}

/**
 * Select = "SELECT" ["DISTINCT" ["ON" "(" Expression {"," Expression} ")"] | "ALL"] SelectItem {"," SelectItem} ["FROM" From]
 *          ["WHERE" Expression] [Latest] ["GROUP" "BY" ("ALL" | Expression {"," Expression})] ["HAVING" Expression]
 *          ["WINDOW" NamedWindow {"," NamedWindow}] ["QUALIFY" Expression]
 */
function parseSelect(tokens: TokenStream): ParsedBody {
  const at = tokens.expects('select')
  tokens.countQuery(at)
  const isDistinct = tokens.accepts('distinct')
  if (!isDistinct) tokens.accepts('all')
  const distinctOn = isDistinct && tokens.accepts('on') ? parseKeys(tokens) : undefined
  const written = tokens.shortList('SELECT has', parseSelectItem)
  const from = tokens.accepts('from') ? parseFrom(tokens) : undefined
  const where = tokens.accepts('where') ? parseExpression(tokens) : undefined
  const latest = parseLatest(tokens)
  const isGrouped = tokens.acceptsBy('group')
  const groupByAll = isGrouped && tokens.accepts('all')
  const groupBy = isGrouped && !groupByAll ? tokens.shortList('GROUP BY has', parseExpression) : []
  const having = tokens.accepts('having') ? parseExpression(tokens) : undefined
  const windows = new NamedWindows(tokens, parseNamedWindows(tokens))
  const qualify = tokens.accepts('qualify') ? windows.within(parseExpression(tokens)) : undefined
  const items = written.map((item) =>
    item.kind === 'item' ? { ...item, expression: windows.within(item.expression) } : item,
  )
  const distinct = isDistinct && distinctOn === undefined
  const body: Select = {
    ...{ kind: 'select', distinct, items, from, where, groupBy, having, at },
    ...(distinctOn === undefined ? {} : { distinctOn: distinctOn.map((key) => windows.within(key)) }),
    ...(latest === undefined ? {} : { latest }),
    ...(groupByAll ? { groupByAll } : {}),
    ...(qualify === undefined ? {} : { qualify }),
  }
  return { body, windows }
}

function parseKeys(tokens: TokenStream): Expression[] {
  tokens.expects('(')
  return tokens.nested(() => tokens.closing(tokens.list(parseExpression)))
}

/** Latest = "LATEST" "ON" Expression "PARTITION" "BY" Expression {"," Expression} */
function parseLatest(tokens: TokenStream): Latest | undefined {
  if (!opensLatest(tokens)) return undefined
  const { at } = tokens.take()
  tokens.take()
  const on = parseExpression(tokens)
  tokens.expects('partition')
  tokens.expects('by')
  return { on, partitionBy: tokens.list(parseExpression), at }
}

function endsFrom(tokens: TokenStream): boolean {
  return opensLatest(tokens) || opensNamedWindows(tokens)
}

/** LATEST is not reserved: it can be an alias, also before the ON of a join. */
function opensLatest(tokens: TokenStream): boolean {
  return tokens.token.key === 'latest' && tokens.token.kind === 'word' && tokens.ahead(1).key === 'on'
}

/** SelectItem = "*" | Table "." "*" | Expression [Alias] */
export function parseSelectItem(tokens: TokenStream): SelectItem {
  if (tokens.token.key === '*') return { kind: 'all', table: undefined, at: tokens.take().at }
  tokens.couldBe('*')
  if (
    startsTableStar(tokens, 0) ||
    (startsTableStar(tokens, 2) && tokens.ahead(1).key === '.' && isPublic(tokens.token))
  ) {
    const table = tokens.ahead(2).key === '*' ? tokens.name('a table') : tokens.tableName()
    tokens.take()
    tokens.take()
    return { kind: 'all', table, at: table.at }
  }
  const expression = parseExpression(tokens)
  return { kind: 'item', expression, alias: parseAlias(tokens) }
}

/** Whether `table.*` begins at that distance. */
function startsTableStar(tokens: TokenStream, distance: number): boolean {
  return tokens.ahead(distance + 1).key === '.' && tokens.ahead(distance + 2).key === '*' && tokens.isName()
}

/** Alias = ["AS"] Name */
export function parseAlias(tokens: TokenStream): Name | undefined {
  if (tokens.accepts('as')) return tokens.name('a name')
  return opensNamedWindows(tokens) ? undefined : tokens.bareAlias()
}

/** From = Joined {"," Joined} */
function parseFrom(tokens: TokenStream): From {
  let left = parseJoined(tokens)
  while (tokens.sees(',')) {
    const at = tokens.take().at
    tokens.countJoin(at)
    left = { kind: 'join', join: 'cross', left, right: parseJoined(tokens), on: undefined, at }
  }
  return left
}

/**
 * Joined = TableItem {Join}
 * Join = (["INNER"] | ("LEFT" | "RIGHT" | "FULL") ["OUTER"] | "ASOF" ["LEFT"]) "JOIN" TableItem
 *        ("ON" Expression | "USING" "(" Name {"," Name} ")")
 *      | "CROSS" "JOIN" TableItem
 */
function parseJoined(tokens: TokenStream): From {
  let left = parseTableItem(tokens, endsFrom)
  for (;;) {
    const at = tokens.token.at
    const join = parseJoinKind(tokens)
    if (join === undefined) return left
    tokens.expects('join')
    tokens.countJoin(at)
    const right = parseTableItem(tokens)
    if (join === 'cross') left = { kind: 'join', join, left, right, on: undefined, at }
    else if (tokens.accepts('using'))
      left = { kind: 'join', join, left, right, on: undefined, using: parseUsing(tokens), at }
    else {
      tokens.expects('on')
      left = { kind: 'join', join, left, right, on: parseExpression(tokens), at }
    }
  }
}

function parseUsing(tokens: TokenStream): Name[] {
  tokens.expects('(')
  return tokens.closing(tokens.list((tokens) => tokens.columnName()))
}

/** The keywords before JOIN; undefined if no join follows. */
function parseJoinKind(tokens: TokenStream): JoinKind | undefined {
  if (tokens.sees('join')) return 'inner'
  if (tokens.accepts('inner')) return 'inner'
  if (tokens.accepts('cross')) return 'cross'
  if (tokens.accepts('asof')) return tokens.accepts('left') ? 'asof-left' : 'asof'
  for (const side of ['left', 'right', 'full'] as const) {
    if (!tokens.accepts(side)) continue
    tokens.accepts('outer')
    return side
  }
  return undefined
}

/** TableItem = Table [Alias] | FunctionTable | "(" Query ")" Alias | "(" Joined ")" */
function parseTableItem(tokens: TokenStream, endsBefore = opensNamedWindows): From {
  const parseItsAlias = () => (endsBefore(tokens) ? undefined : parseAlias(tokens))
  if (!tokens.sees('(')) {
    if (tokens.ahead(1).key === '(' && tokens.token.kind === 'word') return parseFunctionTable(tokens, parseItsAlias)
    return { kind: 'table', name: tokens.tableName(), alias: parseItsAlias() }
  }
  if (tokens.opensQuery()) {
    const query = parseParenthesisedQuery(tokens)
    const alias = parseItsAlias()
    if (alias !== undefined) return { kind: 'derived', query, alias }
    tokens.couldBe('AS')
    throw tokens.unexpected('a sub-query in FROM needs a name: (…) AS name')
  }
  tokens.take()
  return tokens.nested(() => tokens.closing(parseJoined(tokens)))
}

/** FunctionTable = Name "(" Expression {"," Expression} ")" [Alias ["(" Name ")"]] */
function parseFunctionTable(tokens: TokenStream, parseItsAlias: () => Name | undefined): From {
  const name = tokens.name('a table')
  tokens.expects('(')
  const args = tokens.nested(() => tokens.closing(tokens.list(parseExpression)))
  const alias = parseItsAlias()
  const column = alias !== undefined && tokens.accepts('(') ? tokens.closing(tokens.columnName()) : undefined
  return { kind: 'function', name, arguments: args, alias, column }
}

function parseOrderBy(tokens: TokenStream, windows: NamedWindows | undefined): OrderItem[] {
  if (!tokens.acceptsBy('order')) return []
  const items = tokens.shortList('ORDER BY has', parseOrderItem)
  if (windows === undefined) return items
  return items.map((item) => ({ ...item, expression: windows.within(item.expression) }))
}

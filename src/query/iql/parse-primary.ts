/** Reads what operators stand between: literals, columns, calls, CASE, CAST, sub-queries. */
import type {
  Call,
  Case,
  Expression,
  Frame,
  FrameBound,
  LiteralTypeName,
  Name,
  TypeRef,
  Window,
} from './ast-expression.ts'
import type { Cursor } from './cursor.ts'
import { RESERVED, RESERVED_FUNCTIONS } from './keywords.ts'
import { parseExpression } from './parse-expression.ts'
import { acceptsBy, closing, parseList, parseOrderItem, parseParenthesisedQuery } from './parse-select.ts'

/**
 * Primary = Number | Text | "X" Text | "TRUE" | "FALSE" | "NULL" | Parameter | TypedLiteral
 *         | "(" Expression ")" | "(" Query ")" | "EXISTS" "(" Query ")" | Case | Cast | Extract | Call | Column
 */
export function parsePrimary(cursor: Cursor): Expression {
  const { kind, text, key, at } = cursor.token
  switch (kind) {
    case 'word':
      return parseWord(cursor, key)
    case 'quoted':
      return parseNamed(cursor)
    case 'number':
      cursor.take()
      return { kind: 'number', text, at }
    case 'text':
      cursor.take()
      return { kind: 'text', value: text, at }
    case 'bytes':
      cursor.take()
      return { kind: 'bytes', hex: text, at }
    case 'parameter':
      cursor.take()
      return { kind: 'parameter', name: text, at }
    default:
      if (key === '(') return parseParentheses(cursor)
      cursor.couldBe('an expression')
      throw cursor.unexpected()
  }
}

function parseParentheses(cursor: Cursor): Expression {
  const at = cursor.token.at
  if (cursor.opensQuery()) return { kind: 'subquery', query: parseParenthesisedQuery(cursor), at }
  cursor.take()
  cursor.enter()
  const expression = closing(cursor, parseExpression(cursor))
  cursor.leave()
  return expression
}

function parseWord(cursor: Cursor, key: string): Expression {
  const at = cursor.token.at
  switch (key) {
    case 'true':
    case 'false':
      cursor.take()
      return { kind: 'boolean', value: key === 'true', at }
    case 'null':
      cursor.take()
      return { kind: 'null', at }
    case 'case':
      return parseCase(cursor)
    case 'cast':
      return parseCast(cursor)
    case 'exists':
      cursor.take()
      return { kind: 'exists', query: parseParenthesisedQuery(cursor), at }
    default:
      return parseNamed(cursor)
  }
}

/**
 * TypedLiteral = ("TIMESTAMP" | "DATE" | "TIME" | "INTERVAL" | "UUID" | "JSON") Text
 * Column = [Name "."] Name
 */
function parseNamed(cursor: Cursor): Expression {
  const { kind, key, at } = cursor.token
  const next = cursor.ahead(1)
  if (kind === 'word') {
    const literalType = LITERAL_TYPES.get(key)
    if (literalType !== undefined && next.kind === 'text') {
      cursor.take()
      return { kind: 'typed', type: literalType, value: cursor.take().text, at }
    }
    if (next.key === '(') {
      if (key === 'extract') return parseExtract(cursor)
      if (!RESERVED.has(key) || RESERVED_FUNCTIONS.has(key)) return parseCall(cursor)
    } else if (key === 'current_date') return currentDate(cursor)
    if (RESERVED.has(key)) cursor.couldBe('an expression')
  }
  const name = cursor.name('an expression')
  if (next.key !== '.') return { kind: 'column', table: undefined, name }
  cursor.take()
  return { kind: 'column', table: name, name: cursor.name('a column') }
}

const LITERAL_TYPES: ReadonlyMap<string, LiteralTypeName> = new Map([
  ['timestamp', 'Timestamp'],
  ['date', 'Date'],
  ['time', 'Time'],
  ['interval', 'Interval'],
  ['uuid', 'Uuid'],
  ['json', 'Json'],
])

/** CURRENT_DATE may stand without parentheses, as in SQL. */
function currentDate(cursor: Cursor): Call {
  const { text, at } = cursor.take()
  return call({ text, at }, [])
}

/**
 * Case = "CASE" [Expression] Branch {Branch} ["ELSE" Expression] "END"
 * Branch = "WHEN" Expression "THEN" Expression
 */
function parseCase(cursor: Cursor): Case {
  const at = cursor.expects('case')
  cursor.enter()
  const operand = cursor.token.key === 'when' ? undefined : parseExpression(cursor)
  const branches: { when: Expression; result: Expression }[] = []
  do {
    cursor.expects('when')
    const when = parseExpression(cursor)
    cursor.expects('then')
    branches.push({ when, result: parseExpression(cursor) })
  } while (cursor.sees('when'))
  const otherwise = cursor.accepts('else') ? parseExpression(cursor) : undefined
  cursor.expects('end')
  cursor.leave()
  return { kind: 'case', operand, branches, otherwise, at }
}

/** Cast = "CAST" "(" Expression "AS" Type ")" */
function parseCast(cursor: Cursor): Expression {
  const at = cursor.expects('cast')
  cursor.expects('(')
  cursor.enter()
  const operand = parseExpression(cursor)
  cursor.expects('as')
  const type = closing(cursor, parseType(cursor))
  cursor.leave()
  return { kind: 'cast', operand, type, at }
}

/** Type = Name ["(" digits ["," digits] ")"] */
export function parseType(cursor: Cursor): TypeRef {
  const name = cursor.name('a type')
  if (!cursor.accepts('(')) return { name, arguments: [] }
  const first = cursor.wholeNumber('a number of digits')
  const digits = cursor.accepts(',') ? [first, cursor.wholeNumber('a number of digits')] : [first]
  return { name, arguments: closing(cursor, digits) }
}

/** Extract = "EXTRACT" "(" Name "FROM" Expression ")" */
function parseExtract(cursor: Cursor): Call {
  const { at } = cursor.take()
  cursor.expects('(')
  cursor.enter()
  const part = cursor.name('a part of a time')
  cursor.expects('from')
  const operand = closing(cursor, parseExpression(cursor))
  cursor.leave()
  return call({ text: 'date_part', at }, [{ kind: 'text', value: part.text.toLowerCase(), at: part.at }, operand])
}

/**
 * Call = Name "(" ["*" | ["DISTINCT"] Expression {"," Expression} ["ORDER" "BY" OrderItem {"," OrderItem}]] ")"
 *        ["FILTER" "(" "WHERE" Expression ")"] ["OVER" Window]
 */
function parseCall(cursor: Cursor): Call {
  const { text, at } = cursor.take()
  cursor.expects('(')
  cursor.enter()
  const star = cursor.accepts('*')
  const distinct = !star && cursor.accepts('distinct')
  const args = star || (!distinct && cursor.sees(')')) ? [] : parseList(cursor, parseExpression)
  const orderBy = args.length > 0 && acceptsBy(cursor, 'order') ? parseList(cursor, parseOrderItem) : []
  cursor.expects(')')
  const filter = parseFilter(cursor)
  const over = cursor.accepts('over') ? parseWindow(cursor) : undefined
  cursor.leave()
  return { ...call({ text, at }, args), star, distinct, orderBy, filter, over }
}

function parseFilter(cursor: Cursor): Expression | undefined {
  if (cursor.token.key !== 'filter' || cursor.ahead(1).key !== '(') {
    cursor.couldBe('FILTER')
    return undefined
  }
  cursor.take()
  cursor.take()
  cursor.expects('where')
  return closing(cursor, parseExpression(cursor))
}

/** Window = "(" ["PARTITION" "BY" Expression {"," Expression}] ["ORDER" "BY" OrderItem {"," OrderItem}] [Frame] ")" */
function parseWindow(cursor: Cursor): Window {
  const at = cursor.expects('(')
  const partitionBy = acceptsBy(cursor, 'partition') ? parseList(cursor, parseExpression) : []
  const orderBy = acceptsBy(cursor, 'order') ? parseList(cursor, parseOrderItem) : []
  return closing(cursor, { partitionBy, orderBy, frame: parseFrame(cursor), at })
}

/** Frame = ("ROWS" | "RANGE") (FrameBound | "BETWEEN" FrameBound "AND" FrameBound) */
function parseFrame(cursor: Cursor): Frame | undefined {
  const unit = cursor.accepts('rows') ? 'rows' : cursor.accepts('range') ? 'range' : undefined
  if (unit === undefined) return undefined
  if (!cursor.accepts('between')) return { unit, start: parseFrameBound(cursor), end: { kind: 'current-row' } }
  const start = parseFrameBound(cursor)
  cursor.expects('and')
  return { unit, start, end: parseFrameBound(cursor) }
}

/** FrameBound = "UNBOUNDED" ("PRECEDING" | "FOLLOWING") | "CURRENT" "ROW" | digits ("PRECEDING" | "FOLLOWING") */
function parseFrameBound(cursor: Cursor): FrameBound {
  if (cursor.accepts('current')) {
    cursor.expects('row')
    return { kind: 'current-row' }
  }
  if (cursor.accepts('unbounded')) {
    if (cursor.accepts('preceding')) return { kind: 'unbounded-preceding' }
    cursor.expects('following')
    return { kind: 'unbounded-following' }
  }
  const rows = cursor.wholeNumber('a number of rows')
  if (cursor.accepts('preceding')) return { kind: 'preceding', rows }
  cursor.expects('following')
  return { kind: 'following', rows }
}

function call(name: Name, args: readonly Expression[]): Call {
  const plain = { star: false, distinct: false, orderBy: [], filter: undefined, over: undefined }
  return { kind: 'call', name, arguments: args, ...plain }
}

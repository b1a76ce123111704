/** Parses expressions: a Pratt loop over the operators, with literals, columns, calls, CASE, CAST and sub-queries between them. */
import type {
  BinaryOperator,
  Call,
  Case,
  Expression,
  InList,
  InQuery,
  Like,
  LiteralTypeName,
  Name,
  OrderItem,
  TypeRef,
  Window,
} from './ast-query.ts'
import { RESERVED, RESERVED_FUNCTIONS } from './keywords.ts'
import { parseFrame } from './parse-frame.ts'
import { parseQuantified } from './parse-quantified.ts'
import { BINARY_PRECEDENCE, PRECEDENCE } from './precedence.ts'
import type { TokenStream } from './token-stream.ts'

const SYMBOL_OPERATORS: ReadonlyMap<string, BinaryOperator> = new Map(
  (['or', 'and', '=', '<>', '<', '<=', '>', '>=', '||', '+', '-', '*', '/', '%'] as const).map((key) => [key, key]),
)

/**
 * Expression = Conjunction {"OR" Conjunction}
 * Conjunction = Negation {"AND" Negation}
 */
export function parseExpression(tokens: TokenStream): Expression {
  tokens.beginExpression()
  const expression = parseOperators(tokens, 0)
  tokens.endExpression()
  return expression
}

/** Parses operators with a precedence above `minimum`. */
function parseOperators(tokens: TokenStream, minimum: number): Expression {
  const outerHeight = tokens.height
  tokens.height = 0
  let left = parsePrefix(tokens, minimum)
  for (;;) {
    const { at } = tokens.token
    const next = parseInfix(tokens, left, minimum)
    if (next === undefined) break
    left = next
    // The binder turns a chain of AND or OR into one node, so its length adds no height.
    if (next.kind === 'binary' && (next.operator === 'and' || next.operator === 'or')) tokens.countCondition(at)
    else tokens.checkHeight(++tokens.height, at)
  }
  tokens.height = Math.max(outerHeight, tokens.height)
  return left
}

/**
 * Negation = "NOT" Negation | Truth
 * Sign = ("-" | "+") Sign | Primary
 */
function parsePrefix(tokens: TokenStream, minimum: number): Expression {
  const { key, at } = tokens.token
  if (key === 'not') {
    if (minimum >= PRECEDENCE.not)
      throw tokens.fail('NOT has a lower precedence than the operator before it: put it in parentheses', at)
    return parseUnary(tokens, 'not', PRECEDENCE.not - 1)
  }
  if (key === '-' || key === '+') return parseUnary(tokens, key, PRECEDENCE.sign - 1)
  return parsePrimary(tokens)
}

function parseUnary(tokens: TokenStream, operator: '-' | '+' | 'not', minimum: number): Expression {
  const at = tokens.take().at
  const operand = tokens.nested(() => parseOperators(tokens, minimum))
  return { kind: 'unary', operator, operand, at }
}

/**
 * Truth = Comparison {"IS" ["NOT"] ("NULL" | "TRUE" | "FALSE" | "DISTINCT" "FROM" Comparison)}
 * Comparison = Test [("=" | "<>" | "!=" | "<" | "<=" | ">" | ">=") Test | Quantified]
 * Concatenation = Sum {"||" Sum}
 * Sum = Product {("+" | "-") Product}
 * Product = AtTimeZone {("*" | "/" | "%") AtTimeZone}
 */
function parseInfix(tokens: TokenStream, left: Expression, minimum: number): Expression | undefined {
  const { key, at } = tokens.token
  const operator = SYMBOL_OPERATORS.get(key)
  if (operator !== undefined) {
    const precedence = BINARY_PRECEDENCE[operator]
    if (precedence <= minimum) return undefined
    tokens.take()
    const isComparison = precedence === PRECEDENCE.comparison
    const quantified = isComparison ? parseQuantified(tokens, left, operator, at) : undefined
    const right = quantified === undefined ? parseOperators(tokens, precedence) : left
    if (isComparison) refuseChain(tokens)
    if (quantified !== undefined) return quantified
    return { kind: 'binary', operator, left, right, at }
  }
  if (key === 'is') return minimum < PRECEDENCE.is ? parseIs(tokens, left) : undefined
  if (opensZone(tokens)) return minimum < PRECEDENCE.zone ? parseAtTimeZone(tokens, left) : undefined
  // In a column definition, as in DEFAULT 0 NOT NULL.
  if (key === 'not' && tokens.ahead(1).key === 'null') return undefined
  if (TEST_WORDS.has(key)) return minimum < PRECEDENCE.test ? parseTest(tokens, left) : undefined
  tokens.couldBe('an operator')
  return undefined
}

/** AT is not reserved: it can be an alias. */
function opensZone(tokens: TokenStream): boolean {
  return tokens.token.key === 'at' && tokens.ahead(1).key === 'time' && tokens.ahead(2).key === 'zone'
}

/**
 * AtTimeZone = Sign {"AT" "TIME" "ZONE" Sign}
 *
 * It is timezone(zone, time), as in PostgreSQL.
 */
function parseAtTimeZone(tokens: TokenStream, time: Expression): Expression {
  const { at } = tokens.take()
  tokens.take()
  tokens.take()
  const zone = parseOperators(tokens, PRECEDENCE.zone)
  return call({ text: 'timezone', at }, [zone, time])
}

const TEST_WORDS: ReadonlySet<string> = new Set(['not', 'between', 'in', 'like', 'ilike'])

/** a < b < c would compare a Boolean with c. */
function refuseChain(tokens: TokenStream): void {
  const operator = SYMBOL_OPERATORS.get(tokens.token.key)
  if (operator === undefined || BINARY_PRECEDENCE[operator] !== PRECEDENCE.comparison) return
  throw tokens.fail('Comparisons do not chain', tokens.token.at, 'Syntax', 'write a < b AND b < c')
}

function parseIs(tokens: TokenStream, operand: Expression): Expression {
  const at = tokens.expects('is')
  const negated = tokens.accepts('not')
  if (tokens.accepts('null')) return { kind: 'is-null', negated, operand, at }
  if (tokens.accepts('true')) return { kind: 'is-truth', negated, value: true, operand, at }
  if (tokens.accepts('false')) return { kind: 'is-truth', negated, value: false, operand, at }
  tokens.expects('distinct')
  tokens.expects('from')
  const right = parseOperators(tokens, PRECEDENCE.is)
  return { kind: 'binary', operator: negated ? 'is not distinct from' : 'is distinct from', left: operand, right, at }
}

/**
 * Test = Concatenation [["NOT"] (Between | In | Like)]
 * Between = "BETWEEN" Concatenation "AND" Concatenation
 */
function parseTest(tokens: TokenStream, operand: Expression): Expression {
  const at = tokens.token.at
  const negated = tokens.accepts('not')
  let test: Expression
  if (tokens.accepts('between')) {
    const low = parseOperators(tokens, PRECEDENCE.test)
    tokens.expects('and')
    test = { kind: 'between', negated, operand, low, high: parseOperators(tokens, PRECEDENCE.test), at }
  } else if (tokens.accepts('in')) test = parseIn(tokens, operand, negated, at)
  else if (tokens.accepts('like')) test = parseLike(tokens, operand, negated, false, at)
  else if (tokens.accepts('ilike')) test = parseLike(tokens, operand, negated, true, at)
  else throw tokens.unexpected()
  if (TEST_WORDS.has(tokens.token.key)) {
    throw tokens.fail('BETWEEN, IN and LIKE cannot be chained: put the first in parentheses', tokens.token.at)
  }
  return test
}

/** In = "IN" "(" (Query | Expression {"," Expression}) ")" */
function parseIn(tokens: TokenStream, operand: Expression, negated: boolean, at: number): InList | InQuery {
  if (tokens.opensQuery()) {
    return { kind: 'in-query', negated, operand, query: tokens.subquery(), at }
  }
  tokens.expects('(')
  if (tokens.token.key === ')') throw tokens.fail('IN needs at least one item', tokens.token.at)
  const items = tokens.nested(() => tokens.closing(tokens.list(parseExpression)))
  if (items.length > tokens.limits.inItems) {
    throw tokens.fail(`IN takes at most ${tokens.limits.inItems} items`, at, 'TooComplex')
  }
  return { kind: 'in-list', negated, operand, items, at }
}

/** Like = ("LIKE" | "ILIKE") Concatenation ["ESCAPE" Concatenation] */
function parseLike(tokens: TokenStream, operand: Expression, negated: boolean, ignoreCase: boolean, at: number): Like {
  const pattern = parseOperators(tokens, PRECEDENCE.test)
  const escapedBy = tokens.accepts('escape') ? parseOperators(tokens, PRECEDENCE.test) : undefined
  return { kind: 'like', negated, ignoreCase, operand, pattern, escape: escapedBy, at }
}

/**
 * Primary = Number | Text | "X" Text | "TRUE" | "FALSE" | "NULL" | Parameter | TypedLiteral
 *         | "(" Expression ")" | "(" Query ")" | "EXISTS" "(" Query ")" | Case | Cast | Extract | Call | Column
 */
function parsePrimary(tokens: TokenStream): Expression {
  const { kind, text, key, at } = tokens.token
  switch (kind) {
    case 'word':
      return parseWord(tokens, key)
    case 'quoted':
      return parseNamed(tokens)
    case 'number':
      tokens.take()
      return { kind: 'number', text, at }
    case 'text':
      tokens.take()
      return { kind: 'text', value: text, at }
    case 'bytes':
      tokens.take()
      return { kind: 'bytes', hex: text, at }
    case 'parameter':
      tokens.take()
      return { kind: 'parameter', name: text, at }
    default:
      if (key === '(') return parseParentheses(tokens)
      tokens.couldBe('an expression')
      throw tokens.unexpected()
  }
}

function parseParentheses(tokens: TokenStream): Expression {
  const at = tokens.token.at
  if (tokens.opensQuery()) return { kind: 'subquery', query: tokens.subquery(), at }
  tokens.take()
  return tokens.nested(() => tokens.closing(parseExpression(tokens)))
}

function parseWord(tokens: TokenStream, key: string): Expression {
  const at = tokens.token.at
  switch (key) {
    case 'true':
    case 'false':
      tokens.take()
      return { kind: 'boolean', value: key === 'true', at }
    case 'null':
      tokens.take()
      return { kind: 'null', at }
    case 'case':
      return parseCase(tokens)
    case 'cast':
      return parseCast(tokens)
    case 'exists':
      tokens.take()
      return { kind: 'exists', query: tokens.subquery(), at }
    default:
      return parseNamed(tokens)
  }
}

/**
 * TypedLiteral = ("TIMESTAMP" | "LOCALTIMESTAMP" | "DATE" | "TIME" | "INTERVAL" | "UUID" | "JSON") Text
 * Column = [Name "."] Name
 */
function parseNamed(tokens: TokenStream): Expression {
  const { kind, key, at } = tokens.token
  const next = tokens.ahead(1)
  if (kind === 'word') {
    const literalType = LITERAL_TYPES.get(key)
    if (literalType !== undefined && next.kind === 'text') {
      tokens.take()
      return { kind: 'typed', type: literalType, value: tokens.take().text, at }
    }
    if (next.key === '(') {
      if (key === 'extract') return parseExtract(tokens)
      if (!RESERVED.has(key) || RESERVED_FUNCTIONS.has(key)) return parseCall(tokens)
    } else if (key === 'current_date') return currentDate(tokens)
    if (RESERVED.has(key)) tokens.couldBe('an expression')
  }
  const name = tokens.name('an expression')
  if (next.key !== '.') return { kind: 'column', table: undefined, name }
  tokens.take()
  return { kind: 'column', table: name, name: tokens.name('a column') }
}

const LITERAL_TYPES: ReadonlyMap<string, LiteralTypeName> = new Map([
  ['timestamp', 'Timestamp'],
  ['localtimestamp', 'LocalTimestamp'],
  ['date', 'Date'],
  ['time', 'Time'],
  ['interval', 'Interval'],
  ['uuid', 'Uuid'],
  ['json', 'Json'],
])

/** CURRENT_DATE needs no parentheses, as in SQL. */
function currentDate(tokens: TokenStream): Call {
  const { text, at } = tokens.take()
  return call({ text, at }, [])
}

/**
 * Case = "CASE" [Expression] Branch {Branch} ["ELSE" Expression] "END"
 * Branch = "WHEN" Expression "THEN" Expression
 */
function parseCase(tokens: TokenStream): Case {
  const at = tokens.expects('case')
  return tokens.nested(() => {
    const operand = tokens.token.key === 'when' ? undefined : parseExpression(tokens)
    const branches: { when: Expression; result: Expression }[] = []
    do {
      tokens.expects('when')
      const when = parseExpression(tokens)
      tokens.expects('then')
      branches.push({ when, result: parseExpression(tokens) })
    } while (tokens.sees('when'))
    const otherwise = tokens.accepts('else') ? parseExpression(tokens) : undefined
    tokens.expects('end')
    return { kind: 'case', operand, branches, otherwise, at }
  })
}

/** Cast = "CAST" "(" Expression "AS" Type ")" */
function parseCast(tokens: TokenStream): Expression {
  const at = tokens.expects('cast')
  tokens.expects('(')
  return tokens.nested(() => {
    const operand = parseExpression(tokens)
    tokens.expects('as')
    return { kind: 'cast', operand, type: tokens.closing(parseType(tokens)), at }
  })
}

/** Type = Name ["(" digits ["," digits] ")"] */
export function parseType(tokens: TokenStream): TypeRef {
  const name = tokens.name('a type')
  if (!tokens.accepts('(')) return { name, arguments: [] }
  const first = tokens.wholeNumber('a number of digits')
  const digits = tokens.accepts(',') ? [first, tokens.wholeNumber('a number of digits')] : [first]
  return { name, arguments: tokens.closing(digits) }
}

/** Extract = "EXTRACT" "(" Name "FROM" Expression ")" */
function parseExtract(tokens: TokenStream): Call {
  const { at } = tokens.take()
  tokens.expects('(')
  return tokens.nested(() => {
    const part = tokens.name('a part of a time')
    tokens.expects('from')
    const operand = tokens.closing(parseExpression(tokens))
    return call({ text: 'date_part', at }, [{ kind: 'text', value: part.text.toLowerCase(), at: part.at }, operand])
  })
}

/**
 * Call = Name "(" ["*" | ["DISTINCT"] Expression {"," Expression} ["ORDER" "BY" OrderItem {"," OrderItem}]] ")"
 *        ["WITHIN" "GROUP" "(" "ORDER" "BY" Expression ["ASC"] ")"] ["FILTER" "(" "WHERE" Expression ")"] ["OVER" Over]
 */
function parseCall(tokens: TokenStream): Call {
  const { text, at } = tokens.take()
  tokens.expects('(')
  return tokens.nested(() => {
    const star = tokens.accepts('*')
    const distinct = !star && tokens.accepts('distinct')
    const args = star || (!distinct && tokens.sees(')')) ? [] : tokens.list(parseExpression)
    const orderBy = args.length > 0 && tokens.acceptsBy('order') ? tokens.list(parseOrderItem) : []
    tokens.expects(')')
    const within = parseWithinGroup(tokens, text)
    const filter = parseFilter(tokens)
    const over = tokens.accepts('over') ? parseOver(tokens) : undefined
    return { ...call({ text, at }, [...args, ...within]), star, distinct, orderBy, filter, over }
  })
}

/** percentile_cont(f) WITHIN GROUP (ORDER BY x) is percentile_cont(f, x). */
function parseWithinGroup(tokens: TokenStream, name: string): Expression[] {
  if (!PERCENTILES.has(name.toLowerCase())) return []
  if (tokens.token.key !== 'within' || tokens.ahead(1).key !== 'group' || tokens.ahead(2).key !== '(') {
    tokens.couldBe('WITHIN')
    return []
  }
  tokens.take()
  tokens.take()
  tokens.take()
  tokens.expects('order')
  tokens.expects('by')
  const value = parseExpression(tokens)
  if (!tokens.accepts('asc') && tokens.ahead(0).key === 'desc') throw tokens.unexpected('give 1 minus the fraction')
  return [tokens.closing(value)]
}

const PERCENTILES: ReadonlySet<string> = new Set(['percentile_cont', 'percentile_disc'])

function parseFilter(tokens: TokenStream): Expression | undefined {
  if (tokens.token.key !== 'filter' || tokens.ahead(1).key !== '(') {
    tokens.couldBe('FILTER')
    return undefined
  }
  tokens.take()
  tokens.take()
  tokens.expects('where')
  return tokens.closing(parseExpression(tokens))
}

/** Over = Name | Window */
function parseOver(tokens: TokenStream): Window {
  if (tokens.sees('(')) return parseWindow(tokens)
  const base = tokens.name('the name of a window')
  return { base, partitionBy: [], orderBy: [], frame: undefined, at: base.at }
}

/** Window = "(" [Name] ["PARTITION" "BY" Expression {"," Expression}] ["ORDER" "BY" OrderItem {"," OrderItem}] [Frame] ")" */
export function parseWindow(tokens: TokenStream): Window {
  const at = tokens.expects('(')
  const base = opensWindow(tokens) || !tokens.isName() ? {} : { base: tokens.name('the name of a window') }
  const partitionBy = tokens.acceptsBy('partition') ? tokens.list(parseExpression) : []
  const orderBy = tokens.acceptsBy('order') ? tokens.list(parseOrderItem) : []
  return tokens.closing({ ...base, partitionBy, orderBy, frame: parseFrame(tokens), at })
}

/** Whether a clause of the window comes next: these words are not reserved. */
function opensWindow(tokens: TokenStream): boolean {
  const { key } = tokens.token
  return (
    (key === 'partition' && tokens.ahead(1).key === 'by') ||
    ((key === 'rows' || key === 'range') && tokens.ahead(1).key !== ')')
  )
}

function call(name: Name, args: readonly Expression[]): Call {
  const plain = { star: false, distinct: false, orderBy: [], filter: undefined, over: undefined }
  return { kind: 'call', name, arguments: args, ...plain }
}

/** OrderItem = Expression ["ASC" | "DESC"] ["NULLS" ("FIRST" | "LAST")] */
export function parseOrderItem(tokens: TokenStream): OrderItem {
  const expression = parseExpression(tokens)
  const descending = tokens.accepts('desc')
  if (!descending) tokens.accepts('asc')
  if (!tokens.accepts('nulls')) return { expression, descending, nulls: undefined }
  if (tokens.accepts('first')) return { expression, descending, nulls: 'first' }
  tokens.expects('last')
  return { expression, descending, nulls: 'last' }
}

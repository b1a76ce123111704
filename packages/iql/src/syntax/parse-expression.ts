/** Parses expressions: a Pratt loop over the operators, with literals, columns, calls, CASE, CAST and sub-queries between them. */
import type { BinaryOperator, Case, Expression, InList, InQuery, Like, LiteralTypeName, TypeRef } from './ast-query.ts'
import { BARE_CALLS, RESERVED, RESERVED_FUNCTIONS } from './keywords.ts'
import { call, parseCall } from './parse-call.ts'
import { parseQuantified } from './parse-quantified.ts'
import { LIMITED_TEXTS, parseType, parseZoned } from './parse-type.ts'
import { BINARY_PRECEDENCE, PRECEDENCE } from './precedence.ts'
import { isPublic, type TokenStream } from './token-stream.ts'

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

/** Parses a part of an expression that is not in parentheses: operators with a precedence above `minimum`. */
export function parseAbove(tokens: TokenStream, minimum: number): Expression {
  return minimum === 0 ? parseExpression(tokens) : parseOperators(tokens, minimum)
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
 * Sign = ("-" | "+") Sign | PostgresCast
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
  if (key === '::') return minimum < PRECEDENCE.cast ? parseCastTo(tokens, left) : undefined
  if (opensCollation(tokens)) return minimum < PRECEDENCE.zone ? parseCollation(tokens, left) : undefined
  if (key === 'is') return minimum < PRECEDENCE.is ? parseIs(tokens, left) : undefined
  if (opensZone(tokens)) return minimum < PRECEDENCE.zone ? parseAtTimeZone(tokens, left) : undefined
  // In a column definition, as in DEFAULT 0 NOT NULL.
  if (key === 'not' && tokens.ahead(1).key === 'null') return undefined
  if (TEST_WORDS.has(key)) return minimum < PRECEDENCE.test ? parseTest(tokens, left) : undefined
  tokens.couldBe('an operator')
  return undefined
}

/** PostgresCast = Primary {"::" Type} */
function parseCastTo(tokens: TokenStream, operand: Expression): Expression {
  const { at } = tokens.take()
  return castTo(operand, parseType(tokens), at)
}

/** COLLATE is not reserved: it can be an alias. */
function opensCollation(tokens: TokenStream): boolean {
  return tokens.token.key === 'collate' && tokens.ahead(1).kind === 'quoted'
}

/**
 * Collated = Sign ["COLLATE" Quoted]
 *
 * Only "C", which changes nothing: texts are compared by their code points everywhere.
 */
function parseCollation(tokens: TokenStream, operand: Expression): Expression {
  tokens.take()
  const { text, at } = tokens.take()
  if (text === 'C') return operand
  throw tokens.fail(
    `There is no collation ${text}`,
    at,
    'Syntax',
    'texts are compared by their code points: COLLATE "C"',
  )
}

/** AT is not reserved: it can be an alias. */
function opensZone(tokens: TokenStream): boolean {
  return tokens.token.key === 'at' && tokens.ahead(1).key === 'time' && tokens.ahead(2).key === 'zone'
}

/**
 * AtTimeZone = Collated {"AT" "TIME" "ZONE" Collated}
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
  const items = tokens.nested(() => tokens.closing(tokens.list(parseItem)))
  if (items.length > tokens.limits.inItems) {
    throw tokens.fail(`IN takes at most ${tokens.limits.inItems} items`, at, 'TooComplex')
  }
  return { kind: 'in-list', negated, operand, items, at }
}

/** An expression in a list. Long lists consist of literals, which need none of the rules for operators. */
export function parseItem(tokens: TokenStream): Expression {
  const { kind, text, at } = tokens.token
  if (kind !== 'text' && kind !== 'number') return parseExpression(tokens)
  const { key } = tokens.ahead(1)
  if (key !== ',' && key !== ')') return parseExpression(tokens)
  tokens.take()
  return kind === 'text' ? { kind, value: text, at } : { kind, text, at }
}

/** Like = ("LIKE" | "ILIKE") Concatenation ["ESCAPE" Concatenation] */
function parseLike(tokens: TokenStream, operand: Expression, negated: boolean, ignoreCase: boolean, at: number): Like {
  const pattern = parseOperators(tokens, PRECEDENCE.test)
  const escapedBy = tokens.accepts('escape') ? parseOperators(tokens, PRECEDENCE.test) : undefined
  return { kind: 'like', negated, ignoreCase, operand, pattern, escape: escapedBy, at }
}

/**
 * Primary = Number | Text | Escaped | "X" Text | "TRUE" | "FALSE" | "NULL" | Parameter | TypedLiteral
 *         | "(" Expression ")" | "(" Query ")" | "EXISTS" "(" Query ")" | Case | Cast | Call | Column
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
 * TypedLiteral = ("TIMESTAMP" [Zoned] | "TIMESTAMPTZ" | "LOCALTIMESTAMP" | "DATE" | "TIME" | "INTERVAL" | "UUID" | "JSON") Text
 * Column = [Table "."] Name
 */
function parseNamed(tokens: TokenStream): Expression {
  const { kind, key, at } = tokens.token
  const next = tokens.ahead(1)
  if (kind === 'word') {
    const literal = parseTypedLiteral(tokens)
    if (literal !== undefined) return literal
    if (next.key === '(') {
      if (!RESERVED.has(key) || RESERVED_FUNCTIONS.has(key)) return parseCall(tokens)
    } else if (next.key !== '.') {
      const bare = BARE_CALLS.get(key)
      if (bare !== undefined) {
        tokens.take()
        return call({ text: bare, at }, [])
      }
    }
    if (RESERVED.has(key)) tokens.couldBe('an expression')
  }
  const name = tokens.name('an expression')
  if (next.key !== '.') return { kind: 'column', table: undefined, name }
  tokens.take()
  const second = tokens.name('a column')
  if (tokens.token.key !== '.' || !isPublic(name)) return { kind: 'column', table: name, name: second }
  tokens.take()
  return { kind: 'column', table: second, name: tokens.name('a column') }
}

function parseTypedLiteral(tokens: TokenStream): Expression | undefined {
  const { key, at } = tokens.token
  const type = LITERAL_TYPES.get(key)
  if (type === undefined) return undefined
  const next = tokens.ahead(1)
  if (next.kind === 'text') {
    tokens.take()
    return { kind: 'typed', type, value: tokens.take().text, at }
  }
  if (tokens.ahead(4).kind !== 'text' || tokens.ahead(3).key !== 'zone') return undefined
  const name = parseZoned(tokens, { text: tokens.take().text, at })
  const textAt = tokens.token.at
  const value = tokens.text('a time')
  return castTo({ kind: 'text', value, at: textAt }, { name: { text: name ?? key, at }, arguments: [] }, at)
}

const LITERAL_TYPES: ReadonlyMap<string, LiteralTypeName> = new Map([
  ['timestamp', 'Timestamp'],
  ['timestamptz', 'Timestamp'],
  ['localtimestamp', 'LocalTimestamp'],
  ['date', 'Date'],
  ['time', 'Time'],
  ['interval', 'Interval'],
  ['uuid', 'Uuid'],
  ['json', 'Json'],
])

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
    return castTo(operand, tokens.closing(parseType(tokens)), at)
  })
}

/** A cast to varchar(n) keeps the first n characters. */
function castTo(operand: Expression, type: TypeRef, at: number): Expression {
  const [length] = type.arguments
  if (length === undefined || !LIMITED_TEXTS.has(type.name.text.toLowerCase()))
    return { kind: 'cast', operand, type, at }
  const text: Expression = { kind: 'cast', operand, type: { ...type, arguments: [] }, at }
  return call({ text: 'left', at }, [text, { kind: 'number', text: String(length), at }])
}

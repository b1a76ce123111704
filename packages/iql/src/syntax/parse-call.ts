/** Parses calls: their arguments in the forms of SQL, FILTER, OVER and windows. */
import type { Call, Expression, Name, OrderItem, TextLiteral, WindowSpec } from './ast-query.ts'
import { parseFrame } from './parse-frame.ts'
import { PRECEDENCE } from './precedence.ts'
import { FINE_PARTS, PART_ALIASES } from './time-parts.ts'
import type { TokenStream } from './token-stream.ts'

/** Call = PlainCall | Extract | Substring | Position | Trim */
export function parseCall(tokens: TokenStream): Call {
  switch (tokens.token.key) {
    case 'extract':
      return parseExtract(tokens)
    case 'substring':
      return parseSubstring(tokens)
    case 'position':
      return parsePosition(tokens)
    case 'trim':
      return parseTrim(tokens)
    default:
      return parsePlainCall(tokens)
  }
}

/**
 * Extract = "EXTRACT" "(" (Name | Text) ("FROM" | ",") Expression ")"
 *
 * It is extract(part, x) for parts with a fraction, and date_part(part, x) for all others.
 */
function parseExtract(tokens: TokenStream): Call {
  const { at } = tokens.take()
  tokens.expects('(')
  return tokens.nested(() => {
    const part = partName(tokens)
    if (!tokens.accepts(',')) tokens.expects('from')
    const operand = tokens.closing(tokens.expression())
    const word = PART_ALIASES.get(part.value) ?? part.value
    const text = FINE.has(word) ? 'extract' : 'date_part'
    return call({ text, at }, [part, operand])
  })
}

const FINE: ReadonlySet<string> = new Set(FINE_PARTS)

function partName(tokens: TokenStream): TextLiteral {
  if (tokens.token.kind === 'text') {
    const { at } = tokens.token
    return { kind: 'text', value: tokens.text('a part of a time').toLowerCase(), at }
  }
  const { text, at } = tokens.name('a part of a time')
  return { kind: 'text', value: text.toLowerCase(), at }
}

/**
 * Substring = "SUBSTRING" "(" Expression ("FROM" Expression ["FOR" Expression] | "FOR" Expression ["FROM" Expression]
 *           | "," Expression ["," Expression]) ")"
 *
 * It is substr(text, start[, length]).
 */
function parseSubstring(tokens: TokenStream): Call {
  const { at } = tokens.take()
  tokens.expects('(')
  return tokens.nested(() => {
    const args = [tokens.expression()]
    if (tokens.accepts('from')) {
      args.push(tokens.expression())
      if (tokens.accepts('for')) args.push(tokens.expression())
    } else if (tokens.accepts('for')) {
      const length = tokens.expression()
      args.push(tokens.accepts('from') ? tokens.expression() : { kind: 'number', text: '1', at }, length)
    } else while (tokens.accepts(',')) args.push(tokens.expression())
    return call({ text: 'substr', at }, tokens.closing(args))
  })
}

/**
 * Position = "POSITION" "(" Concatenation "IN" Concatenation ")"
 *
 * It is position(text, part): SQL has the part first.
 */
function parsePosition(tokens: TokenStream): Call {
  const { text, at } = tokens.take()
  tokens.expects('(')
  return tokens.nested(() => {
    const first = tokens.expression(PRECEDENCE.test)
    if (tokens.accepts('in')) {
      const searched = tokens.closing(tokens.expression(PRECEDENCE.test))
      return call({ text, at }, [searched, first])
    }
    const args = [first]
    while (tokens.accepts(',')) args.push(tokens.expression())
    return call({ text, at }, tokens.closing(args))
  })
}

/**
 * Trim = "TRIM" "(" ("BOTH" | "LEADING" | "TRAILING") [Expression] "FROM" Expression ")" | "TRIM" "(" Expression "FROM" Expression ")"
 *
 * It is trim, ltrim or rtrim(text[, characters]): SQL has the characters first.
 */
function parseTrim(tokens: TokenStream): Call {
  const { text, at } = tokens.take()
  tokens.expects('(')
  return tokens.nested(() => {
    const side = opensSide(tokens) ? SIDES.get(tokens.take().key) : undefined
    const args = side !== undefined && tokens.sees('from') ? [] : [tokens.expression()]
    if (side !== undefined || tokens.sees('from')) {
      tokens.expects('from')
      return call({ text: side ?? text, at }, [tokens.closing(tokens.expression()), ...args])
    }
    while (tokens.accepts(',')) args.push(tokens.expression())
    return call({ text, at }, tokens.closing(args))
  })
}

const SIDES: ReadonlyMap<string, string> = new Map([
  ['both', 'trim'],
  ['leading', 'ltrim'],
  ['trailing', 'rtrim'],
])

/** None of the words is reserved: each can be the name of a column, after which a symbol comes. */
function opensSide(tokens: TokenStream): boolean {
  const next = tokens.ahead(1)
  return SIDES.has(tokens.token.key) && next.kind !== 'symbol' && next.kind !== 'end'
}

/**
 * PlainCall = Name "(" ["*" | ["DISTINCT"] Expression {"," Expression} ["ORDER" "BY" OrderItem {"," OrderItem}]] ")"
 *             ["WITHIN" "GROUP" "(" "ORDER" "BY" Expression ["ASC"] ")"] ["FILTER" "(" "WHERE" Expression ")"] ["OVER" Over]
 */
function parsePlainCall(tokens: TokenStream): Call {
  const { text, at } = tokens.take()
  tokens.expects('(')
  return tokens.nested(() => {
    const star = tokens.accepts('*')
    const distinct = !star && tokens.accepts('distinct')
    const args = star || (!distinct && tokens.sees(')')) ? [] : tokens.shortList('A function takes', expression)
    const orderBy = args.length > 0 && tokens.acceptsBy('order') ? tokens.shortList('ORDER BY has', parseOrderItem) : []
    tokens.expects(')')
    const within = parseWithinGroup(tokens, text)
    const filter = parseFilter(tokens)
    const over = tokens.accepts('over') ? parseOver(tokens) : undefined
    const name = { text: SPELLINGS.get(text.toLowerCase()) ?? text, at }
    return { ...call(name, [...args, ...within]), star, distinct, orderBy, filter, over }
  })
}

/** PostgreSQL's names of IQL's functions: the time at which a statement started. */
const SPELLINGS: ReadonlyMap<string, string> = new Map([['statement_timestamp', 'now']])

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
  const value = tokens.expression()
  if (!tokens.accepts('asc') && tokens.ahead(0).key === 'desc') throw tokens.unexpected('give 1 minus the fraction')
  return [tokens.closing(value)]
}

/** Those of other dialects are parsed too, so that their error says which function IQL has instead. */
const PERCENTILES: ReadonlySet<string> = new Set([
  ...['percentile_cont', 'percentile_disc'],
  ...['percentile', 'approx_percentile', 'quantile', 'quantile_cont', 'quantile_disc', 'approx_quantile'],
])

function parseFilter(tokens: TokenStream): Expression | undefined {
  if (tokens.token.key !== 'filter' || tokens.ahead(1).key !== '(') {
    tokens.couldBe('FILTER')
    return undefined
  }
  tokens.take()
  tokens.take()
  tokens.expects('where')
  return tokens.closing(tokens.expression())
}

/** Over = Name | Window */
function parseOver(tokens: TokenStream): WindowSpec {
  if (tokens.sees('(')) return parseWindow(tokens)
  const base = windowName(tokens)
  return { base, partitionBy: [], orderBy: [], frame: undefined, at: base.at }
}

/** Window = "(" [Name] ["PARTITION" "BY" Expression {"," Expression}] ["ORDER" "BY" OrderItem {"," OrderItem}] [Frame] ")" */
export function parseWindow(tokens: TokenStream): WindowSpec {
  const at = tokens.expects('(')
  const base = opensWindow(tokens) || !tokens.isName() ? {} : { base: windowName(tokens) }
  const partitionBy = tokens.acceptsBy('partition') ? tokens.shortList('PARTITION BY has', expression) : []
  const orderBy = tokens.acceptsBy('order') ? tokens.shortList('ORDER BY has', parseOrderItem) : []
  return tokens.closing({ ...base, partitionBy, orderBy, frame: parseFrame(tokens), at })
}

function windowName(tokens: TokenStream): Name {
  tokens.namesWindows = true
  return tokens.name('the name of a window')
}

/** Whether a clause of the window comes next: these words are not reserved. */
function opensWindow(tokens: TokenStream): boolean {
  const { key } = tokens.token
  return (
    (key === 'partition' && tokens.ahead(1).key === 'by') ||
    ((key === 'rows' || key === 'range') && tokens.ahead(1).key !== ')')
  )
}

function expression(tokens: TokenStream): Expression {
  return tokens.expression()
}

export function call(name: Name, args: readonly Expression[]): Call {
  const plain = { star: false, distinct: false, orderBy: [], filter: undefined, over: undefined }
  return { kind: 'call', name, arguments: args, ...plain }
}

/** OrderItem = Expression ["ASC" | "DESC"] ["NULLS" ("FIRST" | "LAST")] */
export function parseOrderItem(tokens: TokenStream): OrderItem {
  const expression = tokens.expression()
  const descending = tokens.accepts('desc')
  if (!descending) tokens.accepts('asc')
  if (!tokens.accepts('nulls')) return { expression, descending, nulls: undefined }
  if (tokens.accepts('first')) return { expression, descending, nulls: 'first' }
  tokens.expects('last')
  return { expression, descending, nulls: 'last' }
}

/** Prints queries and expressions in canonical form. */
import type {
  Body,
  Call,
  Case,
  Cte,
  Expression,
  Frame,
  FrameBound,
  From,
  Name,
  OrderItem,
  Query,
  SelectItem,
  TypeRef,
  WindowSpec,
} from './ast-query.ts'
import { BARE_CALLS, RESERVED } from './keywords.ts'
import { BINARY_PRECEDENCE, PRECEDENCE } from './precedence.ts'

export function printQuery({ with: ctes, body, orderBy, limit, offset }: Query): string {
  const named = ctes.length === 0 ? '' : `WITH ${ctes.map(printCte).join(', ')} `
  const ordered = orderBy.length === 0 ? '' : ` ${printOrderBy(orderBy)}`
  const limited = limit === undefined ? '' : ` LIMIT ${printExpression(limit)}`
  const skipped = offset === undefined ? '' : ` OFFSET ${printExpression(offset)}`
  return `${named}${printBody(body, 0)}${ordered}${limited}${skipped}`
}

function printCte({ name, columns, query }: Cte): string {
  const list = columns.length === 0 ? '' : ` (${columns.map(printName).join(', ')})`
  return `${printName(name)}${list} AS (${printQuery(query)})`
}

/** INTERSECT has a higher precedence than UNION and EXCEPT. A body whose precedence is not above `minimum` gets parentheses. */
function printBody(body: Body, minimum: number): string {
  switch (body.kind) {
    case 'query':
      return `(${printQuery(body)})`
    case 'select':
      return printSelect(body)
    case 'set': {
      const precedence = body.operator === 'intersect' ? 2 : 1
      const left = printBody(body.left, precedence - 1)
      const right = printBody(body.right, precedence)
      const text = `${left} ${body.operator.toUpperCase()}${body.all ? ' ALL' : ''} ${right}`
      return precedence > minimum ? text : `(${text})`
    }
  }
}

function printSelect(select: Extract<Body, { kind: 'select' }>): string {
  const { distinct, distinctOn, items, from, where, latest, groupBy, groupByAll, having, qualify } = select
  const on = distinctOn === undefined ? '' : `DISTINCT ON (${printList(distinctOn)}) `
  const parts = [`SELECT ${on}${distinct ? 'DISTINCT ' : ''}${printItems(items)}`]
  if (from !== undefined) parts.push(`FROM ${printFrom(from)}`)
  if (where !== undefined) parts.push(`WHERE ${printExpression(where)}`)
  if (latest !== undefined)
    parts.push(`LATEST ON ${printExpression(latest.on)} PARTITION BY ${printList(latest.partitionBy)}`)
  if (groupBy.length > 0) parts.push(`GROUP BY ${groupBy.map((key) => printExpression(key)).join(', ')}`)
  if (groupByAll) parts.push('GROUP BY ALL')
  if (having !== undefined) parts.push(`HAVING ${printExpression(having)}`)
  if (qualify !== undefined) parts.push(`QUALIFY ${printExpression(qualify)}`)
  return parts.join(' ')
}

export function printItems(items: readonly SelectItem[]): string {
  return items.map(printItem).join(', ')
}

function printItem(item: SelectItem): string {
  if (item.kind === 'all') return item.table === undefined ? '*' : `${printName(item.table)}.*`
  return `${printExpression(item.expression)}${printAlias(item.alias)}`
}

export function printAlias(alias: Parameters<typeof printName>[0] | undefined): string {
  return alias === undefined ? '' : ` AS ${printName(alias)}`
}

const JOIN_WORDS = {
  inner: 'INNER JOIN',
  left: 'LEFT JOIN',
  right: 'RIGHT JOIN',
  full: 'FULL JOIN',
  cross: 'CROSS JOIN',
  asof: 'ASOF JOIN',
  'asof-left': 'ASOF LEFT JOIN',
} as const

function printFrom(from: From): string {
  switch (from.kind) {
    case 'table':
      return `${printName(from.name)}${printAlias(from.alias)}`
    case 'derived':
      return `(${printQuery(from.query)})${printAlias(from.alias)}`
    case 'function':
      return `${from.name.text}(${printList(from.arguments)})${printAlias(from.alias)}${from.column === undefined ? '' : ` (${printName(from.column)})`}`
    case 'join': {
      const right = from.right.kind === 'join' ? `(${printFrom(from.right)})` : printFrom(from.right)
      const on = from.on === undefined ? '' : ` ON ${printExpression(from.on)}`
      const using = from.using === undefined ? '' : ` USING (${from.using.map(printName).join(', ')})`
      return `${printFrom(from.left)} ${JOIN_WORDS[from.join]} ${right}${on}${using}`
    }
  }
}

/** An expression whose precedence is not above `minimum` gets parentheses. */
export function printExpression(expression: Expression, minimum = 0): string {
  const text = printBare(expression)
  return findPrecedence(expression) > minimum ? text : `(${text})`
}

const PRIMARY = PRECEDENCE.sign + 1

function findPrecedence(expression: Expression): number {
  switch (expression.kind) {
    case 'binary':
      return BINARY_PRECEDENCE[expression.operator]
    case 'unary':
      return expression.operator === 'not' ? PRECEDENCE.not : PRECEDENCE.sign
    case 'is-null':
    case 'is-truth':
      return PRECEDENCE.is
    case 'like':
    case 'between':
    case 'in-list':
    case 'in-query':
      return PRECEDENCE.test
    default:
      return PRIMARY
  }
}

function printBare(expression: Expression): string {
  switch (expression.kind) {
    case 'number':
      return expression.text
    case 'text':
      return printText(expression.value)
    case 'boolean':
      return expression.value ? 'TRUE' : 'FALSE'
    case 'null':
      return 'NULL'
    case 'typed':
      return `${expression.type.toUpperCase()} ${printText(expression.value)}`
    case 'bytes':
      return `X'${expression.hex}'`
    case 'parameter':
      return /^\d/.test(expression.name) ? `$${expression.name}` : `:${expression.name}`
    case 'column':
      return expression.table === undefined
        ? printName(expression.name)
        : `${printName(expression.table)}.${printName(expression.name)}`
    case 'unary':
      return printUnary(expression.operator, expression.operand)
    case 'binary': {
      const precedence = BINARY_PRECEDENCE[expression.operator]
      // Comparisons cannot be chained; all other operators are left-associative.
      const left = printExpression(expression.left, precedence === PRECEDENCE.comparison ? precedence : precedence - 1)
      return `${left} ${expression.operator.toUpperCase()} ${printExpression(expression.right, precedence)}`
    }
    case 'is-null':
      return `${printExpression(expression.operand, PRECEDENCE.is - 1)} IS ${not(expression)}NULL`
    case 'is-truth': {
      const value = expression.value ? 'TRUE' : 'FALSE'
      return `${printExpression(expression.operand, PRECEDENCE.is - 1)} IS ${not(expression)}${value}`
    }
    case 'like': {
      const word = expression.ignoreCase ? 'ILIKE' : 'LIKE'
      const suffix = expression.escape === undefined ? '' : ` ESCAPE ${operandOfTest(expression.escape)}`
      return `${operandOfTest(expression.operand)} ${not(expression)}${word} ${operandOfTest(expression.pattern)}${suffix}`
    }
    case 'between': {
      const range = `${operandOfTest(expression.low)} AND ${operandOfTest(expression.high)}`
      return `${operandOfTest(expression.operand)} ${not(expression)}BETWEEN ${range}`
    }
    case 'in-list':
      return `${operandOfTest(expression.operand)} ${not(expression)}IN (${printList(expression.items)})`
    case 'in-query':
      return `${operandOfTest(expression.operand)} ${not(expression)}IN (${printQuery(expression.query)})`
    case 'case':
      return printCase(expression)
    case 'cast':
      return `CAST(${printExpression(expression.operand)} AS ${printType(expression.type)})`
    case 'call':
      return printCall(expression)
    case 'subquery':
      return `(${printQuery(expression.query)})`
    case 'exists':
      return `EXISTS (${printQuery(expression.query)})`
  }
}

function not({ negated }: { readonly negated: boolean }): string {
  return negated ? 'NOT ' : ''
}

function operandOfTest(expression: Expression): string {
  return printExpression(expression, PRECEDENCE.test)
}

function printUnary(operator: '-' | '+' | 'not', operand: Expression): string {
  if (operator === 'not') return `NOT ${printExpression(operand, PRECEDENCE.not - 1)}`
  const text = printExpression(operand, PRECEDENCE.sign - 1)
  // Two hyphens would start a comment.
  return text.startsWith(operator) ? `${operator} ${text}` : `${operator}${text}`
}

function printCase({ operand, branches, otherwise }: Case): string {
  const subject = operand === undefined ? '' : ` ${printExpression(operand)}`
  const whens = branches.map(({ when, result }) => ` WHEN ${printExpression(when)} THEN ${printExpression(result)}`)
  const rest = otherwise === undefined ? '' : ` ELSE ${printExpression(otherwise)}`
  return `CASE${subject}${whens.join('')}${rest} END`
}

function printCall({ name, star, distinct, arguments: args, orderBy, filter, over }: Call): string {
  const ordered = orderBy.length === 0 ? '' : ` ${printOrderBy(orderBy)}`
  const inner = star ? '*' : `${distinct ? 'DISTINCT ' : ''}${printList(args)}${ordered}`
  const filtered = filter === undefined ? '' : ` FILTER (WHERE ${printExpression(filter)})`
  return `${name.text}(${inner})${filtered}${over === undefined ? '' : ` OVER (${printWindow(over)})`}`
}

function printWindow({ partitionBy, orderBy, frame }: WindowSpec): string {
  const parts: string[] = []
  if (partitionBy.length > 0) parts.push(`PARTITION BY ${printList(partitionBy)}`)
  if (orderBy.length > 0) parts.push(printOrderBy(orderBy))
  if (frame !== undefined) parts.push(printFrame(frame))
  return parts.join(' ')
}

function printFrame({ unit, start, end }: Frame): string {
  return `${unit.toUpperCase()} BETWEEN ${printFrameBound(start)} AND ${printFrameBound(end)}`
}

function printFrameBound(bound: FrameBound): string {
  const words = bound.kind.toUpperCase().replace('-', ' ')
  if ('interval' in bound) return `INTERVAL ${printText(bound.interval)} ${words}`
  return 'rows' in bound ? `${bound.rows} ${words}` : words
}

function printOrderBy(items: readonly OrderItem[]): string {
  return `ORDER BY ${items.map(printOrderItem).join(', ')}`
}

function printOrderItem({ expression, descending, nulls }: OrderItem): string {
  const place = nulls === undefined ? '' : ` NULLS ${nulls.toUpperCase()}`
  return `${printExpression(expression)}${descending ? ' DESC' : ''}${place}`
}

function printList(expressions: readonly Expression[]): string {
  return expressions.map((expression) => printExpression(expression)).join(', ')
}

export function printType({ name, arguments: digits }: TypeRef): string {
  return digits.length === 0 ? printName(name) : `${printName(name)}(${digits.join(', ')})`
}

export function printText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

/** Words that are not names everywhere in the grammar, so they are always quoted. */
const ALWAYS_QUOTED: ReadonlySet<string> = new Set([...BARE_CALLS.keys(), 'primary', 'unique'])

export function printName({ text }: Name): string {
  const key = text.toLowerCase()
  const isPlain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) && !RESERVED.has(key) && !ALWAYS_QUOTED.has(key)
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`
}

/** Writes expressions, with parentheses only where the binding of the operators asks for them. */
import type { Call, Case, Expression, Frame, FrameBound, Name, OrderItem, TypeRef, Window } from './ast-expression.ts'
import { RESERVED } from './keywords.ts'
import { BINARY_BINDING, BINDING } from './parse-expression.ts'
import { printQuery } from './printer.ts'

/** `least`: an expression that binds as much or less is put in parentheses. */
export function printExpression(expression: Expression, least = 0): string {
  const binding = bindingOf(expression)
  const text = printBare(expression)
  return binding > least ? text : `(${text})`
}

const PRIMARY = BINDING.sign + 1

function bindingOf(expression: Expression): number {
  switch (expression.kind) {
    case 'binary':
      return BINARY_BINDING[expression.operator]
    case 'unary':
      return expression.operator === 'not' ? BINDING.not : BINDING.sign
    case 'is-null':
    case 'is-truth':
      return BINDING.is
    case 'like':
    case 'between':
    case 'in-list':
    case 'in-query':
      return BINDING.test
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
      const binding = BINARY_BINDING[expression.operator]
      // Comparisons do not chain, so neither side may be one; all else reads from the left.
      const left = printExpression(expression.left, binding === BINDING.comparison ? binding : binding - 1)
      return `${left} ${expression.operator.toUpperCase()} ${printExpression(expression.right, binding)}`
    }
    case 'is-null':
      return `${printExpression(expression.operand, BINDING.is - 1)} IS ${not(expression)}NULL`
    case 'is-truth': {
      const value = expression.value ? 'TRUE' : 'FALSE'
      return `${printExpression(expression.operand, BINDING.is - 1)} IS ${not(expression)}${value}`
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
  return printExpression(expression, BINDING.test)
}

function printUnary(operator: '-' | '+' | 'not', operand: Expression): string {
  if (operator === 'not') return `NOT ${printExpression(operand, BINDING.not - 1)}`
  const text = printExpression(operand, BINDING.sign - 1)
  // Two hyphens would begin a comment.
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

function printWindow({ partitionBy, orderBy, frame }: Window): string {
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
  return 'rows' in bound ? `${bound.rows} ${words}` : words
}

export function printOrderBy(items: readonly OrderItem[]): string {
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

/** Words that are names in most places but would be read otherwise in some. */
const QUOTED_TO_BE_SAFE: ReadonlySet<string> = new Set(['current_date', 'primary', 'unique'])

export function printName({ text }: Name): string {
  const key = text.toLowerCase()
  const isPlain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) && !RESERVED.has(key) && !QUOTED_TO_BE_SAFE.has(key)
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`
}

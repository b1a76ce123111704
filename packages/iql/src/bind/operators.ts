/** Binds operators: arithmetic, comparison, logic, BETWEEN, IN, LIKE and CASE. Only numbers convert implicitly. */

import type { BoundExpression, BoundQuery, ResultColumn } from '../bound/bound-query.ts'
import { isPlain } from '../bound/copied-operands.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import type { Scope } from '../scope/scope.ts'
import type { Between, Binary, Case, Expression, InList, InQuery, IsTruth, Like } from '../syntax/ast-query.ts'
import { findOperator, OPERATORS } from '../types/operators.ts'
import {
  asDecimal,
  BOOLEAN,
  commonType,
  comparedType,
  FIXED_INTERVAL,
  INTEGER,
  INTERVAL,
  type IqlType,
  isComparable,
  TEXT,
  typeName,
} from '../types/types.ts'
import { bindSetComparison, bindSetMembership } from './attribute.ts'
import { isFlexible, literal, longNumber, tightDecimal, widen } from './literal.ts'
import { mismatch } from './mismatch.ts'
import { isRoleClaim, roleTest } from './role-claim.ts'
import { widenBody } from './widen-body.ts'

export function bindBinary(
  binding: Binding,
  scope: Scope,
  binary: Binary,
  expected: IqlType | undefined,
): BoundExpression {
  switch (binary.operator) {
    case 'and':
    case 'or':
      return bindLogic(binding, scope, binary, binary.operator)
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '||':
      return bindArithmetic(binding, scope, binary, expected)
    default:
      return bindCompare(binding, scope, binary, binary.operator)
  }
}

/** A chain of AND or OR becomes one node, so that the tree does not get as deep as the chain is long. */
function bindLogic(binding: Binding, scope: Scope, binary: Binary, operator: 'and' | 'or'): BoundExpression {
  const operands: BoundExpression[] = []
  const chain: Expression[] = []
  let rest: Expression = binary
  while (rest.kind === 'binary' && rest.operator === operator) {
    chain.push(rest.right)
    rest = rest.left
  }
  for (const written of [rest, ...chain.reverse()]) {
    const operand = binding.expression(scope, written, BOOLEAN)
    operands.push(requireBoolean(binding, operand, written, operator.toUpperCase()))
  }
  return { kind: 'logic', operator, operands, type: BOOLEAN, nullable: operands.some(({ nullable }) => nullable) }
}

export function requireBoolean(
  binding: Binding,
  bound: BoundExpression,
  written: Expression,
  operator: string,
): BoundExpression {
  if (bound.type.kind === 'Boolean') return bound
  throw binding.fail(
    'TypeMismatch',
    startPosition(written),
    `${operator} takes a condition, not ${typeName(bound.type)}`,
  )
}

function bindArithmetic(
  binding: Binding,
  scope: Scope,
  binary: Binary,
  expected: IqlType | undefined,
): BoundExpression {
  const { operator, left: writtenLeft, right: writtenRight, at } = binary
  const [left, right] = bindPair(binding, scope, writtenLeft, writtenRight, (other, side) => {
    return operator === '||' ? TEXT : typeFromOther(operator, other, side, expected)
  })
  return combine(binding, operator, left, right, at)
}

/** The type that a literal or parameter takes from the other operand. */
function typeFromOther(
  operator: Binary['operator'],
  other: IqlType | undefined,
  side: 'left' | 'right',
  expected: IqlType | undefined,
): IqlType | undefined {
  switch (other?.kind) {
    case undefined:
      return expected?.kind === 'Double' ? expected : undefined
    case 'Timestamp':
    case 'LocalTimestamp':
      return side === 'right' || operator === '+' ? INTERVAL : other
    case 'Time':
      return side === 'right' || operator === '+' ? FIXED_INTERVAL : other
    case 'Date':
      return side === 'right' || operator === '+' ? INTEGER : other
    case 'Interval':
      return operator === '*' ? INTEGER : other
    default:
      return other
  }
}

export function combine(
  binding: Binding,
  operator: Binary['operator'],
  left: BoundExpression,
  right: BoundExpression,
  at: number,
): BoundExpression {
  const id = findOperator(operator, left.type, right.type)
  if (id === undefined) throw mismatch(binding, operator, left.type, right.type, at, [left, right])
  const rule = OPERATORS[id]
  const isDecimal = rule.left === 'Decimal'
  const leftType = isDecimal ? tightDecimal(left) : left.type
  const rightType = isDecimal ? tightDecimal(right) : right.type
  const type = rule.result(leftType, rightType)
  if (type === undefined) {
    throw binding.fail('BadType', at, `The result of ${operator} would have more than 38 digits after the point`, {
      hint: 'round one side first: round(x, 6)',
    })
  }
  if ((rule.left === 'Time' && hasMonths(right.type)) || (rule.right === 'Time' && hasMonths(left.type))) {
    throw binding.fail('TypeMismatch', at, 'Months cannot be added to a Time')
  }
  const nullable = left.nullable || right.nullable
  const [a, b] = isDecimal
    ? rule.widen === 'result'
      ? [widen(left, type), widen(right, type)]
      : [widen(left, asDecimal(leftType) ?? leftType), widen(right, asDecimal(rightType) ?? rightType)]
    : rule.left === 'Double'
      ? [widen(left, type), widen(right, type)]
      : [left, right]
  return { kind: 'arithmetic', operator: id, left: a, right: b, type, nullable }
}

function hasMonths(type: IqlType): boolean {
  return type.kind === 'Interval' && type.months
}

type CompareOperator = Exclude<Binary['operator'], 'and' | 'or' | '+' | '-' | '*' | '/' | '%' | '||'>

function bindCompare(binding: Binding, scope: Scope, binary: Binary, operator: CompareOperator): BoundExpression {
  const { left: writtenLeft, right: writtenRight, at } = binary
  if (isRoleClaim(binding, writtenRight) && (operator === '=' || operator === '<>')) {
    return roleTest(binding, scope, writtenLeft, operator === '<>')
  }
  const ofSet = bindSetComparison(binding, scope, binary)
  if (ofSet !== undefined) return ofSet
  const [left, right] = bindPair(binding, scope, writtenLeft, writtenRight, comparedWith, longNumber)
  const [a, b] = widenToCompare(binding, operator, [left, right], at)
  if (a === undefined || b === undefined) throw mismatch(binding, operator, left.type, right.type, at, [left, right])
  const neverNull = operator === 'is distinct from' || operator === 'is not distinct from'
  return {
    kind: 'compare',
    operator,
    left: a,
    right: b,
    type: BOOLEAN,
    nullable: !neverNull && (a.nullable || b.nullable),
  }
}

/** A parameter compared with an Interval must have a fixed length. */
function comparedWith(other: IqlType | undefined): IqlType | undefined {
  return other?.kind === 'Interval' ? FIXED_INTERVAL : other
}

/** Binds an operand with a type of its own first, so that a literal or parameter can take that type. */
function bindPair(
  binding: Binding,
  scope: Scope,
  left: Expression,
  right: Expression,
  expect: (other: IqlType | undefined, side: 'left' | 'right') => IqlType | undefined,
  special: typeof longNumber = () => undefined,
): [BoundExpression, BoundExpression] {
  const bind = (expression: Expression, type: IqlType | undefined): BoundExpression =>
    special(expression, type) ?? binding.expression(scope, expression, type)
  if (isFlexible(left) && !isFlexible(right)) {
    const boundRight = binding.expression(scope, right)
    return [bind(left, expect(boundRight.type, 'left')), boundRight]
  }
  if (isUntyped(left) && !isUntyped(right)) {
    const boundRight = binding.expression(scope, right, expect(undefined, 'right'))
    return [binding.expression(scope, left, expect(boundRight.type, 'left')), boundRight]
  }
  const boundLeft = binding.expression(scope, left, expect(undefined, 'left'))
  const type = isFlexible(right) ? expect(boundLeft.type, 'right') : undefined
  return [boundLeft, bind(right, type)]
}

function isUntyped(expression: Expression): boolean {
  return expression.kind === 'parameter' || expression.kind === 'null'
}

/** Widens expressions that are compared to a type that holds all their values. */
export function widenToCompare(binding: Binding, what: string, expressions: readonly BoundExpression[], at: number) {
  return widenToCommonType(binding, what, expressions, at, comparedType)
}

/** Widens expressions of which one is the result to a common type. */
export function widenToCommonType(
  binding: Binding,
  what: string,
  expressions: readonly BoundExpression[],
  at: number,
  chooseType = commonType,
): BoundExpression[] {
  const type = unify(binding, what, expressions, at, chooseType)
  if (isComparable(type)) return expressions.map((expression) => widen(expression, type))
  if (type.kind === 'Null') return expressions.map((expression) => widen(expression, TEXT))
  throw binding.fail(
    'TypeMismatch',
    at,
    `${what.toUpperCase()} cannot compare ${typeName(type)}${type.kind === 'Interval' ? 's with months' : ''}`,
  )
}

function unify(
  binding: Binding,
  what: string,
  expressions: readonly BoundExpression[],
  at: number,
  chooseType = commonType,
): IqlType {
  const isDecimal = expressions.some((expression) => expression.type.kind === 'Decimal')
  let type: IqlType = { kind: 'Null' }
  for (const expression of expressions) {
    // In a long list, most items have the type of the previous one.
    if (type === expression.type && !isDecimal) continue
    const common = chooseType(type, isDecimal ? tightDecimal(expression) : expression.type)
    if (common === undefined) throw mismatch(binding, what, type, expression.type, at, expressions)
    type = common
  }
  return type
}

/** For BETWEEN, IN and CASE: the first part with a type of its own determines the type of literals and parameters. */
function bindGroup(
  binding: Binding,
  scope: Scope,
  written: readonly Expression[],
  expected?: IqlType,
): BoundExpression[] {
  const bound = new Array<BoundExpression | undefined>(written.length).fill(undefined)
  let type: IqlType | undefined
  for (let index = 0; index < written.length; index++) {
    const expression = written[index]
    if (expression === undefined || isFlexible(expression)) continue
    const made = binding.expression(scope, expression, expected)
    bound[index] = made
    if (type === undefined || type.kind === 'Null') type = made.type
  }
  for (let index = 0; index < written.length; index++) {
    const expression = written[index]
    if (expression === undefined || bound[index] !== undefined || expression.kind === 'parameter') continue
    const made = longNumber(expression, type) ?? binding.expression(scope, expression, type ?? expected)
    bound[index] = made
    if (type === undefined || type.kind === 'Null') type = made.type
  }
  return written.map((expression, index) => {
    return bound[index] ?? binding.expression(scope, expression, comparedWith(type) ?? expected)
  })
}

export function bindBetween(binding: Binding, scope: Scope, between: Between): BoundExpression {
  const bound = bindGroup(binding, scope, [between.operand, between.low, between.high])
  const [operand, low, high] = widenToCompare(binding, 'between', bound, between.at)
  if (operand === undefined || low === undefined || high === undefined)
    throw new Error('BETWEEN without three operands')
  binding.mayCopy ||= !isPlain(operand)
  const nullable = operand.nullable || low.nullable || high.nullable
  return { kind: 'between', operand, low, high, negated: between.negated, type: BOOLEAN, nullable }
}

export function bindInList(binding: Binding, scope: Scope, list: InList): BoundExpression {
  if (list.array !== undefined) {
    const rule = 'Only a connection of a PostgreSQL client can pass an array'
    throw binding.fail('BadArguments', list.items[0]?.kind === 'parameter' ? list.items[0].at : list.at, rule, {
      hint: 'write IN (…) with a parameter for each value',
    })
  }
  const [only] = list.items
  if (list.items.length === 1 && only !== undefined && isRoleClaim(binding, only)) {
    return roleTest(binding, scope, list.operand, list.negated)
  }
  const ofSet = bindSetMembership(binding, scope, list)
  if (ofSet !== undefined) return ofSet
  const bound = bindGroup(binding, scope, [list.operand, ...list.items])
  const [operand, ...items] = widenToCompare(binding, 'in', bound, list.at)
  if (operand === undefined) throw new Error('IN without an operand')
  binding.mayCopy ||= !isPlain(operand)
  const nullable = operand.nullable || items.some((item) => item.nullable)
  return { kind: 'in-list', operand, items, negated: list.negated, type: BOOLEAN, nullable }
}

export function bindInQuery(binding: Binding, scope: Scope, written: InQuery): BoundExpression {
  const query = binding.subquery(scope, written.query, written.at)
  const column = onlyColumn(binding, query, written.at, 'The query of IN must have')
  const operand = binding.expression(scope, written.operand, column.type)
  const type = comparedType(operand.type, column.type)
  if (type === undefined || !isComparable(type)) throw mismatch(binding, 'in', operand.type, column.type, written.at)
  return {
    kind: 'in-query',
    operand: widen(operand, type),
    query: widenBody(query, [type]),
    negated: written.negated,
    type: BOOLEAN,
    nullable: operand.nullable || column.nullable,
  }
}

export function onlyColumn(binding: Binding, { columns }: BoundQuery, at: number, rule: string): ResultColumn {
  const [column, another] = columns
  if (column !== undefined && another === undefined) return column
  throw binding.fail('ColumnCount', at, `${rule} one column, not ${columns.length}`)
}

export function bindIsTruth(binding: Binding, scope: Scope, written: IsTruth): BoundExpression {
  const bound = binding.expression(scope, written.operand, BOOLEAN)
  const left = requireBoolean(binding, bound, written.operand, 'IS')
  const operator = written.negated ? 'is distinct from' : 'is not distinct from'
  return { kind: 'compare', operator, left, right: literal(BOOLEAN, written.value), type: BOOLEAN, nullable: false }
}

export function bindLike(binding: Binding, scope: Scope, written: Like): BoundExpression {
  const text = (expression: Expression) => {
    const bound = binding.expression(scope, expression, TEXT)
    if (bound.type.kind === 'Text') return bound
    const word = written.ignoreCase ? 'ILIKE' : 'LIKE'
    throw binding.fail('TypeMismatch', startPosition(expression), `${word} takes Text, not ${typeName(bound.type)}`)
  }
  const operand = text(written.operand)
  const pattern = text(written.pattern)
  const escapedBy = written.escape === undefined ? undefined : text(written.escape)
  if (escapedBy?.kind === 'literal' && typeof escapedBy.value === 'string' && [...escapedBy.value].length !== 1) {
    throw binding.fail(
      'BadLiteral',
      written.escape?.kind === 'text' ? written.escape.at : written.at,
      'ESCAPE takes one character',
    )
  }
  const { ignoreCase, negated } = written
  const nullable = operand.nullable || pattern.nullable || (escapedBy?.nullable ?? false)
  return { kind: 'like', operand, pattern, escape: escapedBy, ignoreCase, negated, type: BOOLEAN, nullable }
}

export function bindCase(
  binding: Binding,
  scope: Scope,
  written: Case,
  expected: IqlType | undefined,
): BoundExpression {
  const whens = written.branches.map(({ when }) => when)
  const conditions =
    written.operand === undefined
      ? whens.map((when) => requireBoolean(binding, binding.expression(scope, when, BOOLEAN), when, 'WHEN'))
      : widenToCompare(binding, 'case', bindGroup(binding, scope, [written.operand, ...whens]), written.at)
  const operand = written.operand === undefined ? undefined : conditions.shift()
  const results = written.branches.map(({ result }) => result)
  const { expressions, type } = bindResults(binding, scope, 'case', results, written.otherwise, written.at, expected)
  const otherwise = written.otherwise === undefined ? undefined : expressions.pop()
  const branches = conditions.map((when, index) => ({ when, result: expressions[index] ?? literal(type, null) }))
  const nullable = otherwise === undefined || otherwise.nullable || expressions.some((result) => result.nullable)
  return { kind: 'case', operand, branches, otherwise, type, nullable }
}

/** Widens the results of CASE or COALESCE to a common type, which may be one that cannot be compared. */
export function bindResults(
  binding: Binding,
  scope: Scope,
  what: string,
  written: readonly Expression[],
  last: Expression | undefined,
  at: number,
  expected: IqlType | undefined,
): { expressions: BoundExpression[]; type: IqlType } {
  const bound = bindGroup(binding, scope, last === undefined ? written : [...written, last], expected)
  const type = unify(binding, what, bound, at)
  return { expressions: bound.map((expression) => widen(expression, type)), type }
}

/** Binds expressions: resolves columns, gives every node its type, and sends each kind to the file that knows its rules. */
import { sizeOf } from './ast-children.ts'
import type { Cast, ColumnRef, Expression, IsNull, Parameter, Unary } from './ast-expression.ts'
import { bindCall } from './bind-call.ts'
import { bindBytes, bindNumber, bindText, bindTyped, literal, readLiteral } from './bind-literal.ts'
import {
  bindBetween,
  bindBinary,
  bindCase,
  bindInList,
  bindInQuery,
  bindIsTruth,
  bindLike,
  requireBoolean,
} from './bind-operators.ts'
import { bindSubquery } from './bind-query.ts'
import { bindType } from './bind-type.ts'
import { type Binding, startOf } from './binding.ts'
import type { BoundExpression } from './bound-expression.ts'
import { canCast } from './casts.ts'
import { didYouMean } from './did-you-mean.ts'
import type { Clause, Scope } from './scope.ts'
import { BOOLEAN, type IqlType, isNumber, NULL, sameType, TEXT, typeName } from './types.ts'

/** `expected` is what the context would like; only literals, NULL and parameters follow it. */
export function bindExpression(
  binding: Binding,
  scope: Scope,
  expression: Expression,
  expected?: IqlType,
): BoundExpression {
  return repeatedKey(binding, scope, expression) ?? bindNode(binding, scope, expression, expected)
}

function bindNode(
  binding: Binding,
  scope: Scope,
  expression: Expression,
  expected: IqlType | undefined,
): BoundExpression {
  switch (expression.kind) {
    case 'number':
      return bindNumber(binding, expression, expected)
    case 'text':
      return bindText(binding, expression, expected)
    case 'boolean':
      return literal(BOOLEAN, expression.value)
    case 'null':
      return literal(expected ?? NULL, null)
    case 'typed':
      return bindTyped(binding, expression)
    case 'bytes':
      return bindBytes(expression.hex)
    case 'parameter':
      return bindParameter(binding, expression, expected)
    case 'column':
      return bindColumn(binding, scope, expression)
    case 'unary':
      return bindUnary(binding, scope, expression, expected)
    case 'binary':
      return bindBinary(binding, scope, expression, expected)
    case 'like':
      return bindLike(binding, scope, expression)
    case 'between':
      return bindBetween(binding, scope, expression)
    case 'in-list':
      return bindInList(binding, scope, expression)
    case 'in-query':
      return bindInQuery(binding, scope, expression)
    case 'is-null':
      return bindIsNull(binding, scope, expression)
    case 'is-truth':
      return bindIsTruth(binding, scope, expression)
    case 'case':
      return bindCase(binding, scope, expression, expected)
    case 'cast':
      return bindCast(binding, scope, expression)
    case 'call':
      return bindCall(binding, scope, expression, expected)
    case 'subquery': {
      const query = bindSubquery(binding, scope, expression.query, expression.at)
      const [column] = query.columns
      if (column === undefined || query.columns.length > 1) {
        throw binding.fail(
          'ColumnCount',
          expression.at,
          `A sub-query used as a value has one column, not ${query.columns.length}`,
        )
      }
      return { kind: 'scalar-query', query, type: column.type, nullable: true }
    }
    case 'exists': {
      const query = bindSubquery(binding, scope, expression.query, expression.at, { anyNames: true })
      return { kind: 'exists', query, type: BOOLEAN, nullable: false }
    }
  }
}

function bindIsNull(binding: Binding, scope: Scope, { operand: written, negated }: IsNull): BoundExpression {
  const isParameter = written.kind === 'parameter' && !binding.bindsRowFilter
  const operand = isParameter
    ? binding.untypedParameter(written.name, written.at)
    : bindExpression(binding, scope, written, written.kind === 'null' ? TEXT : undefined)
  return { kind: 'is-null', operand, negated, type: BOOLEAN, nullable: false }
}

/** A grouped select may repeat what it groups by: SELECT a + b … GROUP BY a + b. */
function repeatedKey(binding: Binding, scope: Scope, expression: Expression): BoundExpression | undefined {
  const { grouping } = scope
  // Columns are looked up on their own; for the rest, only what is as large as a key is worth binding twice.
  if (grouping === undefined || expression.kind === 'column') return undefined
  if (!grouping.some((key) => key.size > 1 && key.size === sizeOf(expression))) return undefined
  const ungrouped = scope.within(ANYTHING, true, () => bindNode(binding, scope, expression, undefined))
  return keyFor(scope, ungrouped)
}

/** Whatever cannot stand in the clause is found when the expression is bound for good. */
const ANYTHING: Clause = { name: 'GROUP BY', aggregates: true, windows: true }

function keyFor(scope: Scope, expression: BoundExpression): BoundExpression | undefined {
  const fingerprint = fingerprintOf(expression)
  const index = scope.grouping?.findIndex((key) => key.fingerprint === fingerprint) ?? -1
  if (index === -1) return undefined
  return { kind: 'group-key', index, expression, type: expression.type, nullable: expression.nullable }
}

/** Two expressions that mean the same, node by node, have one fingerprint. Sub-queries have ids of their own, and never do. */
export function fingerprintOf(expression: BoundExpression): string {
  // By far the most are columns, whose place says it all.
  if (expression.kind === 'column') return `${expression.source}.${expression.ordinal}`
  return JSON.stringify(expression, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

function bindParameter(binding: Binding, { name, at }: Parameter, expected: IqlType | undefined): BoundExpression {
  if (!binding.bindsRowFilter) return binding.parameter(name, at, expected)
  const claim = name.toLowerCase()
  binding.usesClaims = true
  if (claim === 'sub' || claim === 'client_id') return { kind: 'claim', claim, type: TEXT, nullable: true }
  if (claim === 'role') {
    throw binding.fail('BadDefinition', at, ':role is a list: write column = :role or column IN (:role)')
  }
  throw binding.fail('BadDefinition', at, `A row filter knows no :${name}`, {
    expected: [':sub', ':client_id', ':role'],
  })
}

function bindColumn(binding: Binding, scope: Scope, { table, name }: ColumnRef): BoundExpression {
  for (let level: Scope | undefined = scope; level !== undefined; level = level.parent) {
    const [found, another] = level.candidates(table, name.text)
    if (found === undefined) {
      // A qualifier that means a source here does not mean one further out.
      if (table !== undefined && level.source(table.text) !== undefined) break
      continue
    }
    if (another !== undefined) {
      const options = level.candidates(table, name.text).map(({ source }) => `${source.name}.${name.text}`)
      throw binding.fail('AmbiguousColumn', name.at, `${name.text} could be ${options.join(' or ')}`, {
        expected: options,
      })
    }
    level.hits++
    if (level !== scope) binding.outerHits++
    const { source, ordinal, column } = found
    const nullable = column.nullable || source.mayBeAbsent
    const bound = {
      kind: 'column',
      source: source.id,
      ordinal,
      name: column.name,
      type: column.type,
      nullable,
    } as const
    if (level.grouping === undefined) return bound
    const key = keyFor(level, bound)
    if (key !== undefined) return key
    throw binding.fail('NotGrouped', name.at, `${name.text} is neither in GROUP BY nor in an aggregate`, {
      hint: `add it to GROUP BY, or write min(${name.text})`,
    })
  }
  throw unknownColumn(binding, scope, { kind: 'column', table, name })
}

function unknownColumn(binding: Binding, scope: Scope, { table, name }: ColumnRef) {
  const sources = [...visibleSources(scope)]
  const qualified =
    table === undefined ? sources : sources.filter((source) => source.name.toLowerCase() === table.text.toLowerCase())
  if (table !== undefined && qualified.length === 0) {
    return binding.fail('UnknownTable', table.at, `Nothing here is named ${table.text}`, {
      hint: didYouMean(
        table.text,
        sources.map((source) => source.name),
      ),
    })
  }
  const columns = qualified.flatMap((source) => source.columns.map((column) => column.name))
  const whole = table === undefined ? name.text : `${table.text}.${name.text}`
  return binding.fail('UnknownColumn', name.at, `There is no column ${whole}`, { hint: didYouMean(name.text, columns) })
}

function* visibleSources(scope: Scope) {
  for (let level: Scope | undefined = scope; level !== undefined; level = level.parent) yield* level.sources
}

function bindUnary(binding: Binding, scope: Scope, unary: Unary, expected: IqlType | undefined): BoundExpression {
  const { operator, operand: written, at } = unary
  if (operator === 'not') {
    const operand = requireBoolean(binding, bindExpression(binding, scope, written, BOOLEAN), written, 'NOT')
    return { kind: 'not', operand, type: BOOLEAN, nullable: operand.nullable }
  }
  if (written.kind === 'number') return bindNumber(binding, written, expected, operator === '-' ? '-' : '')
  const operand = bindExpression(binding, scope, written, expected)
  if (!isNumber(operand.type) && operand.type.kind !== 'Interval') {
    throw binding.fail('TypeMismatch', at, `${operator} takes a number, not ${typeName(operand.type)}`)
  }
  if (operator === '+') return operand
  return { kind: 'negate', operand, type: operand.type, nullable: operand.nullable }
}

function bindCast(binding: Binding, scope: Scope, { operand: written, type: ref, at }: Cast): BoundExpression {
  const type = bindType(binding, ref, { forCast: true })
  if (written.kind === 'text' && type.kind !== 'Text') return readLiteral(binding, type, written.value, written.at)
  // CAST is how a parameter is given a type where nothing else does.
  const given = written.kind === 'parameter' || written.kind === 'null' ? type : undefined
  const operand = bindExpression(binding, scope, written, given)
  if (sameType(operand.type, type)) return operand
  if (type.kind === 'Interval' || !canCast(operand.type, type)) {
    throw binding.fail('TypeMismatch', at, `${typeName(operand.type)} cannot be cast to ${typeName(type)}`)
  }
  return { kind: 'cast', operand, type, nullable: operand.nullable }
}

/** A condition: WHERE, ON, HAVING, FILTER. */
export function bindCondition(binding: Binding, scope: Scope, expression: Expression): BoundExpression {
  const bound = bindExpression(binding, scope, expression, BOOLEAN)
  if (bound.type.kind === 'Boolean') return bound
  throw binding.fail(
    'TypeMismatch',
    startOf(expression),
    `${scope.clause.name} takes a condition, not ${typeName(bound.type)}`,
  )
}

/** Binds expressions: resolves columns, types every node, and dispatches on the kind of node. */

import type { ClaimName } from '../bound/bound-leaf.ts'
import type { BoundExpression } from '../bound/bound-query.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { isAggregateCall } from '../rewrite/group-by-all.ts'
import type { Binding } from '../scope/binding.ts'
import { CLAUSES, type Clause, type Scope } from '../scope/scope.ts'
import { expressionSize, someWithin } from '../syntax/ast-children.ts'
import type { ColumnRef, Expression, IsNull, Name, Parameter, Subquery, Unary } from '../syntax/ast-query.ts'
import { namedAttribute } from '../syntax/attributes.ts'
import { sameName } from '../syntax/names.ts'
import { BOOLEAN, type IqlType, isNumber, NULL, TEXT, typeName } from '../types/types.ts'
import { bindAttribute } from './attribute.ts'
import { bindCall } from './call.ts'
import { bindCast } from './cast.ts'
import { bindBytes, bindNumber, bindText, bindTyped, literal } from './literal.ts'
import {
  bindBetween,
  bindBinary,
  bindCase,
  bindInList,
  bindInQuery,
  bindIsTruth,
  bindLike,
  onlyColumn,
  requireBoolean,
} from './operators.ts'
import { ROLE_CLAIMS } from './role-claim.ts'

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
    case 'subquery':
      return bindSubquery(binding, scope, expression)
    case 'exists': {
      const query = binding.subquery(scope, expression.query, expression.at, { anyNames: true })
      return { kind: 'exists', query, type: BOOLEAN, nullable: false }
    }
  }
}

/** A query as a value: the column of its row. */
function bindSubquery(binding: Binding, scope: Scope, { query: written, at }: Subquery): BoundExpression {
  const query = binding.subquery(scope, written, at)
  return {
    kind: 'scalar-query',
    query,
    type: onlyColumn(binding, query, at, 'A sub-query used as a value has').type,
    nullable: true,
  }
}

function bindIsNull(binding: Binding, scope: Scope, { operand: written, negated }: IsNull): BoundExpression {
  const isParameter = written.kind === 'parameter' && !binding.bindsRowFilter
  const operand = isParameter
    ? binding.untypedParameter(written.name, written.at)
    : binding.expression(scope, written, written.kind === 'null' ? TEXT : undefined)
  return { kind: 'is-null', operand, negated, type: BOOLEAN, nullable: false }
}

/** A grouped select may repeat a GROUP BY expression: SELECT a + b … GROUP BY a + b. */
function repeatedKey(binding: Binding, scope: Scope, expression: Expression): BoundExpression | undefined {
  const { grouping } = scope
  // Columns are looked up elsewhere. Other expressions are bound twice only if they have the size of a key.
  if (grouping === undefined || grouping.sizes.size === 0 || expression.kind === 'column') return undefined
  if (!grouping.sizes.has(expressionSize(expression, binding.sizes))) return undefined
  const ungrouped = scope.within(UNRESTRICTED, true, () => bindNode(binding, scope, expression, undefined))
  return keyFor(scope, ungrouped)
}

/** Anything that the clause does not allow is refused when the expression is bound again. */
const UNRESTRICTED: Clause = { name: 'GROUP BY', aggregates: true, windows: true }

function keyFor(scope: Scope, expression: BoundExpression): BoundExpression | undefined {
  const fingerprint = computeFingerprint(expression)
  const index = scope.grouping?.indexOf(fingerprint)
  if (index === undefined) return undefined
  return { kind: 'group-key', index, expression, type: expression.type, nullable: expression.nullable }
}

/** Equal for expressions with the same meaning. Sub-queries have unique source ids, so their fingerprints always differ. */
export function computeFingerprint(expression: BoundExpression): string {
  // Most expressions are columns.
  if (expression.kind === 'column') return `${expression.source}.${expression.ordinal}`
  return written(expression)
}

/** JSON.stringify with a function that writes bigints would take three times as long. */
function written(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? ''
  let text = Array.isArray(value) ? '[' : '{'
  for (const [key, member] of Object.entries(value))
    if (key !== 'written' && member !== undefined) text += `${key}:${written(member)},`
  return text
}

function bindParameter(binding: Binding, parameter: Parameter, expected: IqlType | undefined): BoundExpression {
  const { name, at } = parameter
  const attribute = namedAttribute(parameter)
  if (attribute !== undefined && !binding.bindsRowFilter)
    throw binding.fail('UnknownParameter', at, `:${name} is an attribute of the caller, which only row filters can use`)
  if (!binding.bindsRowFilter) return binding.parameter(name, at, expected)
  const claim = name.toLowerCase()
  binding.usesClaims = true
  if (attribute !== undefined) return bindAttribute(binding, parameter, attribute)
  const known = CLAIMS.get(claim)
  if (known !== undefined) return { kind: 'claim', claim: known, type: TEXT, nullable: true }
  if (ROLE_CLAIMS.has(claim)) {
    throw binding.fail('BadDefinition', at, `:${claim} is a list: write column = :${claim} or column IN (:${claim})`)
  }
  const attributes = Array.from(binding.catalogue.attributes.keys(), (each) => `attribute.${each}`)
  throw binding.fail('BadDefinition', at, `A row filter has no parameter :${name}`, {
    expected: [...CLAIMS.keys(), ...ROLE_CLAIMS, ...attributes].map((each) => `:${each}`),
  })
}

/** The claims that a row filter may use, by name; two also have a shorter name. */
const CLAIMS: ReadonlyMap<string, ClaimName> = new Map([
  ['sub', 'sub'],
  ['username', 'username'],
  ['client', 'client_id'],
  ['client_id', 'client_id'],
])

function bindColumn(binding: Binding, scope: Scope, { table, name }: ColumnRef): BoundExpression {
  for (let level: Scope | undefined = scope; level !== undefined; level = level.parent) {
    const merged = table === undefined ? level.merged.get(name.text.toLowerCase()) : undefined
    if (merged !== undefined) return bindMerged(binding, scope, level, name, merged)
    const [found, another] = level.candidates(table, name.text)
    if (found === undefined) {
      // A qualifier that names a source here does not name one in an enclosing scope.
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
    throw notGrouped(binding, name)
  }
  throw unknownColumn(binding, scope, { kind: 'column', table, name })
}

/** A name that FULL JOIN … USING has merged: the value of the side that has a row. */
function bindMerged(binding: Binding, scope: Scope, level: Scope, name: Name, written: Expression): BoundExpression {
  const bound = level.within(UNRESTRICTED, true, () => bindNode(binding, level, written, undefined))
  if (level !== scope) binding.outerHits++
  if (level.grouping === undefined) return bound
  const key = keyFor(level, bound)
  if (key !== undefined) return key
  throw notGrouped(binding, name)
}

function notGrouped(binding: Binding, { text, at }: Name) {
  return binding.fail('NotGrouped', at, `${text} is neither in GROUP BY nor in an aggregate`, {
    hint: `add it to GROUP BY, or write min(${text})`,
  })
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
  const alias = table === undefined ? aliasHint(binding, scope, name) : undefined
  const hints = [alias ?? didYouMean(name.text, columns), quotesHint(binding, table, name)].filter(
    (hint) => hint !== undefined,
  )
  const whole = table === undefined ? name.text : `${table.text}.${name.text}`
  return binding.fail('UnknownColumn', name.at, `There is no column ${whole}`, {
    hint: hints.length === 0 ? undefined : hints.join(' '),
  })
}

/** For WHERE rn = 1, where rn is the name of an output: it is computed after WHERE. */
function aliasHint({ statement }: Binding, scope: Scope, { text, at }: Name): string | undefined {
  for (let level: Scope | undefined = scope; level !== undefined; level = level.parent) {
    const item = level.items.find(
      (each) => each.kind === 'item' && each.alias !== undefined && sameName(each.alias.text, text),
    )
    if (item?.kind !== 'item') continue
    const clause = level.clause.name
    if (someWithin(item.expression, (each) => each.kind === 'call' && each.over !== undefined)) {
      const [condition = `${text} …`] = /^[\w"]+\s*[<>=]+\s*\d+/.exec(statement.slice(at)) ?? []
      return `${text} is a window function: write QUALIFY ${condition}`
    }
    if (clause === CLAUSES.where.name && someWithin(item.expression, isAggregateCall))
      return `${text} is an aggregate: write HAVING after GROUP BY, and repeat the aggregate there`
    return `${text} is the name of an output: repeat its expression in ${clause}`
  }
  return undefined
}

/** For `symbol = "ACME"`: double quotes are for names. */
function quotesHint({ statement }: Binding, table: Name | undefined, { text, at }: Name): string | undefined {
  if (table !== undefined || statement[at] !== '"') return undefined
  return `a text is written in single quotes: '${text.replaceAll("'", "''")}'`
}

function* visibleSources(scope: Scope) {
  for (let level: Scope | undefined = scope; level !== undefined; level = level.parent) yield* level.sources
}

function bindUnary(binding: Binding, scope: Scope, unary: Unary, expected: IqlType | undefined): BoundExpression {
  const { operator, operand: written, at } = unary
  if (operator === 'not') {
    const operand = requireBoolean(binding, binding.expression(scope, written, BOOLEAN), written, 'NOT')
    return { kind: 'not', operand, type: BOOLEAN, nullable: operand.nullable }
  }
  if (written.kind === 'number') return bindNumber(binding, written, expected, operator === '-' ? '-' : '')
  const operand = binding.expression(scope, written, expected)
  if (!isNumber(operand.type) && operand.type.kind !== 'Interval') {
    throw binding.fail('TypeMismatch', at, `${operator} takes a number, not ${typeName(operand.type)}`)
  }
  if (operator === '+') return operand
  return { kind: 'negate', operand, type: operand.type, nullable: operand.nullable }
}

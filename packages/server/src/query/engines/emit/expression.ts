/** Emits bound expressions as SQL; every operation has its own parentheses. */

import {
  type Arithmetic,
  type AttributeClaim,
  type BoundCall,
  type BoundExpression,
  cannotFail,
  concatOperands,
  type InList,
  type IqlType,
  type IqlValue,
  isConstant,
  isCreating,
  isGrowing,
  isPlain,
  isSmallText,
  type Like,
  type Literal,
  type NullIf,
  safestFirst,
  TEXT,
  zoneIndex,
} from 'gatehouse-iql'
import { emitAggregate, emitWindow } from './aggregate.ts'
import type { Dialect, Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'
import { emitListed, emitLongList, isListable, MAX_SINGLE_ITEMS } from './list.ts'
import type { ParameterSource } from './parameter-source.ts'
import { emitSearch, isSearch } from './search.ts'
import { emitZone } from './zone.ts'

export function emitNode(node: BoundExpression, emission: Emission): Sql {
  const replaced = emission.replaced?.get(node)
  if (replaced !== undefined) return replaced
  if (emission.evaluated === 'if needed' && isLater(node)) return emitNode(node, { ...emission, evaluated: 'later' })
  const emit = (operand: BoundExpression): Sql => emitExpression(operand, emission)
  const { dialect } = emission
  switch (node.kind) {
    case 'literal':
    case 'parameter':
    case 'claim':
    case 'column':
    case 'group-key':
    case 'output':
      return emitValue(node, emission)
    case 'widen':
      return dialect.widen(emit(node.operand), node.operand.type, node.type)
    case 'fit':
      return dialect.fit(emit(node.operand), node.operand.type, node.type, node.column)
    case 'cast':
      return dialect.cast(emit(node.operand), node.operand.type, node.type)
    case 'arithmetic':
      if (node.operator === 'text||text') return emitConcat(node, concatOperands(node), emission)
      return dialect.operators[node.operator](emit(node.left), emit(node.right), node)
    case 'negate':
      return dialect.negate(emit(node.operand), node.type)
    case 'case':
    case 'coalesce':
    case 'nullif':
      return emitChoice(node, emission)
    case 'call':
      return emitCall(node, emission)
    case 'aggregate':
      return emitAggregate(node, emission)
    case 'window':
      return emitWindow(node, emission)
    case 'scalar-query':
      return dialect.scalarQuery(emission.subquery(node.query))
    default:
      return emitCondition(node, emission)
  }
}

type NodeByKind<Kind extends BoundExpression['kind']> = Extract<BoundExpression, { readonly kind: Kind }>

function emitValue(
  node: NodeByKind<'literal' | 'parameter' | 'claim' | 'column' | 'group-key' | 'output'>,
  emission: Emission,
): Sql {
  const { dialect, sources } = emission
  switch (node.kind) {
    case 'literal':
      if (node.value === null) return dialect.typedNull(node.type)
      if (typeof node.value === 'boolean') return dialect.truth(node.value)
      return emitParameter(literalSource(node, node.value, emission), node.type, emission)
    case 'parameter':
      if (emission.bulk?.fromTable) return `b.c${node.index}`
      return emitParameter({ kind: 'parameter', index: node.index }, node.type, emission)
    case 'claim':
      return emitParameter({ kind: 'claim', claim: node.claim }, node.type, emission)
    case 'column': {
      const source = sources.get(node.source)
      if (source === undefined) throw new Error(`Column ${node.name} of a source that is not emitted`)
      return source(node.ordinal, node.name)
    }
    case 'group-key':
      return emitExpression(node.expression, emission)
    case 'output':
      throw new Error('An output column inside an expression')
  }
}

function emitCondition(
  node: NodeByKind<
    'claim-in' | 'compare' | 'logic' | 'not' | 'is-null' | 'like' | 'between' | 'in-list' | 'in-query' | 'exists'
  >,
  emission: Emission,
): Sql {
  const emit = (operand: BoundExpression): Sql => emitExpression(operand, emission)
  switch (node.kind) {
    case 'claim-in': {
      if (node.claim !== 'role') return emitInSet(node.claim, node, emission)
      const isIn = emission.dialect.isIn(emit(node.operand), emission.placeholders.of({ kind: 'roles' }, TEXT))
      return node.negated ? `(NOT ${isIn})` : isIn
    }
    case 'compare':
      if (node.operator === '=')
        return `(${emitEqual(node.left, node.right, emission)} = ${emitEqual(node.right, node.left, emission)})`
      return `(${emit(node.left)} ${node.operator.toUpperCase()} ${emit(node.right)})`
    case 'logic':
      if (node.operator === 'or') return `(${node.operands.map(lazyEmitter(emission)).join(' OR ')})`
      return `(${(emission.mayFail() ? safestFirst(node.operands) : node.operands).map(emit).join(' AND ')})`
    case 'not':
      return `(NOT ${emit(node.operand)})`
    case 'is-null':
      return `(${emit(node.operand)} IS ${negation(node)}NULL)`
    case 'like':
      return emitLike(node, emission)
    case 'between':
      return `(${emit(node.operand)} ${negation(node)}BETWEEN ${emit(node.low)} AND ${emit(node.high)})`
    case 'in-list':
      return emitInList(node, emission)
    case 'in-query':
      return `(${emit(node.operand)} ${negation(node)}IN (${emitListed(node, emission)}))`
    case 'exists':
      return `(EXISTS (${emission.subquery(node.query)}))`
  }
}

function emitLike(node: Like, emission: Emission): Sql {
  const { dialect } = emission
  const escapeSql = node.escape === undefined ? undefined : emitExpression(node.escape, emission)
  const [operand, pattern] = [emitExpression(node.operand, emission), emitExpression(node.pattern, emission)]
  const like = emitSearch(node, [operand, pattern], emission, {
    native: () => dialect.like(operand, pattern, escapeSql, node),
    checked: () => dialect.searches.like(operand, pattern, escapeSql, node),
  })
  return node.negated ? `(NOT ${like})` : like
}

function emitInList(node: InList, emission: Emission): Sql {
  if (node.items.length > MAX_SINGLE_ITEMS && isListable(node, emission)) return emitLongList(node, emission)
  const isEqual = node.items.length === 1
  const items = node.items.map((item) =>
    isEqual ? emitEqual(item, node.operand, emission) : emitExpression(item, emission),
  )
  return `(${emitExpression(node.operand, emission)} ${negation(node)}IN (${items.join(', ')}))`
}

/** Whether the operand is one of the values of an attribute of the caller. */
function emitInSet(claim: AttributeClaim, { operand, negated }: NodeByKind<'claim-in'>, emission: Emission): Sql {
  const { dialect, placeholders } = emission
  const { type } = operand
  const write = (values: readonly IqlValue[]): string => dialect.list(values, type)
  const set = placeholders.of({ kind: 'claim-set', claim, write }, type)
  return dialect.inList(emitExpression(operand, emission), set, type, negated)
}

function emitChoice(node: NodeByKind<'case' | 'coalesce' | 'nullif'>, emission: Emission): Sql {
  const emit = (operand: BoundExpression): Sql => emitExpression(operand, emission)
  const emitLater = lazyEmitter(emission)
  switch (node.kind) {
    case 'case': {
      const operand = node.operand === undefined ? '' : ` ${emit(node.operand)}`
      const branches = node.branches.map(
        ({ when, result }, index) => ` WHEN ${index === 0 ? emit(when) : emitLater(when)} THEN ${emitLater(result)}`,
      )
      const otherwise = node.otherwise === undefined ? '' : ` ELSE ${emitLater(node.otherwise)}`
      return `(CASE${operand}${branches.join('')}${otherwise} END)`
    }
    case 'coalesce': {
      const values = node.arguments.map((argument, index) => (index === 0 ? emit(argument) : emitLater(argument)))
      return values.length === 1 ? values.join('') : `coalesce(${values.join(', ')})`
    }
    case 'nullif':
      return emitNullIf(node, emission)
  }
}

function emitCall(node: BoundCall, emission: Emission): Sql {
  const { dialect, placeholders } = emission
  if (node.function === 'now') return emitParameter({ kind: 'now' }, node.type, emission)
  if (node.function === 'current_date') return emitParameter({ kind: 'today' }, node.type, emission)
  if (node.function === 'concat') return emitConcat(node, node.arguments, emission)
  const zone = zoneIndex(node.function)
  const args = node.arguments.map((argument, index) =>
    index === zone ? emitZone(argument, emission) : emitExpression(argument, emission),
  )
  if (isGrowing(node.function)) {
    const limit = isCreating(node) ? placeholders.createdLimit() : undefined
    return dialect.growing[node.function](args, node, limit)
  }
  return emitScalar(node, node.function, args, emission)
}

function emitScalar(node: BoundCall, id: keyof Dialect['scalars'], args: readonly Sql[], emission: Emission): Sql {
  const [text = '', part] = args
  const { scalars, searches } = emission.dialect
  const native = (): Sql => scalars[id](args, node)
  if (!isSearch(id)) return native()
  return emitSearch(node, [text, part], emission, { native, checked: () => searches[id](args, node) })
}

function emitParameter(source: ParameterSource, type: IqlType, { dialect, placeholders, evaluated }: Emission): Sql {
  const value = dialect.value(placeholders.of(source, type), type)
  return evaluated === 'later' && dialect.later !== undefined ? dialect.later(value) : value
}

/** For an operand of CASE, COALESCE or OR that may not be needed. */
function lazyEmitter(emission: Emission): (operand: BoundExpression) => Sql {
  const { evaluated = 'if needed', dialect, mayFail } = emission
  const isEager = dialect.later !== undefined && mayFail()
  return (operand) => emitExpression(operand, isEager ? { ...emission, evaluated } : emission)
}

/**
 * A side of a comparison with =. If the other side is a column and this one a value, a database could replace the column with the
 * value everywhere, and so evaluate an expression that fails before it has found a row.
 */
function emitEqual(side: BoundExpression, other: BoundExpression, emission: Emission): Sql {
  const { dialect, mayFail } = emission
  const sql = emitExpression(side, emission)
  if (dialect.fixed === undefined || other.kind !== 'column' || side.kind === 'column') return sql
  return isConstant(side) && mayFail() ? dialect.fixed(sql) : sql
}

const TIMES: ReadonlySet<IqlType['kind']> = new Set(['Timestamp', 'LocalTimestamp', 'Date'])

/** Times are evaluated first, so that an index can find later rows. */
function isLater(node: BoundExpression): boolean {
  return isConstant(node) && !cannotFail(node) && !TIMES.has(node.type.kind)
}

function literalSource({ written }: Literal, value: IqlValue, { autoParameters }: Emission): ParameterSource {
  const index = written === undefined ? undefined : autoParameters.get(written.index)
  return index === undefined ? { kind: 'literal', value } : { kind: 'auto-parameter', index }
}

/** a || b || c, or concat(a, b, c), which counts NULL as empty. The length is checked unless it is proven to be small. */
function emitConcat(node: Arithmetic | BoundCall, operands: readonly BoundExpression[], emission: Emission): Sql {
  const parts = operands.map((operand) => {
    const sql = emitExpression(operand, emission)
    return node.kind === 'call' ? `coalesce(${sql}, '')` : sql
  })
  if (isSmallText(node)) return emission.dialect.concat(parts)
  // Values that are free to read again are measured before they are joined; others are counted as separate values.
  const isMeasured = operands.every((operand) => isPlain(operand, emission.weight()))
  const limit = emission.placeholders.createdLimit(isMeasured ? 1 : operands.length)
  const firstColumn = operands.findIndex(({ kind }) => kind === 'column')
  return emission.dialect.concat(parts, {
    limit,
    isMeasured,
    constants: firstColumn === -1 ? parts.length : firstColumn,
  })
}

function emitNullIf({ value, compared, right }: NullIf, emission: Emission): Sql {
  const sql = emitExpression(value, emission)
  const other = emitExpression(right, emission)
  if (compared === 'value') return `nullif(${sql}, ${other})`
  const left =
    'widenedTo' in compared
      ? emission.dialect.widen(sql, value.type, compared.widenedTo)
      : emitExpression(compared, emission)
  return `(CASE WHEN ${left} = ${other} THEN NULL ELSE ${sql} END)`
}

function negation(node: { readonly negated: boolean }): string {
  return node.negated ? 'NOT ' : ''
}

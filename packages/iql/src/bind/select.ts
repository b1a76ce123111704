/** Binds a SELECT: its sources, conditions, groups and outputs. Binds the items of RETURNING too. */

import { isGivenValue } from '../bound/bound-leaf.ts'
import type * as Bound from '../bound/bound-query.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import type { Choice } from '../rewrite/choose-rows.ts'
import { expandGroupByAll, isAggregateCall } from '../rewrite/group-by-all.ts'
import { replaceOutputNames, type WrittenOutputs } from '../rewrite/output-names.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import { CLAUSES, Grouping, type GroupingKey, Scope, type ScopeSource } from '../scope/scope.ts'
import { expressionSize, someWithin } from '../syntax/ast-children.ts'
import type { ColumnRef, Expression, Name, OrderItem, Select, SelectItem } from '../syntax/ast-query.ts'
import { isComparable, TEXT, typeName } from '../types/types.ts'
import { bindCondition } from './clause.ts'
import { computeFingerprint } from './expression.ts'
import { bindFrom } from './from.ts'
import { bindLatest } from './latest.ts'

export interface BoundSelect {
  readonly select: Bound.BoundSelect
  /** For binding ORDER BY. */
  readonly scope: Scope
  readonly written: WrittenOutputs
  /** Of DISTINCT ON and QUALIFY. */
  readonly choice: Choice | undefined
}

/** `orderBy` is the ORDER BY after the select: an aggregate in it makes the select grouped. */
export function bindSelect(
  binding: Binding,
  outer: Scope,
  writtenSelect: Select,
  orderBy: readonly OrderItem[],
): BoundSelect {
  const written = expandGroupByAll(binding, writtenSelect)
  const scope = new Scope(outer)
  scope.items = written.items
  const from = written.from === undefined ? undefined : bindFrom(binding, outer, scope, written.from)
  const where = bindClause(binding, scope, 'where', written.where)
  const latest = written.latest === undefined ? undefined : bindLatest(binding, scope, from, written.latest)
  const keys = bindGroupBy(binding, scope, written)
  const grouped = keys.length > 0 || written.having !== undefined || usesAggregate(written, orderBy)
  if (grouped) scope.grouping = new Grouping(keys)
  scope.clause = CLAUSES.select
  const named = new Map<string, Expression>()
  const outputs = bindItems(binding, scope, written.items, named)
  const having = bindClause(binding, scope, 'having', written.having)
  const columns = outputs.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable }))
  const { distinct } = written
  if (distinct) refuseIncomparable(binding, written.at, columns)
  const groupBy = keys.map(({ expression }) => expression)
  const select = { kind: 'select', distinct, outputs, from, where, grouped, groupBy, having, columns } as const
  const choice = bindChoice(binding, scope, written, named)
  return { select: latest === undefined ? select : { ...select, latest }, scope, written: named, choice }
}

/** Its expressions are over the sources of the select and the names of its outputs, as those of ORDER BY. */
function bindChoice(
  binding: Binding,
  scope: Scope,
  { distinctOn, qualify }: Select,
  named: WrittenOutputs,
): Choice | undefined {
  if (distinctOn === undefined && qualify === undefined) return undefined
  binding.mayCopy = true
  const isColumn = ({ text }: Name) => scope.candidates(undefined, text).length > 0
  const resolved = (expression: Expression) => replaceOutputNames(binding, isColumn, named, expression)
  scope.clause = CLAUSES.distinctOn
  const keys = distinctOn?.map((written) => {
    const key = binding.expression(scope, resolved(written), TEXT)
    if (isComparable(key.type)) return key
    throw binding.fail('TypeMismatch', startPosition(written), `DISTINCT ON cannot compare ${typeName(key.type)}`)
  })
  scope.clause = CLAUSES.qualify
  return { keys, qualify: qualify && bindCondition(binding, scope, resolved(qualify)) }
}

function bindClause(binding: Binding, scope: Scope, clause: 'where' | 'having', written: Expression | undefined) {
  if (written === undefined) return undefined
  scope.clause = CLAUSES[clause]
  return bindCondition(binding, scope, written)
}

function bindGroupBy(binding: Binding, scope: Scope, written: Select): GroupingKey[] {
  scope.clause = CLAUSES.groupBy
  const named = written.groupBy.length === 0 ? undefined : namedItems(written)
  return written.groupBy.map((item) => {
    const key = resolveKey(binding, scope, written, named, item)
    const expression = binding.expression(scope, key, TEXT)
    if (isGivenValue(expression)) {
      throw binding.fail(
        'NotGrouped',
        startPosition(item),
        'GROUP BY takes columns and expressions over them, not a constant',
      )
    }
    if (!isComparable(expression.type)) {
      throw binding.fail('TypeMismatch', startPosition(item), `GROUP BY cannot compare ${typeName(expression.type)}`)
    }
    return { expression, fingerprint: computeFingerprint(expression), size: expressionSize(key, binding.sizes) }
  })
}

/** GROUP BY 1 refers to the first output. A name that is not a column of the sources refers to the output with that alias. */
function resolveKey(
  binding: Binding,
  scope: Scope,
  { items }: Select,
  named: ReadonlyMap<string, Expression> | undefined,
  key: Expression,
): Expression {
  if (key.kind === 'number' && /^\d+$/.test(key.text)) {
    const item = items[Number(key.text) - 1]
    if (item?.kind === 'item') return item.expression
    throw binding.fail('NotGrouped', key.at, `There is no output number ${key.text} to group by`)
  }
  if (key.kind !== 'column' || key.table !== undefined || scope.candidates(undefined, key.name.text).length > 0)
    return key
  return named?.get(key.name.text.toLowerCase()) ?? key
}

/** The first output with each alias, in lower case. */
function namedItems({ items }: Select): ReadonlyMap<string, Expression> {
  const named = new Map<string, Expression>()
  for (const item of items) {
    if (item.kind !== 'item' || item.alias === undefined) continue
    const name = item.alias.text.toLowerCase()
    if (!named.has(name)) named.set(name, item.expression)
  }
  return named
}

function usesAggregate({ items, distinctOn = [], qualify }: Select, orderBy: readonly OrderItem[]): boolean {
  const written = items.flatMap((item) => (item.kind === 'item' ? [item.expression] : []))
  const chosen = [...distinctOn, ...(qualify === undefined ? [] : [qualify])]
  return [...written, ...chosen, ...orderBy.map(({ expression }) => expression)].some((expression) =>
    someWithin(expression, isAggregateCall),
  )
}

function refuseIncomparable(binding: Binding, at: number, columns: readonly Bound.ResultColumn[]): void {
  const column = columns.find(({ type }) => type.kind !== 'Null' && !isComparable(type))
  if (column === undefined) return
  throw binding.fail('TypeMismatch', at, `DISTINCT cannot compare ${column.name}, which is ${typeName(column.type)}`)
}

/** `named` receives the written expressions; of equal names, the first counts. */
export function bindItems(
  binding: Binding,
  scope: Scope,
  items: readonly SelectItem[],
  named?: Map<string, Expression>,
): Bound.OutputItem[] {
  const outputs: Bound.OutputItem[] = []
  for (const item of items) {
    if (item.kind === 'all') outputs.push(...bindAll(binding, scope, item))
    else {
      const expression = binding.expression(scope, item.expression)
      const name = item.alias?.text ?? outputName(item.expression, expression) ?? `column${outputs.length + 1}`
      outputs.push({ name, expression })
      if (named?.has(name.toLowerCase()) === false) named.set(name.toLowerCase(), item.expression)
    }
  }
  return outputs
}

/** `*` is every column of every source, `t.*` every column of one. */
function bindAll(binding: Binding, scope: Scope, item: Extract<SelectItem, { kind: 'all' }>): Bound.OutputItem[] {
  const { table, at } = item
  const names = scope.sources.map(({ name }) => name)
  if (table !== undefined && scope.source(table.text) === undefined) {
    throw binding.fail('UnknownTable', table.at, `Nothing in FROM is named ${table.text}`, {
      expected: names,
      hint: didYouMean(table.text, names),
    })
  }
  if (names.length === 0) throw binding.fail('Syntax', at, '* needs a FROM')
  const sources = scope.sources.filter(
    ({ name }) => table === undefined || name.toLowerCase() === table.text.toLowerCase(),
  )
  const shown = table === undefined ? scope.star?.map((column) => placedAt(column, at)) : undefined
  const columns = shown ?? sources.flatMap((source) => columnRefs(source, at))
  binding.stars?.set(
    item,
    columns.map((expression) => ({ kind: 'item', expression, alias: undefined })),
  )
  return columns.map((column) => ({ name: column.name.text, expression: binding.expression(scope, column) }))
}

function columnRefs(source: ScopeSource, at: number): ColumnRef[] {
  return source.columns.map(({ name }) => ({
    kind: 'column',
    table: { text: source.name, at },
    name: { text: name, at },
  }))
}

function placedAt({ kind, table, name }: ColumnRef, at: number): ColumnRef {
  return { kind, table: table && { ...table, at }, name: { ...name, at } }
}

/** A column keeps the spelling of its definition; a call is named after its function. */
function outputName(written: Expression, bound: Bound.BoundExpression): string | undefined {
  switch (written.kind) {
    case 'column':
      return columnName(bound) ?? written.name.text
    case 'call':
      return written.name.text.toLowerCase()
    case 'cast':
      return written.operand.kind === 'column' ? written.operand.name.text : undefined
    case 'case':
    case 'exists':
      return written.kind
    case 'subquery':
      return bound.kind === 'scalar-query' ? bound.query.columns[0]?.name : undefined
    default:
      return undefined
  }
}

function columnName(bound: Bound.BoundExpression): string | undefined {
  if (bound.kind === 'group-key') return columnName(bound.expression)
  return bound.kind === 'column' ? bound.name : undefined
}

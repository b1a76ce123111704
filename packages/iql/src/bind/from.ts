/** Binds FROM: tables with their row filters, WITH names, sub-queries, joins and ASOF joins. */
import type { Refusal } from 'gatehouse-protocol'
import type {
  AsofJoin,
  BoundBody,
  BoundExpression,
  BoundOrder,
  BoundSelect,
  Compare,
  DerivedSource,
  Source,
  TableSource,
} from '../bound/bound-query.ts'
import { definitionIn, needsScopes, type TableView } from '../bound/catalogue-view.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { expandView } from '../rewrite/expand-view.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import { CLAUSES, Scope, type ScopeColumn, type ScopeSource } from '../scope/scope.ts'
import { childExpressions } from '../syntax/ast-children.ts'
import type { Binary, ColumnRef, DerivedTable, Expression, From, Join, Name, TableRef } from '../syntax/ast-query.ts'
import { DEFAULT_LIMITS, MAX_WITH_USES } from '../syntax/limits.ts'
import { sameName } from '../syntax/names.ts'
import { isComparable } from '../types/types.ts'
import { bindCondition } from './clause.ts'
import { bindRowFilter } from './row-filter.ts'
import { bindSeries } from './series.ts'
import { joinedNames, mergeColumns } from './using.ts'

interface BoundFrom {
  readonly source: Source
  /** The names it introduces, from left to right. */
  readonly entries: readonly ScopeSource[]
  readonly merged?: Scope['merged']
  readonly star?: readonly ColumnRef[] | undefined
}

/** Adds the sources to `scope`. Sub-queries in FROM see the enclosing scope, but not each other. */
export function bindFrom(binding: Binding, outer: Scope, scope: Scope, from: From): Source {
  const bound = bindItem(binding, outer, from)
  showIn(scope, bound)
  return bound.source
}

function bindItem(binding: Binding, outer: Scope, from: From): BoundFrom {
  switch (from.kind) {
    case 'table':
      return bindTable(binding, outer, from)
    case 'derived':
      return bindDerived(binding, outer, from)
    case 'function': {
      const source = bindSeries(binding, from)
      return { source, entries: [entry(source.id, from.alias?.text ?? source.column.name, [source.column])] }
    }
    case 'join':
      return bindJoin(binding, outer, from)
  }
}

function bindTable(binding: Binding, outer: Scope, { name, alias }: TableRef): BoundFrom {
  const cte = outer.cte(name.text)
  if (cte !== undefined) {
    binding.mayCopy = true
    const id = binding.nextSource()
    const { columns } = cte
    binding.withUses += binding.withSizes.get(cte.id) ?? 1
    if (binding.withUses > MAX_WITH_USES)
      throw binding.fail(
        'TooComplex',
        name.at,
        `The WITH queries use one another more than ${MAX_WITH_USES} times in total, including nested uses`,
      )
    return { source: { kind: 'cte', id, cte: cte.id, columns }, entries: [entry(id, alias?.text ?? cte.name, columns)] }
  }
  const table = lookupTable(binding, name, outer)
  if (table.view !== undefined) {
    binding.mayCopy = true
    const { source, columns } = expandView(binding, name, table, table.view)
    return { source, entries: [entry(source.id, alias?.text ?? table.name, columns)] }
  }
  const source = bindRows(binding, table)
  return { source, entries: [entry(source.id, alias?.text ?? table.name, table.columns)] }
}

/** The rows that the caller sees of a table: of several sources one after the other. */
function bindRows(binding: Binding, table: TableView): TableSource | DerivedSource {
  const [first = table, ...others] = table.reads ?? []
  if (others.length === 0) return bindRead(binding, first)
  binding.mayCopy = true
  const columns = table.columns.map(({ name, type, nullable }) => ({ name, type, nullable }))
  const selectAll = (read: TableView): BoundSelect => {
    const from = bindRead(binding, read)
    const outputs = columns.map(({ name, type, nullable }, ordinal) => ({
      name,
      expression: { kind: 'column', source: from.id, ordinal, name, type, nullable } as const,
    }))
    const rest = { where: undefined, grouped: false, groupBy: [], having: undefined } as const
    return { kind: 'select', distinct: false, outputs, from, columns, ...rest }
  }
  const body = others.reduce<BoundBody>((left, read) => {
    return { kind: 'set', operator: 'union', all: true, left, right: selectAll(read), columns }
  }, selectAll(first))
  const query = { kind: 'query', with: [], body, orderBy: [], limit: undefined, offset: undefined, columns } as const
  return { kind: 'derived', id: binding.nextSource(), query }
}

function bindRead(binding: Binding, table: TableView): TableSource {
  const id = binding.nextSource()
  return { kind: 'table', id, table, filter: bindRowFilter(binding, table, id) }
}

/** A table that is read. One that the caller may not read is unknown, as if it did not exist, unless the caller may see its definition. */
export function lookupTable(binding: Binding, name: Name, scope?: Scope): TableView {
  const table = findTable(binding, name, scope)
  if (table.view === undefined) for (const read of table.reads ?? [table]) binding.tables.add(read)
  return table
}

/** A table that is written to. */
export function lookupTarget(binding: Binding, name: Name): TableView {
  const table = findTable(binding, name)
  if (table.view === undefined) binding.tables.add(table)
  return table
}

function findTable(binding: Binding, name: Name, scope?: Scope): TableView {
  const table = binding.catalogue.lookup(name.text)
  if (table === undefined) {
    const hidden = binding.catalogue.hidden(name.text)
    if (hidden !== undefined) throw binding.fail('Forbidden', name.at, needsScopes(hidden))
    throw unknownTable(binding, name, cteNames(scope))
  }
  if (!binding.expansion.isOpen) binding.uses.add(table)
  return table
}

/** For statements that define or describe: they read no row. */
export function lookupDefinition(binding: Binding, name: Name, what = 'table'): TableView {
  const table = definitionIn(binding.catalogue, name.text)
  if (table === undefined) throw unknownTable(binding, name, [], what)
  return table
}

function unknownTable(binding: Binding, name: Name, others: Iterable<string>, what = 'table'): Refusal {
  return binding.fail('UnknownTable', name.at, `There is no ${what} ${name.text}`, {
    hint: didYouMean(name.text, [...others, ...binding.catalogue.tableNames()]),
  })
}

function* cteNames(scope: Scope | undefined): Generator<string> {
  for (let level = scope; level !== undefined; level = level.parent)
    for (const { name } of level.ctes.values()) yield name
}

function bindDerived(binding: Binding, outer: Scope, { query: written, alias }: DerivedTable): BoundFrom {
  binding.mayCopy = true
  const query = binding.query(outer, written)
  const id = binding.nextSource()
  return { source: { kind: 'derived', id, query }, entries: [entry(id, alias.text, query.columns)] }
}

function bindJoin(binding: Binding, outer: Scope, written: Join): BoundFrom {
  if (binding.expansion.addJoin())
    throw binding.fail(
      'TooComplex',
      written.at,
      `A statement can have at most ${DEFAULT_LIMITS.joins} joins, including those of its views`,
    )
  const left = bindItem(binding, outer, written.left)
  const right = bindItem(binding, outer, written.right)
  const entries = [...left.entries, ...right.entries]
  refuseSameName(binding, left.entries, right.entries, written.at)
  const { join } = written
  const using = written.using === undefined ? undefined : mergeColumns(binding, left, right, join, written.using)
  const shown = { entries, ...(using ?? joinedNames(left, right)) }
  const scope = new Scope(outer, CLAUSES.on)
  showIn(scope, shown)
  const condition = using?.on ?? written.on
  if (join === 'asof' || join === 'asof-left') {
    const source = bindAsof(binding, scope, left, right, { ...written, on: condition })
    if (join === 'asof-left') markAbsent(right.entries)
    return { ...shown, source }
  }
  const on = condition === undefined ? undefined : bindCondition(binding, scope, condition)
  if (join === 'left' || join === 'full') markAbsent(right.entries)
  if (join === 'right' || join === 'full') markAbsent(left.entries)
  return { ...shown, source: { kind: 'join', join, left: left.source, right: right.source, on } }
}

function showIn(scope: Scope, { entries, merged, star }: Omit<BoundFrom, 'source'>): void {
  scope.sources.push(...entries)
  if (merged !== undefined) scope.merged = merged
  scope.star = star
}

function bindAsof(binding: Binding, scope: Scope, left: BoundFrom, right: BoundFrom, written: Join): AsofJoin {
  const [entry, another] = right.entries
  const { source } = right
  if (
    entry === undefined ||
    another !== undefined ||
    source.kind === 'join' ||
    source.kind === 'asof' ||
    source.kind === 'series'
  ) {
    throw binding.fail('BadJoin', written.at, 'The right side of ASOF JOIN must be a single table or sub-query')
  }
  const keys: { left: BoundExpression; right: BoundExpression }[] = []
  let near: AsofJoin['near'] | undefined
  for (const condition of splitConjuncts(written.on)) {
    const compare = bindComparison(binding, scope, condition, left.entries, entry)
    if (compare.operator === '=') keys.push({ left: compare.left, right: compare.right })
    else if (near === undefined) near = { operator: compare.operator, left: compare.left, right: compare.right }
    else
      throw binding.fail('BadJoin', startPosition(condition), 'ASOF JOIN takes only one comparison with >=, >, <= or <')
  }
  if (near === undefined) {
    throw binding.fail('BadJoin', written.at, 'ASOF JOIN needs a comparison with >=, >, <= or <', {
      hint: 'write AND a.ts >= b.ts',
    })
  }
  return {
    kind: 'asof',
    outer: written.join === 'asof-left',
    left: left.source,
    right: source,
    keys,
    near,
    tie: tieBreakers(right, entry),
  }
}

function splitConjuncts(condition: Expression | undefined): Expression[] {
  const found: Expression[] = []
  let rest = condition
  while (rest?.kind === 'binary' && rest.operator === 'and') {
    found.push(rest.right)
    rest = rest.left
  }
  return rest === undefined ? found : [rest, ...found.reverse()]
}

const MIRRORED = { '=': '=', '>=': '<=', '>': '<', '<=': '>=', '<': '>' } as const

/** A comparison of the left with the right side, with the left operand first. */
function bindComparison(
  binding: Binding,
  scope: Scope,
  condition: Expression,
  left: readonly ScopeSource[],
  right: ScopeSource,
): { operator: keyof typeof MIRRORED; left: BoundExpression; right: BoundExpression } {
  const fail = () => {
    return binding.fail(
      'BadJoin',
      startPosition(condition),
      'ASOF JOIN takes comparisons of left columns with right columns, joined by AND',
    )
  }
  if (condition.kind !== 'binary') throw fail()
  const bound = binding.expression(scope, condition)
  if (bound.kind !== 'compare' || !isMirrored(bound.operator)) throw fail()
  const sides = [findSide(condition.left, left, right), findSide(condition.right, left, right)].join(' ')
  if (sides === 'left right') return { operator: bound.operator, left: bound.left, right: bound.right }
  if (sides === 'right left') return { operator: MIRRORED[bound.operator], left: bound.right, right: bound.left }
  throw fail()
}

function isMirrored(operator: Compare['operator']): operator is keyof typeof MIRRORED {
  return Object.hasOwn(MIRRORED, operator)
}

function findSide(expression: Binary['left'], left: readonly ScopeSource[], right: ScopeSource): string {
  const sides = new Set<string>()
  const visit = (node: Expression) => {
    if (node.kind === 'column') sides.add(belongsTo(node, [right]) ? 'right' : belongsTo(node, left) ? 'left' : 'outer')
    else if (node.kind === 'subquery' || node.kind === 'exists' || node.kind === 'in-query') sides.add('outer')
    childExpressions(node).forEach(visit)
  }
  visit(expression)
  return sides.size === 1 ? ([...sides][0] ?? 'none') : 'none'
}

function belongsTo({ table, name }: Extract<Expression, { kind: 'column' }>, sources: readonly ScopeSource[]): boolean {
  return sources.some((source) => {
    const isNamed = table === undefined || sameName(table.text, source.name)
    return isNamed && source.columns.some((column) => sameName(column.name, name.text))
  })
}

/** Breaks ties between equally close rows, so that every engine picks the same one. */
function tieBreakers({ source }: BoundFrom, { id, columns }: ScopeSource): BoundOrder[] {
  const key = source.kind === 'table' ? source.table.primaryKey : []
  return columns.flatMap(({ name, type, nullable }, ordinal) => {
    const breaksTies = key.length === 0 ? isComparable(type) : key.some((part) => sameName(part, name))
    if (!breaksTies) return []
    return [
      { expression: { kind: 'column', source: id, ordinal, name, type, nullable }, descending: false, nulls: 'last' },
    ]
  })
}

function refuseSameName(
  binding: Binding,
  left: readonly ScopeSource[],
  right: readonly ScopeSource[],
  at: number,
): void {
  const names = new Set(left.map(({ name }) => name.toLowerCase()))
  const twice = right.find(({ name }) => names.has(name.toLowerCase()))
  if (twice === undefined) return
  throw binding.fail('DuplicateTable', at, `${twice.name} is joined twice under the same name`, {
    hint: `write ${twice.name} AS another`,
  })
}

function markAbsent(entries: readonly ScopeSource[]): void {
  for (const source of entries) source.mayBeAbsent = true
}

export function entry(id: number, name: string, columns: readonly ScopeColumn[]): ScopeSource {
  return { id, name, columns, mayBeAbsent: false }
}

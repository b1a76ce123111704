/** Binds FROM: tables with their row filters, WITH names, sub-queries and joins. */
import type { DerivedTable, From, Join, TableRef } from './ast.ts'
import type { Name } from './ast-expression.ts'
import { bindAsof } from './bind-asof.ts'
import { bindCondition } from './bind-expression.ts'
import { bindQuery } from './bind-query.ts'
import { bindRowFilter } from './bind-row-filter.ts'
import type { Binding } from './binding.ts'
import type { Source } from './bound.ts'
import type { TableView } from './catalogue-view.ts'
import { didYouMean } from './did-you-mean.ts'
import { CLAUSES, Scope, type ScopeColumn, type ScopeSource } from './scope.ts'

export interface BoundFrom {
  readonly source: Source
  /** What the names in it mean, from left to right. */
  readonly entries: readonly ScopeSource[]
}

/** Fills `scope` with the sources; sub-queries in FROM see what encloses the select, but not one another. */
export function bindFrom(binding: Binding, outer: Scope, scope: Scope, from: From): Source {
  const { source, entries } = bindItem(binding, outer, from)
  scope.sources.push(...entries)
  return source
}

function bindItem(binding: Binding, outer: Scope, from: From): BoundFrom {
  switch (from.kind) {
    case 'table':
      return bindTable(binding, outer, from)
    case 'derived':
      return bindDerived(binding, outer, from)
    case 'join':
      return bindJoin(binding, outer, from)
  }
}

function bindTable(binding: Binding, outer: Scope, { name, alias }: TableRef): BoundFrom {
  const id = binding.nextSource()
  const cte = outer.cte(name.text)
  if (cte !== undefined) {
    const { columns } = cte
    return { source: { kind: 'cte', id, cte: cte.id, columns }, entries: [entry(id, alias?.text ?? cte.name, columns)] }
  }
  const table = lookupTable(binding, name, outer)
  const filter = bindRowFilter(binding, table, id)
  return {
    source: { kind: 'table', id, table, filter },
    entries: [entry(id, alias?.text ?? table.name, table.columns)],
  }
}

/** A table the caller may not read is not found, as if it did not exist. */
export function lookupTable(binding: Binding, name: Name, scope?: Scope): TableView {
  const table = binding.catalogue.lookup(name.text)
  if (table === undefined) {
    const names = [...cteNames(scope), ...binding.catalogue.tableNames()]
    throw binding.fail('UnknownTable', name.at, `There is no table ${name.text}`, {
      hint: didYouMean(name.text, names),
    })
  }
  binding.tables.add(table)
  return table
}

function* cteNames(scope: Scope | undefined): Generator<string> {
  for (let level = scope; level !== undefined; level = level.parent)
    for (const { name } of level.ctes.values()) yield name
}

function bindDerived(binding: Binding, outer: Scope, { query: written, alias }: DerivedTable): BoundFrom {
  const query = bindQuery(binding, outer, written)
  const id = binding.nextSource()
  return { source: { kind: 'derived', id, query }, entries: [entry(id, alias.text, query.columns)] }
}

function bindJoin(binding: Binding, outer: Scope, written: Join): BoundFrom {
  const left = bindItem(binding, outer, written.left)
  const right = bindItem(binding, outer, written.right)
  const entries = [...left.entries, ...right.entries]
  refuseSameName(binding, left.entries, right.entries, written.at)
  const scope = new Scope(outer, CLAUSES.on)
  scope.sources.push(...entries)
  const { join } = written
  if (join === 'asof' || join === 'asof-left') {
    const source = bindAsof(binding, scope, left, right, written)
    if (join === 'asof-left') markAbsent(right.entries)
    return { source, entries }
  }
  const on = written.on === undefined ? undefined : bindCondition(binding, scope, written.on)
  if (join === 'left' || join === 'full') markAbsent(right.entries)
  if (join === 'right' || join === 'full') markAbsent(left.entries)
  return { source: { kind: 'join', join, left: left.source, right: right.source, on }, entries }
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
  throw binding.fail('DuplicateTable', at, `${twice.name} is joined twice under one name`, {
    hint: `write ${twice.name} AS another`,
  })
}

function markAbsent(entries: readonly ScopeSource[]): void {
  for (const source of entries) source.mayBeAbsent = true
}

export function entry(id: number, name: string, columns: readonly ScopeColumn[]): ScopeSource {
  return { id, name, columns, mayBeAbsent: false }
}

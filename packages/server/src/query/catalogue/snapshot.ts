/** The catalogue in memory: an immutable snapshot, replaced as a whole when the catalogue changes. */

import type { BoundExpression, TableView } from 'gatehouse-iql'
import { rebind } from './create-table.ts'
import type { TableDefinition } from './definition.ts'
import { keyLimitOf } from './key-limit.ts'
import { SYSTEM_TABLES, systemDefinitions } from './system-tables.ts'
import { tableViewOf } from './table-view.ts'

export interface Snapshot {
  /** Unique in the process. Plans made from another version are void. */
  readonly version: number
  /** Names are case-insensitive. */
  table(name: string): TableView | undefined
  tables(): Iterable<TableView>
  /** In the order of their names in lower case: those from this name on. */
  tablesFrom(key: string): Iterable<TableView>
  definitionOf(name: string): TableDefinition | undefined
  /** All tables except system tables. */
  readonly definitions: readonly TableDefinition[]
  /** The scopes that are needed to read the table. A view needs its own and those of everything that it reads. */
  readScopesOf(name: string): ReadonlySet<string>
  index(name: string): { readonly name: string; readonly table: TableView } | undefined
  /** The columns of each index of the table. */
  indexesOf(table: TableView): readonly (readonly string[])[]
  /** The default of a column as a bound expression. */
  defaultOf(table: TableView, column: string): BoundExpression | undefined
  /** The most bytes of a value in a column that is in a key or an index. */
  keyLimitOf(table: TableView, column: string): number | undefined
}

let versions = 0

export function createSnapshot(definitions: readonly TableDefinition[]): Snapshot {
  const entries = new Map<string, { view: TableView; definition: TableDefinition }>()
  const indexes = new Map<string, { name: string; table: TableView }>()
  for (const definition of systemDefinitions()) {
    const view = tableViewOf(definition, SYSTEM_TABLES.get(definition.name))
    entries.set(definition.name.toLowerCase(), { view, definition })
  }
  // A table that was created before a system table took its name keeps the name.
  for (const definition of definitions) {
    const view = tableViewOf(definition, undefined)
    entries.set(definition.name.toLowerCase(), { view, definition })
    for (const { name } of definition.indexes) indexes.set(name.toLowerCase(), { name, table: view })
  }
  let sorted: readonly string[] | undefined
  const scopes = new Map<string, ReadonlySet<string>>()
  const readScopesOf = (name: string): ReadonlySet<string> => {
    const key = name.toLowerCase()
    const known = scopes.get(key)
    if (known !== undefined) return known
    const found = new Set<string>()
    // Set before it is complete: views cannot use themselves, and if one did, this would still end.
    scopes.set(key, found)
    const { readScope, view } = entries.get(key)?.definition ?? {}
    if (readScope !== undefined) found.add(readScope)
    for (const used of view?.uses ?? []) for (const scope of readScopesOf(used)) found.add(scope)
    return found
  }
  const defaults = new Map<string, ReadonlyMap<string, BoundExpression>>()
  const indexesOf = ({ name }: TableView): string[][] =>
    (entries.get(name.toLowerCase())?.definition.indexes ?? []).map(({ columns }) =>
      columns.map((column) => column.name),
    )
  return {
    version: ++versions,
    table: (name) => entries.get(name.toLowerCase())?.view,
    *tables() {
      for (const { view } of entries.values()) yield view
    },
    *tablesFrom(key) {
      sorted ??= [...entries.keys()].sort()
      for (let at = firstFrom(sorted, key); at < sorted.length; at++) {
        const entry = entries.get(sorted[at] ?? '')
        if (entry !== undefined) yield entry.view
      }
    },
    definitionOf: (name) => entries.get(name.toLowerCase())?.definition,
    definitions,
    readScopesOf,
    index: (name) => indexes.get(name.toLowerCase()),
    indexesOf,
    keyLimitOf: (table, column) => keyLimitOf(table, indexesOf(table), column),
    defaultOf(table, column) {
      const key = table.name.toLowerCase()
      const definition = entries.get(key)?.definition
      if (definition === undefined) return undefined
      let known = defaults.get(key)
      if (known === undefined) {
        known = bindDefaults(definition)
        defaults.set(key, known)
      }
      return known.get(column.toLowerCase())
    },
  }
}

/** By bisection. */
function firstFrom(sorted: readonly string[], key: string): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? '') >= key) high = middle
    else low = middle + 1
  }
  return low
}

/** Defaults are typed when their definition is bound, so the stored definition is bound again. */
function bindDefaults(definition: TableDefinition): ReadonlyMap<string, BoundExpression> {
  const defaults = new Map<string, BoundExpression>()
  if (definition.columns.every((column) => column.default === undefined)) return defaults
  for (const column of rebind({ ...definition, rowFilter: undefined }).columns) {
    if (column.default !== undefined) defaults.set(column.name.toLowerCase(), column.default.expression)
  }
  return defaults
}

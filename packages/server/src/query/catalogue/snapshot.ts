/** The catalogue in memory: an immutable snapshot, replaced as a whole when the catalogue changes; and what one caller may see of it. */

import {
  type BoundExpression,
  type CatalogueView,
  definitionIn,
  didYouMean,
  needsScopes,
  printExpression,
  type TableView,
} from 'gatehouse-iql'
import { isPlatformScope, type Refusal, type StepUpNeed, strictest } from 'gatehouse-protocol'
import { refuse } from '../errors.ts'
import { ZONE_NAMES } from '../zones/zone-file.ts'
import type { AttributeViews } from './attributes.ts'
import { rebind } from './create-table.ts'
import { type TableDefinition, usedBy } from './definition.ts'
import { findRowFilter } from './kept-filter.ts'
import { findKeyLimit } from './key-limit.ts'
import { applyLicence, NO_COPIES, type TableRights } from './licences.ts'
import { ADMIN_SCOPE, SYSTEM_TABLES, systemDefinitions } from './system-tables.ts'
import { createTableView } from './table-view.ts'

let versions = 0

interface Entry {
  readonly view: TableView
  readonly definition: TableDefinition
}

/** Names are case-insensitive. */
export class CatalogueSnapshot {
  /** Unique in the process. Plans made from another version are invalid. */
  readonly version = ++versions
  /** All tables except system tables. */
  readonly definitions: readonly TableDefinition[]
  /** The same, by name in lower case. */
  readonly byName: ReadonlyMap<string, TableDefinition>
  /** Whether any table demands something of the sign-in of its callers. */
  readonly hasStepUp: boolean
  /** The attributes of callers, by name. */
  readonly attributes: AttributeViews
  /** By the names in lower case, as all other maps. */
  readonly #entries = new Map<string, Entry>()
  readonly #indexes = new Map<string, { readonly name: string; readonly table: TableView }>()
  readonly #scopes = new Map<string, ReadonlySet<string>>()
  readonly #defaults = new Map<string, ReadonlyMap<string, BoundExpression>>()
  #sorted: readonly string[] | undefined

  constructor(definitions: readonly TableDefinition[], attributes: AttributeViews = new Map()) {
    this.definitions = definitions
    this.hasStepUp = definitions.some(({ stepUp }) => stepUp !== undefined)
    this.attributes = attributes
    for (const definition of systemDefinitions()) {
      const view = createTableView(definition, SYSTEM_TABLES.get(definition.name))
      this.#entries.set(definition.name.toLowerCase(), { view, definition })
    }
    // A table that was created before a system table took its name keeps the name.
    this.byName = new Map(definitions.map((definition) => [definition.name.toLowerCase(), definition]))
    for (const definition of definitions) {
      const rowFilter = findRowFilter(definition, this.byName)
      const view = createTableView({ ...definition, rowFilter }, undefined)
      this.#entries.set(definition.name.toLowerCase(), { view, definition })
      for (const { name } of definition.indexes) this.#indexes.set(name.toLowerCase(), { name, table: view })
    }
  }

  table(name: string): TableView | undefined {
    return this.#entries.get(name.toLowerCase())?.view
  }

  *tables(): Generator<TableView> {
    for (const { view } of this.#entries.values()) yield view
  }

  /** The tables from this name on, ordered by their names in lower case. */
  *tablesFrom(key: string): Generator<TableView> {
    this.#sorted ??= [...this.#entries.keys()].sort()
    for (let at = firstFrom(this.#sorted, key); at < this.#sorted.length; at++) {
      const entry = this.#entries.get(this.#sorted[at] ?? '')
      if (entry !== undefined) yield entry.view
    }
  }

  findDefinition(name: string): TableDefinition | undefined {
    return this.#entries.get(name.toLowerCase())?.definition
  }

  /** The scopes that are needed to read the table. A view needs its own and those of everything that it reads. */
  readScopes(name: string): ReadonlySet<string> {
    const key = name.toLowerCase()
    const known = this.#scopes.get(key)
    if (known !== undefined) return known
    const found = new Set<string>()
    // Set before it is complete, so that this ends even if a view used itself, which is not allowed.
    this.#scopes.set(key, found)
    const definition = this.findDefinition(name)
    if (definition?.readScope !== undefined) found.add(definition.readScope)
    for (const used of definition === undefined ? [] : usedBy(definition))
      for (const scope of this.readScopes(used)) found.add(scope)
    return found
  }

  /** What reading the table demands of the sign-in. A view demands what everything that it reads does. */
  readNeed(name: string): StepUpNeed | undefined {
    const definition = this.hasStepUp ? this.findDefinition(name) : undefined
    if (definition === undefined) return undefined
    return usedBy(definition)
      .map((used) => this.readNeed(used))
      .reduce(strictest, definition.stepUp?.read)
  }

  /** As IQL text: that of a materialized view is the one of its table. */
  findRowFilter(name: string): string | undefined {
    const { rowFilter } = this.table(name) ?? {}
    return rowFilter && printExpression(rowFilter)
  }

  index(name: string): { readonly name: string; readonly table: TableView } | undefined {
    return this.#indexes.get(name.toLowerCase())
  }

  /** The columns of each index of the table. */
  findIndexes({ name }: TableView): readonly (readonly string[])[] {
    return (this.findDefinition(name)?.indexes ?? []).map(({ columns }) => columns.map((column) => column.name))
  }

  /** Those all of whose columns are in ascending order. */
  findAscendingIndexes({ name }: TableView): readonly (readonly string[])[] {
    const indexes = this.findDefinition(name)?.indexes ?? []
    return indexes
      .filter(({ columns }) => columns.every(({ descending }) => !descending))
      .map(({ columns }) => columns.map((column) => column.name))
  }

  /** The default of a column as a bound expression. */
  findDefault({ name }: TableView, column: string): BoundExpression | undefined {
    const definition = this.findDefinition(name)
    if (definition === undefined) return undefined
    const key = name.toLowerCase()
    const known = this.#defaults.get(key) ?? bindDefaults(definition)
    this.#defaults.set(key, known)
    return known.get(column.toLowerCase())
  }

  /** The most bytes of a value in a column that is in a key or an index. */
  keyLimit(table: TableView, column: string): number | undefined {
    return findKeyLimit(table, this.findIndexes(table), column)
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
  for (const column of rebind({ ...definition, rowFilter: undefined }, new Map()).columns) {
    if (column.default !== undefined) defaults.set(column.name.toLowerCase(), column.default.expression)
  }
  return defaults
}

function mayReadTable(
  snapshot: CatalogueSnapshot,
  scopes: ReadonlySet<string>,
  { name, view, isKept }: TableView,
): boolean {
  if (view !== undefined || isKept) return isOpenedBy(scopes, snapshot.readScopes(name))
  const scope = snapshot.findDefinition(name)?.readScope
  return scope === undefined ? hasBuiltInScope(scopes) : scopes.has(scope)
}

function isOpenedBy(scopes: ReadonlySet<string>, needed: ReadonlySet<string>): boolean {
  return needed.size === 0 ? hasBuiltInScope(scopes) : needed.isSubsetOf(scopes)
}

/** A custom right opens only what names it. */
function hasBuiltInScope(scopes: ReadonlySet<string>): boolean {
  for (const scope of scopes) if (isPlatformScope(scope)) return true
  return false
}

/** The names of the views whose definitions these scopes may see, in lower case. */
export function visibleViews(snapshot: CatalogueSnapshot, scopes: ReadonlySet<string>): string[] {
  const views = snapshot.definitions
    .filter(({ view, kept }) => view !== undefined || kept !== undefined)
    .map(({ name }) => name.toLowerCase())
  if (scopes.has(ADMIN_SCOPE)) return views
  return views.filter((name) => isOpenedBy(scopes, snapshot.readScopes(name)))
}

/**
 * The view omits every table that these scopes do not allow to read. A caller with the right to define tables still sees every definition:
 * otherwise a table whose read scope no one holds could be neither found nor fixed. Without `licensed` it serves for definitions only:
 * nothing must be read by it.
 */
export function viewFor(
  snapshot: CatalogueSnapshot,
  scopes: ReadonlySet<string>,
  licensed?: TableRights,
  copies = NO_COPIES,
): CatalogueView {
  const mayDefine = scopes.has(ADMIN_SCOPE)
  const mayRead = (table: TableView): boolean => mayReadTable(snapshot, scopes, table)
  const maySee = (table: TableView): boolean => (mayDefine && !table.isSystem) || mayRead(table)
  return {
    lookup(name) {
      const table = snapshot.table(name)
      if (table === undefined || !mayRead(table)) return undefined
      const access = licensed === undefined || table.isSystem ? undefined : licensed.find(table.name.toLowerCase())
      return access === undefined ? table : applyLicence(table, access, copies)
    },
    hidden(name) {
      const table = snapshot.table(name)
      if (table === undefined || !maySee(table) || mayRead(table)) return undefined
      return { table, missing: [...snapshot.readScopes(table.name).difference(scopes)] }
    },
    *tableNames() {
      for (const table of snapshot.tables()) if (maySee(table)) yield table.name
    },
    lookupIndex(name) {
      const found = snapshot.index(name)
      return found !== undefined && maySee(found.table) ? found : undefined
    },
    missingWriteScope(table) {
      const scope = snapshot.findDefinition(table.name)?.writeScope ?? ADMIN_SCOPE
      return scopes.has(scope) ? undefined : scope
    },
    missingDefineScope: () => (mayDefine ? undefined : ADMIN_SCOPE),
    zones: ZONE_NAMES,
    attributes: snapshot.attributes,
  }
}

/** Refuses a table whose rows cannot be read in the view. */
export function requireTable(view: CatalogueView, name: string): TableView {
  const table = view.lookup(name)
  if (table !== undefined) return table
  const hidden = view.hidden(name)
  if (hidden !== undefined)
    throw refuse('Auth.MissingScope', needsScopes(hidden), { members: { Scope: hidden.missing.join(' ') } })
  throw unknownTable(view, name)
}

/** The definition of a table, whose rows perhaps cannot be read. */
export function requireDefinition(view: CatalogueView, name: string): TableView {
  const table = definitionIn(view, name)
  if (table === undefined) throw unknownTable(view, name)
  return table
}

function unknownTable(view: CatalogueView, name: string): Refusal {
  const hint = didYouMean(name, [...view.tableNames()])
  return refuse('Data.UnknownTable', `There is no table ${JSON.stringify(name)}`, {
    members: hint === undefined ? {} : { Hint: hint },
  })
}

/** What callers with this view may do with a table whose definition is in it. One scope is needed for all writes. */
export function rightsOn(table: TableView, view: CatalogueView): readonly TableRight[] {
  const mayRead = view.hidden(table.name) === undefined
  const mayWrite = mayRead && table.isWritable && view.missingWriteScope(table) === undefined
  const mayDefine = !table.isSystem && view.missingDefineScope() === undefined
  return [
    ...(mayRead ? (['select'] as const) : []),
    ...(mayWrite ? WRITES : []),
    ...(mayDefine ? (['alter'] as const) : []),
  ]
}

export type TableRight = 'select' | 'insert' | 'update' | 'delete' | 'alter'

const WRITES = ['insert', 'update', 'delete'] as const

/** One page of the definitions in the view, by name without case. `next` is the name of the last one if there are more. */
export function pageOfTables(
  snapshot: CatalogueSnapshot,
  view: CatalogueView,
  { prefix, isSystem, after, limit }: TablePage,
): { readonly tables: readonly TableView[]; readonly next: string | undefined } {
  const start = prefix.toLowerCase()
  // Appending a NUL gives the next possible name.
  const following = after === '' ? '' : `${after.toLowerCase()}\0`
  const tables: TableView[] = []
  for (const { name } of snapshot.tablesFrom(following > start ? following : start)) {
    if (!name.toLowerCase().startsWith(start)) break
    const table = definitionIn(view, name)
    if (table === undefined || (isSystem !== undefined && table.isSystem !== isSystem)) continue
    if (tables.length >= limit) return { tables, next: tables.at(-1)?.name }
    tables.push(table)
  }
  return { tables, next: undefined }
}

export interface TablePage {
  /** The beginning of the names, without case. */
  readonly prefix: string
  /** Only system tables, or only others. */
  readonly isSystem?: boolean | undefined
  /** The name of the last table on the previous page; empty at the start. */
  readonly after: string
  readonly limit: number
}

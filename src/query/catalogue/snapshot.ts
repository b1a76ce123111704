/** The catalogue in memory: a whole that is replaced when it changes, never changed. */

import { bind } from '../iql/binder.ts'
import type { BoundExpression } from '../iql/bound-expression.ts'
import { NO_TABLES, type TableView } from '../iql/catalogue-view.ts'
import { parse, parseExpressionText } from '../iql/parser.ts'
import { createTableText } from './create-table.ts'
import type { TableDefinition } from './definition.ts'
import { SYSTEM_TABLES, type SystemTable, systemDefinitions } from './system-tables.ts'

export interface Snapshot {
  /** Differs from every other snapshot of the process; plans of another one are void. */
  readonly version: number
  /** Names match without case. */
  table(name: string): TableView | undefined
  tables(): Iterable<TableView>
  definitionOf(name: string): TableDefinition | undefined
  index(name: string): { readonly name: string; readonly table: TableView } | undefined
  /** The default of a column as a bound expression. */
  defaultOf(table: TableView, column: string): BoundExpression | undefined
}

let versions = 0

export function createSnapshot(definitions: readonly TableDefinition[]): Snapshot {
  const entries = new Map<string, { view: TableView; definition: TableDefinition }>()
  const indexes = new Map<string, { name: string; table: TableView }>()
  for (const definition of systemDefinitions()) {
    const view = viewOf(definition, SYSTEM_TABLES[definition.name])
    entries.set(definition.name.toLowerCase(), { view, definition })
  }
  // A table that was made before the service took its name for itself stays what it is.
  for (const definition of definitions) {
    const view = viewOf(definition, undefined)
    entries.set(definition.name.toLowerCase(), { view, definition })
    for (const { name } of definition.indexes) indexes.set(name.toLowerCase(), { name, table: view })
  }
  const defaults = new Map<string, ReadonlyMap<string, BoundExpression>>()
  return {
    version: ++versions,
    table: (name) => entries.get(name.toLowerCase())?.view,
    *tables() {
      for (const { view } of entries.values()) yield view
    },
    definitionOf: (name) => entries.get(name.toLowerCase())?.definition,
    index: (name) => indexes.get(name.toLowerCase()),
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

function viewOf(definition: TableDefinition, system: SystemTable | undefined): TableView {
  const uniqueIndexes = definition.indexes.filter(({ unique }) => unique)
  return {
    name: definition.name,
    columns: definition.columns.map((column) => ({
      name: column.name,
      type: column.type,
      nullable: column.nullable,
      hasDefault: column.default !== undefined,
    })),
    primaryKey: definition.primaryKey,
    uniques: [...definition.uniques, ...uniqueIndexes.map(({ columns }) => columns.map(({ name }) => name))],
    rowFilter: definition.rowFilter === undefined ? undefined : parseExpressionText(definition.rowFilter),
    isSystem: system !== undefined,
    isWritable: system?.isWritable ?? true,
  }
}

/** The binder checks and types defaults as part of a definition, so the definition is bound once more. */
function bindDefaults(definition: TableDefinition): ReadonlyMap<string, BoundExpression> {
  const defaults = new Map<string, BoundExpression>()
  if (definition.columns.every((column) => column.default === undefined)) return defaults
  const text = createTableText({ ...definition, rowFilter: undefined })
  const { statement } = bind(parse(text), text, NO_TABLES)
  if (statement.kind !== 'create-table') return defaults
  for (const column of statement.columns) {
    if (column.default !== undefined) defaults.set(column.name.toLowerCase(), column.default.expression)
  }
  return defaults
}

/** View definitions that arrive as data (the stored catalogue, the declarative file) are bound like CREATE OR REPLACE VIEW. */

import { bind, type CatalogueView, type CreateView, NO_TABLES, type Query, type TableView } from 'gatehouse-iql'
import { refuseReserved } from './create-table.ts'
import type { TableDefinition } from './definition.ts'
import { SYSTEM_TABLES } from './system-tables.ts'
import { createTableView } from './table-view.ts'

export interface ViewInput {
  readonly name: string
  /** Empty: those of the query. */
  readonly columns: readonly string[]
  readonly text: string
  /** The text, parsed. */
  readonly query: Query
}

export function bindView({ name, columns, text, query }: ViewInput, catalogue: CatalogueView): CreateView {
  const at = 0
  const written = {
    kind: 'create-view',
    orReplace: true,
    ifNotExists: false,
    name: { text: name, at },
    columns: columns.map((column) => ({ text: column, at })),
    readScope: undefined,
    comment: undefined,
    query,
    at,
  } as const
  const { statement } = bind(written, text, catalogue)
  if (statement.kind !== 'create-view') throw new Error(`Not a CREATE VIEW: ${statement.kind}`)
  return statement
}

export function toViewDefinition(
  { name, columns, text, uses }: CreateView,
  rest: Pick<TableDefinition, 'readScope' | 'description' | 'created'>,
): TableDefinition {
  refuseReserved(name)
  return {
    name,
    columns: columns.map((column) => ({ ...column, default: undefined })),
    primaryKey: [],
    uniques: [],
    indexes: [],
    writeScope: undefined,
    rowFilter: undefined,
    isLive: false,
    view: { text, uses },
    ...rest,
  }
}

/** Every table of the definitions, which are by name in lower case, with every right. */
export function unrestrictedCatalogue(definitions: ReadonlyMap<string, TableDefinition>): CatalogueView {
  const views = new Map<string, TableView>()
  return {
    ...NO_TABLES,
    lookup: (name) => {
      const key = name.toLowerCase()
      const definition = definitions.get(key)
      const known = views.get(key)
      if (definition === undefined || known !== undefined) return known
      const view = createTableView({ ...definition, rowFilter: undefined }, SYSTEM_TABLES.get(definition.name))
      views.set(key, view)
      return view
    },
  }
}

/** Views in the declarative file. They are administered with IQL: see query/catalogue. */
import type { XStatic } from 'typebox/schema'
import { closed, either, list, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { JsonObject, Known, Section } from './define-resource.ts'
import { repeated } from './names.ts'
import { NULL, scopeFaults, TABLE_NAME, TABLE_NAME_PATTERN } from './tables.ts'

export type DeclaredView = XStatic<typeof VIEW>

export interface ViewTarget {
  readonly name: string
  readonly description: string
  readonly readScope: string | null
  /** Names; empty: those of the query. */
  readonly columns: readonly string[]
  /** As IQL text. */
  readonly query: string
}

/** As it is stored: the query in canonical form, with every column. */
export interface BoundView extends ViewTarget {
  /** The types of the columns, such as `Decimal(18,4) NOT NULL`. */
  readonly types: readonly string[]
}

const VIEW = closed(['name', 'query'], {
  name: text({ pattern: TABLE_NAME }),
  description: words(),
  query: text({ minLength: 1, description: 'An IQL query without parameters, over tables and other views.' }),
  columns: list(text({ pattern: TABLE_NAME }), 'Names of the columns. Default: those of the query.'),
  read_scope: either(text({ description: 'In addition to the scopes of what the query reads. Default: none.' }), NULL),
})

export const VIEWS = {
  noun: 'view',
  section: 'views',
  key: 'name',
  foldKey: (name) => name.toLowerCase(),
  list: list(VIEW),
  patterns: [TABLE_NAME_PATTERN],
  toItem: viewTarget,
  declare: declareView,
  namedScopes: ({ readScope }) => [readScope],
  refersTo: ['scopes'],
  faults: viewFaults,
} as const satisfies Section<ViewTarget, DeclaredView>

function viewFaults(view: DeclaredView, { scopes }: Pick<Known, 'scopes'>): Fault[] {
  return [
    ...repeated('columns', view.columns, (name) => name.toLowerCase()),
    ...scopeFaults('read_scope', view.read_scope, scopes),
  ]
}

export function viewTarget(view: DeclaredView): ViewTarget {
  return {
    name: view.name,
    description: view.description ?? '',
    readScope: view.read_scope ?? null,
    columns: view.columns ?? [],
    query: view.query,
  }
}

function declareView({ name, description, query, columns, readScope }: ViewTarget): JsonObject {
  return {
    name,
    ...(description !== '' && { description }),
    query,
    ...(columns.length > 0 && { columns: [...columns] }),
    ...(readScope !== null && { read_scope: readScope }),
  }
}

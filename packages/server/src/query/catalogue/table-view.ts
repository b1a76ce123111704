/** A definition of the catalogue as the binder sees it. */

import {
  type CheckView,
  measureNesting,
  parse,
  parseExpressionText,
  type Query,
  type TableView,
  type ViewQuery,
} from 'gatehouse-iql'
import type { CheckDefinition, TableDefinition } from './definition.ts'
import type { SystemTable } from './system-tables.ts'

export function createTableView(definition: TableDefinition, system: SystemTable | undefined): TableView {
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
    ...(definition.checks === undefined ? {} : { checks: definition.checks.map(createCheckView) }),
    isSystem: system !== undefined,
    isWritable: definition.view === undefined && definition.kept === undefined && (system?.isWritable ?? true),
    isLive: definition.isLive,
    ...(definition.kept === undefined ? {} : { isKept: true }),
    view: definition.view === undefined ? undefined : createViewQuery(definition.view.text),
  }
}

function createCheckView({ name, condition }: CheckDefinition): CheckView {
  return { name, condition: parseExpressionText(condition) }
}

/** Parsed on first use: most views of a catalogue are not used between two changes of it. */
function createViewQuery(text: string): ViewQuery {
  let parsed: { readonly query: Query; readonly nesting: number } | undefined
  const parsedText = () => {
    if (parsed === undefined) {
      const query = parseView(text)
      parsed = { query, nesting: measureNesting(query) }
    }
    return parsed
  }
  return {
    text,
    get query() {
      return parsedText().query
    },
    get nesting() {
      return parsedText().nesting
    },
  }
}

export function parseView(text: string): Query {
  const query = parse(text)
  if (query.kind !== 'query') throw new Error(`The text of a view is not a query: ${query.kind}`)
  return query
}

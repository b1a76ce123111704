/** What a statement demands of the sign-in of its caller (RFC 9470). */
import type { Bound, BoundStatement, TableView } from 'gatehouse-iql'
import { type StepUpNeed, strictest } from 'gatehouse-protocol'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import { writeNeed } from '../catalogue/step-up.ts'

/** Everything that a statement needs at once, from all tables that it reads, writes or changes. */
export function statementNeed({ statement, tables }: Bound, snapshot: CatalogueSnapshot): StepUpNeed | undefined {
  if (!snapshot.hasStepUp) return undefined
  // Whether a check can be added depends on the rows.
  const readTables = statement.kind === 'add-check' ? [...tables, statement.table] : tables
  const read = readTables.map(({ name }) => snapshot.readNeed(name))
  const written = writtenBy(statement)
  const definition = written && snapshot.findDefinition(written.name)
  return [...read, definition && writeNeed(definition)].reduce(strictest, undefined)
}

/** The table that is written to, or whose definition changes. */
function writtenBy(statement: BoundStatement): TableView | undefined {
  switch (statement.kind) {
    case 'insert':
    case 'update':
    case 'delete':
    case 'add-column':
    case 'drop-column':
    case 'add-check':
    case 'drop-check':
    case 'rename-column':
    case 'set-rights':
    case 'drop-table':
    case 'create-index':
      return statement.table
    case 'drop-index':
      return statement.index?.table
    case 'drop-kept-view':
      return statement.view
    case 'explain':
      return writtenBy(statement.statement)
    case 'explain-retention':
      return writtenBy(statement.change)
    // Named one by one: a new kind of statement does not compile until it is decided here. What they read counts by `tables`.
    case 'query':
    case 'create-table':
    case 'create-view':
    case 'drop-view':
    case 'create-kept-view':
    case 'refresh-view':
    case 'explain-live':
    case 'describe':
    case 'show-tables':
      return undefined
  }
}

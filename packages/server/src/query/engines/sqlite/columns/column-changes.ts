/** Column segments follow the definitions of their tables. */
import type { Database } from 'better-sqlite3'
import type { CatalogueChange, TableDefinition } from '../../../catalogue/definition.ts'
import { refuse } from '../../../errors.ts'
import { rowId } from '../dialect/row-id.ts'
import { addTable, listTables, prepareSegmentTables, removeTable } from './segment-tables.ts'
import { createTriggers, dropTriggers, triggerCheck } from './segment-triggers.ts'

/** In a transaction, before a change of the catalogue. */
export function beforeChange(database: Database, change: CatalogueChange): void {
  if (change.kind === 'drop' && !change.isView) dropColumns(database, change.name)
  if (change.kind === 'alter' && change.from.isColumnar && judgeEffect(change) !== 'none')
    dropTriggers(database, change.name)
}

/** In the same transaction, after it. */
export function afterChange(database: Database, change: CatalogueChange): void {
  if (change.kind === 'drop') return
  const { table } = change
  const effect = change.kind === 'create' ? 'anew' : judgeEffect(change)
  if (effect === 'none') return
  if (change.kind === 'alter' && change.from.isColumnar && effect === 'anew') dropColumns(database, table.name)
  if (!table.isColumnar) return
  if (effect === 'anew') createColumns(database, table)
  else createTriggers(database, table)
}

/** What an alteration means for the segments: none, other triggers, or that they begin anew. */
function judgeEffect({ from, table, step }: Extract<CatalogueChange, { kind: 'alter' }>): 'none' | 'triggers' | 'anew' {
  switch (step.kind) {
    case 'replace-view':
      return 'none'
    case 'rights':
      return (from.isColumnar ?? false) === (table.isColumnar ?? false) ? 'none' : 'anew'
    case 'create-index':
    case 'drop-index':
      return 'triggers'
    case 'add-column':
    case 'drop-column':
    case 'rename-column':
      return 'anew'
  }
}

function createColumns(database: Database, table: TableDefinition): void {
  if (rowId(table.columns.map(({ name }) => name)) === undefined) {
    throw refuse('Data.NotColumnar', `${table.name} cannot have columns = on`, {
      members: {
        Hint: 'its columns use all three names of the row number, rowid, _rowid_ and oid: rename one of them',
      },
    })
  }
  addTable(database, table)
  createTriggers(database, table)
}

function dropColumns(database: Database, name: string): void {
  dropTriggers(database, name)
  removeTable(database, name)
}

/** In a transaction, when the database is opened. An earlier version may have changed tables since. */
export function prepareColumns(database: Database, tables: readonly TableDefinition[]): void {
  prepareSegmentTables(database)
  const known = new Set(listTables(database))
  const hasTriggers = triggerCheck(database)
  const wanted = tables.filter(({ isColumnar }) => isColumnar)
  for (const table of wanted)
    if (!known.delete(table.name.toLowerCase()) || !hasTriggers(table)) createColumns(database, table)
  for (const name of known) dropColumns(database, name)
}

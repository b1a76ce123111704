/** The copies of delayed tables on SQLite follow the definitions of their tables. */
import type { Database } from 'better-sqlite3'
import type { CatalogueChange, TableDefinition } from '../../../catalogue/definition.ts'
import { createIndex, createTable, dropIndex, type TableDialect } from '../../catalogue-sql.ts'
import { logName } from '../../change-log.ts'
import { COPIES, type Copy, listCopies, toCopyChange } from '../../delayed-copies.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { createLog, dropLog } from '../live/change-log.ts'

/** In the transaction of a change of the catalogue, after it. */
export function changeCopies(
  database: Database,
  change: CatalogueChange,
  before: TableDefinition | undefined,
  dialect: TableDialect,
): void {
  const { drop, create, indexed } = toCopyChange(change, before)
  for (const { definition } of drop) dropCopy(database, definition.name)
  for (const copy of create) {
    createCopy(database, copy, dialect)
    createLog(database, copy.definition)
    // The copy of a new table is what that was before: empty.
    begin(database, copy, change.kind === 'create')
  }
  for (const [{ definition: old }, { definition }] of indexed) {
    for (const { name } of old.indexes) database.exec(dropIndex(name, dialect))
    for (const index of definition.indexes) database.exec(createIndex(definition.name, index, dialect).sql)
  }
}

function createCopy(database: Database, { definition }: Copy, dialect: TableDialect): void {
  database.exec(createTable(definition, dialect))
  for (const index of definition.indexes) database.exec(createIndex(definition.name, index, dialect).sql)
}

function dropCopy(database: Database, name: string): void {
  dropLog(database, name)
  database.exec(`DROP TABLE IF EXISTS main.${SQLITE.identifier(name)}`)
  database.prepare(`DELETE FROM main.${COPIES} WHERE name = ?`).run(name)
}

/** It gets its rows from now on. */
function begin(database: Database, { definition, base, delay }: Copy, isWhole: boolean): void {
  database
    .prepare(
      `INSERT OR REPLACE INTO main.${COPIES} (name, base, delay, phase, position, filled, asof)
       VALUES (?, ?, ?, ?, (SELECT CAST(max(seq) AS TEXT) FROM main.${logName(base.name)}), NULL, NULL)`,
    )
    .run(definition.name, base.name.toLowerCase(), delay, isWhole ? 'open' : 'filling')
}

/** In a transaction, when the database is opened, before logs are prepared: those of copies too. */
export function prepareCopies(database: Database, tables: readonly TableDefinition[], dialect: TableDialect): void {
  const wanted = new Map(listCopies(tables).map((copy) => [copy.definition.name, copy]))
  const stored = database.prepare<[], string>(`SELECT name FROM main.${COPIES}`).pluck(true).all()
  for (const name of stored) if (!wanted.has(name)) dropCopy(database, name)
  for (const [name, copy] of wanted) {
    if (stored.includes(name) && hasForm(database, copy)) continue
    dropCopy(database, name)
    createCopy(database, copy, dialect)
  }
}

function hasForm(database: Database, { definition }: Copy): boolean {
  const names = database.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck(true)
  return names.all(definition.name).join('\n') === definition.columns.map(({ name }) => name).join('\n')
}

/** After that: copies of a table whose log begins anew do so too. */
export function beginCopies(
  database: Database,
  tables: readonly TableDefinition[],
  renewed: ReadonlySet<string>,
): void {
  const stored = new Set(database.prepare<[], string>(`SELECT name FROM main.${COPIES}`).pluck(true).all())
  for (const copy of listCopies(tables)) {
    const { name } = copy.definition
    if (stored.has(name) && !renewed.has(copy.base.name.toLowerCase())) continue
    database.exec(`DELETE FROM main.${SQLITE.identifier(name)}`)
    begin(database, copy, false)
  }
}

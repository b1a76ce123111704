/** A SQLite data folder that data is moved to: each file records the progress of its tables. */
import type { Database, Statement } from 'better-sqlite3'
import { SQLITE_STORAGE } from '../query/storage.ts'
import { openDatabase } from '../store/database/database.ts'
import { databaseFile, namesIn, PARTS, qualifiedName, readRows } from './sqlite-rows.ts'
import { type MovedTable, type Part, type Progress, type Target, tableLabel } from './table.ts'
import { PROGRESS } from './tables.ts'

/** The file of identity data has the mark of the move already. */
export function openSqliteTarget(dataFolder: string): Target {
  const files = new Map<Part, Database>()
  let insert: { readonly table: MovedTable; readonly statement: Statement } | undefined
  const opened = (part: Part): Database => {
    const database = files.get(part) ?? SQLITE_STORAGE.openForWriting(databaseFile(dataFolder, part))
    // A commit that a power failure undoes takes its record of the progress with it.
    if (!files.has(part)) database.pragma('synchronous = NORMAL')
    files.set(part, database)
    return database
  }
  const note = (table: MovedTable, rows: number | undefined, state: Progress['state']): void => {
    const set = `INSERT INTO main.${PROGRESS} (name, "rows", state) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET "rows" = coalesce(?, "rows"), state = excluded.state`
    opened(table.part)
      .prepare(set)
      .run(tableLabel(table), rows ?? 0, state, rows ?? null)
  }
  const inTransaction = (part: Part, work: () => void): void => opened(part).transaction(work).immediate()
  return {
    location: dataFolder,
    rows: (table, order, offset) => readRows(opened(table.part), table, order, offset),
    async prepare(hasQuery) {
      await (await openDatabase({ dataFolder, url: '' })).close()
      for (const part of hasQuery ? PARTS : PARTS.slice(0, 1)) {
        if (namesIn(opened(part)).includes(PROGRESS)) continue
        if (part === 'query') SQLITE_STORAGE.prepare(opened(part))
        opened(part).exec(
          `CREATE TABLE main.${PROGRESS} (name TEXT PRIMARY KEY, "rows" INTEGER NOT NULL, state TEXT NOT NULL)`,
        )
      }
    },
    async progress() {
      const rows = [...files.values()].flatMap((database) =>
        database.prepare<[], Progress & { name: string }>(`SELECT name, "rows", state FROM main.${PROGRESS}`).all(),
      )
      return new Map(rows.map(({ name, ...progress }) => [name, progress]))
    },
    async begin(table) {
      const { definition } = table
      inTransaction(table.part, () => {
        opened(table.part).exec(
          definition === undefined ? `DELETE FROM ${qualifiedName(table)}` : SQLITE_STORAGE.createTable(definition),
        )
        note(table, 0, 'copying')
      })
    },
    async append(table, rows, total) {
      if (insert?.table !== table) insert = { table, statement: insertInto(opened(table.part), table) }
      const { statement } = insert
      inTransaction(table.part, () => {
        for (const row of rows) statement.run(row)
        note(table, total, 'copying')
      })
    },
    async copied(table) {
      inTransaction(table.part, () => {
        const { definition } = table
        if (definition !== undefined)
          for (const statement of SQLITE_STORAGE.createIndexes(definition)) opened(table.part).exec(statement)
        note(table, undefined, 'copied')
      })
    },
    async verified(table) {
      note(table, undefined, 'verified')
    },
    async finish(_tables, lastEvent) {
      inTransaction('identity', () => {
        opened('identity').exec(`DELETE FROM sqlite_sequence WHERE name = 'events'`)
        opened('identity').prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)`).run(lastEvent)
      })
      for (const database of files.values()) {
        database.exec(`DROP TABLE main.${PROGRESS}`)
        // The next commit syncs all before it.
        database.pragma('synchronous = FULL')
        database.pragma('wal_checkpoint(TRUNCATE)')
      }
    },
    async close() {
      for (const database of files.values()) database.close()
    },
  }
}

function insertInto(database: Database, table: MovedTable): Statement {
  const names = table.columns.map(({ name }) => SQLITE_STORAGE.identifier(name))
  return database.prepare(
    `INSERT INTO ${qualifiedName(table)} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  )
}

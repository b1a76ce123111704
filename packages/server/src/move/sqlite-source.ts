/** A SQLite data folder that is moved: two files, which are only read. */
import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import Sqlite, { type Database } from 'better-sqlite3'
import { longestValue, SQLITE_STORAGE } from '../query/storage.ts'
import { databaseFile, namesIn, PARTS, readRows, select, valueLength } from './sqlite-rows.ts'
import {
  type MovedTable,
  nameRow,
  type Part,
  type Row,
  type Source,
  showValue,
  tableLabel,
  type Value,
} from './table.ts'
import { type FindColumns, identityTables, isLeftOut, queryTables } from './tables.ts'
import { problemFinder } from './values.ts'

/** For another program that holds a lock. */
const BUSY_MS = 5000

type Files = ReadonlyMap<Part, Database>

export function openSqliteSource(dataFolder: string): Source {
  const files = openFiles(dataFolder, (file) => {
    const database = new Sqlite(file, { readonly: true, timeout: BUSY_MS })
    // One state of the file for everything that is read.
    database.exec('BEGIN')
    return database
  })
  const held: Database[] = []
  return {
    location: dataFolder,
    rows: (table, order, offset) => readRows(fileIn(files, table.part), table, order, offset),
    async tables() {
      const find = finder(files)
      const query = files.get('query')
      const definitions = query === undefined ? [] : SQLITE_STORAGE.readDefinitions(query)
      return [...(await identityTables(find)), ...(await queryTables(definitions, find))]
    },
    async foreignTables(tables) {
      const known = new Set(tables.map(tableLabel))
      return [...files].flatMap(([part, database]) =>
        namesIn(database)
          .filter((name) => !isLeftOut(part, name) && !known.has(tableLabel({ part, name })))
          .map((name) => `${part}.db: ${name}`),
      )
    },
    async lastEvent() {
      const last = fileIn(files, 'identity').prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`)
      return Number(last.pluck().get() ?? 0)
    },
    unmovable: (table, limit) => unmovable(fileIn(files, table.part), table, limit),
    async hold() {
      for (const part of files.keys()) {
        const database = new Sqlite(databaseFile(dataFolder, part), { timeout: BUSY_MS })
        held.push(database)
        database.exec('BEGIN IMMEDIATE')
      }
      // What was written before the lock is to be seen.
      for (const database of files.values()) database.exec('COMMIT; BEGIN')
    },
    async close() {
      for (const database of [...files.values(), ...held]) database.close()
    },
  }
}

function openFiles(dataFolder: string, open: (file: string) => Database): Files {
  const existing = PARTS.filter((part) => existsSync(databaseFile(dataFolder, part)))
  return new Map(existing.map((part) => [part, open(databaseFile(dataFolder, part))]))
}

function fileIn(files: Files, part: Part): Database {
  const database = files.get(part)
  if (database === undefined) throw new Error(`${part}.db is missing`)
  return database
}

function finder(files: Files): FindColumns {
  return async (part, table) => {
    const info = files
      .get(part)
      ?.prepare<[string], { name: string; type: string; notnull: number; pk: number }>(
        'SELECT name, type, "notnull", pk FROM pragma_table_info(?)',
      )
      .all(table)
    return (info ?? []).map(({ name, type, notnull, pk }) => ({
      name,
      isText: type.toLowerCase() === 'text',
      nullable: notnull === 0 && pk === 0,
      key: pk,
    }))
  }
}

async function unmovable(database: Database, table: MovedTable, limit: number): Promise<readonly string[]> {
  const checks = table.columns.map(({ name, type }) => ({
    name,
    findProblem: problemFinder(type),
    longest: longestIn(table, name),
  }))
  const found: string[] = []
  /** Columns with the character that stands for bytes that are not UTF-8. */
  const suspicious = new Set<string>()
  for await (const rows of readRows(database, table, 'stored', 0)) {
    for (const row of rows)
      for (const [index, { name, findProblem, longest }] of checks.entries()) {
        const value = row[index] ?? null
        if (value === null) continue
        const problem = findProblem(value) ?? problemOfLength(value, longest)
        if (problem !== undefined) found.push(describe(table, row, name, problem))
        if (found.length >= limit) return found
        if (typeof value === 'string' && value.includes('\ufffd')) suspicious.add(name)
      }
  }
  for (const name of suspicious) found.push(...invalidUtf8(database, table, name))
  return found.slice(0, limit)
}

/** Callers cannot write longer ones today, but an earlier version could. */
function longestIn({ definition }: MovedTable, column: string): number {
  return definition === undefined ? Number.POSITIVE_INFINITY : longestValue(definition, column)
}

function problemOfLength(value: Value, longest: number): string | undefined {
  const bytes = typeof value === 'string' ? Buffer.byteLength(value) : valueLength(value)
  return bytes > longest ? `has ${bytes} bytes, and ${longest} are the most in a key or an index` : undefined
}

function invalidUtf8(database: Database, table: MovedTable, column: string): string[] {
  database.function('gh_move_is_text', { directOnly: true }, (bytes: unknown) =>
    bytes instanceof Uint8Array && !isUtf8(bytes) ? 0 : 1,
  )
  const value = SQLITE_STORAGE.identifier(column)
  const rows = select(database, table, `WHERE gh_move_is_text(CAST(${value} AS BLOB)) = 0`).all()
  return rows.map((row) =>
    describe(table, row, column, 'contains bytes that are not UTF-8, such as half of a surrogate pair'),
  )
}

function describe(table: MovedTable, row: Row, column: string, problem: string): string {
  const value = row[table.columns.findIndex(({ name }) => name === column)] ?? null
  return `${tableLabel(table)} (${nameRow(table, row)}): ${column} ${problem}: ${showValue(value)}`
}

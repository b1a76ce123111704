/** The triggers and the state of retention follow the definitions of their tables. */
import type { Database } from 'better-sqlite3'
import type { CatalogueChange, TableDefinition } from '../../../catalogue/definition.ts'
import {
  followsTable,
  isGuarded,
  type KnownState,
  nextState,
  RETENTION,
  type StoredRetention,
} from '../../retention.ts'
import { createTriggers, dropTriggers, MODE, triggerCheck } from './retention-triggers.ts'

/** In a transaction, before a change of the catalogue. */
export function beforeChange(database: Database, change: CatalogueChange): void {
  if (change.kind === 'drop') {
    database.prepare(`DELETE FROM main.${RETENTION} WHERE name = ?`).run(change.name.toLowerCase())
    return
  }
  if (change.kind === 'alter' && isGuarded(change.from)) dropTriggers(database, change.name)
}

/** In the same transaction, after it. */
export function afterChange(database: Database, change: CatalogueChange): void {
  if (change.kind === 'drop') return
  createTriggers(database, change.table)
  if (change.kind === 'alter' && change.step.kind === 'rename-column') {
    const { column, to } = change.step
    database
      .prepare(`UPDATE main.${RETENTION} SET time_column = ? WHERE name = ? AND time_column = ?`)
      .run(to, change.name.toLowerCase(), column)
    return
  }
  const before = change.kind === 'alter' ? change.from : undefined
  if (JSON.stringify(pick(before)) === JSON.stringify(pick(change.table))) return
  const now = database
    .prepare<[], bigint>(`SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER)`)
    .pluck()
    .safeIntegers(true)
    .get()
  storeState(database, change.table, now)
}

function pick(table: TableDefinition | undefined): unknown {
  return [table?.retention?.time, table?.retention?.on, table?.isHeld ?? false]
}

/** Undefined: the horizon stays where it is. */
function storeState(database: Database, table: TableDefinition, now: bigint | undefined): void {
  const name = table.name.toLowerCase()
  const stored = database
    .prepare<[string], StoredRetention>(
      `SELECT time, time_column AS "timeColumn", horizon, settling, cut FROM main.${RETENTION} WHERE name = ?`,
    )
    .safeIntegers(true)
    .get(name)
  const next = nextState(table, stored, now)
  if (next === undefined) {
    database.prepare(`DELETE FROM main.${RETENTION} WHERE name = ?`).run(name)
    return
  }
  const { time, timeColumn, horizon, settling, cut } = next
  database
    .prepare(
      `INSERT INTO main.${RETENTION} (name, time, time_column, held, horizon, settling, cut, requested, done, removed)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0)
       ON CONFLICT (name) DO UPDATE SET time = excluded.time, time_column = excluded.time_column, held = excluded.held, horizon = excluded.horizon,
         settling = excluded.settling, cut = excluded.cut`,
    )
    .run(name, time, timeColumn, table.isHeld ? 1 : 0, horizon, settling, cut)
}

/** In a transaction, when the database is opened. An earlier version may have changed tables since, and a moved table has no triggers. */
export function prepareRetention(database: Database, tables: readonly TableDefinition[]): void {
  database.exec(`CREATE TABLE IF NOT EXISTS main.${MODE} (id INTEGER PRIMARY KEY, replaces INTEGER NOT NULL)`)
  database.exec(`INSERT OR IGNORE INTO main.${MODE} (id, replaces) VALUES (1, 0)`)
  const hasTriggers = triggerCheck(database)
  const known = database
    .prepare<[], KnownState>(`SELECT name, time, time_column AS "timeColumn", held FROM main.${RETENTION}`)
    .all()
  const states = new Map(known.map((state) => [state.name, state]))
  for (const table of tables.filter(isGuarded)) {
    if (!hasTriggers(table)) {
      dropTriggers(database, table.name)
      createTriggers(database, table)
    }
    const state = states.get(table.name.toLowerCase())
    if (state === undefined || !followsTable(state, table)) storeState(database, table, undefined)
  }
}

/** In microseconds since the epoch; undefined if the database cannot say it now. */
export function readHorizon(database: Database, table: string): bigint | undefined {
  try {
    const find = `SELECT horizon FROM main.${RETENTION} WHERE name = ?`
    const [horizon] = database
      .prepare<[string], bigint | null>(find)
      .pluck()
      .safeIntegers(true)
      .all(table.toLowerCase())
    return horizon ?? undefined
  } catch {
    return undefined
  }
}

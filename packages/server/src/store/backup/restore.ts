/** Restores a data folder, and the PostgreSQL database if there was one, from a backup. Never overwrites existing data. */
import { randomBytes } from 'node:crypto'
import { chmod, copyFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { removeOnSignal } from '../../lib/remove-on-signal.ts'
import { createFolder, MARK } from '../database/data-folder.ts'
import type { DataLocation } from '../database/database.ts'
import { findMasterKey } from '../keys/master-key.ts'
import { BadBackup, checkSeal, type Manifest, readBackup } from './manifest.ts'
import { LAYOUT_FILE } from './postgres-dump.ts'
import { loadPostgres } from './postgres-load.ts'
import { DELIVERIES, dropWaiting } from './restored-deliveries.ts'
import { checkSqlite } from './sqlite-copy.ts'

export interface RestoreOptions {
  /** If absent, the master key in the backup is used, if there is one. */
  readonly masterKey: Buffer | undefined
  /** Whether a seal that is missing or does not match is accepted. */
  readonly isUnsealed: boolean
  /** Writes to the restored database that it was restored. If that fails, nothing is left; on PostgreSQL all is there by then. */
  readonly record: (manifest: Manifest) => Promise<void>
}

export async function restoreBackup(
  folder: string,
  location: DataLocation,
  { masterKey, isUnsealed, record }: RestoreOptions,
): Promise<Manifest> {
  const manifest = await readBackup(folder)
  if (!isUnsealed) checkSeal(manifest, findMasterKey(folder, masterKey), folder)
  refuseOtherEngine(manifest, location)
  await openEmptyFolder(location.dataFolder)
  // The marker last: no server starts on a folder without it.
  const files = manifest.files
    .filter(({ name }) => name !== LAYOUT_FILE && !name.endsWith('.ndjson.gz'))
    .sort((one, other) => Number(one.name === MARK) - Number(other.name === MARK))
  const paths = restoredPaths(
    location.dataFolder,
    files.map(({ name }) => name),
  )
  const forget = removeOnSignal(paths)
  try {
    for (const { name, rows } of files) {
      // Last: a commit there cannot be undone if a file then fails.
      if (name === MARK) await (manifest.engine === 'postgres' ? loadPostgres(location, folder) : record(manifest))
      await copyFile(join(folder, name), join(location.dataFolder, name))
      await chmod(join(location.dataFolder, name), 0o600)
      if (name.endsWith('.db') && finishDatabase(location.dataFolder, name) !== rows)
        throw new BadBackup(`${name} does not have the ${rows} rows that the backup lists`)
    }
  } catch (error) {
    for (const path of paths) await rm(path, { force: true })
    throw error
  } finally {
    forget()
  }
  if (manifest.engine === 'postgres') await record(manifest)
  return manifest
}

/** What a restore of these files writes, with what SQLite has beside a database. */
export function restoredPaths(dataFolder: string, names: readonly string[]): readonly string[] {
  const all = names.flatMap((name) =>
    name.endsWith('.db') ? [name, `${name}-journal`, `${name}-wal`, `${name}-shm`] : [name],
  )
  return all.map((name) => join(dataFolder, name))
}

/** Creates the folder if there is none. */
export async function openEmptyFolder(dataFolder: string): Promise<void> {
  await refuseOccupied(dataFolder)
  createFolder(dataFolder)
}

/** Checks a database of the data folder, and takes out what must not come back. Returns the number of rows that it had. */
export function finishDatabase(dataFolder: string, name: string): number {
  const file = join(dataFolder, name)
  const rows = checkSqlite(file)
  const removal = REMOVALS.get(name)
  if (removal === undefined) return rows
  const database = new SqliteDatabase(file)
  try {
    // A backup of an earlier version may not have the table, nor one of a moment at which the database was just created.
    const has = database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(removal.table)
    if (has !== undefined) database.prepare(removal.statement).run(...removal.parameters())
  } finally {
    database.close()
  }
  return rows
}

interface Removal {
  readonly table: string
  readonly statement: string
  readonly parameters: () => readonly unknown[]
}

/** What must not come back, by database. */
const REMOVALS: ReadonlyMap<string, Removal> = new Map([
  [
    // Messages after the backup are lost, and their numbers will be given again: positions from before must not be taken for later ones. The
    // epoch is the same for a feed and for what readers with a delay see of it.
    'feeds.db',
    {
      table: 'feeds',
      statement: 'update feeds set epoch = ?',
      parameters: (): readonly unknown[] => [randomBytes(6).toString('hex')],
    },
  ],
  // What waited then was sent or given up since, and its links may be void.
  ['identity.db', { table: 'mail_queue', statement: 'delete from mail_queue', parameters: () => [] }],
  // What alerts had still to deliver was delivered since, or is out of date.
  ['query.db', { table: DELIVERIES, statement: dropWaiting(DELIVERIES, '?'), parameters: () => [Date.now()] }],
])

function refuseOtherEngine(manifest: Manifest, location: DataLocation): void {
  if (manifest.engine === 'postgres' && location.url === '')
    throw new BadBackup(
      'This is a backup of a PostgreSQL database: set GATEHOUSE_DATABASE_URL to the database to restore into',
    )
  if (manifest.engine === 'sqlite' && location.url !== '')
    throw new BadBackup('This is a backup of SQLite databases: unset GATEHOUSE_DATABASE_URL to restore it')
}

async function refuseOccupied(dataFolder: string): Promise<void> {
  const entries = await readdir(dataFolder).catch(() => [])
  // Temporary files are not data: an interrupted start may have left one.
  if (entries.some((name) => !name.endsWith('.tmp')))
    throw new BadBackup(
      `The data folder ${dataFolder} is not empty: move it away, or set GATEHOUSE_DATA to another folder`,
    )
}

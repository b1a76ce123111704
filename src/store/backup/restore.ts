/** Restores a data folder, and the PostgreSQL database if there was one, from a backup. Never overwrites existing data. */
import { chmod, copyFile, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { MARK } from '../data-folder.ts'
import type { DataLocation } from './backup.ts'
import { BadBackup, type Manifest, readBackup } from './manifest.ts'
import { LAYOUT_FILE } from './postgres-dump.ts'
import { loadPostgres } from './postgres-load.ts'
import { checkSqlite } from './sqlite-copy.ts'

export async function restoreBackup(folder: string, location: DataLocation): Promise<Manifest> {
  const manifest = await readBackup(folder)
  refuseOtherEngine(manifest, location)
  await refuseOccupied(location.dataFolder)
  await mkdir(location.dataFolder, { recursive: true, mode: 0o700 })
  // The marker last: no server starts on a folder without it.
  const files = manifest.files
    .filter(({ name }) => name !== LAYOUT_FILE && !name.endsWith('.ndjson.gz'))
    .sort((one, other) => Number(one.name === MARK) - Number(other.name === MARK))
  try {
    if (manifest.engine === 'postgres') await loadPostgres(location.url, folder)
    for (const { name, rows } of files) {
      await copyFile(join(folder, name), join(location.dataFolder, name))
      await chmod(join(location.dataFolder, name), 0o600)
      if (name.endsWith('.db') && checkSqlite(join(location.dataFolder, name)) !== rows)
        throw new BadBackup(`${name} does not have the ${rows} rows that the backup lists`)
    }
  } catch (error) {
    for (const { name } of files) await rm(join(location.dataFolder, name), { force: true })
    throw error
  }
  return manifest
}

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
  if (entries.length > 0)
    throw new BadBackup(
      `The data folder ${dataFolder} is not empty: move it away, or set GATEHOUSE_DATA to another folder`,
    )
}

/** Makes a data folder, and a PostgreSQL database where there was one, out of a backup; never over something that is there. */
import { chmod, copyFile, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { MARK } from '../data-folder.ts'
import type { Place } from './backup.ts'
import { BadBackup, type Manifest, readBackup } from './manifest.ts'
import { LAYOUT_FILE } from './postgres-dump.ts'
import { loadPostgres } from './postgres-load.ts'
import { checkSqlite } from './sqlite-copy.ts'

export async function restoreBackup(folder: string, place: Place): Promise<Manifest> {
  const manifest = await readBackup(folder)
  refuseOtherEngine(manifest, place)
  await refuseOccupied(place.dataFolder)
  await mkdir(place.dataFolder, { recursive: true, mode: 0o700 })
  // The mark last: until then the folder counts as unfinished, and no server starts on it.
  const files = manifest.files
    .filter(({ name }) => name !== LAYOUT_FILE && !name.endsWith('.ndjson.gz'))
    .sort((one, other) => Number(one.name === MARK) - Number(other.name === MARK))
  try {
    if (manifest.engine === 'postgres') await loadPostgres(place.url, folder)
    for (const { name, rows } of files) {
      await copyFile(join(folder, name), join(place.dataFolder, name))
      await chmod(join(place.dataFolder, name), 0o600)
      if (name.endsWith('.db') && checkSqlite(join(place.dataFolder, name)) !== rows)
        throw new BadBackup(`${name} does not hold the ${rows} rows that the backup names`)
    }
  } catch (error) {
    for (const { name } of files) await rm(join(place.dataFolder, name), { force: true })
    throw error
  }
  return manifest
}

function refuseOtherEngine(manifest: Manifest, place: Place): void {
  if (manifest.engine === 'postgres' && place.url === '')
    throw new BadBackup('This backup is of a PostgreSQL database: say with GATEHOUSE_DATABASE_URL where to put it')
  if (manifest.engine === 'sqlite' && place.url !== '')
    throw new BadBackup('This backup is of SQLite databases: take away GATEHOUSE_DATABASE_URL to restore it')
}

async function refuseOccupied(dataFolder: string): Promise<void> {
  const entries = await readdir(dataFolder).catch(() => [])
  if (entries.length > 0)
    throw new BadBackup(`The data folder ${dataFolder} is not empty: move it away, or name another with GATEHOUSE_DATA`)
}

/** Takes a backup of a running Gatehouse: both databases as they were at one instant each, and the keys that open them. */
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { VERSION } from '../../protocol/version.ts'
import { type BackupFile, BadBackup, describeFile, type Manifest, readBackup, writeManifest } from './manifest.ts'
import { dumpPostgres } from './postgres-dump.ts'
import { copySqlite } from './sqlite-copy.ts'

export interface Place {
  readonly dataFolder: string
  /** Empty for SQLite. */
  readonly url: string
}

/** Everything goes into a folder beside the target, which gets its name only when it is whole and verified. */
export async function takeBackup(place: Place, target: string): Promise<Manifest> {
  const finished = resolve(target)
  const unfinished = join(dirname(finished), `.${basename(finished)}.unfinished`)
  await mkdir(dirname(finished), { recursive: true })
  if (await exists(finished)) throw new BadBackup(`${finished} is already there: name a folder that is not`)
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { mode: 0o700 })
  try {
    const taken = new Date().toISOString()
    const files = [...(await copyDataFolder(place.dataFolder, unfinished))]
    if (place.url !== '') files.push(...(await dumpPostgres(place.url, unfinished)))
    const engine = place.url === '' ? 'sqlite' : 'postgres'
    await writeManifest(unfinished, { format: 1, version: VERSION, engine, taken, files })
    const manifest = await readBackup(unfinished)
    await rename(unfinished, finished)
    return manifest
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
}

/** Databases through SQLite itself; small files (keys, the mark) as they are; logs and temporary files not at all. */
async function copyDataFolder(from: string, to: string): Promise<BackupFile[]> {
  const files: BackupFile[] = []
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (!entry.isFile() || /(-wal|-shm|-journal|\.tmp|\.lock|\.pid|\.sock)$/.test(entry.name)) continue
    const rows = entry.name.endsWith('.db') ? await copySqlite(join(from, entry.name), join(to, entry.name)) : undefined
    if (rows === undefined) await copyFile(join(from, entry.name), join(to, entry.name))
    files.push(await describeFile(to, entry.name, rows))
  }
  return files
}

async function exists(folder: string): Promise<boolean> {
  return await readdir(folder).then(
    () => true,
    () => false,
  )
}

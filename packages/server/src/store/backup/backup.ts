/** Backs up a running Gatehouse: a consistent snapshot of each database, and the keys in the data folder. */
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { VERSION } from 'gatehouse-protocol'
import { removeOnSignal } from '../../lib/remove-on-signal.ts'
import { isRunning, nodeName } from '../cluster/nodes.ts'
import type { DataLocation } from '../database/database.ts'
import type { MasterKey } from '../keys/master-key.ts'
import { type BackupFile, BadBackup, describeFile, type Manifest, readBackup, seal, writeManifest } from './manifest.ts'
import { dumpPostgres } from './postgres-dump.ts'
import { copySqlite } from './sqlite-copy.ts'

/** Writes to a temporary folder in the same place as the target, and renames it when it is complete and verified. */
export async function takeBackup(location: DataLocation, target: string, masterKey: MasterKey): Promise<Manifest> {
  const finished = resolve(target)
  const parent = dirname(finished)
  await mkdir(parent, { recursive: true })
  if (existsSync(finished)) throw new BadBackup(`${finished} exists already: name a new folder`)
  await removeAbandoned(parent)
  const unfinished = join(parent, unfinishedName(basename(finished)))
  const forget = removeOnSignal([unfinished])
  try {
    await mkdir(unfinished, { mode: 0o700 })
    const taken = new Date().toISOString()
    const files = [...(await copyDataFolder(location.dataFolder, unfinished))]
    if (location.url !== '') files.push(...(await dumpPostgres(location, unfinished)))
    const engine = location.url === '' ? 'sqlite' : 'postgres'
    const described = { format: 1, version: VERSION, engine, taken, files, folder: basename(finished) } as const
    await writeManifest(unfinished, seal(described, masterKey))
    const manifest = await readBackup(unfinished)
    await rename(unfinished, finished)
    return manifest
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  } finally {
    forget()
  }
}

/** What backups left behind that were killed in a way that no program can handle. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const entry of await readdir(parent)) {
    const owner = /^\..*\.([\w-]+)\.unfinished$/.exec(entry)?.[1]
    if (owner !== undefined && isAbandoned(Buffer.from(owner, 'base64url').toString()))
      await rm(join(parent, entry), { recursive: true, force: true })
  }
}

/** Of a folder that this process is still writing, or removing. */
export function unfinishedName(name: string): string {
  return `.${name}.${Buffer.from(nodeName()).toString('base64url')}.unfinished`
}

/** A backup of another machine may still be running, if the folder is shared. */
function isAbandoned(owner: string): boolean {
  return owner.startsWith(`${hostname()}:`) && !isRunning(owner)
}

/** Copies databases by the SQLite backup API and other files (keys, the marker) as they are; skips logs and temporary files. */
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

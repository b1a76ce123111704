/** Deletes the oldest backups of an installation from the folder that contains them. */
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { MasterKey } from '../keys/master-key.ts'
import { unfinishedName } from './backup.ts'
import { BadBackup, checkSeal, readManifest } from './manifest.ts'

/**
 * Keeps the newest of those next to `newest`, and in any case this one, which was just taken: clocks can be wrong. Backups of other
 * installations have another seal, and copies another name than the manifest says: they stay, and do not count.
 */
export async function removeOldBackups(newest: string, keep: number, masterKey: MasterKey): Promise<readonly string[]> {
  const parent = dirname(resolve(newest))
  const others = (await backupsIn(parent, masterKey)).filter(({ name }) => name !== basename(resolve(newest)))
  const old = others.slice(keep - 1)
  for (const { name } of old) {
    // Half a backup must not look like one: renaming is atomic, and the next backup removes what is left under this name.
    const leaving = join(parent, unfinishedName(name))
    await rename(join(parent, name), leaving)
    await rm(leaving, { recursive: true, force: true })
  }
  return old.map(({ name }) => name)
}

/** The newest first. */
async function backupsIn(parent: string, masterKey: MasterKey): Promise<{ name: string; taken: number }[]> {
  const entries = await readdir(parent, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
  const found = await Promise.all(
    names.map(async (name) => ({ name, taken: await readTime(join(parent, name), masterKey) })),
  )
  return found
    .flatMap(({ name, taken }) => (taken === undefined ? [] : [{ name, taken }]))
    .sort((one, other) => other.taken - one.taken)
}

async function readTime(folder: string, masterKey: MasterKey): Promise<number | undefined> {
  try {
    const manifest = await readManifest(folder)
    checkSeal(manifest, masterKey, folder)
    if (manifest.folder !== undefined && manifest.folder !== basename(folder)) return undefined
    return Date.parse(manifest.taken)
  } catch (error) {
    if (error instanceof BadBackup) return undefined
    throw error
  }
}

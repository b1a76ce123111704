/** The master key of a data folder that data is moved to. */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openDataFolder } from '../store/database/data-folder.ts'
import type { DataLocation } from '../store/database/database.ts'
import { MASTER_KEY_FILE } from '../store/keys/master-key.ts'
import { MoveRefused } from './table.ts'

/** Copies the key to another data folder, unless it is configured. What it seals is moved as it is. */
export function provideMasterKey(from: DataLocation, to: DataLocation, configured: Buffer | undefined): void {
  if (configured !== undefined || resolve(from.dataFolder) === resolve(to.dataFolder)) return
  const key = readFileSync(join(from.dataFolder, MASTER_KEY_FILE))
  const file = join(to.dataFolder, MASTER_KEY_FILE)
  if (existsSync(file) && !readFileSync(file).equals(key))
    throw new MoveRefused(
      `${file} is another master key than that of ${from.dataFolder}, which seals the data: move it away, or name another folder with --to. Nothing was copied.`,
    )
  openDataFolder(to.dataFolder).secret(MASTER_KEY_FILE, () => key)
}

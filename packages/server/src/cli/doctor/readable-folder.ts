/** A data folder whose databases can be opened: the folder itself, or a temporary copy of one that cannot be written. */
import { accessSync, constants, existsSync } from 'node:fs'
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeOnSignal } from '../../lib/remove-on-signal.ts'
import { copySqlite } from '../../store/backup/sqlite-copy.ts'

export interface ReadableFolder {
  readonly path: string
  dispose(): Promise<void>
}

const NEEDED = /\.(db|key|json)$/

/** SQLite must create files next to a database in WAL mode, even to read it. If it cannot, an intact database looks damaged. */
export async function readableFolder(folder: string): Promise<ReadableFolder> {
  if (isWritable(folder)) return { path: folder, dispose: async () => {} }
  const copy = await mkdtemp(join(tmpdir(), 'gatehouse-doctor-'))
  const forget = removeOnSignal([copy])
  for (const name of await readdir(folder).catch(() => [])) {
    // A file that this user may not read is missing from the copy, and reported as such.
    if (NEEDED.test(name)) await copyOne(join(folder, name), join(copy, name)).catch(() => {})
  }
  return {
    path: copy,
    async dispose() {
      await rm(copy, { recursive: true, force: true })
      forget()
    },
  }
}

async function copyOne(from: string, to: string): Promise<void> {
  // A server has it open: only SQLite can take a consistent copy.
  const isCopied = existsSync(`${from}-shm`) && (await copySqlite(from, to).catch(() => undefined)) !== undefined
  if (isCopied) return
  await copyFile(from, to)
  if (existsSync(`${from}-wal`)) await copyFile(`${from}-wal`, `${to}-wal`)
}

/** A missing folder is reported by another check. */
function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
  }
}

/** Gives the free space in the SQLite databases of a data folder back to the disk, while no server runs on it. */
import { readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { createNodes } from './cluster/nodes.ts'
import { lockStart } from './cluster/start-lock.ts'
import { openUnmigrated } from './database/database.ts'

const QUERY_FILE = 'query.db'
/** Of column segments, which the server writes again. */
const COLUMN_FOLDER = 'columns'

export interface CompactedFile {
  readonly file: string
  /** In bytes. */
  readonly before: number
  /** In a dry run about what it would be. */
  readonly after: number
}

/** Nothing was changed, or no more. */
export class CompactRefused extends Error {
  override name = 'CompactRefused'
}

export interface CompactOptions {
  readonly isDryRun: boolean
  /** Also files without free pages: the rest of a page, too, has what was deleted until it is written anew. */
  readonly isOfAll: boolean
}

/** One file after the other; each is as it was or compacted, also if the process is killed. */
export async function compactFolder(folder: string, options: CompactOptions): Promise<readonly CompactedFile[]> {
  const unlock = await lockStart({ dataFolder: folder, url: '' })
  try {
    await refuseIfServed(folder)
    const names = readdirSync(folder).filter((name) => name.endsWith('.db'))
    return names.toSorted().map((name) => compactFile(folder, name, options))
  } finally {
    await unlock()
  }
}

async function refuseIfServed(folder: string): Promise<void> {
  const database = openUnmigrated({ dataFolder: folder, url: '', poolSize: 1 })
  try {
    const [node] = await createNodes(database, Date.now).running()
    if (node !== undefined) throw new CompactRefused(`A server (${node.name}) runs on ${folder}: stop it first.`)
  } finally {
    await database.close()
  }
}

function compactFile(folder: string, name: string, { isDryRun, isOfAll }: CompactOptions): CompactedFile {
  const file = join(folder, name)
  const before = fileBytes(file)
  // For the copy that VACUUM makes: other folders for temporary files are often small, or in memory.
  process.env.SQLITE_TMPDIR = folder
  const database = new SqliteDatabase(file, { timeout: 0, readonly: isDryRun })
  try {
    const [pages, free, pageBytes] = ['page_count', 'freelist_count', 'page_size'].map((pragma) =>
      Number(database.pragma(pragma, { simple: true })),
    ) as [number, number, number]
    const least = (pages - free) * pageBytes
    if (free === 0 && (isDryRun || !isOfAll)) return { file: name, before, after: before }
    if (isDryRun) return { file: name, before, after: least }
    requireSpace(folder, name, 2 * least)
    database.exec('VACUUM')
    // No column segment is right with the new numbers of rows. The files, too, have what was deleted.
    if (name === QUERY_FILE) rmSync(join(folder, COLUMN_FOLDER), { recursive: true, force: true })
    database.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (!(error instanceof SqliteDatabase.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error
    throw new CompactRefused(`Another program uses ${file}: ${error.message}`)
  } finally {
    database.close()
  }
  return { file: name, before, after: fileBytes(file) }
}

/** The copy, and the log from which it replaces the file. */
function requireSpace(folder: string, name: string, needed: number): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= needed) return
  const missing = Math.ceil(needed / 2 ** 20)
  throw new CompactRefused(`To compact ${name}, ${missing} MiB must be free on the disk of ${folder} for the time.`)
}

/** With its log. */
function fileBytes(file: string): number {
  return [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
}

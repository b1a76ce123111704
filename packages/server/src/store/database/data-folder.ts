/** The data folder, which holds everything that must be kept. A folder with other content, or only partly created, is refused. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

export class BadDataFolder extends Error {
  override name = 'BadDataFolder'
}

export interface DataFolder {
  readonly path: string
  /** The content of a file, created on first use and readable by its owner only. */
  secret(name: string, generate: () => Buffer): Buffer
}

/** The marker file. A folder without it is not a data folder, or not a complete one. */
export const MARK = 'gatehouse.json'
const FORMAT = 1

export function openDataFolder(path: string): DataFolder {
  checkDataFolder(path)
  createFolder(path)
  try {
    if (!existsSync(join(path, MARK))) writeDurably(join(path, MARK), JSON.stringify({ format: FORMAT }))
  } catch (error) {
    throw unusable(path, error)
  }
  return {
    path,
    secret(name, generate) {
      const file = join(path, name)
      if (!existsSync(file)) writeDurably(file, generate())
      return readFileSync(file)
    },
  }
}

/** Throws BadDataFolder if the folder, or the place where it would be created, cannot be used. Writes nothing. */
export function checkDataFolder(path: string): void {
  try {
    if (!existsSync(path)) {
      accessSync(existingParent(path), constants.W_OK)
      return
    }
    const entries = readdirSync(path)
    if (entries.includes(MARK)) readMark(path)
    else if (!entries.every((entry) => entry.endsWith('.tmp'))) throw foreign(path, entries)
    accessSync(path, constants.W_OK)
    for (const entry of entries.filter((name) => name.endsWith('.db')))
      accessSync(join(path, entry), constants.R_OK | constants.W_OK)
  } catch (error) {
    throw error instanceof BadDataFolder ? error : unusable(path, error)
  }
}

function existingParent(path: string): string {
  const parent = dirname(path)
  return existsSync(parent) || parent === path ? parent : existingParent(parent)
}

/** Node's recursive mkdir does not return where the file system answers ENOENT for an existing parent, as /proc does. */
export function createFolder(path: string, wanted = path): void {
  if (existsSync(path)) return
  createFolder(dirname(path), wanted)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!existsSync(path)) throw unusable(wanted, error)
  }
}

function readMark(path: string): void {
  let format: unknown
  try {
    format = JSON.parse(readFileSync(join(path, MARK), 'utf8')).format
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new BadDataFolder(
      `${join(path, MARK)} is damaged: restore the data folder from a backup, or move it away to start over.`,
    )
  }
  if (format !== FORMAT) {
    throw new BadDataFolder(
      `The data folder ${path} has format ${String(format)}, but this version supports ${FORMAT}: start the newer gatehouse that created it.`,
    )
  }
}

function foreign(path: string, entries: string[]): BadDataFolder {
  const sample = entries.slice(0, 3).join(', ')
  return new BadDataFolder(
    `The folder ${path} is not a complete gatehouse data folder (it has ${sample} but no ${MARK}): set GATEHOUSE_DATA to another folder, or move this one away.`,
  )
}

function unusable(path: string, error: unknown): BadDataFolder {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  const parent = existingParent(path)
  if (!existsSync(path))
    return new BadDataFolder(
      `The data folder ${path} cannot be created (${reason}): make ${parent} writable for this user, create the folder for this user, or set GATEHOUSE_DATA to another folder.`,
    )
  return new BadDataFolder(
    `The data folder ${path} cannot be used (${reason}): make it writable for this user, or set GATEHOUSE_DATA to another folder.`,
  )
}

/** Atomic, also across a power failure. */
function writeDurably(file: string, content: string | Buffer): void {
  const temporary = `${file}.tmp`
  writeFileSync(temporary, content, { mode: 0o600 })
  const descriptor = openSync(temporary, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
  renameSync(temporary, file)
}

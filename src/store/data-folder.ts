/** The folder that holds everything Gatehouse must keep: made once, marked, and refused when it is somebody else's or half made. */
import {
  closeSync,
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
  /** The content of a file made on first use, readable by its owner alone. */
  secret(name: string, make: () => Buffer): Buffer
  close(): void
}

/** A folder without it is not, or not yet, a data folder. */
export const MARK = 'gatehouse.json'
const FORMAT = 1

export function openDataFolder(path: string): DataFolder {
  try {
    makeFolder(path)
    const entries = readdirSync(path)
    if (entries.includes(MARK)) readMark(path)
    else if (entries.length === 0 || entries.every((entry) => entry.endsWith('.tmp')))
      writeDurably(join(path, MARK), JSON.stringify({ format: FORMAT }))
    else throw foreign(path, entries)
  } catch (error) {
    throw error instanceof BadDataFolder ? error : unusable(path, error)
  }
  return {
    path,
    secret: (name, make) => readOrMake(join(path, name), make),
    close() {},
  }
}

/** Node's own recursive mkdir never returns where the file system answers ENOENT to an existing parent, as /proc does. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

function readMark(path: string): void {
  let format: unknown
  try {
    format = JSON.parse(readFileSync(join(path, MARK), 'utf8')).format
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new BadDataFolder(
      `${join(path, MARK)} is damaged: restore the data folder from a backup, or move it away to start anew.`,
    )
  }
  if (format !== FORMAT) {
    throw new BadDataFolder(
      `The data folder ${path} has format ${String(format)}, this program knows ${FORMAT}: start the newer gatehouse that made it.`,
    )
  }
}

function foreign(path: string, entries: string[]): BadDataFolder {
  const sample = entries.slice(0, 3).join(', ')
  return new BadDataFolder(
    `The folder ${path} is not a finished gatehouse data folder (it has ${sample} but no ${MARK}): name another with GATEHOUSE_DATA, or move it away.`,
  )
}

function unusable(path: string, error: unknown): BadDataFolder {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  return new BadDataFolder(
    `The data folder ${path} cannot be used (${reason}): make it writable for this user, or name another with GATEHOUSE_DATA.`,
  )
}

function readOrMake(file: string, make: () => Buffer): Buffer {
  if (!existsSync(file)) writeDurably(file, make())
  return readFileSync(file)
}

/** Whole or not at all, even when the power goes. */
function writeDurably(file: string, content: string | Buffer): void {
  const temporary = `${file}.tmp`
  writeFileSync(temporary, content, { mode: 0o600 })
  const descriptor = openSync(temporary, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
  renameSync(temporary, file)
}

/** Where an import stands, in a file beside the one that is imported, so that a broken import can go on. */
import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Usage } from '../command.ts'
import { membersOf } from './connection.ts'

export interface ImportState {
  /** Names the import in the keys that keep its batches from being inserted twice. */
  readonly id: string
  readonly server: string
  readonly table: string
  /** The size and the time of the file: another file must not go on from the same place. */
  readonly file: string
  readonly batchRows: number
  /** The byte and the line at which the next batch begins. */
  readonly offset: number
  readonly line: number
  readonly batch: number
  readonly inserted: number
  readonly rejected: number
  /** How long the file of rejected rows was: what stands after it belongs to a batch that will be sent again. */
  readonly rejectedBytes: number
}

function stateFile(file: string): string {
  return `${file}.import.json`
}

export function beginImport(file: string, server: string, table: string, batchRows: number): ImportState {
  const place = { offset: 0, line: 1, batch: 0, inserted: 0, rejected: 0, rejectedBytes: 0 }
  return { id: randomUUID(), server, table, file: fingerprint(file), batchRows, ...place }
}

/** The state of an import of this file into this table; undefined when there is none. */
export function readState(file: string, server: string, table: string): ImportState | undefined {
  let text: string
  try {
    text = readFileSync(stateFile(file), 'utf8')
  } catch {
    return undefined
  }
  const state = parseState(text)
  if (state === undefined || state.server !== server || state.table !== table || state.file !== fingerprint(file)) {
    throw new Usage(`${stateFile(file)} is of another import, or of an earlier form of the file; --restart forgets it`)
  }
  return state
}

/** Whole or not at all. */
export function writeState(file: string, state: ImportState): void {
  const temporary = `${stateFile(file)}.${process.pid}.tmp`
  writeFileSync(temporary, `${JSON.stringify(state, null, 2)}\n`)
  renameSync(temporary, stateFile(file))
}

export function forgetState(file: string): void {
  rmSync(stateFile(file), { force: true })
}

function fingerprint(file: string): string {
  const { size, mtimeMs } = statSync(file)
  return `${size} bytes, ${Math.floor(mtimeMs)}`
}

function parseState(text: string): ImportState | undefined {
  let read: Readonly<Record<string, unknown>>
  try {
    read = membersOf(JSON.parse(text))
  } catch {
    return undefined
  }
  const words = [read.id, read.server, read.table, read.file]
  const counts = [read.batchRows, read.offset, read.line, read.batch, read.inserted, read.rejected, read.rejectedBytes]
  if (!words.every((word) => typeof word === 'string') || !counts.every((count) => Number.isSafeInteger(count)))
    return undefined
  const [id = '', server = '', table = '', file = ''] = words.map(String)
  const [batchRows = 1, offset = 0, line = 1, batch = 0, inserted = 0, rejected = 0, rejectedBytes = 0] =
    counts.map(Number)
  return { id, server, table, file, batchRows, offset, line, batch, inserted, rejected, rejectedBytes }
}

/** The progress of an import, in a file next to the imported one, so that an interrupted import can resume. */
import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { CommandError } from '../errors.ts'
import { asObject, parseJson } from '../output/json.ts'

export interface ImportState {
  /** Part of the idempotency keys, which keep batches from being inserted twice. */
  readonly id: string
  readonly server: string
  readonly table: string
  /** Size and modification time of the file: a changed file must not resume. */
  readonly file: string
  readonly batchRows: number
  /** The options that say how rows are read and where they go. */
  readonly options: Readonly<Record<string, string>>
  /** The byte and the line at which the next batch starts. */
  readonly offset: number
  readonly line: number
  readonly batch: number
  readonly inserted: number
  readonly replaced: number
  readonly skipped: number
  readonly rejected: number
  /** Size of the file of rejected rows; what follows belongs to a batch that will be sent again. */
  readonly rejectedBytes: number
}

function stateFile(file: string): string {
  return `${file}.import.json`
}

export interface ImportTarget {
  readonly file: string
  readonly server: string
  readonly table: string
  readonly options: Readonly<Record<string, string>>
}

export function newState({ file, server, table, options }: ImportTarget, batchRows: number): ImportState {
  const place = { offset: 0, line: 1, batch: 0, inserted: 0, replaced: 0, skipped: 0, rejected: 0, rejectedBytes: 0 }
  return { id: randomUUID(), server, table, file: fingerprint(file), batchRows, options, ...place }
}

/** Undefined when no import of this file was interrupted. `batchRows`: the option --batch, if it is given. */
export function readState(target: ImportTarget, batchRows: number | undefined): ImportState | undefined {
  const { file, server, table, options } = target
  let text: string
  try {
    text = readFileSync(stateFile(file), 'utf8')
  } catch {
    return undefined
  }
  const state = parseState(text)
  if (state === undefined || state.server !== server || state.table !== table || state.file !== fingerprint(file)) {
    throw new CommandError(
      `${stateFile(file)} belongs to another import or another version of the file: use --restart to start over`,
    )
  }
  const batch = batchRows === undefined ? {} : { '--batch': String(batchRows) }
  refuseOthers(file, { ...state.options, '--batch': String(state.batchRows) }, { ...options, ...batch })
  return state
}

/** The rest of a file must be read as its beginning was. */
function refuseOthers(file: string, before: ImportState['options'], now: ImportState['options']): void {
  const known = new Map(Object.entries(before))
  for (const [option, value] of Object.entries(now)) {
    const first = known.get(option) ?? ''
    if (first === value) continue
    const shown = (text: string): string => (text === '' ? `no ${option}` : `${option} ${text}`)
    throw new CommandError(
      `The interrupted import of ${file} has ${shown(first)}, and this command ${shown(value)}: ` +
        'repeat it with the same options to resume, or use --restart to start over',
    )
  }
}

/** Atomic, by renaming. */
export function writeState(file: string, state: ImportState): void {
  const temporary = `${stateFile(file)}.${process.pid}.tmp`
  writeFileSync(temporary, `${JSON.stringify(state, null, 2)}\n`)
  renameSync(temporary, stateFile(file))
}

export function deleteState(file: string): void {
  rmSync(stateFile(file), { force: true })
}

function fingerprint(file: string): string {
  const { size, mtimeMs } = statSync(file)
  return `${size} bytes, ${Math.floor(mtimeMs)}`
}

function parseState(text: string): ImportState | undefined {
  const read = asObject(parseJson(text))
  const words = [read.id, read.server, read.table, read.file]
  const counts = [
    ...[read.batchRows, read.offset, read.line, read.batch, read.inserted, read.rejected, read.rejectedBytes],
    // States of earlier versions lack these.
    ...[read.replaced ?? 0, read.skipped ?? 0],
  ]
  if (read.options === undefined) return undefined
  const options = Object.entries(asObject(read.options)).map(([name, value]) => [name, String(value)] as const)
  if (!words.every((word) => typeof word === 'string') || !counts.every((count) => Number.isSafeInteger(count)))
    return undefined
  const [id = '', server = '', table = '', file = ''] = words.map(String)
  const [
    batchRows = 1,
    offset = 0,
    line = 1,
    batch = 0,
    inserted = 0,
    rejected = 0,
    rejectedBytes = 0,
    replaced = 0,
    skipped = 0,
  ] = counts.map(Number)
  return {
    id,
    server,
    table,
    file,
    batchRows,
    options: Object.fromEntries(options),
    offset,
    line,
    batch,
    inserted,
    replaced,
    skipped,
    rejected,
    rejectedBytes,
  }
}

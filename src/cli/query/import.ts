/** `gatehouse import`: inserts the rows of a CSV file into a table, in batches; an interrupted import can resume. */
import { appendFileSync, existsSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { csvField, readCsvRecords } from '../../lib/csv.ts'
import { typeName } from '../../query/iql/types.ts'
import type { Arguments } from '../args.ts'
import { CommandError, UsageError } from '../errors.ts'
import { printTable } from '../table.ts'
import { connectToQuery, type QueryConnection } from './connection.ts'
import { deleteState, type ImportState, newState, readState, writeState } from './import-state.ts'
import {
  createTable,
  describeTable,
  guessColumns,
  matchColumns,
  readHeader,
  rowOf,
  type TargetColumn,
} from './import-target.ts'
import { insertRows, type PendingRow, type RejectedRow } from './insert-rows.ts'
import { createProgress } from './progress.ts'

const DEFAULT_BATCH_ROWS = 500
/** A batch of long rows ends earlier: the server limits the size of a body. */
const MAX_BATCH_BYTES = 1024 * 1024

export async function importRows(args: Arguments): Promise<void> {
  const [file = ''] = args.positionals
  const table = args.value('--table') ?? ''
  const batchRows = args.integer('--batch', { least: 1, most: 99_999 }) ?? DEFAULT_BATCH_ROWS
  if (!existsSync(file)) throw new UsageError(`There is no file ${file}`)
  const { names, end, nextLine } = await readHeader(file)
  const connection = await connectToQuery(args)
  const columns = await prepareTable(connection, args, { file, table, names, start: end })
  printTable(
    ['COLUMN', 'TYPE'],
    columns.map(({ name, type }) => [name, typeName(type)]),
  )
  if (args.has('--dry-run')) return
  if (args.has('--restart')) deleteState(file)
  const known = readState(file, connection.server, table)
  const state = known ?? { ...newState(file, connection.server, table, batchRows), offset: end, line: nextLine }
  if (known !== undefined) process.stderr.write(`Resuming at line ${known.line}, after ${known.inserted} rows\n`)
  const rejected = args.value('--rejected') ?? `${file}.rejected.csv`
  report(await transfer({ connection, file, table, columns, names, rejected }, state), file, rejected)
}

interface Source {
  readonly file: string
  readonly table: string
  readonly names: readonly string[]
  /** The byte after the header. */
  readonly start: number
}

async function prepareTable(
  connection: QueryConnection,
  args: Arguments,
  { file, table, names, start }: Source,
): Promise<TargetColumn[]> {
  const existing = await describeTable(connection, table)
  if (existing !== undefined) return matchColumns(names, existing, table)
  const guessed = await guessColumns(file, names, start, args.pairs('--type'))
  if (args.has('--dry-run')) return guessed
  if (!args.has('--create')) throw new UsageError(`There is no table ${table}; use --create to create it`)
  await createTable(connection, table, guessed, args.values('--key'))
  return guessed
}

interface Transfer {
  readonly connection: QueryConnection
  readonly file: string
  readonly table: string
  readonly columns: readonly TargetColumn[]
  readonly names: readonly string[]
  readonly rejected: string
}

/** The state is written after each batch, so it never claims rows that are not in the table. */
async function transfer(work: Transfer, first: ImportState): Promise<ImportState> {
  const { file } = work
  let state = first
  let stopped = false
  const stop = () => {
    stopped = true
  }
  process.once('SIGINT', stop)
  const progress = createProgress(work.table, statSync(file).size)
  openRejected(work, state)
  writeState(file, state)
  try {
    for await (const batch of batchesOf(work, state)) {
      state = await send(work, state, batch)
      writeState(file, state)
      progress.show(state.offset, state.inserted)
      if (stopped) throw new CommandError(`Stopped after line ${state.line - 1}; repeat the command to resume`)
    }
  } finally {
    progress.end()
    process.off('SIGINT', stop)
  }
  return state
}

interface Batch {
  readonly rows: readonly PendingRow[]
  readonly bad: readonly RejectedRow[]
  readonly offset: number
  readonly line: number
}

/** Rows that cannot be converted are rejected without being sent. */
async function* batchesOf({ file, columns }: Transfer, state: ImportState): AsyncGenerator<Batch> {
  let rows: PendingRow[] = []
  let bad: RejectedRow[] = []
  let bytes = 0
  let place = { offset: state.offset, line: state.line }
  for await (const { raw, end, line, nextLine } of readCsvRecords(file, state.offset, state.line)) {
    const row = rowOf(raw, columns)
    if ('reason' in row) bad.push({ line, raw, reason: row.reason })
    else rows.push({ line, raw, json: row.json })
    bytes += raw.length
    place = { offset: end, line: nextLine }
    if (rows.length + bad.length < state.batchRows && bytes < MAX_BATCH_BYTES) continue
    yield { rows, bad, ...place }
    rows = []
    bad = []
    bytes = 0
  }
  if (rows.length + bad.length > 0) yield { rows, bad, ...place }
}

async function send(work: Transfer, state: ImportState, { rows, bad, offset, line }: Batch): Promise<ImportState> {
  const refused = await insertRows(work.connection, work.table, rows, `import-${state.id}-${state.batch}`)
  const rejected = [...bad, ...refused].sort((a, b) => a.line - b.line)
  const lines = rejected.map((row) => `${row.line},${csvField(row.reason)},${row.raw}\r\n`)
  appendFileSync(work.rejected, lines.join(''))
  return {
    ...state,
    offset,
    line,
    batch: state.batch + 1,
    inserted: state.inserted + rows.length - refused.length,
    rejected: state.rejected + rejected.length,
    rejectedBytes: statSync(work.rejected).size,
  }
}

/** Truncated to the end of the last complete batch, so that no row is reported twice. */
function openRejected({ rejected, names }: Transfer, state: ImportState): void {
  if (state.rejectedBytes > 0 && existsSync(rejected)) truncateSync(rejected, state.rejectedBytes)
  else writeFileSync(rejected, `line,reason,${names.map(csvField).join(',')}\r\n`)
}

function report({ inserted, rejected }: ImportState, file: string, rejectedFile: string): void {
  deleteState(file)
  process.stdout.write(`${inserted} rows inserted\n`)
  if (rejected === 0) {
    rmSync(rejectedFile, { force: true })
    return
  }
  process.stderr.write(`${rejected} rows were rejected; see ${rejectedFile}\n`)
  process.exitCode = 1
}

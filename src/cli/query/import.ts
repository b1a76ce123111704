/** `gatehouse import`: the rows of a CSV file into a table, in batches that are inserted once and can be gone on from. */
import { appendFileSync, existsSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { typeName } from '../../query/iql/types.ts'
import { Usage } from '../command.ts'
import { readOptions } from '../options.ts'
import { printTable } from '../table.ts'
import { CONNECTION_OPTIONS, connect, type QueryConnection, readPairs } from './connection.ts'
import { csvField, readRecords } from './csv-records.ts'
import { beginImport, forgetState, type ImportState, readState, writeState } from './import-state.ts'
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

const USUAL_BATCH = 500
/** A batch ends early when its rows are long: the service takes bodies of a few megabytes. */
const MOST_BATCH_BYTES = 1024 * 1024

export async function importRows(args: readonly string[]): Promise<void> {
  const { file, table, values } = examine(args)
  const { names, end } = await readHeader(file)
  const connection = await connect(values)
  const columns = await prepareTable(connection, file, table, names, end, values)
  printTable(
    ['COLUMN', 'TYPE'],
    columns.map(({ name, type }) => [name, typeName(type)]),
  )
  if (values['dry-run'] === true) return
  if (values.restart === true) forgetState(file)
  const known = readState(file, connection.server, table)
  const state = known ?? {
    ...beginImport(file, connection.server, table, Number(values.batch ?? USUAL_BATCH)),
    offset: end,
    line: 2,
  }
  if (known !== undefined) process.stderr.write(`Going on at line ${known.line}, after ${known.inserted} rows\n`)
  const rejected = values.rejected ?? `${file}.rejected.csv`
  report(await transfer({ connection, file, table, columns, names, rejected }, state), file, rejected)
}

function examine(args: readonly string[]) {
  const { values, positionals } = parse(args)
  const [file, surplus] = positionals
  if (file === undefined || surplus !== undefined) throw new Usage('import takes one FILE')
  if (!existsSync(file)) throw new Usage(`There is no file ${file}`)
  if (values.table === undefined) throw new Usage('Name the table: --table NAME')
  if (values.batch !== undefined && !/^[1-9]\d{0,4}$/.test(values.batch))
    throw new Usage('--batch takes 1 to 99999 rows')
  return { file, table: values.table, values }
}

const parse = (args: readonly string[]) =>
  readOptions(args, {
    ...CONNECTION_OPTIONS,
    table: { type: 'string' },
    create: { type: 'boolean' },
    key: { type: 'string', multiple: true },
    type: { type: 'string', multiple: true },
    'dry-run': { type: 'boolean' },
    rejected: { type: 'string' },
    restart: { type: 'boolean' },
    batch: { type: 'string' },
  })

async function prepareTable(
  connection: QueryConnection,
  file: string,
  table: string,
  names: readonly string[],
  start: number,
  values: ReturnType<typeof parse>['values'],
): Promise<TargetColumn[]> {
  const existing = await describeTable(connection, table)
  if (existing !== undefined) return matchColumns(names, existing, table)
  const guessed = await guessColumns(file, names, start, readPairs(values.type ?? [], '--type'))
  if (values['dry-run'] === true) return guessed
  if (values.create !== true) throw new Usage(`There is no table ${table}; --create makes it`)
  await createTable(connection, table, guessed, values.key ?? [])
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

/** The state is written after each batch: what it says is in the table, is in the table. */
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
      if (stopped) throw new Usage(`Stopped after line ${state.line - 1}; the same command goes on from there`)
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

/** Rows that cannot be right are set apart before anything is sent. */
async function* batchesOf({ file, columns }: Transfer, state: ImportState): AsyncGenerator<Batch> {
  let rows: PendingRow[] = []
  let bad: RejectedRow[] = []
  let bytes = 0
  let place = { offset: state.offset, line: state.line }
  for await (const { raw, end, line } of readRecords(file, state.offset, state.line)) {
    const row = rowOf(raw, columns)
    if ('reason' in row) bad.push({ line, raw, reason: row.reason })
    else rows.push({ line, raw, json: row.json })
    bytes += raw.length
    place = { offset: end, line: line + raw.split('\n').length }
    if (rows.length + bad.length < state.batchRows && bytes < MOST_BATCH_BYTES) continue
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

/** Cut to where the last whole batch ended, so that no row is reported twice. */
function openRejected({ rejected, names }: Transfer, state: ImportState): void {
  if (state.rejectedBytes > 0 && existsSync(rejected)) truncateSync(rejected, state.rejectedBytes)
  else writeFileSync(rejected, `line,reason,${names.map(csvField).join(',')}\r\n`)
}

function report({ inserted, rejected }: ImportState, file: string, rejectedFile: string): void {
  forgetState(file)
  process.stdout.write(`${inserted} rows inserted\n`)
  if (rejected === 0) {
    rmSync(rejectedFile, { force: true })
    return
  }
  process.stderr.write(`${rejected} rows were rejected; ${rejectedFile} says why\n`)
  process.exitCode = 1
}

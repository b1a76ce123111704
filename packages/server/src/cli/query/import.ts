/** `gatehouse import`: inserts the rows of a CSV file into a table, in batches; an interrupted import can resume. */
import { appendFileSync, existsSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  csvField,
  DELIMITER_SAMPLE,
  type Duplicates,
  delimiterName,
  describeDoubt,
  guessDelimiter,
  inZone,
  isZone,
  type PendingRow,
  parseType,
  type RefusedRow,
  readDelimiter,
  rejectedHeader,
  rejectedLine,
  type TargetColumn,
} from 'gatehouse-csv'
import { sameName, typeName } from 'gatehouse-iql'
import { readCsvRecords } from '../../declarative/csv-file.ts'
import type { Arguments, OptionName } from '../args.ts'
import { CommandError, UsageError } from '../errors.ts'
import { type Gate, withGate } from '../gate.ts'
import { printable, printTable } from '../output/table.ts'
import { importFile, summarize } from './import-file.ts'
import { chooseFormat } from './import-format.ts'
import { deleteState, type ImportState, newState, readState, writeState } from './import-state.ts'
import {
  type CsvSource,
  checkKeys,
  convertRow,
  createTable,
  describeTable,
  guessColumns,
  matchColumns,
  openCsv,
  readFormats,
  readRecords,
  requireInsert,
  sampleColumns,
  withFormats,
} from './import-target.ts'
import { insertRows, type PartTarget } from './insert-rows.ts'
import { Progress } from './progress.ts'

const DEFAULT_BATCH_ROWS = 20_000
/** Attempts for each batch: about four seconds, in which a server can restart. */
const ATTEMPTS = 6
/** A batch of long rows ends earlier: it is kept in memory. */
const MAX_BATCH_BYTES = 8 * 1024 * 1024

export async function importRows(args: Arguments): Promise<void> {
  const [file = ''] = args.positionals
  const table = args.value('--table') ?? ''
  const batchRows = args.integer('--batch', { least: 1, most: 99_999 }) ?? DEFAULT_BATCH_ROWS
  if (!existsSync(file)) throw new UsageError(`There is no file ${file}`)
  const duplicates = chooseDuplicates(args)
  const zone = args.value('--time-zone')
  if (zone !== undefined && !isZone(zone)) throw new UsageError(`--time-zone: unknown time zone ${zone}`)
  const isDryRun = args.has('--dry-run')
  const format = chooseFormat(args, file)
  if (format !== undefined) {
    const create = args.has('--create') ? { keys: args.values('--key'), types: [...args.pairs('--type')] } : undefined
    if (create === undefined && (args.has('--key') || args.has('--type')))
      throw new UsageError('--key and --type are for a new table: add --create')
    return withGate(args, (gate) => importFile(gate, { file, format, table, duplicates, zone, isDryRun, create }))
  }
  const source = await openCsv(file, await chooseDelimiter(args, file), new Set(args.values('--null')))
  const rejected = args.value('--rejected') ?? `${file}.rejected.csv`
  await withGate(
    args,
    async (gate) => {
      const columns = await prepareTable(gate, args, source, table)
      if (columns === undefined) return
      if (args.has('--restart')) deleteState(file)
      const target = { file, server: gate.url, table, options: resumableOptions(args, source, duplicates, rejected) }
      const known = readState(target, args.has('--batch') ? batchRows : undefined)
      const place = { offset: source.start, line: source.nextLine }
      const state = known ?? { ...newState(target, batchRows), ...place }
      if (known !== undefined) process.stderr.write(`Resuming at line ${known.line}, after ${known.inserted} rows\n`)
      report(
        await transfer({ ...source, gate, table, columns, rejected, duplicates, header: headerLine(columns) }, state),
        file,
        rejected,
      )
    },
    { attempts: ATTEMPTS },
  )
}

function chooseDuplicates(args: Arguments): Duplicates {
  const given = args.value('--duplicates') ?? 'reject'
  if (given === 'reject' || given === 'skip' || given === 'replace') return given
  throw new UsageError('--duplicates takes reject, skip or replace')
}

/** What a resumed import must have in common with its first part. */
function resumableOptions(
  args: Arguments,
  { delimiter, nulls }: CsvSource,
  duplicates: Duplicates,
  rejected: string,
): Record<string, string> {
  const given = (name: OptionName): string => args.values(name).toSorted().join(' ')
  return {
    '--time-zone': given('--time-zone'),
    '--null': [...nulls].toSorted().join(' '),
    '--delimiter': delimiterName(delimiter),
    '--date-format': given('--date-format'),
    '--number-format': given('--number-format'),
    '--duplicates': duplicates,
    // The command may be repeated in another folder.
    '--rejected': resolve(rejected),
  }
}

function headerLine(columns: readonly TargetColumn[]): string {
  return columns.map(({ name }) => csvField(name)).join(',')
}

async function chooseDelimiter(args: Arguments, file: string): Promise<string> {
  const text = args.value('--delimiter')
  if (text === undefined) return detectDelimiter(file)
  const delimiter = readDelimiter(text)
  if (delimiter === undefined) throw new UsageError('--delimiter takes comma, semicolon, tab or bar')
  return delimiter
}

export async function detectDelimiter(file: string): Promise<string> {
  const records: string[] = []
  for await (const { raw } of readCsvRecords(file)) if (records.push(raw) === DELIMITER_SAMPLE) break
  return guessDelimiter(records)
}

/** Shows how the file is read, before anything is written. Undefined for a dry run. */
async function prepareTable(
  gate: Gate,
  args: Arguments,
  source: CsvSource,
  table: string,
): Promise<readonly TargetColumn[] | undefined> {
  const { names } = source
  const existing = await describeTable(gate, table)
  const samples = await sampleColumns(source)
  const formats = readFormats(args.pairs('--date-format'), args.pairs('--number-format'), names)
  const zone = args.value('--time-zone')
  if (existing !== undefined) {
    refuseTypes(args, existing, table)
    const columns = setZone(zone, withFormats(matchColumns(names, existing, table), samples, formats))
    await requireInsert(gate, table, columns)
    show(source, columns)
    if (!args.has('--dry-run')) return columns
    process.stdout.write(`The rows can be inserted into ${table}; nothing was written\n`)
    return undefined
  }
  checkKeys(args.values('--key'), names)
  const guessed = setZone(zone, guessColumns(names, samples, args.pairs('--type'), formats))
  if (!args.has('--create') && !args.has('--dry-run'))
    throw new UsageError(`There is no table ${table}; use --create to create it`)
  show(source, guessed)
  const doubts = guessed.flatMap(
    ({ name, guess, sample }) => describeDoubt(name, guess, sample.values, sample.lines) ?? [],
  )
  for (const doubt of doubts) process.stderr.write(`${printable(doubt)}\n`)
  if (args.has('--dry-run')) {
    process.stdout.write(`There is no table ${table}, which --create creates like this; nothing was written\n`)
    return undefined
  }
  if (doubts.length > 0 && !args.has('--yes'))
    throw new CommandError(
      'Nothing was written: add --yes to continue with these types, or set --type, --null, --date-format or --number-format',
    )
  await createTable(gate, table, guessed, args.values('--key'))
  return guessed
}

/** An existing table has its own types: an import that resumes may repeat those that it was created with. */
function refuseTypes(args: Arguments, existing: readonly TargetColumn[], table: string): void {
  if (args.has('--key') && !args.has('--create'))
    throw new UsageError(`--key is for a new table, with --create, and ${table} exists`)
  for (const [name, text] of args.pairs('--type')) {
    const column = existing.find((other) => sameName(other.name, name))
    const type = parseType(text)
    if (column === undefined || type === undefined || typeName(type) !== typeName(column.type))
      throw new UsageError(
        `--type ${name}=${text} is for a new table, and ${table} exists${column === undefined ? '' : `, where ${column.name} is ${typeName(column.type)}`}`,
      )
  }
}

/** Times without a zone are those of this one. */
function setZone<Column extends TargetColumn>(zone: string | undefined, columns: readonly Column[]): readonly Column[] {
  if (zone === undefined) return columns
  return columns.map((column) =>
    column.type.kind === 'Timestamp' ? { ...column, format: inZone(zone, column.format) } : column,
  )
}

function show({ delimiter }: CsvSource, columns: readonly TargetColumn[]): void {
  process.stdout.write(`delimiter: ${delimiterName(delimiter)}\n`)
  const hasFormats = columns.some(({ format }) => format !== undefined)
  printTable(
    ['COLUMN', 'TYPE', ...(hasFormats ? ['FORMAT'] : [])],
    columns.map(({ name, type, format }) => [name, typeName(type), ...(hasFormats ? [format?.name ?? ''] : [])]),
  )
}

interface Transfer extends CsvSource, PartTarget {
  readonly columns: readonly TargetColumn[]
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
  const progress = new Progress(work.table, statSync(file).size)
  openRejected(work, state)
  writeState(file, state)
  try {
    const batches = fillBatches(work, state)
    let next = batches.next()
    for (let { value: batch, done } = await next; !done && batch !== undefined; { value: batch, done } = await next) {
      // The next rows are read while the server inserts these.
      next = batches.next()
      next.catch(() => {})
      state = await send(work, state, batch)
      writeState(file, state)
      progress.show(state.offset, state.inserted + state.replaced + state.skipped)
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
  readonly bad: readonly RefusedRow[]
  readonly offset: number
  readonly line: number
}

/** Rows that cannot be converted are rejected without being sent. */
async function* fillBatches(work: Transfer, state: ImportState): AsyncGenerator<Batch, undefined, void> {
  let rows: PendingRow[] = []
  let bad: RefusedRow[] = []
  let bytes = 0
  let place = { offset: state.offset, line: state.line }
  for await (const { raw, end, line, nextLine } of readRecords(work, state)) {
    const row = convertRow(raw, work, work.columns)
    if ('reason' in row) bad.push({ line, raw, reason: row.reason })
    else rows.push({ line, raw, csv: row.csv })
    bytes += raw.length
    place = { offset: end, line: nextLine }
    if (rows.length + bad.length < state.batchRows && bytes < MAX_BATCH_BYTES) continue
    yield { rows, bad, ...place }
    rows = []
    bad = []
    bytes = 0
  }
  if (rows.length + bad.length > 0) yield { rows, bad, ...place }
  return undefined
}

async function send(work: Transfer, state: ImportState, { rows, bad, offset, line }: Batch): Promise<ImportState> {
  const outcome = await insertRows(work, rows, `import-${state.id}-${state.batch}`)
  const rejected = [...bad, ...outcome.refused].sort((a, b) => a.line - b.line)
  const lines = rejected.map((row) => `${rejectedLine(row, work.delimiter)}\r\n`)
  appendFileSync(work.rejected, lines.join(''))
  return {
    ...state,
    offset,
    line,
    batch: state.batch + 1,
    inserted: state.inserted + outcome.inserted,
    replaced: state.replaced + outcome.replaced,
    skipped: state.skipped + outcome.skipped,
    rejected: state.rejected + rejected.length,
    rejectedBytes: statSync(work.rejected).size,
  }
}

/** Truncated to the end of the last complete batch, so that no row is reported twice. */
function openRejected({ rejected, names, delimiter }: Transfer, state: ImportState): void {
  if (state.rejectedBytes > 0 && existsSync(rejected)) truncateSync(rejected, state.rejectedBytes)
  else writeFileSync(rejected, `${rejectedHeader(names, delimiter)}\r\n`)
}

function report({ rejected, ...counts }: ImportState, file: string, rejectedFile: string): void {
  deleteState(file)
  process.stdout.write(summarize(counts))
  if (rejected === 0) {
    rmSync(rejectedFile, { force: true })
    return
  }
  const were = rejected === 1 ? 'row was' : 'rows were'
  process.stderr.write(`${rejected} ${were} rejected: correct ${rejectedFile} and import it\n`)
  process.exitCode = 1
}

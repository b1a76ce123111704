/** The format of an imported file, and the options that a format does not have. */
import { closeSync, openSync, readSync } from 'node:fs'
import type { Arguments, OptionName } from '../args.ts'
import { UsageError } from '../errors.ts'

export interface FileFormat {
  readonly name: string
  readonly mediaType: string
}

/** Formats that are sent as they are. */
const FORMATS: ReadonlyMap<string, FileFormat> = new Map([
  ['ndjson', { name: 'NDJSON', mediaType: 'application/x-ndjson' }],
  ['arrow', { name: 'Arrow', mediaType: 'application/vnd.apache.arrow.stream' }],
  ['parquet', { name: 'Parquet', mediaType: 'application/vnd.apache.parquet' }],
])

/** The format of --format, or else what the bytes, then the name of the file say; undefined for CSV. */
export function chooseFormat(args: Arguments, file: string): FileFormat | undefined {
  const asked = args.value('--format')
  if (asked !== undefined && asked !== 'csv' && !FORMATS.has(asked))
    throw new UsageError('--format takes csv, ndjson, arrow or parquet')
  const found = formatOfBytes(file)
  if (asked !== undefined && found !== undefined && asked !== found)
    throw new UsageError(`${file} is in the format ${found}, not ${asked}: leave out --format`)
  const named = /\.(ndjson|arrow|parquet)$/i.exec(file)?.[1]?.toLowerCase()
  const format = FORMATS.get(asked ?? found ?? named ?? 'csv')
  if (format !== undefined) refuseCsvOptions(args, file, format)
  return format
}

/** By the first bytes: files have other names as well, or none. */
function formatOfBytes(file: string): 'arrow' | 'parquet' | undefined {
  const start = Buffer.alloc(6)
  const opened = openSync(file, 'r')
  try {
    readSync(opened, start)
  } finally {
    closeSync(opened)
  }
  const text = start.toString('latin1')
  if (text.startsWith('FEA1'))
    throw new UsageError(`${file} is in the first version of Feather, which is not supported: write it as version 2`)
  if (text.startsWith('PAR1')) return 'parquet'
  // Arrow columnar format: a file, or a stream, which begins with the continuation marker.
  return text === 'ARROW1' || text.startsWith('\xff\xff\xff\xff') ? 'arrow' : undefined
}

/** For a new table. The lines of NDJSON have no types, and their columns can differ. */
const CREATE_OPTIONS: readonly OptionName[] = ['--create', '--key', '--type']
const CSV_OPTIONS: readonly OptionName[] = [
  ...(['--yes', '--date-format', '--number-format'] as const),
  ...(['--null', '--delimiter', '--rejected', '--restart', '--batch'] as const),
]

const REASONS: ReadonlyMap<string, string> = new Map([
  ['--yes', 'its types are not guessed'],
  ...['--rejected', '--restart', '--batch'].map(
    (option) => [option, 'the file is inserted in one request, as a whole or not at all'] as const,
  ),
])

function refuseCsvOptions(args: Arguments, file: string, { name }: FileFormat): void {
  const creating = name === 'NDJSON' ? CREATE_OPTIONS.find((one) => args.has(one)) : undefined
  if (creating !== undefined)
    throw new UsageError(`${creating} is for CSV, Arrow and Parquet, and ${file} is ${name}: create the table first`)
  const option = CSV_OPTIONS.find((one) => args.has(one))
  if (option === undefined) return
  const reason = REASONS.get(option)
  throw new UsageError(
    `${option} is an option for CSV, and ${file} is ${name}${reason === undefined ? '' : `: ${reason}`}`,
  )
}

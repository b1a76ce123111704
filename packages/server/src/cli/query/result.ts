/** Runs a statement and turns its result into text: a table, a list of columns for each row, JSON or CSV. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type LicenceLabel,
  type Column as ResultColumn,
  type Row,
  type Search,
  statement as toStatement,
} from '../../../../client/src/index.ts'
import { CommandError } from '../errors.ts'
import type { Gate } from '../gate.ts'
import { PrintableText } from '../output/printable-text.ts'
import { cellText, formatRecords, formatResult } from '../output/table.ts'
import { programName } from '../program.ts'
import { licenceNotes } from './licence-notes.ts'

export const FORMATS = ['table', 'json', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export interface RunOptions {
  readonly parameters: ReadonlyMap<string, string>
  readonly signal?: AbortSignal
}

export interface Column {
  readonly name: string
  readonly isNumeric: boolean
}

export interface Result {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  readonly rowsAffected: number | undefined
  readonly isTruncated: boolean
  readonly licences: readonly LicenceLabel[]
}

export async function runForTable(gate: Gate, statement: string, { parameters, signal }: RunOptions): Promise<Result> {
  const query = gate.query(toStatement(statement), { signal })
  const { columns, rows, rowsAffected, truncated, licences } = await query.result({
    search: parameterSearch(parameters),
  })
  return {
    columns: tableColumns(columns),
    rows: rows.map((row) => rowCells(row, columns)),
    rowsAffected: rowsAffected === undefined ? undefined : Number(rowsAffected),
    isTruncated: truncated,
    licences,
  }
}

/** The result as the server sends it. */
export function runForFormat(
  gate: Gate,
  statement: string,
  { format, parameters, signal }: RunOptions & { readonly format: 'json' | 'csv' },
): Promise<Response> {
  const accept = format === 'csv' ? 'text/csv' : 'application/json'
  return gate.query(toStatement(statement), { signal }).response(accept, { search: parameterSearch(parameters) })
}

/** In the query string a value is text, which the server reads by the type of its parameter; in JSON it has a type. */
export function parameterSearch(parameters: ReadonlyMap<string, string>): Search {
  return Object.fromEntries([...parameters].map(([name, value]) => [`p.${name}`, value]))
}

export function tableColumns(columns: readonly ResultColumn[]): Column[] {
  return columns.map(({ name, type }) => ({ name, isNumeric: /^(Integer|Decimal|Double)/.test(type) }))
}

export function rowCells(row: Row, columns: readonly ResultColumn[]): string[] {
  return columns.map(({ name }) => cellText(Object.hasOwn(row, name) ? row[name] : null))
}

/** Removes control characters for a terminal. */
export async function copyToStdout({ body }: Response): Promise<void> {
  if (body === null) return
  const chunks = Readable.fromWeb(body)
  if (!process.stdout.isTTY) return whole(pipeline(chunks, process.stdout, { end: false }))
  await whole(pipeline(chunks, new PrintableText(), process.stdout, { end: false }))
  process.stdout.write('\n')
}

export function readBody(response: Response): Promise<string> {
  return whole(response.text())
}

/** The server closes the connection if an error occurs in a format that cannot carry one. */
export async function whole<T>(
  reading: Promise<T>,
  error = new CommandError('The server ended the result before it was complete'),
): Promise<T> {
  try {
    return await reading
  } catch (failure) {
    throw failure instanceof TypeError ? error : failure
  }
}

export function showResult({ columns, rows }: Result, expanded = false): string {
  return expanded ? formatRecords(columns, rows) : formatResult(columns, rows)
}

export function summarise({ rows, rowsAffected, isTruncated, licences }: Result): string {
  const count = (amount: number) => `${amount} ${amount === 1 ? 'row' : 'rows'}`
  if (rowsAffected !== undefined) return `${count(rowsAffected)} affected`
  const counted = isTruncated
    ? `the first ${count(rows.length)}; use "${programName()} export" for all`
    : count(rows.length)
  return [counted, ...licenceNotes(licences)].join(' · ')
}

/** Runs a statement and turns its result into text: a table, a list of columns for each row, JSON or CSV. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Unreachable } from '../client.ts'
import { membersOf, parseJson } from '../json.ts'
import { PrintableText } from '../printable-text.ts'
import { cellText, formatRecords, formatResult } from '../table.ts'
import { type Column, columnsOf, expectSuccess, type QueryConnection, QueryRefused } from './connection.ts'

export const FORMATS = ['table', 'json', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export interface RunOptions {
  readonly parameters: ReadonlyMap<string, string>
  readonly signal?: AbortSignal
}

export interface Result {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  readonly rowsAffected: number | undefined
  readonly isTruncated: boolean
}

export async function runForTable(
  connection: QueryConnection,
  statement: string,
  options: RunOptions,
): Promise<Result> {
  // Arrays keep columns of the same name apart, strings keep integers beyond 2^53 exact.
  const search = { rows: 'arrays', integers: 'strings' }
  const response = await expectSuccess(await connection.statement(statement, { ...options, search }), statement)
  return readResult(await bodyOf(response), statement)
}

/** The result as the server sends it. */
export async function runForFormat(
  connection: QueryConnection,
  statement: string,
  { format, ...options }: RunOptions & { readonly format: 'json' | 'csv' },
): Promise<Response> {
  const accept = format === 'csv' ? 'text/csv' : 'application/json'
  return expectSuccess(await connection.statement(statement, { ...options, accept }), statement)
}

/** To a terminal without what could control it. */
export async function copyToStdout({ body }: Response): Promise<void> {
  if (body === null) return
  const chunks = Readable.fromWeb(body)
  if (!process.stdout.isTTY) return pipeline(chunks, process.stdout, { end: false })
  await pipeline(chunks, new PrintableText(), process.stdout, { end: false })
  process.stdout.write('\n')
}

export async function bodyOf(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    if (error instanceof TypeError) throw new Unreachable('The server ended the result before it was complete')
    throw error
  }
}

export function showResult({ columns, rows }: Result, expanded = false): string {
  return expanded ? formatRecords(columns, rows) : formatResult(columns, rows)
}

export function summarise({ rows, rowsAffected, isTruncated }: Result): string {
  const count = (amount: number) => `${amount} ${amount === 1 ? 'row' : 'rows'}`
  if (rowsAffected !== undefined) return `${count(rowsAffected)} affected`
  return isTruncated ? `the first ${count(rows.length)}; use "gatehouse export" for all` : count(rows.length)
}

/** Throws the error that may follow the first rows. */
function readResult(body: string, statement: string): Result {
  const { Columns, Rows, RowsAffected, Truncated, Error: problem } = membersOf(parseJson(body))
  if (problem !== undefined) {
    const members = membersOf(problem)
    throw new QueryRefused(Number(members.status), members, statement)
  }
  return {
    columns: columnsOf(Columns),
    rows: (Array.isArray(Rows) ? Rows.filter(Array.isArray) : []).map((row) => row.map(cellText)),
    rowsAffected: typeof RowsAffected === 'number' ? RowsAffected : undefined,
    isTruncated: Truncated === true,
  }
}

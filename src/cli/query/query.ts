/** `gatehouse query`: runs one statement and prints its result as a table, JSON or CSV. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { membersOf, parseJson } from '../json.ts'
import { cellText, formatResult } from '../table.ts'
import { type Column, columnsOf, connectToQuery, expectSuccess, QueryRefused } from './connection.ts'
import { readParameters, readStatement } from './input.ts'

export async function query(args: Arguments): Promise<void> {
  if (args.has('--live')) return (await import('./live/live.ts')).liveQuery(args)
  if (args.has('--max-rate')) throw new UsageError('--max-rate needs --live')
  if (args.has('--json') && args.has('--csv')) throw new UsageError('Give --json or --csv, not both')
  const statement = await readStatement(args.positionals[0])
  const parameters = readParameters(args)
  const connection = await connectToQuery(args)
  if (args.has('--json') || args.has('--csv')) {
    const accept = args.has('--csv') ? 'text/csv' : 'application/json'
    return copy(await expectSuccess(await connection.statement(statement, { parameters, accept }), statement))
  }
  // Arrays keep columns of the same name apart, strings keep integers beyond 2^53 exact.
  const search = { rows: 'arrays', integers: 'strings' }
  const response = await expectSuccess(await connection.statement(statement, { parameters, search }), statement)
  const result = readResult(await response.text(), statement)
  process.stdout.write(formatResult(result.columns, result.rows))
  process.stderr.write(`${summarise(result)}\n`)
}

async function copy(response: Response): Promise<void> {
  if (response.body === null) return
  await pipeline(Readable.fromWeb(response.body), process.stdout, { end: false })
  if (process.stdout.isTTY) process.stdout.write('\n')
}

interface Result {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  readonly rowsAffected: number | undefined
  readonly isTruncated: boolean
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

function summarise({ rows, rowsAffected, isTruncated }: Result): string {
  const count = (amount: number) => `${amount} ${amount === 1 ? 'row' : 'rows'}`
  if (rowsAffected !== undefined) return `${count(rowsAffected)} affected`
  return isTruncated ? `the first ${count(rows.length)}; use "gatehouse export" for all` : count(rows.length)
}

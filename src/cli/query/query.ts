/** `gatehouse query`: one statement, its result as a table, JSON or CSV. */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { Usage } from '../command.ts'
import { readOptions } from '../options.ts'
import { accepted, CONNECTION_OPTIONS, connect, readPairs } from './connection.ts'
import { readResult, resultTable } from './result-table.ts'

export async function query(args: readonly string[]): Promise<void> {
  const { values, positionals } = parse(args)
  const statement = await statementOf(positionals)
  const parameters = readPairs(values.parameter ?? [], '--parameter')
  const connection = await connect(values)
  if (values.json === true || values.csv === true) {
    const accept = values.csv === true ? 'text/csv' : 'application/json'
    const response = await accepted(await connection.statement(statement, { parameters, accept }), statement)
    return copy(response)
  }
  // As arrays of texts, integers past 2^53 and columns of any name come through unharmed.
  const search = { rows: 'arrays', integers: 'strings' }
  const response = await accepted(await connection.statement(statement, { parameters, search }), statement)
  const result = readResult(await response.text(), statement)
  process.stdout.write(resultTable(result))
  process.stderr.write(`${summaryOf(result)}\n`)
}

function parse(args: readonly string[]) {
  const parsed = readOptions(args, {
    ...CONNECTION_OPTIONS,
    json: { type: 'boolean' },
    csv: { type: 'boolean' },
    parameter: { type: 'string', short: 'p', multiple: true },
  })
  if (parsed.values.json === true && parsed.values.csv === true) throw new Usage('Choose one of --json and --csv')
  return parsed
}

/** What stands on the line, or comes down a pipe. */
export async function statementOf(positionals: readonly string[]): Promise<string> {
  const [given, surplus] = positionals
  if (surplus !== undefined) throw new Usage(`One statement in quotes is enough: "${surplus}" is a second`)
  if (given !== undefined && given !== '-') return given
  if (process.stdin.isTTY) throw new Usage('Give a statement in quotes, or pipe one in')
  const piped = await text(process.stdin)
  if (piped.trim() === '') throw new Usage('The statement is empty')
  return piped
}

/** The bytes as they come, no faster than they are taken. */
async function copy(response: Response): Promise<void> {
  if (response.body === null) return
  await pipeline(Readable.fromWeb(response.body), process.stdout, { end: false })
  if (process.stdout.isTTY) process.stdout.write('\n')
}

function summaryOf({ rows, rowsAffected, isTruncated }: ReturnType<typeof readResult>): string {
  const count = (amount: number) => `${amount} ${amount === 1 ? 'row' : 'rows'}`
  if (rowsAffected !== undefined) return `${count(rowsAffected)} affected`
  return isTruncated ? `only the first ${count(rows.length)}; "gatehouse export" gives all` : count(rows.length)
}

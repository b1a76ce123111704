/** Runs statements for callers inside the process: the plan, rights, limits and writes are those of POST /query. */
import { randomUUID } from 'node:crypto'
import { readParameters } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import type { LicenceLabel } from '../catalogue/licence-labels.ts'
import type { TextEncoding } from '../model/result.ts'
import { asUnavailable } from '../unavailable.ts'
import type { QueryResult } from './call.ts'
import type { Planning } from './run.ts'
import { type Ran, type RunEnv, run } from './run.ts'

export type RunStatement = (
  principal: Principal,
  statement: string,
  /** Values in their text form. */
  parameters?: Readonly<Record<string, string>>,
  options?: RunOptions,
) => Promise<StatementResult>

export interface RunOptions {
  /** The table whose closed rows the statement may delete. */
  readonly erases?: string
}

export interface StatementResult {
  /** As in JSON: decimals and times are texts. */
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly rowsAffected: number | undefined
  /** What is delayed, or left out. */
  readonly labels: readonly LicenceLabel[]
}

const ENCODING: TextEncoding = { format: 'ndjson', rows: 'objects', integers: 'numbers' }
/** The rows are held in memory. */
const LIMITS = { rows: 10_000, bytes: 16 * 1024 * 1024, skip: 0 }

export function createRunner(env: RunEnv): RunStatement {
  return async (principal, statement, parameters = {}, { erases } = {}) => {
    const inputs = new Map(Object.entries(parameters).map(([name, text]) => [name, { text }]))
    const plan = (planning: Planning) => {
      const planned = planning.plan(statement)
      return { planned, valueSets: [readParameters(statement, planned.bound, inputs)], limits: LIMITS, erases }
    }
    const call = { principal, requestId: randomUUID(), address: '', encoding: ENCODING, shown: statement, plan }
    try {
      return await readResult(await run(call, env))
    } catch (error) {
      throw asUnavailable(error) ?? error
    }
  }
}

async function readResult({ result, run }: Ran): Promise<StatementResult> {
  try {
    const rows = parseLines(await readText(result))
    run.succeed(rows.length)
    return { rows, rowsAffected: result.kind === 'rows' ? result.rowsAffected : undefined, labels: run.labels }
  } catch (error) {
    run.fail(error)
    throw error
  }
}

async function readText(result: QueryResult): Promise<string> {
  if (result.kind === 'whole') return result.read.text
  if (result.kind === 'stream') return Buffer.concat(await Array.fromAsync(result.chunks)).toString()
  const encoder = result.encoders.create(ENCODING)
  for (const row of result.rows) encoder.add(row)
  return encoder.takeText()
}

function parseLines(text: string): Readonly<Record<string, unknown>>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Record<string, unknown> => JSON.parse(line))
}

/** Runs statements for callers inside the process: the plan, rights, limits and writes are those of POST /query. */
import { randomUUID } from 'node:crypto'
import { readParameters } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import type { Encoding } from '../model/result.ts'
import { asUnavailable } from '../unavailable.ts'
import { type ExecutionEnv, type QueryResult, readSmall } from './call.ts'
import { execute } from './execution.ts'
import type { RunningQueries } from './running.ts'

export type RunStatement = (
  principal: Principal,
  statement: string,
  /** Values in their text form. */
  parameters?: Readonly<Record<string, string>>,
) => Promise<StatementResult>

export interface StatementResult {
  /** As in JSON: decimals and times are texts. */
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly rowsAffected: number | undefined
}

const ENCODING: Encoding = { format: 'ndjson', rows: 'objects', integers: 'numbers' }
/** The rows are held in memory. */
const LIMITS = { rows: 10_000, bytes: 16 * 1024 * 1024, skip: 0 }

export function createRunner(env: ExecutionEnv & { readonly running: RunningQueries }): RunStatement {
  return async (principal, statement, parameters = {}) => {
    const requestId = randomUUID()
    const planned = env.planner.plan(principal, env.catalogue.snapshot, statement)
    const inputs = new Map(Object.entries(parameters).map(([name, text]) => [name, { text }]))
    const valueSets = [readParameters(statement, planned.bound, inputs)]
    const call = { principal, requestId, address: '', planned, valueSets, encoding: ENCODING, limits: LIMITS }
    const small = readSmall(call, env)
    if (small !== undefined) return { rows: parseLines(small.text), rowsAffected: undefined }
    const running = env.running.begin(principal, requestId, statement)
    try {
      const result = await execute({ ...call, running }, env)
      return { rows: parseLines(await textOf(result)), rowsAffected: affectedBy(result) }
    } catch (error) {
      throw asUnavailable(error) ?? error
    } finally {
      running.end()
    }
  }
}

async function textOf(result: QueryResult): Promise<string> {
  if (result.kind === 'whole') return result.read.text
  if (result.kind === 'stream') return Buffer.concat(await Array.fromAsync(result.chunks)).toString()
  const encoder = result.encoders.create(ENCODING)
  for (const row of result.rows) encoder.add(row)
  return encoder.takeText()
}

function affectedBy(result: QueryResult): number | undefined {
  return result.kind === 'rows' ? result.rowsAffected : undefined
}

function parseLines(text: string): Readonly<Record<string, unknown>>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Record<string, unknown> => JSON.parse(line))
}

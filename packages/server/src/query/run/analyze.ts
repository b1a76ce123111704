/** EXPLAIN ANALYZE: runs the query, drops its rows, and says how many there were and how long they took, also of each step. */
import { printQuery, type Query } from 'gatehouse-iql'
import type { ReadRun } from '../engines/engine.ts'
import { whenPlanned } from '../plan/long-plans.ts'
import { type ExecutionEnv, type RunningCall, readRun } from './call.ts'

/** Every row is counted; the time limit of the query applies. */
const ALL = { skip: 0, rows: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER }

export async function analyze(query: Query, run: RunningCall, env: ExecutionEnv): Promise<string[]> {
  const built = { key: `analyze ${printQuery(query)}`, statement: () => query }
  const planned = await whenPlanned(() => env.planner.plan(run.rights, run.planned.snapshot, '', built))
  const { read } = planned
  if (read === undefined) throw new Error('A query without a plan')
  const started = performance.now()
  const elapsed = () => `${(performance.now() - started).toFixed(1)} ms`
  const call = {
    ...run,
    planned,
    encoding: { format: 'ndjson', rows: 'arrays', integers: 'numbers' },
    limits: ALL,
  } as const
  const values = readRun(call, env)
  const chunks = read.readStream(values, run.running)
  let first: string | undefined
  let bytes = 0
  for (;;) {
    const next = await chunks.next()
    first ??= elapsed()
    if (next.done) {
      const { rowCount } = next.value
      return [
        `${rowsText(rowCount)} in ${elapsed()}, the first of them after ${first}; ${bytes} bytes`,
        ...(await stepLines(call, values)),
      ]
    }
    bytes += next.value.length
  }
}

/** What the engine measured, without how many rows a row filter hides. */
async function stepLines({ planned, running }: RunningCall, values: ReadRun): Promise<readonly string[]> {
  const { tables } = planned.bound
  const isAllSeen = tables.every(
    ({ isSystem, rowFilter, storedAs }) => !isSystem && rowFilter === undefined && storedAs === undefined,
  )
  const steps = isAllSeen ? ((await planned.read?.measureSteps?.(values, running)) ?? []) : []
  return steps.map(
    ({ depth, name, rows, milliseconds }) =>
      `${'  '.repeat(depth + 1)}${name}: ${rowsText(rows)}, ${milliseconds.toFixed(1)} ms`,
  )
}

function rowsText(count: number): string {
  return `${count} ${count === 1 ? 'row' : 'rows'}`
}

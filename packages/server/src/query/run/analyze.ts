/** EXPLAIN ANALYZE: runs the query, drops its rows, and says how many there were and how long they took. */
import { printQuery, type Query } from 'gatehouse-iql'
import { type ExecutionEnv, type RunningCall, readRun } from './call.ts'

/** Every row is counted; the time limit of the query applies. */
const ALL = { skip: 0, rows: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER }

export async function analyze(query: Query, run: RunningCall, env: ExecutionEnv): Promise<string[]> {
  const planned = env.planner.plan(run.principal, run.planned.snapshot, '', {
    key: `analyze ${printQuery(query)}`,
    statement: () => query,
  })
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
  const chunks = read.readStream(readRun(call, env), run.running)
  let first: string | undefined
  let bytes = 0
  for (;;) {
    const next = await chunks.next()
    first ??= elapsed()
    if (next.done) {
      const { rowCount } = next.value
      return [
        `${rowCount} ${rowCount === 1 ? 'row' : 'rows'} in ${elapsed()}, the first of them after ${first}; ${bytes} bytes`,
      ]
    }
    bytes += next.value.length
  }
}

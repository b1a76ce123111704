/** Runs reads in a process without free descriptors, and prints the outcomes. */
import { closeSync, openSync } from 'node:fs'
import { ReaderPool } from '../../packages/server/src/query/engines/sqlite/processes/reader-pool.ts'
import { TempBudget } from '../../packages/server/src/query/engines/sqlite/processes/temp-budget.ts'

const TAKEN: number[] = []
try {
  for (;;) TAKEN.push(openSync('/dev/null', 'r'))
} catch {
  // All descriptors are in use.
}
const readers = new ReaderPool({
  path: '/tmp/none',
  long: 1,
  maximumWaiting: 9,
  idleMilliseconds: 1000,
  budget: new TempBudget({ statement: 1e9, user: 1e9 }),
})
const job = {
  sql: 'SELECT 1',
  parameters: [],
  columns: [],
  keyColumns: [],
  encoding: { format: 'json', rows: 'objects', integers: 'numbers' },
  limits: { skip: 0, rows: 1, bytes: 1 },
} as const
const ask = async (): Promise<string> => {
  try {
    await readers.read('user:a', job, { signal: AbortSignal.timeout(5000) }).next()
    return 'answered'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
const outcomes = [await ask(), ...(await Promise.all([ask(), ask()]))]
for (const descriptor of TAKEN) closeSync(descriptor)
console.log([...outcomes, 'alive'].join(' '))

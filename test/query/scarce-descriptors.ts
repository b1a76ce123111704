/** Asks the pool of readers for more than the process has descriptors for, and tells what came of it. */
import { closeSync, openSync } from 'node:fs'
import { Readers } from '../../src/query/engines/sqlite/readers.ts'

const TAKEN: number[] = []
try {
  for (;;) TAKEN.push(openSync('/dev/null', 'r'))
} catch {
  // No descriptor is left.
}
const readers = new Readers({ path: '/tmp/none', maximum: 1, maximumWaiting: 9, idleMilliseconds: 1000 })
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
    await readers.run(job, AbortSignal.timeout(5000)).next()
    return 'answered'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
const told = [await ask(), ...(await Promise.all([ask(), ask()]))]
for (const descriptor of TAKEN) closeSync(descriptor)
console.log([...told, 'alive'].join(' '))

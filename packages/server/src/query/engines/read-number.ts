/** The one number that a statement selects as c0, read as a long query is: apart from the event loop, and for a limited time. */
import { INTEGER } from 'gatehouse-iql'
import type { Encoding } from '../model/result.ts'
import type { SqlStatement } from './emit/parameters.ts'
import type { Engine } from './engine.ts'

const LINES: Encoding = { format: 'ndjson', rows: 'arrays', integers: 'strings' }
const COLUMNS = [{ name: 'n', type: INTEGER, nullable: false }]
const LIMITS = { skip: 0, rows: 1, bytes: 1024 }
const MOST_MS = 60_000

export async function readNumber(engine: Pick<Engine, 'prepareRead'>, statement: SqlStatement): Promise<number> {
  const { sql, parameters } = statement
  const read = engine.prepareRead({ sql, columns: COLUMNS, keyColumns: [], cost: 'unbounded' })
  const running = { signal: AbortSignal.timeout(MOST_MS) }
  const parts: Uint8Array[] = []
  for await (const part of read.readStream({ owner: '', parameters, encoding: LINES, limits: LIMITS }, running))
    parts.push(part)
  return Number(/\d+/.exec(Buffer.concat(parts).toString())?.[0] ?? 0)
}

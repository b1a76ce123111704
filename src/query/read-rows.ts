/** The rows of a query that the service asks on behalf of a statement: on the event loop only where it is proven cheap. */
import { isShort, type Reach } from './cost.ts'
import type { Bindable, Engine, ReadOutcome } from './engines/engine.ts'
import { refuse } from './errors.ts'
import { readColumnValue } from './given.ts'
import { type IqlValue, TEXT } from './iql/types.ts'
import { isList, readJson } from './json.ts'
import type { Encoding, ResultColumn } from './result/encoding.ts'

export interface RowsRequest {
  readonly sql: string
  readonly parameters: readonly Bindable[]
  readonly columns: readonly ResultColumn[]
  readonly reach: Reach
  readonly signal: AbortSignal
}

/** They are all held in memory, and each is a table to define or to change. */
const MOST_ROWS = 1000
const MOST_BYTES = 16 * 1024 * 1024

const LINES: Encoding = { format: 'ndjson', rows: 'arrays', integers: 'strings' }

export async function readRows(engine: Engine, request: RowsRequest): Promise<IqlValue[][]> {
  const { sql, parameters, reach, signal } = request
  // A document keeps its text, spaces and all.
  const columns = request.columns.map((column) => (column.type.kind === 'Json' ? { ...column, type: TEXT } : column))
  const limits = { skip: 0, rows: MOST_ROWS, bytes: MOST_BYTES }
  const read = { sql, parameters, columns, keyColumns: [], encoding: LINES, limits, reach }
  const small = isShort(reach) ? engine.readAtOnce?.(read) : undefined
  const { text, outcome } = small ?? (await wholeOf(engine.read({ ...read, signal })))
  if (outcome.truncated !== 'no')
    throw refuse(
      'Limit.Complexity',
      `The statement reads more than ${MOST_ROWS} rows, or too long ones, to define with`,
    )
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const cells = readJson(line)
      if (!isList(cells)) throw new Error('A row that is no array')
      return columns.map(({ name, type }, index) => readColumnValue(name, type, cells[index] ?? null))
    })
}

async function wholeOf(chunks: AsyncGenerator<Uint8Array, ReadOutcome, void>) {
  const taken: Uint8Array[] = []
  for (;;) {
    const next = await chunks.next()
    if (next.done) return { text: Buffer.concat(taken).toString('utf8'), outcome: next.value }
    taken.push(next.value)
  }
}

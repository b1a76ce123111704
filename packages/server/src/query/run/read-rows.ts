/** Rows of a query that the service itself runs on behalf of a statement. It runs on the event loop only if it is proven cheap. */

import { type IqlValue, type ResultColumn, TEXT } from 'gatehouse-iql'
import type { Bindable } from '../engines/emit/parameters.ts'
import type { Engine, Stoppable } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import { isList, readColumnValue, readJson } from '../json.ts'
import { type CostClass, isBounded } from '../model/cost-class.ts'
import type { Encoding, ReadOutcome } from '../model/result.ts'

export interface RowsRequest {
  readonly sql: string
  readonly parameters: readonly Bindable[]
  readonly columns: readonly ResultColumn[]
  readonly cost: CostClass
  readonly owner: string
  readonly running: Stoppable
}

/** All rows are held in memory, and each one defines or changes a table. */
const MAX_ROWS = 1000
const MAX_BYTES = 16 * 1024 * 1024

const LINES: Encoding = { format: 'ndjson', rows: 'arrays', integers: 'strings' }

export async function readRows(engine: Engine, request: RowsRequest): Promise<IqlValue[][]> {
  const { sql, parameters, cost, owner, running } = request
  // Read as Text, JSON keeps its exact text.
  const columns = request.columns.map((column) => (column.type.kind === 'Json' ? { ...column, type: TEXT } : column))
  const limits = { skip: 0, rows: MAX_ROWS, bytes: MAX_BYTES }
  const read = engine.prepareRead({ sql, columns, keyColumns: [], cost })
  const run = { owner, parameters, encoding: LINES, limits }
  const small = isBounded(cost) ? read.readInline?.(run) : undefined
  const { text, outcome } = small ?? (await readWhole(read.readStream(run, running)))
  if (outcome.truncated !== 'no')
    throw refuse('Limit.Complexity', `A statement can define or change at most ${MAX_ROWS} tables at once`)
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const cells = readJson(line)
      if (!isList(cells)) throw new Error('A row is not an array')
      return columns.map(({ name, type }, index) => readColumnValue(name, type, cells[index] ?? null))
    })
}

async function readWhole(chunks: AsyncGenerator<Uint8Array, ReadOutcome, void>) {
  const taken: Uint8Array[] = []
  for (;;) {
    const next = await chunks.next()
    if (next.done) return { text: Buffer.concat(taken).toString('utf8'), outcome: next.value }
    taken.push(next.value)
  }
}

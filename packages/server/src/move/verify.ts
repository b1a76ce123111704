/** Compares a table in both databases row by row, in the order of its key. */
import { type MovedTable, MoveRefused, nameRow, type Reader, type Row, showValue, tableLabel } from './table.ts'
import { isSame } from './values.ts'

/** Returns the number of rows. Throws MoveRefused at the first difference. */
export async function verifyTable(
  table: MovedTable,
  source: Reader,
  target: Reader,
  onRows: (rows: number) => void,
): Promise<number> {
  const [sources, targets] = [new RowCursor(source, table), new RowCursor(target, table)]
  try {
    for (let count = 0; ; count++) {
      const expected = sources.next() ?? (await sources.fetch())
      const found = targets.next() ?? (await targets.fetch())
      if (expected === undefined && found === undefined) return count
      const difference = describeDifference(table, expected, found)
      if (difference !== undefined) throw differs(table, difference, source, target)
      if (count % ROWS_PER_REPORT === 0) onRows(count)
    }
  } finally {
    await sources.close()
    await targets.close()
  }
}

const ROWS_PER_REPORT = 5000

/** Synchronous as long as a batch lasts; the next one is read meanwhile. */
class RowCursor {
  readonly #batches: AsyncGenerator<readonly Row[]>
  #coming: Promise<IteratorResult<readonly Row[]>>
  #batch: readonly Row[] = []
  #index = 0

  constructor(reader: Reader, table: MovedTable) {
    this.#batches = reader.rows(table, 'sorted', 0)
    this.#coming = this.#read()
  }

  /** Undefined at the end of a batch. */
  next(): Row | undefined {
    return this.#batch[this.#index++]
  }

  /** The first row of the next batch; undefined at the end. */
  async fetch(): Promise<Row | undefined> {
    const { value, done } = await this.#coming
    this.#batch = done === true ? [] : value
    this.#index = 0
    if (done !== true) this.#coming = this.#read()
    return this.next()
  }

  #read(): Promise<IteratorResult<readonly Row[]>> {
    const coming = this.#batches.next()
    // Awaited later; until then a failure must not end the process.
    coming.catch(() => {})
    return coming
  }

  async close(): Promise<void> {
    await this.#coming.catch(() => {})
    await this.#batches.return(undefined)
  }
}

function describeDifference(table: MovedTable, expected: Row | undefined, found: Row | undefined): string | undefined {
  if (expected === undefined) return `it has a row that the source does not have (${nameRow(table, found ?? [])})`
  if (found === undefined) return `it lacks a row of the source (${nameRow(table, expected)})`
  for (let index = 0; index < table.columns.length; index++) {
    const [value, copy] = [expected[index] ?? null, found[index] ?? null]
    if (!isSame(value, copy))
      return `near the row ${nameRow(table, expected)} the column ${table.columns[index]?.name} is ${showValue(copy)} instead of ${showValue(value)}`
  }
  return undefined
}

function differs(table: MovedTable, difference: string, source: Reader, target: Reader): MoveRefused {
  return new MoveRefused(
    `The table ${tableLabel(table)} in ${target.location} differs from that in ${source.location}: ${difference}. Another program has changed one of them during the move. Stop it, give the move up with "gatehouse move --reopen", remove what the target holds, and move again.`,
  )
}

/** Small results, read in journeys that many requests share; what is not small after all, or gets stuck, is for a cursor of its own. */
import type { Pool, PoolClient } from 'pg'
import { type Cell, createTextEncoder } from '../../result/encoding.ts'
import type { Bindable, ReadOutcome, ReadRequest, WholeRead } from '../engine.ts'
import { asRefusal, isOfStatement, isOutdated, isTimeout } from './failure.ts'
import { rowReader } from './representation.ts'
import { Strays } from './strays.ts'
import { Together } from './together.ts'
import { type RawRow, type TrainStatement, travel } from './train.ts'

export type ShortReadRequest = Omit<ReadRequest, 'signal'>
export type ReadTogether = (request: ShortReadRequest) => Promise<WholeRead | undefined>

export interface ShortReadOptions {
  readonly pool: Pool
  readonly connections: number
  readonly waiting: number
  readonly milliseconds: number
}

/** Beyond these a result is not small: it would hold up what travels with it. */
const MOST_ROWS = 200
const MOST_BYTES = 1024 * 1024

export function createShortReads({ pool, connections, waiting, milliseconds }: ShortReadOptions): ReadTogether {
  const strays = new Strays()
  const together = new Together<ShortRead>({
    pool,
    connections,
    waiting,
    milliseconds,
    run,
    fail: (read, error) => read.reject(asRefusal(error) ?? error),
  })
  return async (request) => {
    if (request.limits.skip > 0 || strays.has(request.sql)) return undefined
    const taken = await new Promise<Taken | undefined>((resolve, reject) => {
      together.add(new ShortRead(request, resolve, reject))
    })
    const whole = taken === undefined ? undefined : encode(taken, request)
    if (whole === undefined) strays.add(request.sql)
    return whole
  }
}

interface Taken {
  readonly rows: readonly RawRow[]
  /** No row was left. */
  readonly isWhole: boolean
}

class ShortRead implements TrainStatement {
  readonly sql: string
  readonly parameters: readonly Bindable[]
  readonly rows = MOST_ROWS + 1
  readonly resolve: (taken: Taken | undefined) => void
  readonly reject: (error: unknown) => void
  readonly #taken: RawRow[] = []
  #bytes = 0
  isAgain = false

  constructor(
    { sql, parameters, reach }: ShortReadRequest,
    resolve: (taken: Taken | undefined) => void,
    reject: (error: unknown) => void,
  ) {
    this.sql = reach === 'row by row' ? firstRows(sql) : sql
    this.parameters = parameters
    this.resolve = resolve
    this.reject = reject
  }

  onRow(row: RawRow, bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= MOST_BYTES) this.#taken.push(row)
  }

  onDone(_rowsAffected: number, isWhole: boolean): void {
    this.resolve(this.#bytes <= MOST_BYTES ? { rows: this.#taken, isWhole } : undefined)
  }
}

/** Told that few rows will do, the database takes a plan that has the first ones soon. */
function firstRows(sql: string): string {
  return `SELECT * FROM (${sql}) AS q LIMIT ${MOST_ROWS + 1}`
}

/** Undefined when there are more rows than were taken, and they are wanted. */
function encode({ rows, isWhole }: Taken, request: ShortReadRequest): WholeRead | undefined {
  const { encoding, columns, keyColumns, limits } = request
  const encoder = createTextEncoder(encoding, columns)
  const readRow = rowReader(columns, keyColumns)
  let rowCount = 0
  let truncated: ReadOutcome['truncated'] = 'no'
  let last: readonly Cell[] = []
  for (const raw of rows) {
    if (rowCount >= limits.rows) truncated = 'rows'
    else if (encoder.pending >= limits.bytes) truncated = 'bytes'
    if (truncated !== 'no') break
    last = readRow(raw)
    encoder.add(last)
    rowCount++
  }
  if (!isWhole && truncated === 'no') return undefined
  return { text: encoder.takeText(), outcome: { rowCount, truncated, lastKey: last.slice(columns.length) } }
}

/** What fails, fails alone: those behind it, which were not run, set out anew. */
async function run(client: PoolClient, reads: readonly ShortRead[]): Promise<void> {
  for (let left = reads; left.length > 0; ) {
    const failure = await travel(client, left)
    if (failure === undefined) return
    const { index, error } = failure
    if (!isOfStatement(error)) throw error
    const failed = left[index]
    if (failed === undefined) return
    left = left.slice(index)
    if (isOutdated(error) && !failed.isAgain) {
      failed.isAgain = true
      continue
    }
    left = left.slice(1)
    if (isTimeout(error)) failed.resolve(undefined)
    else failed.reject(asRefusal(error) ?? error)
  }
}

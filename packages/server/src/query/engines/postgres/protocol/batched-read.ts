/** Reads small results in round trips that many requests share. A result that is not small, or takes long, is left to a portal. */
import type { Pool, PoolClient } from 'pg'
import { RecentKeys } from '../../../../lib/recent-keys.ts'
import type { TextRowEncoder } from '../../../model/result.ts'
import { TextEncoders } from '../../../results/encoders.ts'
import { BoundedRows, type RowReader } from '../../bounded-rows.ts'
import type { Bindable } from '../../emit/parameters.ts'
import type { PreparedRead, ReadLimits, ReadRun, ReadStatement, WholeRead } from '../../engine.ts'
import { asRefusal, isOfStatement, isOutdated, isTimeout } from '../failure.ts'
import { Batcher } from './batcher.ts'
import { type PipelineStatement, runPipelined } from './pipeline.ts'
import type { RawRow } from './protocol.ts'

export interface BatchedReadOptions {
  readonly pool: Pool
  readonly connections: number
  readonly waiting: number
  readonly milliseconds: number
  readonly onLate?: (client: PoolClient) => void
}

export type PrepareBatchedRead = (
  query: ReadStatement,
  readRow: RowReader<RawRow>,
) => NonNullable<PreparedRead['readBatched']>

/** A larger result is not small: it would delay the others of its batch. */
const MAX_ROWS = 200
const MAX_BYTES = 1024 * 1024

export function createBatchedReads(options: BatchedReadOptions): PrepareBatchedRead {
  /** Statements that do not fit a batch, and owners of slow ones, run on their own for a while, without another attempt. */
  const unbatchable = new RecentKeys()
  /** One slow read delays its batch; a second one of the same owner does not. */
  const slowOwners = new RecentKeys()
  const batcher = new Batcher<BatchedRead>({
    ...options,
    run: runBatch,
    fail: (read, error) => read.reject(asRefusal(error) ?? error),
  })
  return (query, readRow) => {
    const sql = query.cost === 'indexed' ? firstRows(query.sql) : query.sql
    const encoders = new TextEncoders(query.columns)
    return async (run) => {
      if (run.limits.skip > 0 || unbatchable.has(sql) || slowOwners.has(run.owner)) return undefined
      const rows = await new Promise<Fetched>((resolve, reject) => {
        batcher.add(new BatchedRead(sql, run, resolve, reject))
      })
      if (rows === 'slow') slowOwners.add(run.owner)
      if (rows === 'not run') return undefined
      const whole =
        typeof rows === 'string'
          ? undefined
          : encode(rows, encoders.create(run.encoding), query.columns.length, readRow, run.limits)
      if (whole === undefined) unbatchable.add(sql)
      return whole
    }
  }
}

/** With a LIMIT the planner prefers a plan that finds the first rows soon. */
function firstRows(sql: string): string {
  return `SELECT * FROM (${sql}) AS q LIMIT ${MAX_ROWS + 1}`
}

interface FetchedRows {
  readonly rows: readonly RawRow[]
  /** No row was left. */
  readonly isWhole: boolean
}

type Fetched =
  | FetchedRows
  | 'large'
  | 'slow'
  /** Another read of the same owner was slow. */
  | 'not run'

class BatchedRead implements PipelineStatement {
  readonly sql: string
  readonly parameters: readonly Bindable[]
  readonly maxRows = MAX_ROWS + 1
  readonly owner: string
  readonly resolve: (rows: Fetched) => void
  readonly reject: (error: unknown) => void
  readonly #rows: RawRow[] = []
  #bytes = 0
  isRetry = false

  constructor(
    sql: string,
    { owner, parameters }: ReadRun,
    resolve: (rows: Fetched) => void,
    reject: (error: unknown) => void,
  ) {
    this.sql = sql
    this.owner = owner
    this.parameters = parameters
    this.resolve = resolve
    this.reject = reject
  }

  onRow(row: RawRow, bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= MAX_BYTES) this.#rows.push(row)
  }

  onDone(_rowsAffected: number, isWhole: boolean): void {
    this.resolve(this.#bytes <= MAX_BYTES ? { rows: this.#rows, isWhole } : 'large')
  }
}

/** Undefined when the result needs more rows than were fetched. */
function encode(
  { rows, isWhole }: FetchedRows,
  encoder: TextRowEncoder,
  columns: number,
  readRow: RowReader<RawRow>,
  limits: ReadLimits,
): WholeRead | undefined {
  const bounded = new BoundedRows(encoder, limits, readRow)
  bounded.addAll(rows)
  if (!isWhole && bounded.truncated === 'no') return undefined
  return { text: encoder.takeText(), outcome: bounded.outcome(columns) }
}

/** A statement fails alone: those after it, which were not run, are sent again. */
async function runBatch(client: PoolClient, reads: readonly BatchedRead[]): Promise<void> {
  for (let left = reads; left.length > 0; ) {
    const failure = await runPipelined(client, left)
    if (failure === undefined) return
    const { index, error } = failure
    if (!isOfStatement(error)) throw error
    const failed = left[index]
    if (failed === undefined) return
    left = left.slice(index)
    if (isOutdated(error) && !failed.isRetry) {
      failed.isRetry = true
      continue
    }
    left = left.slice(1)
    if (isTimeout(error)) {
      failed.resolve('slow')
      for (const read of left) if (read.owner === failed.owner) read.resolve('not run')
      left = left.filter((read) => read.owner !== failed.owner)
    } else failed.reject(asRefusal(error) ?? error)
  }
}

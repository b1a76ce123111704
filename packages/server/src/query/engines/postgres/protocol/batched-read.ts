/** Reads small results in round trips that many requests share. A result that is not small, or takes long, is left to a portal. */
import type { PoolClient } from 'pg'
import { RecentKeys } from '../../../../lib/recent-keys.ts'
import { isText, type TextRowEncoder, wireForm } from '../../../model/result.ts'
import { TextEncoders } from '../../../results/encoders.ts'
import { createWireEncoder } from '../../../results/wire-rows.ts'
import { BoundedRows, type RowDecoder } from '../../bounded-rows.ts'
import type { Bindable } from '../../emit/parameters.ts'
import type { PreparedRead, ReadLimits, ReadRun, ReadStatement, WholeRead } from '../../engine.ts'
import { asRefusal, isOfStatement, isOutdated, isTimeout } from '../failure.ts'
import { Batcher, type BatchOptions } from './batcher.ts'
import { type PipelineStatement, runPipelined } from './pipeline.ts'
import type { RawRow } from './protocol.ts'

export type PrepareBatchedRead = (
  query: ReadStatement,
  decodeRow: RowDecoder<RawRow>,
) => NonNullable<PreparedRead['readBatched']>

/** A larger result is not small: it would delay the others of its batch. */
const MAX_ROWS = 200
const MAX_BYTES = 1024 * 1024

export function createBatchedReads(options: BatchOptions): PrepareBatchedRead {
  /** Statements that do not fit a batch, and owners of slow ones, run on their own for a while, without another attempt. */
  const unbatchable = new RecentKeys()
  /** One slow read delays its batch; a second one of the same owner does not. */
  const slowOwners = new RecentKeys()
  const batcher = new Batcher<BatchedRead>({
    ...options,
    run: runBatch,
    fail: (read, error) => read.reject(asRefusal(error) ?? error),
  })
  return (query, decodeRow) => {
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
          : run.encoding.format === 'wire'
            ? encodeMessages(rows, run, query, decodeRow)
            : isText(run.encoding)
              ? encode(rows, encoders.create(run.encoding), query.columns.length, decodeRow, run.limits)
              : undefined
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
  decodeRow: RowDecoder<RawRow>,
  limits: ReadLimits,
): WholeRead | undefined {
  const bounded = new BoundedRows(encoder, limits, decodeRow)
  bounded.addAll(rows)
  if (!isWhole && bounded.truncated === 'no') return undefined
  return { text: encoder.takeText(), outcome: bounded.outcome(columns) }
}

function encodeMessages(
  { rows, isWhole }: FetchedRows,
  { encoding, limits }: ReadRun,
  { columns }: ReadStatement,
  decodeRow: RowDecoder<RawRow>,
): WholeRead | undefined {
  const encoder = createWireEncoder(wireForm(encoding), columns)
  const bounded = new BoundedRows(encoder, limits, decodeRow)
  bounded.addAll(rows)
  if (!isWhole && bounded.truncated === 'no') return undefined
  return { text: '', bytes: encoder.take(), outcome: bounded.outcome(columns.length) }
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

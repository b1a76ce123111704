/** Reads small results on the event loop: a row by its key, a few rows, or the first of many to see whether there are more. */

import { BOUNDED_ROWS } from '../../../model/cost-class.ts'
import { isText, type TextEncoding } from '../../../model/result.ts'
import { TextEncoders } from '../../../results/encoders.ts'
import { BoundedRows, CHUNK_BYTES, type RowDecoder } from '../../bounded-rows.ts'
import type { ReadRun, ReadStatement, WholeRead } from '../../engine.ts'
import { type RawRow, rowDecoder } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'
import { type BoundedQuery, boundedQuery, takeRows } from './bounded-query.ts'
import { type WireReader, wireReader } from './wire-read.ts'

export class InlineRead {
  readonly #statements: StatementCache
  readonly #query: ReadStatement
  readonly #encoders: TextEncoders
  readonly #decodeRow: RowDecoder<RawRow>
  readonly #bounded: BoundedQuery
  #readWire: WireReader | undefined

  constructor(statements: StatementCache, query: ReadStatement) {
    this.#statements = statements
    this.#query = query
    this.#encoders = new TextEncoders(query.columns)
    this.#decodeRow = rowDecoder([...query.columns, ...query.keyColumns])
    this.#bounded = boundedQuery(query)
  }

  /** Undefined when the result is not small: it is then read by a reader process. */
  read(run: ReadRun): WholeRead | undefined {
    if (run.encoding.format === 'wire') {
      this.#readWire ??= wireReader(this.#statements, this.#query)
      return this.#readWire(run)
    }
    return isText(run.encoding) ? this.#readText(run, run.encoding) : undefined
  }

  #readText({ limits, parameters }: ReadRun, encoding: TextEncoding): WholeRead | undefined {
    const { columns, cost } = this.#query
    // Rows that are skipped are read too.
    if (cost !== 'point' && limits.skip > 0) return undefined
    const encoder = this.#encoders.create(encoding)
    const inlineLimits = {
      skip: limits.skip,
      rows: Math.min(limits.rows, BOUNDED_ROWS),
      bytes: Math.min(limits.bytes, CHUNK_BYTES),
    }
    const rows = new BoundedRows(encoder, inlineLimits, this.#decodeRow)
    const { sql, take, longColumns } = this.#bounded
    for (const raw of takeRows(this.#statements.get(sql), take, parameters) as Iterable<RawRow>) {
      if (longColumns.some((index) => typeof raw[index] === 'bigint')) return undefined
      if (!rows.add(raw)) break
    }
    const outcome = rows.outcome(columns.length)
    if (outcome.truncated !== 'no' && limits[outcome.truncated] > inlineLimits[outcome.truncated]) return undefined
    return { text: encoder.takeText(), outcome }
  }
}

/** Reads a result of any size from a portal on a separate connection, as fast as its rows are consumed. */
import { setImmediate as immediate } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { isBounded } from '../../model/cost-class.ts'
import type { ReadOutcome } from '../../model/result.ts'
import { createEncoder } from '../../results/byte-encoder.ts'
import { LongRows } from '../../results/long-rows.ts'
import { BoundedRows, CHUNK_BYTES, type RowDecoder } from '../bounded-rows.ts'
import type { ReadRun, ReadStatement, Stoppable } from '../engine.ts'
import { preemptible } from '../slots/preemptible-read.ts'
import { isOutdated, toFailure } from './failure.ts'
import { type Acquire, type Borrowed, borrow } from './pool.ts'
import { Portal } from './protocol/portal.ts'
import type { RawRow } from './protocol/protocol.ts'

const BATCH_ROWS = 500

export async function* streamRows(
  acquire: Acquire,
  query: ReadStatement,
  decodeRow: RowDecoder<RawRow>,
  run: ReadRun,
  running: Stoppable,
): AsyncGenerator<Uint8Array, ReadOutcome, void> {
  // A bounded read is short, unless it waits for a lock.
  const statement = isBounded(query.cost) ? undefined : query.sql
  for (let isLong = false; ; isLong = true) {
    const borrowed = await borrow(acquire, { owner: run.owner, statement, isLong }, running)
    try {
      running.onRead?.()
      return yield* preemptible(borrowed.slot, readRows(borrowed, query, decodeRow, run, running.signal))
    } catch (error) {
      if (!borrowed.slot.isPreempted) throw toFailure(error, running.signal)
    }
  }
}

async function* readRows(
  { client, giveBack }: Borrowed,
  { sql, columns }: ReadStatement,
  decodeRow: RowDecoder<RawRow>,
  run: ReadRun,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, ReadOutcome, void> {
  let portal: Portal | undefined
  try {
    const encoder = await createEncoder(run.encoding, columns)
    const longRows = new LongRows(encoder, columns, run.encoding)
    const rows = new BoundedRows(longRows, run.limits, decodeRow)
    const opened = await openPortal(client, sql, run)
    portal = opened.portal
    for (let batch = opened.first; ; batch = await portal.next()) {
      for (const raw of batch.rows) {
        signal.throwIfAborted()
        if (!rows.add(raw)) break
        if (longRows.hasLongRow) {
          for (const piece of longRows.pieces()) {
            yield rows.count(piece)
            await immediate()
          }
        }
        // Rows are encoded on the event loop: long ones one by one, with a turn for others in between.
        while (encoder.pending >= CHUNK_BYTES) {
          yield rows.count(encoder.take())
          await immediate()
        }
      }
      if (batch.isLast || rows.truncated !== 'no') break
    }
    encoder.end?.()
    for (;;) {
      yield encoder.take()
      if (encoder.pending === 0) break
      await immediate()
    }
    return { ...rows.outcome(columns.length), trailer: encoder.trailer?.() }
  } finally {
    const isClosed = (await portal?.close()) ?? true
    await giveBack(!isClosed)
  }
}

/** The first rows show whether the statement was prepared before its table changed: then it is prepared again. */
async function openPortal(client: PoolClient, sql: string, run: ReadRun, isRetry = false) {
  const portal = new Portal(sql, run.parameters, Math.min(BATCH_ROWS, run.limits.rows + 1))
  client.query(portal)
  try {
    return { portal, first: await portal.next() }
  } catch (error) {
    await portal.close()
    if (isRetry || !isOutdated(error)) throw error
    return openPortal(client, sql, run, true)
  }
}

/** Reads a result of any size: a cursor on a connection of its own, fetched as fast as its rows are taken. */
import type { PoolClient } from 'pg'
import { type Cell, createEncoder } from '../../result/encoding.ts'
import type { ReadOutcome, ReadRequest } from '../engine.ts'
import { asRefusal, isOutdated } from './failure.ts'
import { borrow, type Take } from './pool.ts'
import { Portal } from './portal.ts'
import { rowReader } from './representation.ts'

const BATCH_ROWS = 500
const CHUNK_BYTES = 64 * 1024

export async function* readRows(take: Take, request: ReadRequest): AsyncGenerator<Uint8Array, ReadOutcome, void> {
  const { signal, limits, columns } = request
  const { client, giveBack } = await borrow(take, signal)
  let portal: Portal | undefined
  try {
    const encoder = await createEncoder(request.encoding, columns)
    const readRow = rowReader(columns, request.keyColumns)
    const begun = await begin(client, request)
    portal = begun.portal
    let { skip } = limits
    let rowCount = 0
    let written = 0
    let truncated: ReadOutcome['truncated'] = 'no'
    let last: readonly Cell[] = []
    for (let batch = begun.first; ; batch = await portal.next()) {
      signal.throwIfAborted()
      for (const raw of batch.rows) {
        if (skip > 0) {
          skip--
          continue
        }
        if (rowCount >= limits.rows) truncated = 'rows'
        else if (written + encoder.pending >= limits.bytes) truncated = 'bytes'
        if (truncated !== 'no') break
        last = readRow(raw)
        encoder.add(last)
        rowCount++
      }
      if (batch.isLast || truncated !== 'no') break
      if (encoder.pending >= CHUNK_BYTES) {
        const chunk = encoder.take()
        written += chunk.byteLength
        yield chunk
      }
    }
    yield encoder.take()
    return { rowCount, truncated, lastKey: last.slice(columns.length) }
  } catch (error) {
    throw signal.aborted ? signal.reason : (asRefusal(error) ?? error)
  } finally {
    await portal?.abandon()
    await giveBack()
  }
}

/** A statement that was prepared before its table became another one is prepared anew, which only its first rows can tell. */
async function begin(client: PoolClient, request: ReadRequest, isAgain = false) {
  const { sql, parameters, limits } = request
  const portal = new Portal(sql, parameters, Math.min(BATCH_ROWS, limits.rows + 1))
  client.query(portal)
  try {
    return { portal, first: await portal.next() }
  } catch (error) {
    await portal.abandon()
    if (isAgain || !isOutdated(error)) throw error
    return begin(client, request, true)
  }
}

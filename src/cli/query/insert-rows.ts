/** Inserts a batch of rows exactly once, across connection failures, and finds the rows that the server rejects. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Unreachable } from '../client.ts'
import { expectSuccess, type QueryConnection, QueryRefused } from './connection.ts'

export interface PendingRow {
  readonly line: number
  readonly raw: string
  readonly json: string
}

export interface RejectedRow {
  readonly line: number
  readonly raw: string
  readonly reason: string
}

/** Statuses that a single row can cause. */
const ROW_STATUSES: ReadonlySet<number> = new Set([400, 409, 413, 422])
/** Statuses that are worth a retry. */
const RETRY_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])
const RETRY_DELAYS_MS = [200, 500, 1000, 2000, 4000]

/** A batch is inserted completely or not at all, so a rejected batch is halved until the bad rows are found. */
export async function insertRows(
  connection: QueryConnection,
  table: string,
  rows: readonly PendingRow[],
  key: string,
): Promise<RejectedRow[]> {
  if (rows.length === 0) return []
  try {
    await insertOnce(connection, table, `[${rows.map(({ json }) => json).join(',')}]`, key)
    return []
  } catch (error) {
    if (!(error instanceof QueryRefused) || !ROW_STATUSES.has(error.status)) throw error
    const [only, another] = rows
    if (only !== undefined && another === undefined) {
      return [{ line: only.line, raw: only.raw, reason: `${error.code}: ${error.detail}` }]
    }
    const middle = rows.length >> 1
    return [
      ...(await insertRows(connection, table, rows.slice(0, middle), `${key}a`)),
      ...(await insertRows(connection, table, rows.slice(middle), `${key}b`)),
    ]
  }
}

/** Retries use the same idempotency key and body, so a request that did arrive is not repeated. */
async function insertOnce(connection: QueryConnection, table: string, body: string, key: string): Promise<void> {
  for (const [attempt, delay] of RETRY_DELAYS_MS.entries()) {
    try {
      const response = await connection.call(table, 'insert', body, { 'idempotency-key': key })
      await (await expectSuccess(response)).arrayBuffer()
      return
    } catch (error) {
      const isTransient =
        error instanceof Unreachable || (error instanceof QueryRefused && RETRY_STATUSES.has(error.status))
      if (!isTransient || attempt === RETRY_DELAYS_MS.length - 1) throw error
      await sleep(delay)
    }
  }
}

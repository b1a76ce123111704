/** Inserts a batch of rows once, whatever happens to the connection, and finds the rows that the service does not take. */
import { setTimeout as pause } from 'node:timers/promises'
import { accepted, type QueryConnection, QueryRefused, Unreachable } from './connection.ts'

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

/** Refusals that one row alone can cause: the others of its batch may be fine. */
const OF_A_ROW: ReadonlySet<number> = new Set([400, 409, 413, 422])
/** The service is busy or away: later it may do. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])
const WAITS_MS = [200, 500, 1000, 2000, 4000]

/** All of a batch are inserted or none, so a refused batch is halved until the rows at fault stand alone. */
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
    if (!(error instanceof QueryRefused) || !OF_A_ROW.has(error.status)) throw error
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

/** The same key and body again and again: if the first try arrived after all, the others insert nothing. */
async function insertOnce(connection: QueryConnection, table: string, body: string, key: string): Promise<void> {
  for (const [attempt, wait] of WAITS_MS.entries()) {
    try {
      const response = await connection.call(table, 'insert', body, { 'idempotency-key': key })
      await (await accepted(response)).arrayBuffer()
      return
    } catch (error) {
      const isPassing = error instanceof Unreachable || (error instanceof QueryRefused && PASSING.has(error.status))
      if (!isPassing || attempt === WAITS_MS.length - 1) throw error
      await pause(wait)
    }
  }
}

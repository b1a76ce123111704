/** Inserts a batch of rows exactly once, across connection failures, and finds the rows that the server rejects. */
import { GatehouseError } from '../../../../client/src/index.ts'
import type { Gate } from '../gate.ts'

/** Values are texts, which the server reads by the type of their column; Json is raw. */
export type ImportedRow = Readonly<Record<string, unknown>>

export interface PendingRow {
  readonly line: number
  readonly raw: string
  readonly row: ImportedRow
}

export interface RejectedRow {
  readonly line: number
  readonly raw: string
  readonly reason: string
}

/** Statuses that a single row can cause. */
const ROW_STATUSES: ReadonlySet<number | undefined> = new Set([400, 409, 413, 422])

/**
 * A batch is inserted completely or not at all, so a rejected batch is halved until the bad rows are found. A retry has the
 * same idempotency key and body, so a request that did arrive is not repeated.
 */
export async function insertRows(
  gate: Gate,
  table: string,
  rows: readonly PendingRow[],
  key: string,
): Promise<RejectedRow[]> {
  if (rows.length === 0) return []
  try {
    await gate.table(table).insert(
      rows.map(({ row }) => row),
      { idempotencyKey: key },
    )
    return []
  } catch (error) {
    if (!(error instanceof GatehouseError) || !ROW_STATUSES.has(error.status)) throw error
    const [only, another] = rows
    if (only !== undefined && another === undefined) {
      return [{ line: only.line, raw: only.raw, reason: `${error.code}: ${error.message}` }]
    }
    const middle = rows.length >> 1
    return [
      ...(await insertRows(gate, table, rows.slice(0, middle), `${key}a`)),
      ...(await insertRows(gate, table, rows.slice(middle), `${key}b`)),
    ]
  }
}

/** Inserts a part of a file exactly once, across connection failures, and finds the rows that the server rejects. */
import { type Duplicates, insertPart, type PartOutcome, type PendingRow } from 'gatehouse-csv'
import { GatehouseError } from '../../../../client/src/index.ts'
import type { Gate } from '../gate.ts'

/** Statuses that a single row can cause. */
const ROW_STATUSES: ReadonlySet<number | undefined> = new Set([400, 409, 413, 422])

export interface PartTarget {
  readonly gate: Gate
  readonly table: string
  /** The first line of each body. */
  readonly header: string
  readonly duplicates: Duplicates
}

/** A retry has the same idempotency key and body, so a request that did arrive is not repeated. */
export function insertRows(
  { gate, table, header, duplicates: policy }: PartTarget,
  rows: readonly PendingRow[],
  key: string,
): Promise<PartOutcome> {
  const send = async (body: string, duplicates: string, partKey: string) => {
    try {
      const response = await gate.request(insertPath(table, { duplicates, nulls: 'default' }), {
        method: 'POST',
        body,
        headers: { 'content-type': 'text/csv', 'idempotency-key': partKey },
        idempotent: true,
      })
      const reply: unknown = await response.json()
      return { reply }
    } catch (error) {
      if (!(error instanceof GatehouseError) || !ROW_STATUSES.has(error.status)) throw error
      return { refused: `${error.code}: ${error.message.replace(/^(?:Line|Row) \d+: /, '')}` }
    }
  }
  return insertPart(send, header, rows, policy, key)
}

export function insertPath(table: string, parameters: Readonly<Record<string, string>>): string {
  return `/Query/${encodeURIComponent(table)}/Insert?${new URLSearchParams(parameters)}`
}

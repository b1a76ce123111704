/** Which bodies of an Insert are bulk inserts: by their Content-Type. */
import type { Context } from '../../http/context.ts'

type BulkKind = 'csv' | 'ndjson' | 'arrow' | 'parquet'

const KINDS: ReadonlyMap<string, BulkKind> = new Map([
  ['text/csv', 'csv'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['application/vnd.apache.arrow.stream', 'arrow'],
  ['application/vnd.apache.arrow.file', 'arrow'],
  ['application/vnd.apache.parquet', 'parquet'],
])

export const BULK_TYPES: readonly string[] = [...KINDS.keys()]

export function bulkKind({ headers }: Pick<Context, 'headers'>): BulkKind | undefined {
  return KINDS.get((headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '')
}

/** Whether the body is read as it arrives. */
export function isBulk(context: Pick<Context, 'headers'>): boolean {
  return bulkKind(context) !== undefined
}

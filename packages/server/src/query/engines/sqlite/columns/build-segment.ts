/** Writes the file of a column segment: reads its rows in one snapshot. Runs in a process of its own. */
import { randomBytes } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { canBeStored, type RawValue, type SegmentColumn, writeSegment } from '../../../columns/segment.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { writeSegmentFile } from './segment-files.ts'

export interface SegmentRows {
  readonly table: string
  readonly rowId: string
  readonly first: bigint
  readonly last: bigint
  readonly columns: readonly SegmentColumn[]
}

/** Returns the tag of the file, and how many rows and bytes it has. */
export function buildSegment(database: Database, path: string, rows: SegmentRows) {
  const tag = randomBytes(12).toString('hex')
  const segment = readSegment(database, rows, tag)
  writeSegmentFile(path, tag, segment.bytes)
  return { tag, rows: segment.rows, bytes: segment.bytes.byteLength }
}

/** The same rows give the same bytes. */
export function readSegment(
  database: Database,
  { table, rowId, first, last, columns }: SegmentRows,
  tag: string,
): { readonly rows: number; readonly bytes: Buffer } {
  const stored = columns.filter(({ type }) => canBeStored(type))
  const names = stored.map(({ name }) => SQLITE.identifier(name))
  const rows = database
    .prepare(
      `SELECT ${[...names, 'NULL'].join(', ')} FROM main.${SQLITE.identifier(table)} WHERE ${rowId} BETWEEN ? AND ? ORDER BY ${rowId}`,
    )
    .raw(true)
    .safeIntegers(true)
    .all(first, last) as RawValue[][]
  return { rows: rows.length, bytes: writeSegment(tag, stored, rows) }
}

/** How a grouping would read column segments: what EXPLAIN says. Nothing is read but the headers of segments. */
import type { Database } from 'better-sqlite3'
import type { ColumnsExplained, ExplainJob } from '../../column-tables.ts'
import { readStatus } from '../columns/segment-tables.ts'
import { chooseParts, createEvaluator, type SegmentSource } from './part-read.ts'
import { SegmentBatches } from './segment-batches.ts'

const REASONS = {
  few: 'no segment is written yet; tables of fewer than 32,768 rows have none',
  index: 'an index leaves few rows',
  order: 'an index has the rows in the order of the groups',
} as const

export function explainParts(
  connection: Database,
  { usual, parts, isAllSeen }: ExplainJob,
  { find, heldBytes, memory }: SegmentSource,
): ColumnsExplained {
  const { columns } = parts
  if (columns === undefined) return { why: 'the setting query_columns is false' }
  connection.exec('BEGIN')
  try {
    const segments = find(parts)
    const choice = chooseParts(connection, usual, parts, segments)
    if (choice !== 'segments') return { why: REASONS[choice === 'rows' ? 'few' : choice] }
    const { marked, missing } = readStatus(connection, parts.name)
    const evaluate = createEvaluator(connection, columns)
    const options = { evaluate, heldBytes, kept: undefined, joined: undefined, memory }
    const batches = new SegmentBatches(columns, options, () => {})
    const { read, fromRows, skipped } = batches.explain(segments)
    const others = marked + missing
    return isAllSeen
      ? { read, fromRows: fromRows + others, skipped }
      : { read: segments.length, fromRows: others, skipped: undefined }
  } finally {
    connection.exec('ROLLBACK')
  }
}

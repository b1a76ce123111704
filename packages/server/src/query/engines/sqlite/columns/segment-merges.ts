/**
 * Small segments that become one: then only few of the newest rows have no segment, and history has few files. The smallest become middle ones
 * first, and those the largest: so a row is written three times. They are read until the file that has the rows of all is published.
 */
import { randomUUID } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { CLAIM_SECONDS, type ClaimedSegment, MARKS, SEGMENTS } from './segment-tables.ts'

/** As many small ones are merged, or more. */
export const MERGED_SEGMENTS = 8
/** The rows of merged segments, of those that a segment has: rows may have been added to them. */
const MAX_GROWTH = 1.5

export interface MergeTiming {
  /** In seconds. */
  readonly now: number
  /** How many rows a segment has that is not small. */
  readonly maxRows: number
}

interface Segment {
  readonly segment: bigint
  readonly first: bigint
  readonly last: bigint
  readonly rows: bigint
  readonly isReady: bigint
}

/** Whether `claimMerge` would find some. */
export function hasMerge(database: Database, name: string, timing: MergeTiming): boolean {
  return findRun(database, name, timing) !== undefined
}

/** In a transaction, the first step for adjacent small segments. Undefined if there are too few. */
export function claimMerge(database: Database, name: string, timing: MergeTiming): ClaimedSegment | undefined {
  const run = findRun(database, name, timing)
  const [first, last] = [run?.[0], run?.at(-1)]
  if (run === undefined || first === undefined || last === undefined) return undefined
  const claim = randomUUID()
  const update = database.prepare(`UPDATE main.${SEGMENTS} SET claim = ?, claimed = ? WHERE segment = ?`)
  for (const { segment } of run) update.run(claim, timing.now, segment)
  return { segments: run.map(({ segment }) => Number(segment)), first: first.first, last: last.last, claim }
}

function findRun(database: Database, name: string, { now, maxRows }: MergeTiming): Segment[] | undefined {
  const segments = database
    .prepare<[number, string], Segment>(
      `SELECT s.segment, first, last, rows, tag IS NOT NULL AND tries = 0 AND m.segment IS NULL
        AND (claimed IS NULL OR claimed <= ? - ${CLAIM_SECONDS}) AS isReady
        FROM main.${SEGMENTS} AS s LEFT JOIN main.${MARKS} AS m ON m.segment = s.segment WHERE name = ? ORDER BY first`,
    )
    .safeIntegers(true)
    .all(now, name.toLowerCase())
  const middle = middleRows(maxRows)
  // The newest become middle ones first.
  const end = segments.findLastIndex(({ rows }) => !isSmall(rows, middle)) + 1
  return findSmall(segments, middle) ?? findSmall(segments.slice(0, end), maxRows)
}

/** The rows of a segment that small ones become before they become one of `maxRows`. */
export function middleRows(maxRows: number): number {
  return Math.floor(maxRows / MERGED_SEGMENTS)
}

function isSmall(rows: bigint, maxRows: number): boolean {
  return 2 * Number(rows) <= maxRows
}

/**
 * Segments that have a file and no mark, one after the other. Two are enough before a larger one, which no further one will come before. Those
 * that are marked again and again stay small.
 */
function findSmall(segments: readonly Segment[], maxRows: number): Segment[] | undefined {
  let run: Segment[] = []
  let rows = 0
  for (const next of segments) {
    if (next.isReady !== 1n || !isSmall(next.rows, maxRows)) {
      if (run.length >= (isSmall(next.rows, maxRows) ? MERGED_SEGMENTS : 2)) return run
      run = []
      rows = 0
      continue
    }
    rows += Number(next.rows)
    if (rows > MAX_GROWTH * maxRows && run.length >= MERGED_SEGMENTS) return run
    run.push(next)
    while (rows > MAX_GROWTH * maxRows) rows -= Number(run.shift()?.rows ?? 0)
  }
  return run.length >= MERGED_SEGMENTS ? run : undefined
}

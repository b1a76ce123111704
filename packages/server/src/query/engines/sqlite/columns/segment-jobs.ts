/** What reader processes of the lowest priority do for column segments: they find ranges of rows, and write and check files. */
import { readFileSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { Segment, type SegmentColumn } from '../../../columns/segment.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { buildSegment, readSegment, type SegmentRows } from './build-segment.ts'
import { segmentPath } from './segment-files.ts'
import { middleRows } from './segment-merges.ts'
import { type BuiltSegment, findReadableSegments, LEAST_ROW } from './segment-tables.ts'
import { agreesWithRows } from './verify-parts.ts'

/** Plain data, which can cross to another process. */
export type SegmentJob = FindJob | BuildJob | VerifyJob

/** How many rows segments have when they are built: the largest, and the smallest. */
interface SegmentSizes {
  readonly maxRows: number
  readonly smallRows: number
}

/** Finds the last row of the next segment: the largest that fits, if as many rows as the smallest one has follow it. */
interface FindJob extends Pick<SegmentRows, 'table' | 'rowId'>, SegmentSizes {
  readonly kind: 'find-segment'
  /** Null: from the first row. */
  readonly after: bigint | null
}

interface BuildJob extends SegmentRows {
  readonly kind: 'build-segment'
  readonly maxRows: number
}

/** Compares the file of a segment with the rows. */
interface VerifyJob extends SegmentRows {
  readonly kind: 'verify-segment'
  readonly tag: string
}

export type SegmentOutcome =
  /** `last` is undefined if there are too few rows yet. */
  | { readonly kind: 'found'; readonly last: bigint | undefined; readonly missingRows: number }
  | ({ readonly kind: 'built' } & BuiltSegment)
  /** There are too many rows for one segment. */
  | { readonly kind: 'split'; readonly at: bigint }
  /** Undefined if the segment is not read any more, because rows have changed. */
  | { readonly kind: 'verified'; readonly isEqual: boolean | undefined }

export function runSegmentJob(database: Database, job: SegmentJob): SegmentOutcome {
  switch (job.kind) {
    case 'find-segment':
      return findEnd(database, job)
    case 'build-segment':
      return build(database, job)
    case 'verify-segment':
      return { kind: 'verified', isEqual: verify(database, job) }
  }
}

/** With fewer than two of these after the last segment there is no further one. Tables of few rows have none: deletes would mark it all the time. */
export function leastRows({ maxRows, smallRows }: SegmentSizes, after: bigint | null): number {
  return after === null ? Math.max(smallRows, middleRows(maxRows)) : smallRows
}

function findEnd(database: Database, job: FindJob): SegmentOutcome {
  const { table, rowId, after, maxRows, smallRows } = job
  const least = leastRows(job, after)
  const from = `FROM main.${SQLITE.identifier(table)} WHERE ${rowId} > ?`
  const find = database
    .prepare<[bigint, number], bigint>(`SELECT ${rowId} ${from} ORDER BY ${rowId} LIMIT 1 OFFSET ?`)
    .pluck(true)
    .safeIntegers(true)
  const start = after ?? LEAST_ROW
  for (const rows of [maxRows, leastRows(job, null), smallRows].filter((size) => size >= least)) {
    const last = find.get(start, rows - 1)
    // As many rows stay at the end without one: they change most often.
    if (last !== undefined && find.get(last, least - 1) !== undefined) return { kind: 'found', last, missingRows: 0 }
  }
  const count = database.prepare<[bigint], number>(`SELECT count(*) ${from}`).pluck(true).get(start) ?? 0
  return { kind: 'found', last: undefined, missingRows: Math.max(1, 2 * least - count) }
}

/** A segment that has grown to this many times its rows is split. */
const MAX_GROWTH = 2
/** A column whose texts are longer together is left out: they would not fit into the memory of the process. */
const MAX_TEXT_BYTES = 32 * 1024 * 1024

function build(database: Database, job: BuildJob): SegmentOutcome {
  const { table, rowId, first, last, maxRows } = job
  const from = `FROM main.${SQLITE.identifier(table)} WHERE ${rowId} BETWEEN @first AND @last ORDER BY ${rowId}`
  const isLarge = database.prepare(`SELECT 1 ${from} LIMIT 1 OFFSET ${MAX_GROWTH * maxRows}`).get({ first, last })
  if (isLarge !== undefined) {
    const middle = database.prepare<[object], bigint>(`SELECT ${rowId} ${from} LIMIT 1 OFFSET ${maxRows - 1}`)
    const at = middle.pluck(true).safeIntegers(true).get({ first, last })
    if (at !== undefined) return { kind: 'split', at }
  }
  return { kind: 'built', ...buildSegment(database, database.name, { ...job, columns: shortColumns(database, job) }) }
}

function shortColumns(database: Database, { table, rowId, first, last, columns }: SegmentRows): SegmentColumn[] {
  const texts = columns.filter(({ type }) => type.kind === 'Text')
  if (texts.length === 0) return [...columns]
  const lengths = texts.map(({ name }) => `total(octet_length(${SQLITE.identifier(name)}))`)
  const bytes = database
    .prepare<[bigint, bigint], number[]>(
      `SELECT ${lengths.join(', ')} FROM main.${SQLITE.identifier(table)} WHERE ${rowId} BETWEEN ? AND ?`,
    )
    .raw(true)
    .get(first, last)
  const long = texts.filter((_column, index) => (bytes?.[index] ?? 0) > MAX_TEXT_BYTES)
  return columns.filter((column) => !long.includes(column))
}

function verify(database: Database, job: VerifyJob): boolean | undefined {
  database.exec('BEGIN')
  try {
    const isRead = findReadableSegments(database, job.table).some(({ tag }) => tag === job.tag)
    if (!isRead) return undefined
    const { bytes } = readSegment(database, { ...job, columns: shortColumns(database, job) }, job.tag)
    const stored = readStored(segmentPath(database.name, job.tag))
    if (stored?.equals(bytes) !== true) return false
    return agreesWithRows(database, new Segment((offset, length) => stored.subarray(offset, offset + length)), job)
  } finally {
    database.exec('ROLLBACK')
  }
}

function readStored(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

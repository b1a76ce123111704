/**
 * Which rows of a table are in column segments: ranges of row identifiers, each with the tag of its file, and marks of ranges whose rows
 * have changed since (segment-triggers.ts).
 *
 * A file is written in three steps: (1) in a transaction, the segment is claimed: it has no file and no mark from now on; (2) its rows are
 * read in a later snapshot and written to a file; (3) in a transaction, the file is published, unless a mark has come or the claim is
 * another's. So a published file has the rows of every snapshot that has no mark. Small segments that become one (segment-merges.ts) keep
 * their files until the last step.
 */
import { randomUUID } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import type { TableDefinition } from '../../../catalogue/definition.ts'
import type { Sql } from '../../emit/dialect.ts'

export const COLUMN_TABLES = '_gh_column_tables'
export const SEGMENTS = '_gh_column_segments'
export const MARKS = '_gh_column_marks'
const VACUUM = '_gh_column_vacuum'

/** Times are in seconds. `sealed` is the last row identifier that is in a range. */
const TABLES: readonly Sql[] = [
  `CREATE TABLE IF NOT EXISTS main.${COLUMN_TABLES} (name TEXT PRIMARY KEY, sealed INTEGER) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS main.${SEGMENTS} (segment INTEGER PRIMARY KEY, name TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    tag TEXT, rows INTEGER, bytes INTEGER, began INTEGER, tries INTEGER NOT NULL DEFAULT 0, claim TEXT, claimed INTEGER, UNIQUE (name, first))`,
  `CREATE TABLE IF NOT EXISTS main.${MARKS} (segment INTEGER PRIMARY KEY, marked INTEGER NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS main.${VACUUM} (x)`,
]

/**
 * VACUUM numbers the rows of a table without an index anew. The one row of this table has such a high identifier that it would get another:
 * then no range is right any more.
 */
const WITNESS = 2 ** 40
const IS_NUMBERED_AS_BEFORE = `EXISTS (SELECT 1 FROM main.${VACUUM} WHERE rowid = ${WITNESS})`

/** The first range has all rows before its last one. */
export const LEAST_ROW = -(2n ** 63n)

/** In a transaction. */
export function prepareSegmentTables(database: Database): void {
  for (const sql of TABLES) database.exec(sql)
  // Those who had claimed them are gone; if not, they cannot publish.
  database.exec(`UPDATE main.${SEGMENTS} SET claim = NULL, claimed = NULL WHERE claim IS NOT NULL`)
  forgetIfVacuumed(database)
}

export function wasVacuumed(database: Database): boolean {
  return database.prepare(`SELECT ${IS_NUMBERED_AS_BEFORE}`).pluck().get() !== 1
}

/** In a transaction. */
export function forgetIfVacuumed(database: Database): void {
  if (!wasVacuumed(database)) return
  database.exec(`DELETE FROM main.${MARKS}`)
  database.exec(`DELETE FROM main.${SEGMENTS}`)
  database.exec(`UPDATE main.${COLUMN_TABLES} SET sealed = NULL`)
  database.exec(`DELETE FROM main.${VACUUM}`)
  database.prepare(`INSERT INTO main.${VACUUM} (rowid) VALUES (?)`).run(WITNESS)
}

/** In a transaction: the table begins without segments. */
export function addTable(database: Database, { name }: TableDefinition): void {
  removeTable(database, name)
  database.prepare(`INSERT INTO main.${COLUMN_TABLES} (name, sealed) VALUES (?, NULL)`).run(name.toLowerCase())
}

/** In a transaction. The files are removed later. */
export function removeTable(database: Database, name: string): void {
  const table = name.toLowerCase()
  database
    .prepare(`DELETE FROM main.${MARKS} WHERE segment IN (SELECT segment FROM main.${SEGMENTS} WHERE name = ?)`)
    .run(table)
  database.prepare(`DELETE FROM main.${SEGMENTS} WHERE name = ?`).run(table)
  database.prepare(`DELETE FROM main.${COLUMN_TABLES} WHERE name = ?`).run(table)
}

/** Their names in lower case. */
export function listTables(database: Database): string[] {
  return database.prepare<[], string>(`SELECT name FROM main.${COLUMN_TABLES}`).pluck(true).all()
}

export interface StoredSegment {
  readonly first: bigint
  readonly last: bigint
  readonly tag: string
  /** How many are in the file. */
  readonly rows: bigint
}

/** In the order of the rows: those with a file, without a mark. */
export function findReadableSegments(database: Database, name: string): StoredSegment[] {
  return database
    .prepare<[string], StoredSegment>(
      `SELECT first, last, tag, rows FROM main.${SEGMENTS} AS s WHERE name = ? AND tag IS NOT NULL ` +
        `AND NOT EXISTS (SELECT 1 FROM main.${MARKS} AS m WHERE m.segment = s.segment) AND ${IS_NUMBERED_AS_BEFORE} ORDER BY first`,
    )
    .safeIntegers(true)
    .all(name.toLowerCase())
}

/** Undefined if the table has no segments; null if it has no range yet. */
export function readSealed(database: Database, name: string): bigint | null | undefined {
  return database
    .prepare<[string], bigint | null>(`SELECT sealed FROM main.${COLUMN_TABLES} WHERE name = ?`)
    .pluck(true)
    .safeIntegers(true)
    .get(name.toLowerCase())
}

/** A segment whose file this process writes: one, or several that become one. */
export interface ClaimedSegment {
  readonly segments: readonly number[]
  readonly first: bigint
  readonly last: bigint
  /** Random: nobody else publishes for it. */
  readonly claim: string
}

/** When segments are due. */
export interface SegmentTiming {
  /** In seconds. */
  readonly now: number
  /** How long after its mark a segment is written again; longer if it is marked soon again and again. */
  readonly rebuildSeconds: number
}

/** A claim that is as old as this is void: its process has not finished, or is gone. */
export const CLAIM_SECONDS = 1800
/** The wait for a segment that is marked again and again doubles as often as this. */
const MAX_TRIES = 6

const DUE = `SELECT s.segment, first, last FROM main.${SEGMENTS} AS s LEFT JOIN main.${MARKS} AS m ON m.segment = s.segment
  WHERE name = @name AND (claimed IS NULL OR claimed <= @now - ${CLAIM_SECONDS})
  AND (m.marked + @rebuildSeconds * (1 << tries) <= @now OR (m.marked IS NULL AND tag IS NULL))
  ORDER BY m.marked LIMIT 1`

/** Whether `claimDue` would find one. */
export function hasDue(database: Database, name: string, { now, rebuildSeconds }: SegmentTiming): boolean {
  return database.prepare(DUE).get({ name: name.toLowerCase(), now, rebuildSeconds }) !== undefined
}

/** In a transaction, the first step for a segment without a file, or one that was marked some time ago. Undefined if there is none. */
export function claimDue(database: Database, name: string, timing: SegmentTiming): ClaimedSegment | undefined {
  const { now, rebuildSeconds } = timing
  const found = database
    .prepare<[object], { segment: bigint; first: bigint; last: bigint }>(DUE)
    .safeIntegers(true)
    .get({ name: name.toLowerCase(), now, rebuildSeconds })
  if (found === undefined) return undefined
  const { segment, first, last } = found
  const claim = randomUUID()
  const marked = `(SELECT marked FROM main.${MARKS} WHERE segment = @segment)`
  database
    .prepare(
      `UPDATE main.${SEGMENTS} SET tag = NULL, claim = @claim, claimed = @now, began = @now, tries = CASE WHEN ${marked} IS NULL THEN tries
        WHEN ${marked} < coalesce(began, 0) + 2 * @rebuildSeconds * (1 << tries) THEN min(tries + 1, ${MAX_TRIES}) ELSE 0 END WHERE segment = @segment`,
    )
    .run({ segment, claim, now, rebuildSeconds })
  database.prepare(`DELETE FROM main.${MARKS} WHERE segment = ?`).run(segment)
  return { segments: [Number(segment)], first, last, claim }
}

/** In a transaction, the first step for the rows after `sealed` up to `last`. Undefined if another process was first. */
export function claimNext(
  database: Database,
  name: string,
  { sealed, last, now }: { readonly sealed: bigint | null; readonly last: bigint; readonly now: number },
): ClaimedSegment | undefined {
  const table = name.toLowerCase()
  if (readSealed(database, name) !== sealed || (sealed !== null && last <= sealed)) return undefined
  const first = sealed === null ? LEAST_ROW : sealed + 1n
  const claim = randomUUID()
  const { lastInsertRowid } = database
    .prepare(`INSERT INTO main.${SEGMENTS} (name, first, last, began, claim, claimed) VALUES (?, ?, ?, ?, ?, ?)`)
    .run(table, first, last, now, claim, now)
  database.prepare(`UPDATE main.${COLUMN_TABLES} SET sealed = ? WHERE name = ?`).run(last, table)
  return { segments: [Number(lastInsertRowid)], first, last, claim }
}

export interface BuiltSegment {
  readonly tag: string
  readonly rows: number
  readonly bytes: number
}

/** In a transaction, the last step. False if a row has changed since the first one: then the file must not be used. */
export function publishSegment(
  database: Database,
  { segments, last, claim }: ClaimedSegment,
  { tag, rows, bytes }: BuiltSegment,
): boolean {
  const unchanged = database.prepare<[string], number>(
    `SELECT count(*) FROM main.${SEGMENTS} AS s WHERE claim = ? AND ${IS_NUMBERED_AS_BEFORE} ` +
      `AND NOT EXISTS (SELECT 1 FROM main.${MARKS} AS m WHERE m.segment = s.segment)`,
  )
  const isPublished = unchanged.pluck().get(claim) === segments.length
  if (isPublished) {
    const [segment, ...others] = segments
    const remove = database.prepare(`DELETE FROM main.${SEGMENTS} WHERE segment = ?`)
    for (const other of others) remove.run(other)
    database
      .prepare(`UPDATE main.${SEGMENTS} SET last = ?, tag = ?, rows = ?, bytes = ? WHERE segment = ?`)
      .run(last, tag, rows, bytes, segment)
  }
  releaseSegment(database, claim)
  return isPublished
}

/** In a transaction, instead of the last step: rows after `at` become a segment of their own. Neither has a file. */
export function splitSegment(database: Database, { segments, first, last, claim }: ClaimedSegment, at: bigint): void {
  const [segment, ...others] = segments
  // Those that would become one have been marked.
  if (at >= first && at < last && others.length === 0) {
    const { changes } = database
      .prepare(
        `INSERT INTO main.${SEGMENTS} (name, first, last) SELECT name, ?, last FROM main.${SEGMENTS} WHERE segment = ? AND claim = ?`,
      )
      .run(at + 1n, segment, claim)
    if (changes > 0) database.prepare(`UPDATE main.${SEGMENTS} SET last = ? WHERE segment = ?`).run(at, segment)
  }
  releaseSegment(database, claim)
}

/** In a transaction: the segment can be claimed again. */
export function releaseSegment(database: Database, claim: string): void {
  database.prepare(`UPDATE main.${SEGMENTS} SET claim = NULL, claimed = NULL WHERE claim = ?`).run(claim)
}

/** In a transaction: files that are not there, or not as they were, are written again. */
export function forgetFiles(database: Database, tags: readonly string[]): void {
  const forget = database.prepare(`UPDATE main.${SEGMENTS} SET tag = NULL WHERE tag = ?`)
  for (const tag of tags) forget.run(tag)
}

/** The lengths of all files that are in use, by tag. */
export function listFiles(database: Database): Map<string, number> {
  return new Map(
    database
      .prepare<[], [string, number]>(`SELECT tag, bytes FROM main.${SEGMENTS} WHERE tag IS NOT NULL`)
      .raw(true)
      .all(),
  )
}

/** What a table has in segments. */
export interface SegmentStatus {
  /** Those that are read, those whose rows have changed, and those without a file. */
  readonly ready: number
  readonly marked: number
  readonly missing: number
  /** In the files. */
  readonly rows: number
  readonly bytes: number
}

export function readStatus(database: Database, name: string): SegmentStatus {
  const found = database
    .prepare<[string], SegmentStatus>(
      `SELECT count(*) FILTER (WHERE tag IS NOT NULL AND m.segment IS NULL) AS ready, count(m.segment) AS marked,
        count(*) FILTER (WHERE tag IS NULL AND m.segment IS NULL) AS missing,
        CAST(total(rows) FILTER (WHERE tag IS NOT NULL) AS INTEGER) AS rows, CAST(total(bytes) FILTER (WHERE tag IS NOT NULL) AS INTEGER) AS bytes
        FROM main.${SEGMENTS} AS s LEFT JOIN main.${MARKS} AS m ON m.segment = s.segment WHERE name = ?`,
    )
    .get(name.toLowerCase())
  return found ?? { ready: 0, marked: 0, missing: 0, rows: 0, bytes: 0 }
}

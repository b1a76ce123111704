/**
 * Which rows of a table are in column segments: ranges of row identifiers, each with the tag of its file, and marks of ranges whose rows
 * have changed since. Triggers mark in the transaction of the change, so that a reader's snapshot has all marks of its rows.
 */

import { createHash } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import type { TableDefinition } from '../../../catalogue/definition.ts'
import { SEGMENT_ROWS } from '../../../columns/segment.ts'
import type { Sql } from '../../emit/dialect.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { rowId } from '../dialect/row-id.ts'

const TABLES = '_gh_column_tables'
const SEGMENTS = '_gh_column_segments'
const MARKS = '_gh_column_marks'
const TRIGGER_PREFIX = '_gh_columns_'

/** `sealed` is the last row identifier that is in a range. The numbers of segments are never used again. */
export const SEGMENT_TABLES: readonly Sql[] = [
  `CREATE TABLE IF NOT EXISTS main.${TABLES} (name TEXT PRIMARY KEY, sealed INTEGER) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS main.${SEGMENTS} (segment INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, tag TEXT, built INTEGER, UNIQUE (name, first))`,
  `CREATE TABLE IF NOT EXISTS main.${MARKS} (segment INTEGER PRIMARY KEY, marked INTEGER NOT NULL)`,
]

const EVENTS = ['insert', 'update', 'delete'] as const

function triggerName(table: string, event: (typeof EVENTS)[number]): string {
  const digest = createHash('sha256').update(table.toLowerCase()).digest('hex').slice(0, 24)
  return `${TRIGGER_PREFIX}${digest}_${event}`
}

/** In a transaction: from now on changes of sealed rows are marked. */
export function createSegments(database: Database, { name, columns }: TableDefinition): void {
  const id = rowId(columns.map((column) => column.name))
  if (id === undefined) return
  dropSegments(database, name)
  const table = name.toLowerCase()
  const key = `'${table.replaceAll("'", "''")}'`
  database.prepare(`INSERT INTO main.${TABLES} (name, sealed) VALUES (?, NULL)`).run(table)
  const isSealed = (row: Sql): Sql => `${row} <= (SELECT sealed FROM ${TABLES} WHERE name = ${key})`
  // A row before the first range is marked in the first one.
  const mark = (row: Sql): Sql =>
    `INSERT OR IGNORE INTO ${MARKS} SELECT coalesce(` +
    `(SELECT segment FROM ${SEGMENTS} WHERE name = ${key} AND first <= ${row} ORDER BY first DESC LIMIT 1), ` +
    `(SELECT segment FROM ${SEGMENTS} WHERE name = ${key} ORDER BY first LIMIT 1)), unixepoch() WHERE ${isSealed(row)};`
  const bodies = {
    insert: mark(`NEW.${id}`),
    update: `${mark(`OLD.${id}`)} ${mark(`NEW.${id}`)}`,
    delete: mark(`OLD.${id}`),
  }
  for (const event of EVENTS)
    database.exec(
      `CREATE TRIGGER main.${triggerName(name, event)} AFTER ${event.toUpperCase()} ON ${SQLITE.identifier(name)} BEGIN ${bodies[event]} END`,
    )
}

/** In a transaction. The files are removed later. */
export function dropSegments(database: Database, name: string): void {
  const table = name.toLowerCase()
  for (const event of EVENTS) database.exec(`DROP TRIGGER IF EXISTS main.${triggerName(name, event)}`)
  database
    .prepare(`DELETE FROM main.${MARKS} WHERE segment IN (SELECT segment FROM main.${SEGMENTS} WHERE name = ?)`)
    .run(table)
  database.prepare(`DELETE FROM main.${SEGMENTS} WHERE name = ?`).run(table)
  database.prepare(`DELETE FROM main.${TABLES} WHERE name = ?`).run(table)
}

/** A range of rows of which a file is to be written. */
export interface SegmentJob {
  readonly segment: number
  readonly name: string
  readonly first: bigint
  readonly last: bigint
}

export interface StoredSegment extends SegmentJob {
  readonly tag: string
}

/** In the order of the rows: those with a file, without a mark. */
export function findReadableSegments(database: Database, name: string): StoredSegment[] {
  return database
    .prepare<[string], StoredSegment>(
      `SELECT CAST(segment AS INTEGER) AS segment, name, first, last, tag FROM main.${SEGMENTS} AS s WHERE name = ? AND tag IS NOT NULL ` +
        `AND NOT EXISTS (SELECT 1 FROM main.${MARKS} AS m WHERE m.segment = s.segment) ORDER BY first`,
    )
    .safeIntegers(true)
    .all(name.toLowerCase())
}

/**
 * In a transaction, the first step: the next range, or the one that was marked first before a time. From its commit on, every change
 * of these rows leaves a mark. Undefined if there is nothing to do.
 */
export function beginSegment(database: Database, table: TableDefinition, markedBefore: number): SegmentJob | undefined {
  return sealNext(database, table) ?? takeMarked(database, table, markedBefore)
}

/** As many rows as a segment has stay at the end without one: they change most often. */
function sealNext(database: Database, { name, columns }: TableDefinition): SegmentJob | undefined {
  const id = rowId(columns.map((column) => column.name))
  if (id === undefined) return undefined
  const table = name.toLowerCase()
  const found = database
    .prepare(`SELECT sealed FROM main.${TABLES} WHERE name = ?`)
    .safeIntegers(true)
    .raw(true)
    .get(table)
  if (found === undefined) return undefined
  const [sealed] = found as [bigint | null]
  const next = (offset: number): bigint | undefined =>
    database
      .prepare<unknown[], bigint>(
        `SELECT ${id} FROM main.${SQLITE.identifier(name)} ${sealed === null ? '' : `WHERE ${id} > ? `}ORDER BY ${id} LIMIT 1 OFFSET ${offset}`,
      )
      .pluck(true)
      .safeIntegers(true)
      .get(...(sealed === null ? [] : [sealed]))
  if (next(2 * SEGMENT_ROWS - 1) === undefined) return undefined
  const [begin, last] = [next(0), next(SEGMENT_ROWS - 1)]
  if (begin === undefined || last === undefined) return undefined
  const first = sealed === null ? begin : sealed + 1n
  const { lastInsertRowid } = database
    .prepare(`INSERT INTO main.${SEGMENTS} (name, first, last) VALUES (?, ?, ?)`)
    .run(table, first, last)
  database.prepare(`UPDATE main.${TABLES} SET sealed = ? WHERE name = ?`).run(last, table)
  return { segment: Number(lastInsertRowid), name, first, last }
}

function takeMarked(database: Database, { name }: TableDefinition, before: number): SegmentJob | undefined {
  const found = database
    .prepare<[string, number], { segment: bigint; first: bigint; last: bigint }>(
      `SELECT segment, first, last FROM main.${SEGMENTS} AS s LEFT JOIN main.${MARKS} AS m USING (segment) ` +
        'WHERE name = ? AND (m.marked < ? OR tag IS NULL) ORDER BY m.marked LIMIT 1',
    )
    .safeIntegers(true)
    .get(name.toLowerCase(), before)
  if (found === undefined) return undefined
  database.prepare(`UPDATE main.${SEGMENTS} SET tag = NULL WHERE segment = ?`).run(found.segment)
  database.prepare(`DELETE FROM main.${MARKS} WHERE segment = ?`).run(found.segment)
  return { ...found, segment: Number(found.segment), name }
}

/** In a transaction, the last step. False if a row has changed since the first one: then the file must not be used. */
export function publishSegment(database: Database, { segment }: SegmentJob, tag: string): boolean {
  const { changes } = database
    .prepare(
      `UPDATE main.${SEGMENTS} SET tag = ?, built = unixepoch() WHERE segment = ? AND NOT EXISTS (SELECT 1 FROM main.${MARKS} WHERE segment = ?)`,
    )
    .run(tag, segment, segment)
  return changes > 0
}

/** The tags of all files that are in use. */
export function listTags(database: Database): Set<string> {
  return new Set(
    database.prepare<[], string>(`SELECT tag FROM main.${SEGMENTS} WHERE tag IS NOT NULL`).pluck(true).all(),
  )
}

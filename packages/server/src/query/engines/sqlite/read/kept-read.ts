/** Reads what a materialized view lacks, in one transaction of a reader process: the touched groups, all of them, or the whole view. */
import { deserialize, serialize } from 'node:v8'
import type { Database } from 'better-sqlite3'
import { ENTRIES } from '../../catalogue-sql.ts'
import { quoteIdentifier, type Sql } from '../../emit/dialect.ts'
import type { ScalarBindable } from '../../emit/parameters.ts'
import {
  fillSlots,
  type KeptPlan,
  type KeptStatement,
  type KeptStatements,
  type KeptValues,
} from '../../kept-engine.ts'
import type { TablePosition } from '../../live-source.ts'
import type { StatementCache } from '../statement-cache.ts'
import { findSeq, inTransaction, readHead } from './live-read.ts'

/** Plain data, which can cross to another process. */
export interface KeptJob {
  readonly kind: 'kept'
  readonly read: 'touched' | 'compare' | 'build'
  readonly plan: KeptPlan
  /** Of the table, for the touched groups. */
  readonly position: TablePosition
}

/** The rows, or the keys of rows, are sent before. */
export type KeptJobOutcome =
  | { readonly kind: 'read'; readonly position: TablePosition; readonly groups: number; readonly milliseconds: number }
  | { readonly kind: 'lost' | 'many' | 'stale' }

export interface KeptChunk {
  readonly of: 'inserted' | 'updated' | 'deleted'
  readonly rows: readonly KeptValues[]
}

/** Chunks are joined on their way: each begins with its length. */
export function encodeKeptChunk(chunk: KeptChunk): Buffer {
  const payload = serialize(chunk)
  const length = Buffer.allocUnsafe(LENGTH_BYTES)
  length.writeUInt32LE(payload.byteLength)
  return Buffer.concat([length, payload])
}

export function* decodeKeptChunks({ buffer, byteOffset, length }: Uint8Array): Generator<KeptChunk, void> {
  const bytes = Buffer.from(buffer, byteOffset, length)
  for (let at = 0; at < length; ) {
    const start = at + LENGTH_BYTES
    at = start + bytes.readUInt32LE(at)
    yield deserialize(bytes.subarray(start, at)) as KeptChunk
  }
}

const LENGTH_BYTES = 4

/** With more groups, to evaluate each by itself would take longer than the whole view. */
const MAX_GROUPS = 20_000
/** More rows are not held in memory: the view is built anew. */
const MAX_ROWS = 300_000
const CHUNK_ROWS = 5_000

export function readKept(
  database: Database,
  statements: StatementCache,
  { read, plan, position }: KeptJob,
  send: (chunk: KeptChunk) => void,
): KeptJobOutcome {
  const began = performance.now()
  return inTransaction<KeptJobOutcome>(database, () => {
    const head = readHead(statements, plan.base)
    if (isStale(statements, plan)) return { kind: 'stale' }
    if (head === undefined) return { kind: 'lost' }
    const rows = new RowChunks(send)
    const groups = READS[read]({ statements, plan, position, rows })
    if (typeof groups === 'string') return { kind: groups }
    rows.end()
    return { kind: 'read', position: head.position, groups, milliseconds: performance.now() - began }
  })
}

/** The columns of a log are numbered as those of its table. */
function isStale(statements: StatementCache, { base, baseColumns }: KeptPlan): boolean {
  const names = `SELECT json_group_array(value ->> 'name') FROM json_each((SELECT definition FROM main.${ENTRIES} WHERE key = ?), '$.columns')`
  const [found] = (statements.get(names).get(base.toLowerCase()) ?? []) as readonly unknown[]
  return found !== JSON.stringify(baseColumns)
}

export interface TouchedRead {
  readonly statements: StatementCache
  readonly plan: KeptPlan
  readonly position: TablePosition
  readonly rows: RowChunks
}

/** The number of groups that were evaluated. */
const READS: Readonly<Record<KeptJob['read'], (read: TouchedRead) => number | 'lost' | 'many'>> = {
  touched: readTouched,
  compare: readDifferences,
  build: readAll,
}

/** The groups that have changed since the position. */
export function readTouched(read: TouchedRead): number | 'lost' | 'many' {
  const { statements, plan, position, rows } = read
  const groups = findSeq(statements, plan.base, position) === undefined ? 'lost' : findGroups(read)
  if (typeof groups === 'string') return groups
  const { group: query } = byGroup(plan)
  const current = statements.get(currentRow(plan))
  for (const group of groups.values()) {
    const found = statements.get(query.sql).get(...fillSlots(query, position, group)) as KeptValues | undefined
    const known = current.get(...group) as KeptValues | undefined
    if (found === undefined) {
      if (known !== undefined) rows.add('deleted', group)
    } else {
      const row = stored(found, plan)
      if (known === undefined || !isSameRow(row, known)) rows.add(known === undefined ? 'inserted' : 'updated', row)
    }
  }
  return groups.size
}

/** The groups of a row as it was may fail where those of all rows as they are do not. */
function findGroups({ statements, plan, position }: TouchedRead): Map<string, KeptValues> | 'lost' | 'many' {
  const groups = new Map<string, KeptValues>()
  try {
    for (const touched of byGroup(plan).touched)
      for (const group of iterate(statements, touched, position)) {
        groups.set(group.map(keyText).join('\0'), group)
        if (groups.size > MAX_GROUPS) return 'many'
      }
    return groups
  } catch {
    return 'lost'
  }
}

/** Those of the other engine are never planned here. */
function byGroup({ view, statements }: KeptPlan): Extract<KeptStatements, { kind: 'by group' }> {
  if (statements.kind !== 'by group') throw new Error(`The statements of ${view} are of another engine`)
  return statements
}

function* iterate(
  statements: StatementCache,
  statement: KeptStatement,
  position: TablePosition,
): Generator<KeptValues> {
  yield* statements.get(statement.sql).iterate(...fillSlots(statement, position)) as Iterable<KeptValues>
}

/** Distinct values have distinct texts, since those of one column have one type. */
function keyText(value: ScalarBindable): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
}

function currentRow({ view, columns, keys }: KeptPlan): Sql {
  const condition = keys.map((ordinal) => `${columnName(columns, ordinal)} = ?`).join(' AND ')
  const list = columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  return `SELECT ${list} FROM main.${quoteIdentifier(view)} WHERE ${condition}`
}

function columnName(columns: KeptPlan['columns'], ordinal: number): Sql {
  return quoteIdentifier(columns[ordinal]?.name ?? '')
}

/** As the column holds it: SQLite computes some whole Doubles as integers. */
function stored(row: KeptValues, { columns }: KeptPlan): KeptValues {
  return row.map((value, index) =>
    typeof value === 'bigint' && columns[index]?.type.kind === 'Double' ? Number(value) : value,
  )
}

function isSameRow(a: KeptValues, b: KeptValues): boolean {
  return a.every((value, index) => isSame(value, b[index] ?? null))
}

function isSame(a: ScalarBindable, b: ScalarBindable): boolean {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  return a === b
}

/** Rows that are missing or wrong, then the keys of those that are too many. */
function readDifferences({ statements, plan, rows }: TouchedRead): number | 'many' {
  const { columns, keys, view } = plan
  const { whole, least } = byGroup(plan)
  const table = `main.${quoteIdentifier(view)}`
  const name = (ordinal: number): Sql => `v.${columnName(columns, ordinal)}`
  const joined = keys.map((ordinal) => `${name(ordinal)} = s.c${ordinal}`).join(' AND ')
  const isMissing = `${name(keys[0] ?? 0)} IS NULL`
  const differs = columns.map((_column, ordinal) => `s.c${ordinal} IS NOT ${name(ordinal)}`).join(' OR ')
  const wrong = `SELECT s.*, ${isMissing} FROM (${whole.sql}) AS s LEFT JOIN ${table} AS v ON ${joined} WHERE ${isMissing} OR ${differs}`
  for (const row of iterate(statements, { ...whole, sql: wrong }, '')) {
    rows.add(row.at(-1) === 1n ? 'inserted' : 'updated', stored(row.slice(0, -1), plan))
    if (rows.count > MAX_ROWS) return 'many'
  }
  const found = keys.map((ordinal) => `c${ordinal}`).join(', ')
  const held = keys.map((ordinal) => columnName(columns, ordinal)).join(', ')
  const bounds = least.map(({ ordinal }) => `${columnName(columns, ordinal)} >= ?`)
  const evaluated = bounds.length === 0 ? '' : ` WHERE ${bounds.join(' AND ')}`
  const gone = `SELECT ${held} FROM ${table}${evaluated} EXCEPT SELECT ${found} FROM (${whole.sql})`
  const values = least.map(({ value }) => ({ kind: 'value', value }) as const)
  for (const key of iterate(statements, { ...whole, sql: gone, parameters: [...values, ...whole.parameters] }, '')) {
    rows.add('deleted', key)
    if (rows.count > MAX_ROWS) return 'many'
  }
  return 0
}

function readAll({ statements, plan, rows }: TouchedRead): number {
  for (const row of iterate(statements, byGroup(plan).whole, '')) rows.add('inserted', stored(row, plan))
  return rows.count
}

export class RowChunks {
  readonly #send: (chunk: KeptChunk) => void
  readonly #rows: Record<KeptChunk['of'], KeptValues[]> = { inserted: [], updated: [], deleted: [] }
  count = 0

  constructor(send: (chunk: KeptChunk) => void) {
    this.#send = send
  }

  add(of: KeptChunk['of'], row: KeptValues): void {
    this.count++
    if (this.#rows[of].push(row) >= CHUNK_ROWS) this.#sendRows(of)
  }

  end(): void {
    for (const kind of ['inserted', 'updated', 'deleted'] as const)
      if (this.#rows[kind].length > 0) this.#sendRows(kind)
  }

  #sendRows(of: KeptChunk['of']): void {
    this.#send({ of, rows: this.#rows[of] })
    this.#rows[of] = []
  }
}

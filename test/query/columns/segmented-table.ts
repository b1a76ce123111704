/** A table of the embedded engine with column segments of a few rows, and statements over it: read from rows alone, or from segments too. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite, { type Database } from 'better-sqlite3'
import {
  BOOLEAN,
  bind,
  DATE,
  DOUBLE,
  decimal,
  INTEGER,
  type IqlType,
  type IqlValue,
  parse,
  parseExpressionText,
  readParameters,
  type TableView,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
} from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { bindParameters, type EmittedSql } from '../../../packages/server/src/query/engines/emit/parameters.ts'
import { emitPartGroups } from '../../../packages/server/src/query/engines/emit/part-groups.ts'
import { createEmission, emitQuery } from '../../../packages/server/src/query/engines/emit/query.ts'
import type { PartsRun } from '../../../packages/server/src/query/engines/parts-run.ts'
import { buildSegment } from '../../../packages/server/src/query/engines/sqlite/columns/build-segment.ts'
import { KeptParts } from '../../../packages/server/src/query/engines/sqlite/columns/kept-parts.ts'
import { OpenSegments } from '../../../packages/server/src/query/engines/sqlite/columns/segment-files.ts'
import { openForReading } from '../../../packages/server/src/query/engines/sqlite/connection.ts'
import { SQLITE } from '../../../packages/server/src/query/engines/sqlite/dialect/dialect.ts'
import { describeFailure } from '../../../packages/server/src/query/engines/sqlite/failure.ts'
import { type PartsResult, readParts } from '../../../packages/server/src/query/engines/sqlite/read/part-read.ts'
import type { ReadableSegment } from '../../../packages/server/src/query/engines/sqlite/read/segment-batches.ts'
import { columnAffinity, toSqlite } from '../../../packages/server/src/query/engines/sqlite/representation.ts'
import { marketCatalogue } from '../iql/market-catalogue.ts'

export const COLUMNS = {
  id: INTEGER,
  k: TEXT,
  t: TEXT,
  g: UUID,
  i: INTEGER,
  n: INTEGER,
  d: decimal(18, 4),
  p: decimal(9, 2),
  w: decimal(30, 2),
  x: DOUBLE,
  y: DOUBLE,
  ok: BOOLEAN,
  ts: TIMESTAMP,
  dt: DATE,
  tm: TIME,
} as const satisfies Record<string, IqlType>

export type ColumnName = keyof typeof COLUMNS
export const NAMES = Object.keys(COLUMNS) as ColumnName[]
export type Row = Readonly<Record<ColumnName, IqlValue>>

const TABLE: TableView = {
  name: 'rows',
  columns: Object.entries(COLUMNS).map(([name, type]) => ({
    name,
    type,
    nullable: name !== 'id' && name !== 'n',
    hasDefault: false,
  })),
  primaryKey: ['id'],
  uniques: [],
  rowFilter: undefined,
  isSystem: false,
  isWritable: true,
  isLive: false,
}

/** The same table for a caller who does not see all rows. */
const FILTERED: TableView = {
  ...TABLE,
  rowFilter: parseExpressionText("k <> 'b' AND n >= 0 AND k <> :sub"),
}

const CALLER = {
  subject: 'sub',
  username: 'user',
  clientId: 'client',
  roles: [],
  scopes: new Set<string>(),
  milliseconds: Date.parse('2026-01-31T10:00:00Z'),
}

export interface Range {
  readonly first: bigint
  readonly last: bigint
}

export interface Answer {
  readonly rows?: unknown[]
  readonly error?: string
  /** Whether the statement has no plan: its types do not fit, for example. */
  readonly isRefused?: true
  /** Whether it was read by parts. */
  readonly isOfParts?: boolean
  /** How many segments were opened. */
  readonly opened?: number
  /** How many ranges were read from rows. */
  readonly ranges?: number
}

interface Stored extends Range {
  readonly tag: string
}

interface PartsOptions {
  readonly given?: readonly ReadableSegment[]
  readonly heldBytes?: number | undefined
  /** Of results of segments; none are kept by default. */
  readonly keptBytes?: number
  readonly mergedGroups?: number | undefined
}

export class SegmentedTable {
  readonly path: string
  readonly #folder: string
  readonly #writer: Database
  readonly #reader: Database
  readonly #open: OpenSegments
  readonly #kept: KeptParts
  readonly #segments = new Map<string, Stored[]>()

  /** `others` are the rows of a second table. */
  constructor(rows: readonly Row[], others: readonly Row[] = []) {
    this.#folder = mkdtempSync(join(tmpdir(), 'gatehouse-columns-'))
    this.path = join(this.#folder, 'query.db')
    this.#writer = new Sqlite(this.path)
    this.#writer.pragma('journal_mode = WAL')
    const columns = Object.entries(COLUMNS).map(
      ([name, type]) => `"${name}" ${name === 'id' ? 'INTEGER PRIMARY KEY' : columnAffinity(type)}`,
    )
    for (const [table, all] of [
      ['rows', rows],
      ['others', others],
    ] as const) {
      this.#writer.exec(`CREATE TABLE ${table} (${columns.join(', ')})`)
      const insert = this.#writer.prepare(`INSERT INTO ${table} VALUES (${NAMES.map(() => '?').join(', ')})`)
      this.#writer.transaction(() => {
        for (const row of all) insert.run(...NAMES.map((name) => toSqlite(row[name], COLUMNS[name])))
      })()
    }
    this.#reader = openForReading(this.path)
    this.#open = new OpenSegments(this.path)
    this.#kept = new KeptParts(this.path)
  }

  get database(): Database {
    return this.#writer
  }

  close(): void {
    this.#open.close()
    this.#reader.close()
    this.#writer.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  build(ranges: readonly Range[], table = 'rows'): void {
    const columns = Object.entries(COLUMNS).map(([name, type]) => ({ name, type }))
    const segments = ranges.map(({ first, last }) => ({
      first,
      last,
      tag: buildSegment(this.#writer, this.path, { table, rowId: 'rowid', first, last, columns }).tag,
    }))
    this.#segments.set(table, segments)
  }

  get tags(): string[] {
    return [...this.#segments.values()].flat().map(({ tag }) => tag)
  }

  /** As the usual plan reads it. */
  usual(statement: string, parameters: Readonly<Record<string, string>> = {}): Answer {
    let planned: Planned
    try {
      planned = plan(statement, parameters)
    } catch (error) {
      if (error instanceof Refusal) return { isRefused: true, error: error.message }
      throw error
    }
    const { usual } = planned
    return this.#collect((take) => take(usual))
  }

  /** `isUsed` says for each segment whether it may be read. */
  parts(
    statement: string,
    isUsed: (segment: number) => boolean = () => true,
    parameters: Readonly<Record<string, string>> = {},
    { given, heldBytes, keptBytes = 0, mergedGroups }: PartsOptions = {},
  ): Answer {
    const { usual, run: planned } = plan(statement, parameters)
    const run = planned && { ...planned, columns: planned.columns && { ...planned.columns, keptBytes } }
    if (run === undefined) return { isOfParts: false, ...this.#collect((take) => take(usual)) }
    let opened = 0
    const segmentsOf = (table: string): ReadableSegment[] =>
      (this.#segments.get(table) ?? [])
        .filter((_segment, index) => isUsed(index))
        .map(({ first, last, tag }) => ({
          first,
          last,
          tag,
          rows: Number(last - first) + 1,
          open: () => {
            opened++
            return this.#open.get(tag)
          },
        }))
    let isOfParts = false
    const answer = this.#collect((take) => {
      const findSegments = ({ name }: { readonly name: string }): readonly ReadableSegment[] => {
        // As the tables of segments are read: from here on the connection knows the indexes.
        this.#reader.prepare('SELECT 1 FROM rows').get()
        return given ?? segmentsOf(name)
      }
      isOfParts = readParts(
        this.#reader,
        usual,
        run,
        { find: findSegments, kept: this.#kept, heldBytes, mergedGroups },
        take,
      )
      if (!isOfParts) take(usual)
    })
    return { ...answer, isOfParts, opened }
  }

  #rows({ sql, parameters }: { readonly sql: string; readonly parameters: readonly unknown[] }): Iterable<unknown> {
    return this.#reader
      .prepare(sql)
      .raw(true)
      .safeIntegers(true)
      .iterate(...parameters)
  }

  #collect(read: (take: (result: PartsResult) => void) => void): Answer {
    const rows: unknown[] = []
    try {
      read((result) => {
        const read = 'sql' in result ? this.#rows(result) : result
        for (const row of read) rows.push(row)
      })
    } catch (error) {
      const failure = describeFailure(error)
      return {
        rows,
        error: failure.kind === 'refusal' ? `${failure.code} ${failure.detail}` : `bug: ${failure.message}`,
      }
    }
    return { rows }
  }
}

interface Planned {
  readonly usual: { readonly sql: string; readonly parameters: ReturnType<typeof bindParameters> }
  readonly run: PartsRun | undefined
}

const TABLES = new Map<string, TableView>([
  ['filtered', FILTERED],
  ['others', { ...TABLE, name: 'others' }],
  ['filtered_others', { ...FILTERED, name: 'others' }],
])

const CATALOGUE = {
  ...marketCatalogue(),
  lookup: (name: string) => TABLES.get(name) ?? TABLE,
}

export function plan(text: string, given: Readonly<Record<string, string>>): Planned {
  const bound = bind(parse(text), text, CATALOGUE)
  const { statement } = bound
  if (statement.kind !== 'query') throw new Error(`${text} is not a query`)
  const inputs = new Map(Object.entries(given).map(([name, value]) => [name, { text: value }]))
  const values = { ...CALLER, parameters: readParameters(text, bound, inputs) }
  const bindAll = (emitted: EmittedSql) => ({
    sql: emitted.sql,
    parameters: bindParameters(emitted, values, toSqlite),
  })
  const emission = createEmission(SQLITE, { statement })
  const sql = emitQuery(statement, emission)
  const usual = bindAll(emission.placeholders.positional(sql))
  const ofParts = createEmission(SQLITE)
  const parts = emitPartGroups(statement, ofParts)
  if ('why' in parts) return { usual, run: undefined }
  const finish = (sql: string) => bindAll(ofParts.placeholders.positional(sql))
  const { part, whole, found, columns: planned, ...table } = parts
  const columns = 'why' in planned ? undefined : planned
  const { expressions = [], joinedRows, ownRows, ...columnPlan } = columns ?? {}
  return {
    usual,
    run: {
      ...table,
      part: finish(part),
      whole: finish(whole),
      found: finish(found),
      columns: columns && {
        plan: columnPlan as typeof columns,
        expressions: expressions.map(finish),
        joinedRows: joinedRows === undefined ? undefined : finish(joinedRows),
        ownRows: ownRows && { ...ownRows, rows: finish(ownRows.rows) },
      },
    },
  }
}

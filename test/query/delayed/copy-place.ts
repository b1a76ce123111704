/** Delayed tables on a real engine, written to by another program, for tests. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { INTEGER, TEXT } from 'gatehouse-iql'
import pg from 'pg'
import { Availability } from '../../../packages/server/src/lib/availability.ts'
import type { TableDefinition } from '../../../packages/server/src/query/catalogue/definition.ts'
import { COPIES, copyName, MARKS } from '../../../packages/server/src/query/engines/delayed-copies.ts'
import type { Engine } from '../../../packages/server/src/query/engines/engine.ts'
import type { KeeperTerm } from '../../../packages/server/src/query/engines/keeper-lease.ts'
import { openEngine } from '../../../packages/server/src/query/engines/open.ts'
import type { TestPlace } from '../../support/engines.ts'

export const DELAY = 1_000

export interface CopyPlace {
  readonly engine: Engine
  readonly tables: readonly TableDefinition[]
  /** As another program does. */
  run(sql: string): Promise<void>
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** All rows of both tables, or of their copies, as text. */
  dump(delay?: number): Promise<string>
  mark(): Promise<void>
  move(): Promise<void>
  /** The work of a round of the keeper besides marks and moves. */
  tend(): Promise<void>
  /** Of the copies of both tables, which have one state. */
  asOf(): Promise<bigint | undefined>
  lastMark(): Promise<bigint>
  close(): Promise<void>
}

const UNLIMITED = { statement: Number.MAX_SAFE_INTEGER, user: Number.MAX_SAFE_INTEGER }

export function definition(name: string, primaryKey: readonly string[], delays?: readonly number[]): TableDefinition {
  const column = (column: string, type: typeof INTEGER | typeof TEXT, nullable = false) => ({
    ...{ name: column, type, nullable, default: undefined },
  })
  return {
    name,
    columns: [column('a', INTEGER), column('b', TEXT), column('v', INTEGER, true), column('note', TEXT, true)],
    primaryKey,
    uniques: [],
    indexes: [{ name: `${name}_v`, unique: false, columns: [{ name: 'v', descending: true }] }],
    ...{ readScope: undefined, writeScope: undefined, rowFilter: undefined, description: undefined },
    isLive: true,
    created: 0n,
    ...(delays === undefined ? {} : { delays }),
  }
}

export async function openCopies(
  { dataFolder, databaseUrl }: TestPlace,
  tables: readonly TableDefinition[],
): Promise<CopyPlace> {
  const engine = await openEngine({
    ...{
      dataFolder,
      databaseUrl,
      concurrency: 1,
      waiting: 10,
      milliseconds: 30_000,
      writeWaitMs: 5_000,
      maxTables: 100,
    },
    ...{ temp: UNLIMITED, availability: new Availability(() => {}), log: { milliseconds: 1, changes: 1 } },
  })
  for (const table of tables) await engine.change({ changes: [{ change: { kind: 'create', table }, fill: null }] })
  const term = await engine.lease.take({ node: randomUUID(), name: 'test' })
  assert.ok(term)
  const database = databaseUrl === '' ? openSqlite(dataFolder) : await openPostgres(databaseUrl)
  return new Place(engine, tables, term, database)
}

interface Connection {
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  close(): Promise<void>
}

function openSqlite(dataFolder: string): Connection {
  const database = new SqliteDatabase(join(dataFolder, 'query.db'), { timeout: 10_000 })
  return {
    rows: async (sql) => {
      const statement = database.prepare<[], Readonly<Record<string, unknown>>>(sql)
      if (statement.reader) return statement.all()
      statement.run()
      return []
    },
    close: async () => void database.close(),
  }
}

export async function openPostgres(databaseUrl: string): Promise<Connection> {
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=gatehouse_data' })
  await client.connect()
  return { rows: async (sql) => (await client.query(sql)).rows, close: () => client.end() }
}

class Place implements CopyPlace {
  readonly engine: Engine
  readonly tables: readonly TableDefinition[]
  readonly #term: KeeperTerm
  readonly #connection: Connection

  constructor(engine: Engine, tables: readonly TableDefinition[], term: KeeperTerm, connection: Connection) {
    this.engine = engine
    this.tables = tables
    this.#term = term
    this.#connection = connection
  }

  async run(sql: string): Promise<void> {
    await this.#connection.rows(sql)
  }

  rows(sql: string): ReturnType<CopyPlace['rows']> {
    return this.#connection.rows(sql)
  }

  async dump(delay?: number): Promise<string> {
    const parts = this.tables.map(({ name, primaryKey }) => {
      const stored = delay === undefined ? name : copyName(name, delay)
      return `SELECT '${name}' AS t, a, b, v, note FROM ${quoted(stored)} ORDER BY ${primaryKey.join(', ')}`
    })
    // One statement: one snapshot.
    const rows = await this.rows(parts.map((part, index) => `SELECT * FROM (${part}) AS t${index}`).join(' UNION ALL '))
    const lines = rows.map(({ t, a, b, v, note }) =>
      JSON.stringify([t, Number(a), b, v === null ? null : Number(v), note]),
    )
    return lines.sort().join('\n')
  }

  async mark(): Promise<void> {
    await this.engine.delayed.mark(this.#term, this.tables, await this.engine.delayed.list())
  }

  async move(): Promise<void> {
    const states = await this.engine.delayed.list()
    for (const delay of new Set(states.map((state) => state.delay)))
      await this.engine.delayed.move(this.#term, delay, this.tables, states)
  }

  async tend(): Promise<void> {
    const { delayed } = this.engine
    await this.engine.live.trim()
    await delayed.renew(this.#term, this.tables, await delayed.list())
    for (const state of await delayed.list()) {
      const table = this.tables.find(({ name }) => name.toLowerCase() === state.base)
      if (state.phase === 'filling' && table !== undefined) await delayed.fill(this.#term, table, state)
    }
    await delayed.trimMarks(this.#term, Math.max(DELAY, ...(await delayed.list()).map(({ delay }) => delay)))
  }

  async asOf(): Promise<bigint | undefined> {
    const rows = await this.rows(`SELECT DISTINCT asof FROM ${COPIES}`)
    assert.equal(rows.length, 1, JSON.stringify(rows))
    const [row] = rows
    return row?.asof == null ? undefined : BigInt(String(row.asof))
  }

  async lastMark(): Promise<bigint> {
    const [row] = await this.rows(`SELECT at FROM ${MARKS} ORDER BY id DESC LIMIT 1`)
    return BigInt(String(row?.at ?? 0))
  }

  async close(): Promise<void> {
    await this.#connection.close()
    await this.engine.close()
  }
}

export function quoted(name: string): string {
  return `"${name.toLowerCase().replaceAll('"', '""')}"`
}

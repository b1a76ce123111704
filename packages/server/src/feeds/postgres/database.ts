/** The connections of feeds to PostgreSQL, and how statements are run on them. */
import type { Clock } from 'gatehouse-protocol'
import type { Pool, PoolClient } from 'pg'
import { StatementTimeout } from '../../lib/unavailable.ts'
import { loadPg } from '../../store/database/pg.ts'
import { BRIEF_TRANSACTIONS, isUnreplicated } from '../../store/database/servers/client.ts'
import { Responsiveness } from '../../store/database/servers/responsiveness.ts'
import type { DatabaseServers } from '../../store/database/servers/servers.ts'
import { UnfitServer } from '../../store/database/servers/unfit-server.ts'
import { DATABASE_TIME } from './append-function.ts'

const CONNECTIONS = 6
/** The time to connect, or to wait for a connection. */
const CONNECT_MS = 5000
const STATEMENT_MS = 10_000
/** The lock of a feed is held for one statement. */
const LOCK_MS = 5000
/** For a server that accepts connections and answers nothing else; others are noticed earlier. */
const REPLY_MS = 15_000
/** To drop a partition, which others would wait behind. */
const DROP_LOCK_MS = 100

/** It is locked, or not there any more. */
const NOT_NOW: ReadonlySet<unknown> = new Set(['55P03', '42P01'])

const SETTINGS = {
  TimeZone: 'UTC',
  statement_timeout: STATEMENT_MS,
  lock_timeout: LOCK_MS,
  ...BRIEF_TRANSACTIONS,
  // Every statement reads few rows by an index, of tables that may have grown since they were last analyzed.
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  plan_cache_mode: 'force_generic_plan',
}

const INT8 = 20

export type FeedServers = Pick<DatabaseServers, 'createPool' | 'createClient' | 'acknowledged' | 'named' | 'history'>

type Value = string | number | boolean | null | readonly (string | number | null)[]

export class FeedDatabase {
  readonly servers: FeedServers
  readonly #clock: Clock | undefined
  readonly #pool: Pool
  /** Of statements, which each connection plans once. */
  readonly #names = new Map<string, string>()

  constructor(servers: FeedServers, clock: Clock | undefined) {
    this.servers = servers
    this.#clock = clock
    const { types } = loadPg()
    /** Our numbers are below 2^53. */
    const findParser = (oid: number, format?: 'text' | 'binary'): ((value: string) => unknown) =>
      oid === INT8 ? Number : types.getTypeParser(oid, format === 'binary' ? 'text' : format)
    this.#pool = servers.createPool({
      max: CONNECTIONS,
      settings: SETTINGS,
      types: { getTypeParser: findParser },
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: REPLY_MS,
      idleTimeoutMillis: 60_000,
      application_name: 'gatehouse feeds',
    })
    // A broken idle connection is replaced at its next use, and a broken busy one fails its statement. Without a listener either event
    // would end the process.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', (client) => client.on('error', () => {}))
    new Responsiveness().watch(this.#pool)
  }

  /** The time for statements; null for that of the database. */
  now(): number | null {
    return this.#clock?.() ?? null
  }

  async time(): Promise<number> {
    const now = this.now()
    if (now !== null) return now
    const [row] = await this.read<{ now: number }>(`select ${DATABASE_TIME} as now`, [])
    return row?.now ?? Date.now()
  }

  async read<Row extends object>(sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    return this.withClient((client) => this.#run<Row>(client, sql, values))
  }

  /** One statement is one transaction. Rejects also if no standby has confirmed it. */
  async write<Row extends object>(sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    const rows = await this.withClient(async (client) => {
      const written = await this.#run<Row>(client, sql, values)
      if (isUnreplicated(client))
        throw new UnfitServer('GATEHOUSE_UNREPLICATED', 'The write was stopped while it waited for a standby')
      return written
    })
    this.servers.acknowledged()
    return rows
  }

  /** Does nothing while somebody uses the table, and when another node has dropped it. `needed` is a query that finds a row if it is needed. */
  async dropTable(name: string, needed: string): Promise<void> {
    await this.withClient(async (client) => {
      await client.query(`begin; set local lock_timeout = ${DROP_LOCK_MS}`)
      try {
        const { rows } = await client.query(needed)
        if (rows.length === 0) await client.query(`drop table ${name}`)
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        if (!NOT_NOW.has(errorCode(error))) throw error
      }
    })
  }

  async withClient<Result>(use: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect()
    let isBroken = false
    try {
      return await use(client)
    } catch (error) {
      // Only after an error that the server has answered with, the connection is known to be in order.
      isBroken = !(error instanceof loadPg().DatabaseError) || isUnreplicated(client)
      throw errorCode(error) === '57014' ? new StatementTimeout(STATEMENT_MS) : error
    } finally {
      client.release(isBroken)
    }
  }

  async #run<Row extends object>(client: PoolClient, text: string, values: readonly Value[]): Promise<readonly Row[]> {
    const { rows } = await client.query<Row>({ name: this.#statementName(text), text, values: [...values] })
    return rows
  }

  #statementName(sql: string): string {
    let name = this.#names.get(sql)
    if (name === undefined) {
      name = `gatehouse_feeds_${this.#names.size}`
      this.#names.set(sql, name)
    }
    return name
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}

export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

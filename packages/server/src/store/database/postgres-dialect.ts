/** Kysely's dialect for pg: statements are named, so that each connection plans them once, and retried after serialization failures. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import type pg from 'pg'
import type { Availability } from '../../lib/availability.ts'
import { type Backoff, pauseAfter } from '../../lib/retry.ts'
import { StatementTimeout } from '../../lib/unavailable.ts'
import { beginWitness } from './servers/acknowledged-writes.ts'

export interface PostgresDialectOptions {
  readonly availability: Availability
  /** How long a statement may take; undefined for no limit. */
  readonly deadlineMs: () => number | undefined
  /** Called after a write outside of a transaction. */
  readonly acknowledged: () => void
}

export function createPostgresDialect(pool: pg.Pool, options: PostgresDialectOptions): Dialect {
  return {
    createDriver: () => new PostgresDriver(pool, options),
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  }
}

/** Serialization failures and deadlocks: the database has rolled the statement back, and it can be retried. */
const RETRYABLE: ReadonlySet<unknown> = new Set(['40001', '40P01'])
/** "cached plan must not change result type": another node has migrated. */
const PLAN_OUTDATED = '0A000'
const MAX_TRIES = 6
const PAUSES: Backoff = { firstMs: 4, longestMs: 64 }
/** Further statements are sent without a name: a text that varies would fill the server's memory. */
const MAX_NAMED = 500

export function mayTryAgain(error: unknown): boolean {
  return RETRYABLE.has(errorCode(error))
}

class PostgresDriver implements Driver {
  readonly #pool: pg.Pool
  readonly #options: PostgresDialectOptions
  readonly #names = new Map<string, string>()

  constructor(pool: pg.Pool, options: PostgresDialectOptions) {
    this.#pool = pool
    this.#options = options
    // A connection that breaks while in use fails its query; without a listener the event would also end the process.
    pool.on('connect', (client) => client.on('error', () => {}))
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    try {
      return new PostgresConnection(await this.#pool.connect(), this.#options, (sql) => this.#findName(sql))
    } catch (error) {
      this.#options.availability.failed(error)
      throw error
    }
  }

  async beginTransaction(connection: PostgresConnection, { isolationLevel }: TransactionSettings): Promise<void> {
    await connection.send(isolationLevel === undefined ? 'begin' : `begin isolation level ${isolationLevel}`)
    connection.inTransaction = true
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    connection.inTransaction = false
    await connection.commit()
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    connection.inTransaction = false
    // The database rolls back when it notices that the connection is closed.
    if (!connection.isBroken) await connection.send('rollback')
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release()
  }

  async destroy(): Promise<void> {
    await this.#pool.end()
  }

  #findName(sql: string): string | undefined {
    let name = this.#names.get(sql)
    if (name === undefined && this.#names.size < MAX_NAMED) {
      name = `gatehouse_${this.#names.size}`
      this.#names.set(sql, name)
    }
    return name
  }
}

class PostgresConnection implements DatabaseConnection {
  inTransaction = false
  /** A statement was abandoned: its reply may still arrive, so the connection cannot be reused. */
  isBroken = false
  readonly #client: pg.PoolClient
  readonly #options: PostgresDialectOptions
  readonly #findName: (sql: string) => string | undefined

  constructor(client: pg.PoolClient, options: PostgresDialectOptions, findName: (sql: string) => string | undefined) {
    this.#client = client
    this.#options = options
    this.#findName = findName
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    let name = this.#findName(query.sql)
    for (let tries = 1; ; tries++) {
      try {
        return await this.#run<R>(query, name)
      } catch (error) {
        // A transaction has to be retried as a whole, by the code that started it.
        if (this.inTransaction || tries >= MAX_TRIES) throw error
        if (errorCode(error) === PLAN_OUTDATED && name !== undefined) name = undefined
        else if (mayTryAgain(error)) await sleep(pauseAfter(tries, PAUSES))
        else throw error
      }
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for a generator; no caller streams identity data
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('The identity store does not stream')
  }

  async send(statement: string): Promise<void> {
    await this.#inTime(this.#client.query(statement), statement === 'commit')
  }

  async commit(): Promise<void> {
    const witness = beginWitness(this.#client)
    if (witness === undefined) return this.send('commit')
    // Two statements in one message: the reply is a list.
    const asked: Promise<unknown> = this.#client.query(`${witness.sql}; commit`)
    const [read] = (await this.#inTime(asked, true)) as readonly pg.QueryResult<{ xid: string | null; lsn: string }>[]
    const row = read?.rows[0]
    if (row === undefined) return
    witness.onRow([row.xid, row.lsn])
    witness.acknowledge()
  }

  release(): void {
    this.#client.release(this.isBroken)
  }

  async #run<R>({ sql, parameters }: CompiledQuery, name: string | undefined): Promise<QueryResult<R>> {
    const asked = this.#client.query({ text: sql, values: [...parameters], ...(name === undefined ? {} : { name }) })
    const isWrite = !/^\s*select\b/i.test(sql)
    const { rows, rowCount, command } = await this.#inTime(asked, isWrite)
    if (isWrite && !this.inTransaction) this.#options.acknowledged()
    return command === 'SELECT' || rowCount === null ? { rows } : { rows, numAffectedRows: BigInt(rowCount) }
  }

  /** Callers must not wait for a database or network that does not respond: they get an error, and the connection is closed. */
  async #inTime<T>(asked: Promise<T>, isWrite: boolean): Promise<T> {
    const { availability, deadlineMs } = this.#options
    try {
      const reply = await withDeadline(asked, deadlineMs())
      availability.succeeded(isWrite)
      return reply
    } catch (error) {
      if (error instanceof StatementTimeout) this.isBroken = true
      availability.failed(error)
      throw error
    }
  }
}

function withDeadline<T>(work: Promise<T>, milliseconds: number | undefined): Promise<T> {
  if (milliseconds === undefined) return work
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new StatementTimeout(milliseconds)), milliseconds)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

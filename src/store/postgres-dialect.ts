/** Kysely over pg with named statements, planned once for each connection, and with statements that lost a race tried again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult, TransactionSettings } from 'kysely'
import type pg from 'pg'
import { PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from './kysely.ts'

export function createPostgresDialect(pool: pg.Pool): Dialect {
  return {
    createDriver: () => new PostgresDriver(pool),
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  }
}

/** Serialization failures and deadlocks: the database undid the statement and asks to try again. */
const TRY_AGAIN: ReadonlySet<unknown> = new Set(['40001', '40P01'])
/** Another node has migrated: the plan that this connection keeps no longer fits. */
const PLAN_OUTDATED = '0A000'
const MOST_TRIES = 6
const FIRST_PAUSE_MS = 2
/** Statements beyond this are sent without a name: a text that varies would fill the server's memory. */
const MOST_NAMED = 500

export function mayTryAgain(error: unknown): boolean {
  return TRY_AGAIN.has(codeOf(error))
}

class PostgresDriver implements Driver {
  readonly #pool: pg.Pool
  readonly #names = new Map<string, string>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
    // A connection that breaks while somebody uses it tells them by its query; without a listener it would also end the process.
    pool.on('connect', (client) => client.on('error', () => {}))
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    return new PostgresConnection(await this.#pool.connect(), (sql) => this.#nameOf(sql))
  }

  async beginTransaction(connection: PostgresConnection, { isolationLevel }: TransactionSettings): Promise<void> {
    await connection.send(isolationLevel === undefined ? 'begin' : `begin isolation level ${isolationLevel}`)
    connection.inTransaction = true
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    connection.inTransaction = false
    await connection.send('commit')
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    connection.inTransaction = false
    await connection.send('rollback')
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release()
  }

  async destroy(): Promise<void> {
    await this.#pool.end()
  }

  #nameOf(sql: string): string | undefined {
    let name = this.#names.get(sql)
    if (name === undefined && this.#names.size < MOST_NAMED) {
      name = `gatehouse_${this.#names.size}`
      this.#names.set(sql, name)
    }
    return name
  }
}

class PostgresConnection implements DatabaseConnection {
  inTransaction = false
  readonly #client: pg.PoolClient
  readonly #nameOf: (sql: string) => string | undefined

  constructor(client: pg.PoolClient, nameOf: (sql: string) => string | undefined) {
    this.#client = client
    this.#nameOf = nameOf
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    let name = this.#nameOf(query.sql)
    for (let tries = 1; ; tries++) {
      try {
        return await this.#run<R>(query, name)
      } catch (error) {
        // Within a transaction all of it must be tried again, by whoever began it.
        if (this.inTransaction || tries >= MOST_TRIES) throw error
        if (codeOf(error) === PLAN_OUTDATED && name !== undefined) name = undefined
        else if (mayTryAgain(error)) await sleep(FIRST_PAUSE_MS * 2 ** tries * Math.random())
        else throw error
      }
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for a generator; no caller streams identity data
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('The identity store does not stream')
  }

  async send(statement: string): Promise<void> {
    await this.#client.query(statement)
  }

  release(): void {
    this.#client.release()
  }

  async #run<R>({ sql, parameters }: CompiledQuery, name: string | undefined): Promise<QueryResult<R>> {
    const { rows, rowCount, command } = await this.#client.query({
      text: sql,
      values: [...parameters],
      ...(name === undefined ? {} : { name }),
    })
    return command === 'SELECT' || rowCount === null ? { rows } : { rows, numAffectedRows: BigInt(rowCount) }
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

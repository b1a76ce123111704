/** Kysely's dialect for better-sqlite3: one connection reads, one writes with group commit. */
import SqliteDatabase from 'better-sqlite3'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { Availability } from '../../lib/availability.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { GroupCommit } from './group-commit.ts'
import type { SharedFile } from './shared-file.ts'
import { isLocked, LOCK_WAIT_MS, retryWhileLocked } from './write-lock.ts'

const CACHED_STATEMENTS = 500

export interface SqliteDialect extends Dialect {
  /** Throws when nothing more can be written until a restart. */
  checkWrites(): void
}

/** For one Kysely. */
export function createSqliteDialect(
  file: string,
  availability = new Availability(() => {}),
  shared?: SharedFile,
): SqliteDialect {
  const driver = new SqliteDriver(file, availability, shared)
  return {
    checkWrites: () => driver.checkWrites(),
    createDriver: () => driver,
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  }
}

interface OpenDatabase {
  readonly writer: CachedDatabase
  /** A separate connection, which never sees an open transaction of the writer. */
  readonly reader: CachedDatabase
  readonly commits: GroupCommit
}

class SqliteDriver implements Driver {
  readonly #file: string
  #open: OpenDatabase | undefined
  readonly #idle: SqliteConnection[] = []
  readonly #availability: Availability
  readonly #shared: SharedFile | undefined

  constructor(file: string, availability: Availability, shared: SharedFile | undefined) {
    this.#file = file
    this.#availability = availability
    this.#shared = shared
  }

  async init(): Promise<void> {
    const writer = new CachedDatabase(this.#file, false)
    const reader = new CachedDatabase(this.#file, true)
    this.#open = {
      writer,
      reader,
      commits: new GroupCommit(writer.database, this.#file, this.#shared && waitingOnly(this.#shared)),
    }
  }

  async acquireConnection(): Promise<SqliteConnection> {
    return this.#idle.pop() ?? new SqliteConnection(this)
  }

  /** Kept: a connection that is new to Kysely costs more than a read by key. */
  async releaseConnection(connection: SqliteConnection): Promise<void> {
    this.#idle.push(connection)
  }

  checkWrites(): void {
    this.#open?.commits.check()
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    const { writer, commits } = this.#opened()
    const since = performance.now()
    const release = await commits.acquire()
    try {
      commits.check()
      await commits.waitForLock(() => writer.database.exec('begin immediate'), { since })
    } catch (error) {
      release()
      this.#availability.failed(error)
      throw error
    }
    connection.releaseWriter = release
  }

  /** Kysely calls for a rollback when this throws. */
  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await this.#watched(true, async () => {
      const { commits } = this.#opened()
      this.checkWrites()
      this.#endTransaction(connection, 'commit')
      await commits.durable()
      commits.committed()
    })
  }

  /** Also called after a failed commit: then nothing is left to undo, and the writer may belong to another transaction. */
  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    if (connection.inTransaction) this.#endTransaction(connection, 'rollback')
  }

  async destroy(): Promise<void> {
    if (this.#open === undefined) return
    const { writer, reader, commits } = this.#open
    await commits.close()
    reader.database.close()
    writer.database.close()
  }

  async execute<R>(query: CompiledQuery, inTransaction: boolean): Promise<QueryResult<R>> {
    const { writer, reader, commits } = this.#opened()
    if (inTransaction) return this.#watched(false, () => writer.run<R>(query))
    const readIfReadOnly = () => (reader.isReadOnly(query) ? reader.run<R>(query) : undefined)
    let result: QueryResult<R> | undefined
    try {
      result = readIfReadOnly()
    } catch (error) {
      if (!isLocked(error)) throw error
      result = await this.#watched(false, () => retryWhileLocked(readIfReadOnly))
    }
    return result ?? this.#watched(true, () => commits.write(() => writer.run<R>(query), { isOneStatement: true }))
  }

  async #watched<T>(isWrite: boolean, run: () => T | Promise<T>): Promise<T> {
    try {
      const result = await run()
      this.#availability.succeeded(isWrite)
      return result
    } catch (error) {
      this.#availability.failed(error)
      throw error
    }
  }

  #endTransaction(connection: SqliteConnection, statement: 'commit' | 'rollback'): void {
    const { database } = this.#opened().writer
    try {
      // SQLite itself rolls back after some errors, as on a full disk.
      if (statement === 'commit' || database.inTransaction) database.exec(statement)
    } finally {
      if (database.inTransaction) database.exec('rollback')
      connection.releaseWriter?.()
      connection.releaseWriter = undefined
    }
  }

  #opened(): OpenDatabase {
    if (this.#open === undefined) throw new Error('The SQLite driver is not open')
    return this.#open
  }
}

class SqliteConnection implements DatabaseConnection {
  /** Set while a transaction holds the writer. */
  releaseWriter: (() => void) | undefined
  readonly #driver: SqliteDriver

  constructor(driver: SqliteDriver) {
    this.#driver = driver
  }

  get inTransaction(): boolean {
    return this.releaseWriter !== undefined
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.#driver.execute<R>(query, this.inTransaction)
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for a generator; no caller streams identity data
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('The identity store does not stream')
  }
}

class CachedDatabase {
  readonly database: SqliteDatabase.Database
  readonly #statements = new LruMap<SqliteDatabase.Statement>(CACHED_STATEMENTS)

  constructor(file: string, readonly: boolean) {
    this.database = new SqliteDatabase(file, { readonly, timeout: LOCK_WAIT_MS })
    if (!readonly) {
      this.database.pragma('journal_mode = wal')
      this.database.pragma('synchronous = full')
      this.database.pragma('foreign_keys = on')
    }
    // From now on the wait for a lock must not block the event loop.
    this.database.pragma('busy_timeout = 0')
  }

  isReadOnly(query: CompiledQuery): boolean {
    return this.#statement(query.sql).readonly
  }

  run<R>(query: CompiledQuery): QueryResult<R> {
    const statement = this.#statement(query.sql)
    const parameters = query.parameters.map(toSqliteValue)
    // The row type is Kysely's promise about the compiled query; it cannot be checked here.
    if (statement.reader) return { rows: statement.all(parameters) as R[] }
    const { changes, lastInsertRowid } = statement.run(parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }

  #statement(sql: string): SqliteDatabase.Statement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** Other workers are notified of events (`events/open-bus.ts`), not of every commit. */
function waitingOnly({ waiting }: SharedFile): Pick<SharedFile, 'committed' | 'waiting'> {
  return { waiting, committed() {} }
}

function toSqliteValue(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}

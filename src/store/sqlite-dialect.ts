/** Kysely over better-sqlite3 with group commit: writes that arrive together share one durable transaction. */
import SqliteDatabase from 'better-sqlite3'
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely'
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from './kysely.ts'
import { WalSync } from './wal-sync.ts'

const CACHED_STATEMENTS = 500

export interface SqliteDialect extends Dialect {
  /** Throws when nothing more can be written until a restart. */
  checkWrites(): void
}

/** For one Kysely. */
export function createSqliteDialect(file: string): SqliteDialect {
  const driver = new SqliteDriver(file)
  return {
    checkWrites: () => driver.checkWrites(),
    createDriver: () => driver,
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  }
}

/** One connection writes, one reads: a reader never sees an open transaction of the writer. */
class SqliteDriver implements Driver {
  readonly #file: string
  readonly #queue: PendingWrite[] = []
  #writer: CachedDatabase | undefined
  #reader: CachedDatabase | undefined
  #wal: WalSync | undefined
  #transactionOpen = false
  #flushScheduled = false
  readonly #idle: SqliteConnection[] = []
  readonly #waitingForTransaction: (() => void)[] = []

  constructor(file: string) {
    this.#file = file
  }

  async init(): Promise<void> {
    this.#writer = new CachedDatabase(this.#file, false)
    this.#reader = new CachedDatabase(this.#file, true)
  }

  async acquireConnection(): Promise<SqliteConnection> {
    return this.#idle.pop() ?? new SqliteConnection(this)
  }

  /** Kept: a connection that Kysely has not seen before costs it more than a read by key. */
  async releaseConnection(connection: SqliteConnection): Promise<void> {
    this.#idle.push(connection)
  }

  checkWrites(): void {
    this.#wal?.check()
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    while (this.#transactionOpen) await new Promise<void>((resolve) => this.#waitingForTransaction.push(resolve))
    try {
      this.#flush()
      this.checkWrites()
      this.#open(this.#writer).exec('begin immediate')
    } catch (error) {
      // Its turn goes to the next who waits.
      this.#waitingForTransaction.shift()?.()
      throw error
    }
    this.#transactionOpen = true
    connection.inTransaction = true
  }

  /** Kysely asks for a rollback when this throws. */
  async commitTransaction(connection: SqliteConnection): Promise<void> {
    this.checkWrites()
    this.#endTransaction(connection, 'commit')
    await this.#durable()
  }

  /** Asked for after a commit that failed, too: then there is nothing left to take back, and the writer may be another's. */
  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    if (connection.inTransaction) this.#endTransaction(connection, 'rollback')
  }

  async destroy(): Promise<void> {
    this.#flush()
    // Those who wait for it hear of a failure themselves.
    await this.#wal?.durable().catch(() => {})
    this.#wal?.close()
    this.#reader?.close()
    this.#writer?.close()
  }

  execute<R>(query: CompiledQuery, inTransaction: boolean): Promise<QueryResult<R>> {
    if (inTransaction) return attempt(() => this.#open(this.#writer).run<R>(query))
    if (this.#open(this.#reader).isReadOnly(query)) return attempt(() => this.#open(this.#reader).run<R>(query))
    return new Promise((resolve, reject) => {
      this.#queue.push({
        run: () => {
          const result = this.#open(this.#writer).run<R>(query)
          return () => resolve(result)
        },
        reject,
      })
      this.#scheduleFlush()
    })
  }

  #endTransaction(connection: SqliteConnection, word: 'commit' | 'rollback'): void {
    const writer = this.#open(this.#writer)
    try {
      writer.exec(word)
    } finally {
      writer.rollbackIfOpen()
      connection.inTransaction = false
      this.#transactionOpen = false
      this.#waitingForTransaction.shift()?.()
      if (this.#queue.length > 0) this.#scheduleFlush()
    }
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled || this.#transactionOpen) return
    this.#flushScheduled = true
    setImmediate(() => {
      this.#flushScheduled = false
      if (!this.#transactionOpen) this.#flush()
    })
  }

  /** A failing statement undoes itself alone (SQLite's ABORT); nothing is acknowledged before the commit is on disk. */
  #flush(): void {
    if (this.#queue.length === 0) return
    const batch = this.#queue.splice(0)
    const acknowledge: (() => void)[] = []
    const writer = this.#open(this.#writer)
    try {
      this.checkWrites()
      writer.exec('begin immediate')
      for (const write of batch) {
        try {
          acknowledge.push(write.run())
        } catch (error) {
          acknowledge.push(() => write.reject(error))
        }
      }
      writer.exec('commit')
    } catch (error) {
      writer.rollbackIfOpen()
      for (const write of batch) write.reject(error)
      return
    }
    this.#durable().then(
      () => {
        for (const reply of acknowledge) reply()
      },
      (error) => {
        for (const write of batch) write.reject(error)
      },
    )
  }

  /**
   * SQLite itself syncs the first commit, and with it the folder that the new log is in. From then on the log is synced
   * here, beside the event loop; SQLite goes on to sync it before each checkpoint.
   */
  async #durable(): Promise<void> {
    if (this.#wal !== undefined) return this.#wal.durable()
    this.#wal = WalSync.of(this.#file)
    if (this.#wal !== undefined) this.#open(this.#writer).leaveSyncing()
  }

  #open(database: CachedDatabase | undefined): CachedDatabase {
    if (database === undefined) throw new Error('The SQLite driver is not open')
    return database
  }
}

interface PendingWrite {
  /** Runs the statement and returns what tells its caller, after the commit. */
  run(): () => void
  reject(error: unknown): void
}

class SqliteConnection implements DatabaseConnection {
  inTransaction = false
  readonly #driver: SqliteDriver

  constructor(driver: SqliteDriver) {
    this.#driver = driver
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
  readonly #database: SqliteDatabase.Database
  readonly #statements = new Map<string, SqliteDatabase.Statement>()

  constructor(file: string, readonly: boolean) {
    this.#database = new SqliteDatabase(file, { readonly, timeout: 5000 })
    if (!readonly) {
      this.#database.pragma('journal_mode = wal')
      this.#database.pragma('synchronous = full')
      this.#database.pragma('foreign_keys = on')
    }
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

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  /** Commits are written at once, and synced by somebody else. */
  leaveSyncing(): void {
    this.#database.pragma('synchronous = normal')
  }

  rollbackIfOpen(): void {
    if (this.#database.inTransaction) this.#database.exec('rollback')
  }

  close(): void {
    this.#database.close()
  }

  #statement(sql: string): SqliteDatabase.Statement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      if (this.#statements.size >= CACHED_STATEMENTS) {
        const oldest = this.#statements.keys().next().value
        if (oldest !== undefined) this.#statements.delete(oldest)
      }
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

function toSqliteValue(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}

async function attempt<T>(work: () => T): Promise<T> {
  return work()
}

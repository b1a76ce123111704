/**
 * What this data folder has sent: the generation, the last segment, the sums of all pages as of it, and which segments are not stored yet.
 * A database of its own, which one process at a time has open. After a power failure it may be older than what was stored; the target
 * then has another object where the next one would be.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import type { PageSums } from '../log/page-sums.ts'
import { hashObject } from '../objects/seal.ts'
import { STORED_TABLES, StoredObjects } from './stored-objects.ts'

/** In the data folder. */
export const SPOOL_FOLDER = 'replication'
const STATE_FILE = 'state.db'
/** The sums of this number of pages are a row. */
const BLOCK_PAGES = 256

export interface Spooled {
  readonly name: string
  readonly number: number
  readonly hash: string
  readonly bytes: number
  /** When the first change in it was noticed, in milliseconds. */
  readonly since: number
  /** Everything that was committed before this time is in it, or in one before. */
  readonly time: number
  /** Whether it completes a moment. */
  readonly isComplete: boolean
}

/** Where the chain of segments ends. */
export interface ChainEnd {
  readonly generation: string
  /** The number of the last segment; 0 if there is none yet. */
  readonly number: number
  readonly hash: string
  /** Of the last segment; the next one is not earlier, also where the clock was set back meanwhile. */
  readonly time: number
}

const TABLES = `
  create table if not exists state (key text primary key, value text not null) without rowid;
  create table if not exists sums (database text not null, block integer not null, sums blob not null, primary key (database, block)) without rowid;
  create table if not exists spooled (position integer primary key, name text not null, number integer not null, hash text not null,
    bytes integer not null, since integer not null, time integer not null, complete integer not null);
  create table if not exists generations (name text primary key, until integer not null) without rowid;
`

export class SpoolState {
  readonly folder: string
  readonly stored: StoredObjects
  readonly #database: SqliteDatabase.Database

  /** Undefined while another process has it. */
  static open(dataFolder: string): SpoolState | undefined {
    const folder = join(dataFolder, SPOOL_FOLDER)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const file = join(folder, STATE_FILE)
    closeSync(openSync(file, 'a', 0o600))
    const database = new SqliteDatabase(file, { timeout: 0 })
    try {
      database.pragma('locking_mode = exclusive')
      database.pragma('journal_mode = wal')
      database.pragma('synchronous = normal')
      database.transaction(() => database.exec(TABLES + STORED_TABLES)).immediate()
      return new SpoolState(folder, database)
    } catch (error) {
      database.close()
      if (error instanceof SqliteDatabase.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code)) return undefined
      throw error
    }
  }

  private constructor(folder: string, database: SqliteDatabase.Database) {
    this.folder = folder
    this.stored = new StoredObjects(database)
    this.#database = database
  }

  /** A random name of the data folder. A copy of the folder has it too: its first object finds another in its place. */
  get machine(): string {
    const known = this.get('machine')
    if (typeof known === 'string') return known
    const machine = randomBytes(9).toString('base64url')
    this.put('machine', machine)
    return machine
  }

  get chain(): ChainEnd | undefined {
    return this.get('chain') as ChainEnd | undefined
  }

  /** The last base of the generation. */
  get base(): { readonly at: number; readonly moment: number; readonly bytes: number } | undefined {
    return this.get('base') as SpoolState['base']
  }

  get verified(): { readonly at: number; readonly moment: number } | undefined {
    return this.get('verified') as SpoolState['verified']
  }

  get(key: string): unknown {
    const row = this.#database.prepare<[string], { value: string }>('select value from state where key = ?').get(key)
    return row === undefined ? undefined : JSON.parse(row.value)
  }

  put(key: string, value: unknown): void {
    this.#database
      .prepare('insert into state values (?, ?) on conflict (key) do update set value = excluded.value')
      .run(key, JSON.stringify(value))
  }

  /** Forgets everything of the generation before, but that there was one. */
  reset(): void {
    for (const { name } of this.spooled()) rmSync(this.#path(name), { force: true })
    const before = this.chain?.generation
    this.#database
      .transaction(() => {
        if (before !== undefined)
          this.#database.prepare('insert or replace into generations values (?, ?)').run(before, Date.now())
        this.#database.exec('delete from spooled; delete from sums; delete from stored; delete from bases')
        this.#database.exec("delete from state where key not in ('machine', 'verified')")
      })
      .immediate()
  }

  /** Those before this one, with the time until which they went on. */
  generations(): readonly { readonly generation: string; readonly until: number }[] {
    return this.#database
      .prepare<[], { generation: string; until: number }>('select name as generation, until from generations')
      .all()
  }

  forgetGeneration(name: string): void {
    this.#database.prepare('delete from generations where name = ?').run(name)
  }

  /** The object is written first: the state never names one that is not there. */
  add(
    object: Omit<Spooled, 'bytes'>,
    sealed: Buffer,
    chain: ChainEnd,
    changed: ReadonlyMap<string, { readonly sums: PageSums; readonly pages: Iterable<number> }>,
  ): void {
    const { name, number, hash, since, time, isComplete } = object
    const insert = this.#database.prepare(
      'insert into spooled (name, number, hash, bytes, since, time, complete) values (?, ?, ?, ?, ?, ?, ?)',
    )
    try {
      writeFileSync(this.#path(name), sealed, { mode: 0o600 })
      this.#database
        .transaction(() => {
          insert.run(name, number, hash, sealed.length, since, time, Number(isComplete))
          this.put('chain', chain)
          for (const [database, { sums, pages }] of changed) this.#storeSums(database, sums, pages)
        })
        .immediate()
    } catch (error) {
      // What of it was written would take the last room of a full disk.
      rmSync(this.#path(name), { force: true })
      throw error
    }
  }

  #storeSums(database: string, sums: PageSums, pages: Iterable<number>): void {
    const store = this.#database.prepare(
      'insert into sums values (?, ?, ?) on conflict (database, block) do update set sums = excluded.sums',
    )
    const blocks = new Set<number>()
    for (const page of pages) blocks.add(Math.floor((page - 1) / BLOCK_PAGES))
    for (const block of blocks) store.run(database, block, sums.read(block * BLOCK_PAGES + 1, BLOCK_PAGES))
    this.#database
      .prepare('delete from sums where database = ? and block * ? >= ?')
      .run(database, BLOCK_PAGES, sums.pages)
    this.put(`pages ${database}`, sums.pages)
  }

  /** Of all pages at once, where many are new. */
  storeAllSums(database: string, sums: PageSums): void {
    const pages = Array.from({ length: Math.ceil(sums.pages / BLOCK_PAGES) }, (_, block) => block * BLOCK_PAGES + 1)
    this.#database.transaction(() => this.#storeSums(database, sums, pages)).immediate()
  }

  loadSums(database: string, sums: PageSums): void {
    const pages = this.get(`pages ${database}`)
    sums.resize(typeof pages === 'number' ? pages : 0)
    const rows = this.#database.prepare<[string], { block: number; sums: Buffer }>(
      'select block, sums from sums where database = ? order by block',
    )
    for (const row of rows.iterate(database)) sums.write(row.block * BLOCK_PAGES + 1, row.sums)
  }

  /** What is not stored yet, in the order in which it must be. */
  spooled(): readonly Spooled[] {
    const rows = this.#database
      .prepare<[], Omit<Spooled, 'isComplete'> & { complete: number }>(
        'select name, number, hash, bytes, since, time, complete from spooled order by position',
      )
      .all()
    return rows.map(({ complete, ...row }) => ({ ...row, isComplete: complete === 1 }))
  }

  /** Undefined if it is not as it was written: after a power failure, for example. */
  read({ name, hash }: Spooled): Buffer | undefined {
    const path = this.#path(name)
    if (!existsSync(path)) return undefined
    const sealed = readFileSync(path)
    return hashObject(sealed) === hash ? sealed : undefined
  }

  /** It is stored. */
  remove(object: Spooled): void {
    try {
      this.#noteStored(object)
    } catch (error) {
      if (!(error instanceof SqliteDatabase.SqliteError && /^SQLITE_(FULL|IOERR)/.test(error.code))) throw error
      // Its file is what fills the disk. Should the process end here, another generation begins.
      rmSync(this.#path(object.name), { force: true })
      this.#noteStored(object)
    }
    rmSync(this.#path(object.name), { force: true })
  }

  #noteStored({ name, number, time, isComplete }: Spooled): void {
    this.#database
      .transaction(() => {
        this.#database.prepare('delete from spooled where name = ?').run(name)
        if (number > 0) this.stored.add({ level: 0, first: number, last: number, time, isComplete })
      })
      .immediate()
  }

  close(): void {
    this.#database.close()
  }

  #path(name: string): string {
    return join(this.folder, `${name.replaceAll('/', '.')}.object`)
  }
}

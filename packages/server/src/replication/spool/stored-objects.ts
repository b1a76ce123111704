/** What of this generation is stored, as far as it was stored from here: for merging, and for deleting what is too old. */
import type { Database } from 'better-sqlite3'
import type { Level } from '../objects/names.ts'

export interface StoredRange {
  readonly level: Level
  readonly first: number
  readonly last: number
  /** In milliseconds. */
  readonly time: number
  readonly isComplete: boolean
}

export interface RecordedBase {
  readonly from: number
  readonly began: number
  readonly parts: number
  readonly moment: number
}

export const STORED_TABLES = `
  create table if not exists stored (level integer not null, first integer not null, last integer not null, time integer not null,
    complete integer not null, primary key (level, first)) without rowid;
  create table if not exists bases (began integer primary key, base integer not null, parts integer not null, moment integer not null);
`

interface Row {
  readonly level: Level
  readonly first: number
  readonly last: number
  readonly time: number
  readonly complete: number
}

export class StoredObjects {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  add({ level, first, last, time, isComplete }: StoredRange): void {
    this.#database
      .prepare('insert or replace into stored values (?, ?, ?, ?, ?)')
      .run(level, first, last, time, Number(isComplete))
  }

  remove({ level, first }: StoredRange): void {
    this.#database.prepare('delete from stored where level = ? and first = ?').run(level, first)
  }

  /** Those after a number, in order. */
  after(level: Level, number: number, limit: number): readonly StoredRange[] {
    return this.#database
      .prepare<[number, number, number], Row>(
        'select level, first, last, time, complete from stored where level = ? and first > ? order by first limit ?',
      )
      .all(level, number, limit)
      .map(toRange)
  }

  /** The last number that is in a segment of the level; 0 if there is none. */
  end(level: Level): number {
    return Number(
      this.#database.prepare('select coalesce(max(last), 0) from stored where level = ?').pluck().get(level),
    )
  }

  /** Those before a time, up to a number. */
  old(level: Level, before: number, upTo: number, limit: number): readonly StoredRange[] {
    return this.#database
      .prepare<[number, number, number, number], Row>(
        'select level, first, last, time, complete from stored where level = ? and time < ? and last <= ? order by first limit ?',
      )
      .all(level, before, upTo, limit)
      .map(toRange)
  }

  addBase({ from, began, parts, moment }: RecordedBase): void {
    this.#database.prepare('insert or replace into bases values (?, ?, ?, ?)').run(began, from, parts, moment)
  }

  /** In the order in which they were begun, whatever the clock said. */
  bases(): readonly RecordedBase[] {
    return this.#database
      .prepare<[], RecordedBase>('select base as "from", began, parts, moment from bases order by base, began')
      .all()
  }

  removeBase({ began }: RecordedBase): void {
    this.#database.prepare('delete from bases where began = ?').run(began)
  }
}

function toRange({ complete, ...range }: Row): StoredRange {
  return { ...range, isComplete: complete === 1 }
}

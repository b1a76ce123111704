/** Moves the copies of delayed tables, and says how far they are: what both engines share. Times are in microseconds since the epoch. */
import type { TableDefinition } from '../catalogue/definition.ts'
import type { WrittenTable } from './commit-listeners.ts'
import { COPIES, type CopyPhase, copyName, MARKS } from './delayed-copies.ts'
import type { Sql } from './emit/dialect.ts'
import type { KeeperTerm } from './keeper-lease.ts'
import type { BuildSql, ServiceStore } from './service-store.ts'

export interface CopyState {
  /** Of the copy. */
  readonly name: string
  /** Of its table, in lower case. */
  readonly base: string
  /** In milliseconds. */
  readonly delay: number
  readonly phase: CopyPhase
  readonly position: string
  /** Since when it has had all rows. */
  readonly filled: bigint | undefined
  /** The time of its state. */
  readonly asOf: bigint | undefined
}

/** What differs between the engines. A position says how far a log has been applied. */
export interface CopySql {
  readonly identifier: (name: string) => Sql
  /** How far the logs of these tables are, if that is further than the last mark; `isNeeded`: also if it is not. */
  readMark(
    tables: readonly TableDefinition[],
    last: string | undefined,
    isNeeded: boolean,
    store: ServiceStore,
  ): Promise<string | undefined>
  /** The position of a table at a mark; undefined if the table is younger than the mark. */
  readonly positionAt: (mark: string, table: TableDefinition, state: CopyState) => string | undefined
  /** Selects the last change of each key between two positions: the row after it, and whether it is `gone`. */
  readonly changes: (table: TableDefinition, from: Sql, to: Sql) => Sql
  readonly truth: (value: boolean) => Sql
  /** Copies that do not fit the logs: another program has emptied a table. Absent where that is in the log. */
  readonly findLost?: (states: readonly CopyState[], store: ServiceStore) => Promise<readonly CopyState[]>
  /** How far the log of a table is now. */
  readonly head?: (table: TableDefinition) => Sql
  /** Whether the work is too long for the event loop: then `runApart` does it. */
  readonly isLong?: (from: string, to: string) => boolean
  /** Runs statements as one transaction, apart from the event loop. Returns the rows that the first has changed. */
  readonly runApart?: (builds: readonly BuildSql[]) => Promise<number>
}

/** After every mark. */
const LAST = BigInt(Number.MAX_SAFE_INTEGER)

/** Rows that a copy gets in one transaction while it is filled. */
const FILLED_AT_ONCE = 20_000

type Value = Parameters<BuildSql>[0]

export class DelayedRows {
  readonly #store: ServiceStore
  readonly #sql: CopySql
  readonly #onCommit: (tables: readonly WrittenTable[]) => void
  readonly #copies: string
  readonly #marks: string

  /** `onCommit` is called when copies have moved. */
  constructor(store: ServiceStore, sql: CopySql, onCommit: (tables: readonly WrittenTable[]) => void) {
    this.#store = store
    this.#sql = sql
    this.#onCommit = onCommit
    this.#copies = `${store.schema}.${COPIES}`
    this.#marks = `${store.schema}.${MARKS}`
  }

  async list(): Promise<readonly CopyState[]> {
    const rows = await this.#store.read<StateRow>(
      () => `SELECT name, base, delay, phase, position, filled, asof FROM ${this.#copies}`,
    )
    return rows.map(toState)
  }

  /** Writes down how far the logs are, if anything was committed since the last mark. The time is read after that: all was committed by then. Returns it. */
  async mark(
    term: KeeperTerm,
    tables: readonly TableDefinition[],
    states: readonly CopyState[],
  ): Promise<bigint | undefined> {
    const last = await this.#lastMark()
    const isNeeded = states.some(
      ({ phase, filled = 0n }) => phase === 'filled' && (last === undefined || last.at < filled),
    )
    const position = await this.#sql.readMark(tables, last?.position, isNeeded || last === undefined, this.#store)
    if (position === undefined) return undefined
    // Rounded up. It does not go back with the clock.
    const now = `(${this.#store.now} + 1) * 1000`
    const before = `coalesce((SELECT max(at) FROM ${this.#marks}), 0)`
    await this.#store.writeInTerm(term, [
      (value) => `INSERT INTO ${this.#marks} (id, at, position)
        SELECT coalesce((SELECT max(id) FROM ${this.#marks}), 0) + 1,
          CASE WHEN ${now} > ${before} THEN ${now} ELSE ${before} END, ${value(position)}`,
    ])
    return (await this.#lastMark())?.at
  }

  async #lastMark(): Promise<{ readonly at: bigint; readonly position: string } | undefined> {
    const [row] = await this.#store.read<MarkRow>(
      () => `SELECT at, position FROM ${this.#marks} ORDER BY id DESC LIMIT 1`,
    )
    return row && { at: BigInt(row.at), position: row.position }
  }

  /** Moves all copies of a delay to the newest mark that is old enough, and is before `notAfter`. Returns how much older than the delay that was, in milliseconds. */
  async move(
    term: KeeperTerm,
    delay: number,
    tables: readonly TableDefinition[],
    states: readonly CopyState[],
    notAfter = LAST,
  ): Promise<number | undefined> {
    const [mark] = await this.#store.read<MarkRow & { readonly now: number | string }>(
      (value) => `SELECT at, position, ${this.#store.now} AS now FROM ${this.#marks}
        WHERE at <= ${this.#store.now} * 1000 - ${value(BigInt(delay) * 1000n)} AND at < ${value(notAfter)}
        ORDER BY id DESC LIMIT 1`,
    )
    if (mark === undefined) return undefined
    const at = BigInt(mark.at)
    const moves = tables.flatMap((table) => {
      const name = copyName(table.name, delay)
      const state = states.find((known) => known.name === name)
      if (state === undefined || state.phase === 'filling' || (state.filled ?? at) > at || state.asOf === at) return []
      const to = this.#sql.positionAt(mark.position, table, state) ?? state.position
      return [{ table, state, to }]
    })
    if (moves.length === 0) return undefined
    const builds = moves.flatMap(({ table, state, to }) => [
      ...(to === state.position ? [] : this.#apply(table, state, to)),
      (value: Value): Sql => `UPDATE ${this.#copies} SET position = ${value(to)}, asof = ${value(at)}, phase = 'open'
        WHERE ${isAt(state, value)}`,
    ])
    const isLong = moves.some(({ state, to }) => this.#sql.isLong?.(state.position, to) === true)
    if (isLong && this.#sql.runApart !== undefined) await this.#sql.runApart(builds)
    else await this.#store.writeInTerm(term, builds)
    this.#onCommit(moves.map(({ state }) => ({ name: state.name, isLive: true })))
    return Number(mark.now) - delay - Number(at / 1000n)
  }

  /** Deletes what is gone, and writes what is new, unless the copy was begun anew meanwhile. */
  #apply(table: TableDefinition, state: CopyState, to: string): BuildSql[] {
    const { identifier, changes, truth } = this.#sql
    const copy = `${this.#store.schema}.${identifier(state.name)}`
    const names = (columns: readonly string[]): Sql => columns.map(identifier).join(', ')
    const key = table.primaryKey
    const columns = table.columns.map(({ name }) => name)
    const others = columns.filter((name) => !key.includes(name))
    const guard = (value: Value): Sql => `EXISTS (SELECT 1 FROM ${this.#copies} WHERE ${isAt(state, value)})`
    const rows = (value: Value): Sql => changes(table, value(state.position), value(to))
    const set = others.map((name) => `${identifier(name)} = excluded.${identifier(name)}`).join(', ')
    return [
      (value) => `DELETE FROM ${copy} WHERE ${key.length === 1 ? names(key) : `(${names(key)})`} IN
        (SELECT ${names(key)} FROM (${rows(value)}) AS c WHERE gone = ${truth(true)}) AND ${guard(value)}`,
      (value) => `INSERT INTO ${copy} (${names(columns)})
        SELECT ${names(columns)} FROM (${rows(value)}) AS c WHERE gone = ${truth(false)} AND ${guard(value)}
        ON CONFLICT (${names(key)}) DO ${others.length === 0 ? 'NOTHING' : `UPDATE SET ${set}`}`,
    ]
  }

  /** Copies that are no states of their tables any more begin anew. */
  async renew(term: KeeperTerm, tables: readonly TableDefinition[], states: readonly CopyState[]): Promise<void> {
    const { findLost, head, identifier } = this.#sql
    if (findLost === undefined || head === undefined) return
    for (const state of await findLost(states, this.#store)) {
      const table = tables.find(({ name }) => name.toLowerCase() === state.base)
      if (table === undefined) continue
      await this.#store.writeInTerm(term, [
        () => `DELETE FROM ${this.#store.schema}.${identifier(state.name)}`,
        (value) => `UPDATE ${this.#copies} SET phase = 'filling', position = ${head(table)}, filled = NULL, asof = NULL
          WHERE ${isAt(state, value)}`,
      ])
      this.#onCommit([{ name: state.name, isLive: true }])
    }
  }

  /** Copies further rows into a new copy. */
  async fill(term: KeeperTerm, table: TableDefinition, state: CopyState): Promise<void> {
    const { identifier, runApart } = this.#sql
    const copy = `${this.#store.schema}.${identifier(state.name)}`
    const base = `${this.#store.schema}.${identifier(table.name)}`
    const columns = table.columns.map(({ name }) => identifier(name)).join(', ')
    const key = table.primaryKey.map(identifier)
    const [first] = await this.#store.read(() => `SELECT 1 AS found FROM ${copy} LIMIT 1`)
    const last = `(SELECT ${key.join(', ')} FROM ${copy} ORDER BY ${key.map((name) => `${name} DESC`).join(', ')} LIMIT 1)`
    const rest = first === undefined ? '' : `WHERE (${key.join(', ')}) > ${last}`
    const build = (): Sql => `INSERT INTO ${copy} (${columns})
      SELECT ${columns} FROM ${base} AS b ${rest} ORDER BY ${key.join(', ')} LIMIT ${FILLED_AT_ONCE}`
    const written =
      runApart === undefined ? ((await this.#store.writeInTerm(term, [build]))[0] ?? 0) : await runApart([build])
    if (written === FILLED_AT_ONCE) return
    const now = `(${this.#store.now} + 1) * 1000`
    await this.#store.writeInTerm(term, [
      (value) => `UPDATE ${this.#copies} SET phase = 'filled', filled = ${now} WHERE ${isAt(state, value)}`,
    ])
  }

  /** Deletes marks that no copy is moved to any more. */
  async trimMarks(term: KeeperTerm, longest: number): Promise<void> {
    const before = `${this.#store.now} * 1000 - `
    await this.#store.writeInTerm(term, [
      (value) => `DELETE FROM ${this.#marks} WHERE id < (SELECT max(id) FROM ${this.#marks}
        WHERE at <= ${before}${value(BigInt(longest) * 1000n)})`,
    ])
  }
}

interface MarkRow {
  readonly at: number | string
  readonly position: string
}

interface StateRow {
  readonly name: string
  readonly base: string
  readonly delay: number | string
  readonly phase: string
  readonly position: string
  readonly filled: number | string | null
  readonly asof: number | string | null
}

function toState({ name, base, delay, phase, position, filled, asof }: StateRow): CopyState {
  return {
    ...{ name, base, position },
    delay: Number(delay),
    phase: phase === 'open' || phase === 'filled' ? phase : 'filling',
    filled: filled === null ? undefined : BigInt(filled),
    asOf: asof === null ? undefined : BigInt(asof),
  }
}

/** Whether the copy is still where it was. */
function isAt({ name, position }: CopyState, value: Value): Sql {
  return `name = ${value(name)} AND position = ${value(position)}`
}

/** Which commits a position includes: the model's own account of the change logs, read from the database itself. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { logName } from '../../../packages/server/src/query/engines/change-log.ts'
import { unpackPositions } from '../../../packages/server/src/query/engines/live-source.ts'
import { parsePosition } from '../../../packages/server/src/query/engines/postgres/dialect/positions.ts'
import { SCHEMA } from '../../../packages/server/src/query/engines/postgres/representation.ts'
import type { DeriveKey } from '../../../packages/server/src/query/live/position.ts'
import type { TestPlace } from '../../support/engines.ts'
import { openPosition } from './open-position.ts'

export interface Ledger {
  /** What was committed since the last call is one step. Returns the tables that it changed. No write may be running. */
  record(commits: 'one' | 'several'): Promise<ReadonlySet<string>>
  /** The last step that was recorded. */
  readonly step: number
  /**
   * The step that a position shows; `between`: some commits of a step that has several. A position that is sent during a
   * step can be asked for when the step is recorded.
   */
  buildStep(tables: readonly string[], position: string): number | 'between'
  /** A transaction of another program. False: the database was busy, or refused it; nothing is done. */
  write(statements: readonly string[], end: 'COMMIT' | 'ROLLBACK'): Promise<boolean>
  /** A transaction that commits at the call of what is returned. Undefined where writers are serialised. */
  hold(statements: readonly string[]): Promise<(() => Promise<void>) | undefined>
  readonly schema: string
  close(): Promise<void>
}

type TablePositions = (tables: readonly string[], position: string) => ReadonlyMap<string, string>

/** `derive` opens the positions, which are sealed. */
export async function openLedger(place: TestPlace, tables: readonly string[], derive: DeriveKey): Promise<Ledger> {
  const tablePositions: TablePositions = (read, position) => {
    const found = unpackPositions([...read].sort(), openPosition(position, derive).tables)
    assert.ok(found !== undefined)
    return found
  }
  return place.databaseUrl === ''
    ? openSqlite(place, tables, tablePositions)
    : openPostgres(place, tables, tablePositions)
}

/** The numbers of a log only grow: a step begins where its last number changes. */
function openSqlite({ dataFolder }: TestPlace, tables: readonly string[], tablePositions: TablePositions): Ledger {
  const database = new Database(join(dataFolder, 'query.db'))
  database.pragma('busy_timeout = 0')
  const readHead = (table: string) =>
    database
      .prepare<[], string>(`SELECT seq || '.' || tag FROM ${logName(table)} ORDER BY seq DESC LIMIT 1`)
      .pluck(true)
      .get() ?? ''
  const heads = new Map<string, { readonly step: number; readonly head: string }[]>()
  const several = new Set<number>()
  let step = 0
  const between = (at: number): 'between' => {
    assert.ok(several.has(at), `the position shows a part of step ${at}, which is one commit`)
    return 'between'
  }
  return {
    schema: '',
    get step() {
      return step
    },
    async record(commits) {
      step++
      if (commits === 'several') several.add(step)
      const changed = new Set<string>()
      for (const table of tables) {
        const head = readHead(table)
        const known = heads.get(table) ?? []
        if (known.at(-1)?.head === head) continue
        changed.add(table)
        known.push({ step, head })
        heads.set(table, known)
      }
      return changed
    },
    buildStep(read, position) {
      let [first, last] = [0, Number.POSITIVE_INFINITY]
      for (const [table, told] of tablePositions(read, position)) {
        const [seq = '', tag = ''] = told.split('.')
        const head = `${seq}.${Number.parseInt(tag, 36)}`
        const known = heads.get(table) ?? []
        const index = known.findIndex((entry) => entry.head === head)
        if (index < 0) return between(known.find((entry) => Number.parseInt(entry.head, 10) > Number(seq))?.step ?? 0)
        first = Math.max(first, known[index]?.step ?? 0)
        last = Math.min(last, (known[index + 1]?.step ?? Number.POSITIVE_INFINITY) - 1)
      }
      if (first <= last) return first
      assert.equal(first, last + 1, 'the position mixes steps')
      return between(first)
    },
    async write(statements, end) {
      try {
        database.exec('BEGIN IMMEDIATE')
        for (const statement of statements) database.exec(statement)
        database.exec(end)
        return end === 'COMMIT'
      } catch (error) {
        if (database.inTransaction) database.exec('ROLLBACK')
        if (error instanceof Database.SqliteError) return false
        throw error
      }
    },
    hold: async () => undefined,
    async close() {
      database.close()
    },
  }
}

interface Snapshot {
  readonly xmax: bigint
  readonly running: readonly bigint[]
}

const sees = ({ xmax, running }: Snapshot, xid: bigint): boolean => xid < xmax && !running.includes(xid)

/** The transactions of a step are those that are new in the logs. */
async function openPostgres(
  { databaseUrl }: TestPlace,
  tables: readonly string[],
  tablePositions: TablePositions,
): Promise<Ledger> {
  const connect = async () => {
    const client = new pg.Client({ connectionString: databaseUrl })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const client = await connect()
  const holding = await connect()
  const steps = new Map<string, Map<bigint, number>>(tables.map((table) => [table, new Map()]))
  const several = new Set<number>()
  let step = 0
  let isHeld = false
  /** Every transaction before it has ended and is recorded. */
  let ended = '0'
  const select = tables
    .map((table, index) => `SELECT ${index} AS i, xid FROM ${SCHEMA}.${logName(table)} WHERE xid >= $1::xid8`)
    .join(' UNION ')
  return {
    schema: `${SCHEMA}.`,
    get step() {
      return step
    },
    async record(commits) {
      step++
      if (commits === 'several') several.add(step)
      const changed = new Set<string>()
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      const { rows } = await client.query<{ i: number; xid: string }>(`SELECT i, xid::text FROM (${select}) AS l`, [
        ended,
      ])
      const now = await client.query<{ xmin: string }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin')
      await client.query('COMMIT')
      ended = now.rows[0]?.xmin ?? ended
      for (const { i, xid } of rows) {
        const table = tables[i] ?? ''
        const known = steps.get(table)
        if (known === undefined || known.has(BigInt(xid))) continue
        known.set(BigInt(xid), step)
        changed.add(table)
      }
      return changed
    },
    buildStep(read, position) {
      const [first] = tablePositions(read, position).values()
      const snapshot = parsePosition(first ?? '')
      assert.ok(snapshot !== undefined && !snapshot.isOlder)
      const seen = new Map<number, boolean>()
      for (const table of read) {
        for (const [xid, at] of steps.get(table) ?? []) {
          const isSeen = sees(snapshot, xid)
          if (seen.has(at) && seen.get(at) !== isSeen) {
            assert.ok(several.has(at), `the position shows a part of step ${at}, which is one commit`)
            return 'between'
          }
          seen.set(at, isSeen)
        }
      }
      const last = Math.max(0, ...[...seen].filter(([, isSeen]) => isSeen).map(([at]) => at))
      const missed = [...seen].filter(([at, isSeen]) => at < last && !isSeen)
      assert.deepEqual(missed, [], `the position includes step ${last}, but not all before it`)
      return last
    },
    async write(statements, end) {
      try {
        await client.query('BEGIN')
        for (const statement of statements) await client.query(statement)
        await client.query(end)
        return end === 'COMMIT'
      } catch (error) {
        await client.query('ROLLBACK')
        if (error instanceof pg.DatabaseError) return false
        throw error
      }
    },
    async hold(statements) {
      if (isHeld) return undefined
      isHeld = true
      let failed = false
      try {
        await holding.query('BEGIN')
        // It must not wait for a row, nor keep others waiting for long.
        await holding.query("SET LOCAL lock_timeout = '50ms'")
        for (const statement of statements) await holding.query(statement)
      } catch {
        failed = true
      }
      return async () => {
        await holding.query(failed ? 'ROLLBACK' : 'COMMIT')
        isHeld = false
      }
    },
    async close() {
      await client.end()
      await holding.end()
    },
  }
}

/** DuckDB in memory beside a query server, with the same rows: an oracle. Needs DuckDB's package, which npm fetches once. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { duckdbFolder } from '../../bench/support/fetched-peers.ts'
import type { TestPlace } from '../support/engines.ts'
import { Choice } from './agree/choice.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

export interface Oracle {
  readonly server: QueryServer
  /** Runs the statement on both, and compares their rows as numbers. `closeness` is how far apart they may be, as a fraction. */
  assertSame(statement: string, options?: { readonly closeness?: number; readonly duckdb?: string }): Promise<void>
}

interface DuckDb {
  runAndReadAll(sql: string): Promise<{ getRowsJson(): (string | number | null)[][] }>
}

export const MISSING = 'DuckDB cannot be fetched: npm must reach its registry'
const ROWS = 250
const CREATE =
  'CREATE TABLE w (id Integer PRIMARY KEY, s Text, n Integer, k Integer, ts Timestamp, d Date, p Decimal(12,4), f Double)'

/** Undefined if DuckDB cannot be fetched. `decimal` is its type of p: its medians of decimals have no more digits than they. */
export async function openOracle(
  place: TestPlace,
  seed: number,
  decimal = 'DECIMAL(12,4)',
): Promise<Oracle | undefined> {
  const folder = duckdbFolder()
  if (folder === undefined) return undefined
  const { DuckDBInstance } = createRequire(`${folder}/`)('@duckdb/node-api')
  const duckdb: DuckDb = await (await DuckDBInstance.create(':memory:')).connect()
  const server = await startQueryServer(place)
  for (const statement of [CREATE, `INSERT INTO w VALUES ${readRows(new Choice(seed)).join(', ')}`]) {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, reply.text)
    await duckdb.runAndReadAll(
      statement.replaceAll('Integer', 'BIGINT').replace('Text', 'VARCHAR').replace('Decimal(12,4)', decimal),
    )
  }
  return {
    server,
    assertSame: async (statement, { closeness = 0, duckdb: other = statement } = {}) => {
      const reply = await server.call('/query?rows=arrays', { Statement: statement })
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
      const found = reply.json.Rows.map(numbers)
      const expected = (await duckdb.runAndReadAll(other)).getRowsJson().map(numbers)
      assert.equal(found.length, expected.length, statement)
      for (const [at, row] of found.entries()) {
        const column = row.findIndex((value, index) => !isClose(value, expected[at]?.[index], closeness))
        const difference = { row: row[0], column, found: row[column], expected: expected[at]?.[column] }
        assert.equal(column, -1, `${JSON.stringify(difference)} of ${statement}`)
      }
    },
  }
}

/** One row in ten has no value in a column; some values of a group are all the same. */
function readRows(choice: Choice): string[] {
  return Array.from({ length: ROWS }, (_, id) => {
    const second = String(choice.below(60)).padStart(2, '0')
    const at = choice.oneIn(12) ? 'NULL' : `'2026-01-0${1 + choice.below(3)} 10:0${choice.below(10)}:${second}'`
    const date = at === 'NULL' ? at : `${at.slice(0, 11)}'`
    const orNull = (value: string | number): string => (choice.oneIn(10) ? 'NULL' : String(value))
    const group = choice.of(['a', 'b', 'c', 'd'])
    const n = orNull(group === 'd' ? 7 : choice.below(41) - 20)
    const price = orNull(`${choice.below(9000) - 4500}.${String(choice.below(10_000)).padStart(4, '0')}`)
    const double = orNull(`${choice.below(1000) - 500}.${choice.below(1000)}e${choice.below(7) - 3}`)
    return `(${id}, '${group}', ${n}, ${orNull(choice.below(1_000_000))}, ${at}, ${date}, ${price}, ${double})`
  })
}

/** Integers, Decimals and Doubles have other forms there, and NaN is what here, as in PostgreSQL, is NULL. */
function numbers(row: unknown): (number | null)[] {
  return Object.values(row ?? {}).map((cell) => (cell === null || cell === 'NaN' ? null : Number(cell)))
}

function isClose(found: number | null, expected: number | null | undefined, closeness: number): boolean {
  if (found === null || typeof expected !== 'number') return found === expected
  if (Object.is(found, expected) || found === expected) return true
  return Math.abs(found - expected) <= closeness * Math.max(Math.abs(found), Math.abs(expected), SMALL)
}

/** What rounding leaves of a value that is zero. */
const SMALL = 1e-3

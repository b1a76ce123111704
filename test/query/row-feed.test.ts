/** Rows that SQLite passes to a function: their order, limits and errors are those of the statement. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import Sqlite, { type Database } from 'better-sqlite3'
import type { Bindable } from '../../packages/server/src/query/engines/emit/parameters.ts'
import { RowFeed } from '../../packages/server/src/query/engines/sqlite/read/row-feed.ts'
import type { RawRow } from '../../packages/server/src/query/engines/sqlite/representation.ts'
import { StatementCache } from '../../packages/server/src/query/engines/sqlite/statement-cache.ts'

const ROWS = 5000
let database: Database
let statements: StatementCache
let feed: RowFeed

before(() => {
  database = new Sqlite(':memory:')
  database.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT); CREATE INDEX by_a ON t (a)')
  const insert = database.prepare('INSERT INTO t VALUES (?, ?, ?)')
  for (let id = 0; id < ROWS; id++) insert.run(id, (id * 7919) % ROWS, `${id % 13}`)
  statements = new StatementCache(database)
  feed = new RowFeed(database, statements)
})
after(() => database.close())

function readRows(
  sql: string,
  names: readonly string[],
  most = Number.POSITIVE_INFINITY,
  parameters: readonly Bindable[] = [],
): RawRow[] {
  const rows: RawRow[] = []
  feed.read({ sql, parameters }, names, (raw) => {
    if (rows.length === most) return false
    rows.push(raw)
    return true
  })
  return rows
}

const STATEMENTS = [
  'SELECT id AS c0, b AS k0 FROM t',
  'SELECT id AS c0, a AS k0 FROM t',
  'SELECT id AS c0, b AS k0 FROM t ORDER BY b, a DESC',
  'SELECT id AS c0, b AS k0 FROM t ORDER BY a',
  'SELECT id AS c0, b AS k0 FROM t WHERE a > 100 ORDER BY b DESC, id LIMIT 1000 OFFSET 5',
  'SELECT DISTINCT a % 17 AS c0, b AS k0 FROM t ORDER BY 2, 1',
  'SELECT sum(a) AS c0, b AS k0 FROM t GROUP BY b ORDER BY sum(a) DESC',
  'SELECT count(*) AS c0, NULL AS k0 FROM t',
  'SELECT id AS c0, b AS k0 FROM t UNION ALL SELECT a, id FROM t',
  'SELECT id AS c0, b AS k0 FROM t UNION ALL SELECT a, id FROM t ORDER BY 2, 1 DESC',
  'SELECT x.a AS c0, x.b AS k0 FROM t x CROSS JOIN (SELECT 1 FROM t LIMIT 3) y',
  'SELECT x.a AS c0, x.b AS k0 FROM t x CROSS JOIN (SELECT 1 FROM t LIMIT 3) y ORDER BY x.b DESC, x.a',
  'SELECT x.id AS c0, y.b AS k0 FROM t x JOIN t y ON y.id = x.a ORDER BY y.b, x.id DESC',
  'SELECT id AS c0, row_number() OVER (ORDER BY b DESC, a) AS k0 FROM t ORDER BY k0',
  'SELECT id AS c0, sum(a) OVER (PARTITION BY b ORDER BY id) AS k0 FROM t',
  'WITH q AS (SELECT * FROM t ORDER BY b LIMIT 100) SELECT q.id AS c0, t.b AS k0 FROM q JOIN t ON t.id = q.a ORDER BY t.b, q.id',
]

for (const sql of STATEMENTS) {
  test(`the rows of ${sql}, in their order`, () => {
    // Not deepEqual, whose message would take long.
    assert.ok(isDeepStrictEqual(readRows(sql, ['c0', 'k0']), statements.get(sql).all()))
  })
}

test('no row is read after the last one that is wanted, and the next statement runs', () => {
  assert.equal(readRows('SELECT id AS c0 FROM t', ['c0'], 10).length, 10)
  assert.equal(readRows('SELECT id AS c0 FROM t WHERE a < ?', ['c0'], undefined, [20]).length, 20)
})

test('integers are exact, and more columns than a function has parameters are read too', () => {
  for (const width of [1, 300, 1001]) {
    const names = Array.from({ length: width }, (_, index) => `c${index}`)
    const [row] = readRows(`SELECT ${names.map((name, index) => `9223372036854775807 - ${index} AS ${name}`)}`, names)
    assert.deepEqual(
      row,
      names.map((_, index) => 2n ** 63n - 1n - BigInt(index)),
    )
  }
})

test('an error of the statement is thrown after the rows before it', () => {
  const rows: RawRow[] = []
  const statement = {
    sql: 'SELECT CASE WHEN id < 3 THEN id ELSE abs(-9223372036854775808) END AS c0 FROM t ORDER BY id',
    parameters: [],
  }
  assert.throws(() => feed.read(statement, ['c0'], (raw) => rows.push(raw) > 0), /integer overflow/)
  assert.equal(rows.length, 3)
})

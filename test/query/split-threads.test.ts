/** The threads that group a table by parts: neither waits for one that has died, and a failure leaves the connection usable. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite, { type Database } from 'better-sqlite3'
import { openForReading } from '../../packages/server/src/query/engines/sqlite/connection.ts'
import { SplitHelper, SplitShare, TURN } from '../../packages/server/src/query/engines/sqlite/read/split-helper.ts'
import { PartCursor } from '../../packages/server/src/query/engines/sqlite/read/split-parts.ts'
import { readSplit } from '../../packages/server/src/query/engines/sqlite/read/split-read.ts'

/** More than one thread groups alone. */
const ROWS = 340_000
const GROUP = 'SELECT k AS c0, count(*) AS c1 FROM main.rows AS s0 GROUP BY k'
const SPLIT = {
  table: 'main.rows',
  rowId: 'id',
  create: 'CREATE TABLE temp.gh_parts (k0, n)',
  combine: 'SELECT k0, sum(n) FROM temp.gh_parts GROUP BY k0',
  part: {
    sql: 'SELECT k, count(*) FROM main.rows AS s0 WHERE s0.id BETWEEN @first AND @last GROUP BY k',
    parameters: [],
  },
  whole: { sql: 'SELECT k0 AS c0, sum(n) AS c1 FROM temp.gh_parts GROUP BY k0', parameters: [] },
}
const JOB = {
  sql: GROUP,
  columns: [],
  keyColumns: [],
  parameters: [],
  encoding: { format: 'ndjson', rows: 'arrays', integers: 'numbers' },
  limits: { skip: 0, rows: 1000, bytes: 1_000_000 },
} as const

let folder: string
let path: string
let connection: Database
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-split-'))
  path = join(folder, 'query.db')
  const database = new Sqlite(path)
  database.pragma('journal_mode = wal')
  database.exec(`CREATE TABLE rows (id INTEGER PRIMARY KEY, k TEXT);
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})
    INSERT INTO rows SELECT n, 'k' || (n * 7919 % 90) FROM numbers`)
  database.close()
  connection = openForReading(path)
})
after(() => {
  connection.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a thread that dies while it takes parts is given up, once', () => {
  let stuck = 0
  const share = new SplitShare(connection, () => stuck++, 50)
  Atomics.store(share.theirs.turn, 0, TURN.begun)
  share.startIfBegun()
  assert.equal(Atomics.load(share.theirs.turn, 0), TURN.started)
  const started = performance.now()
  assert.equal(
    share.finish(() => assert.fail('no part has arrived')),
    false,
  )
  share.close()
  assert.equal(stuck, 1)
  assert.ok(performance.now() - started < 1000)
})

test('a thread that asks for the next part while another does, or dies doing so, gets one', () => {
  const cursor = new PartCursor()
  const other = new PartCursor(cursor.buffer)
  cursor.startAt(1n)
  const rangeFrom = (first: bigint) => ({ first, last: first + 9n, next: first + 10n })
  let taken: unknown
  const own = cursor.take((first) => {
    taken ??= other.take(rangeFrom)
    return rangeFrom(first)
  })
  assert.deepEqual([taken, own], [rangeFrom(1n), rangeFrom(11n)])
  other.end()
  assert.equal(cursor.take(rangeFrom), undefined)
})

test('where no transaction can begin the result is read in the usual way, and the next one by parts again', () => {
  const helper = new SplitHelper(path)
  let rows: unknown[] = []
  const read = (): boolean =>
    readSplit(connection, JOB, SPLIT, helper, ({ sql }) => {
      rows = connection.prepare(sql).raw(true).all()
    })
  connection.exec('BEGIN')
  assert.equal(read(), false)
  const isLeft = () => [connection.inTransaction, connection.pragma('query_only', { simple: true })]
  assert.deepEqual(isLeft(), [false, 1])
  assert.equal(read(), true)
  assert.deepEqual(isLeft(), [false, 1])
  assert.deepEqual(rows, connection.prepare(GROUP).raw(true).all())
})

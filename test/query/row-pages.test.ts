/** Rows that SQLite passes on as pages: the messages are byte for byte those of rows that are read one by one. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite, { type Database } from 'better-sqlite3'
import fc from 'fast-check'
import {
  BINARY,
  BOOLEAN,
  DATE,
  DOUBLE,
  decimal,
  FIXED_INTERVAL,
  INTEGER,
  INTERVAL,
  type IqlType,
  JSON_TYPE,
  LOCAL_TIMESTAMP,
  MAX_DATE,
  MAX_TIMESTAMP,
  MIN_DATE,
  MIN_TIMESTAMP,
  type ResultColumn,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
} from 'gatehouse-iql'
import type { SqlStatement } from '../../packages/server/src/query/engines/emit/parameters.ts'
import type { ReadLimits } from '../../packages/server/src/query/engines/engine.ts'
import { readLong } from '../../packages/server/src/query/engines/sqlite/processes/long-read.ts'
import { ReadConnections } from '../../packages/server/src/query/engines/sqlite/processes/read-connections.ts'
import { hasPages } from '../../packages/server/src/query/engines/sqlite/read/page-database.ts'
import { toWide } from '../../packages/server/src/query/engines/sqlite/representation.ts'
import type { ReadOutcome, WireForm } from '../../packages/server/src/query/model/result.ts'

const needsPages = { skip: hasPages() ? false : 'this Node.js returns no pages of SQLite (24.16 does)' }

let folder: string
let connections: ReadConnections

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'row-pages-'))
  connections = new ReadConnections(join(folder, 'rows.db'))
  await change((database) => {
    database.exec('CREATE TABLE numbers (id INTEGER PRIMARY KEY, a INTEGER, b TEXT); CREATE INDEX by_a ON numbers (a)')
    const insert = database.prepare('INSERT INTO numbers VALUES (?, ?, ?)')
    for (let id = 0; id < 5000; id++) insert.run(id, (id * 7919) % 5000, `${id % 13}`)
  })
})
after(async () => {
  await connections.close()
  rmSync(folder, { recursive: true })
})

/** While no other connection is open: no process may have the file open with two libraries. */
async function change(run: (database: Database) => void): Promise<void> {
  await connections.close()
  const database = new Sqlite(join(folder, 'rows.db'))
  database.pragma('journal_mode = WAL')
  database.transaction(() => run(database))()
  database.close()
}

const NO_LIMITS: ReadLimits = { skip: 0, rows: 1e9, bytes: 1e12 }
const ROWS: WireForm = { kind: 'rows', binary: [] }
const BINARY_ROWS: WireForm = { kind: 'rows', binary: Array(100).fill(true) }
const BINARY_COPY: WireForm = { kind: 'copy-binary' }

interface Read {
  readonly bytes: Buffer
  readonly outcome: ReadOutcome
}

async function readWith(
  way: 'pages' | 'rows',
  form: WireForm,
  columns: readonly ResultColumn[],
  { sql, parameters }: SqlStatement,
  limits = NO_LIMITS,
): Promise<Read> {
  const chunks: Buffer[] = []
  let hasUsedPages = false
  const forPages = async () => {
    hasUsedPages = way === 'pages'
    return way === 'pages' ? connections.forPages() : undefined
  }
  const encoding = { format: 'wire', wire: form, rows: 'arrays', integers: 'numbers' } as const
  const job = { sql, parameters, columns, keyColumns: [], encoding, limits }
  const outcome = await readLong({ forRows: () => connections.forRows(), forPages }, job, (chunk) =>
    chunks.push(Buffer.copyBytesFrom(chunk)),
  )
  assert.equal(hasUsedPages, way === 'pages')
  return { bytes: Buffer.concat(chunks), outcome }
}

async function compare(
  columns: readonly ResultColumn[],
  statement: SqlStatement,
  forms: readonly WireForm[] = [ROWS],
  limits = NO_LIMITS,
): Promise<number> {
  let rowCount = 0
  for (const form of forms) {
    const [pages, rows] = [
      await readWith('pages', form, columns, statement, limits),
      await readWith('rows', form, columns, statement, limits),
    ]
    // Not deepEqual, whose message would take long.
    assert.ok(pages.bytes.equals(rows.bytes), `${form.kind}: other bytes than row by row`)
    assert.deepEqual(pages.outcome, rows.outcome)
    rowCount = rows.outcome.rowCount
  }
  return rowCount
}

function column(type: IqlType, name: string): ResultColumn {
  return { name, type, nullable: true }
}

const TEXTS = [
  '',
  ' ',
  'S1',
  '\t',
  '\r\n',
  '\0',
  'a\0b',
  '\x1f|',
  '\x7f',
  '\\N',
  '"',
  'é',
  '日本',
  '😀',
  '\ufeff',
  'x'.repeat(64),
]
const LONG_TEXTS = ['x'.repeat(65), 'é'.repeat(64), 'x'.repeat(1024), 'x'.repeat(1025), '😀'.repeat(30_000)]
const INTEGERS = [
  0n,
  1n,
  -1n,
  2n,
  127n,
  128n,
  -128n,
  -129n,
  32_767n,
  -32_768n,
  32_768n,
  8_388_607n,
  -8_388_608n,
  8_388_608n,
]
  .concat([
    2n ** 31n - 1n,
    2n ** 31n,
    -(2n ** 31n),
    -(2n ** 31n) - 1n,
    2n ** 47n - 1n,
    2n ** 47n,
    -(2n ** 47n),
    -(2n ** 47n) - 1n,
  ])
  .concat([
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 53n + 1n,
    -(2n ** 53n) + 1n,
    -(2n ** 53n) - 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
  ])
const DOUBLES = [0, -0, 1, -1, 0.1, 1 / 3, 1e15, 1e-5, 123.456, 5e-324, Number.MAX_VALUE, 1 / 0, -1 / 0, 2 ** 53, 1e21]
const MICROS = [
  0n,
  1n,
  -1n,
  946_684_800_000_000n,
  1_700_000_000_123_456n,
  MIN_TIMESTAMP,
  MAX_TIMESTAMP,
  2n ** 53n,
  2n ** 53n + 1n,
]
const DAYS = [0n, 1n, -1n, 10_957n, 20_000n, MIN_DATE, MAX_DATE]
const TIMES = [0n, 1n, 86_399_999_999n, 43_200_000_000n, 3_600_500_000n]

const anyInteger = fc.oneof(fc.constantFrom(...INTEGERS), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
const anyText = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: 'grapheme', maxLength: 100 }),
  fc.constantFrom(...LONG_TEXTS),
)

/** What SQLite stores of each type: see representation.ts. */
const STORED: readonly (readonly [IqlType, fc.Arbitrary<unknown>])[] = [
  [INTEGER, anyInteger],
  [DOUBLE, fc.oneof(fc.constantFrom<unknown>(...DOUBLES, 'NaN', 3n), fc.double({ noNaN: true }))],
  [BOOLEAN, fc.constantFrom(0n, 1n)],
  [TEXT, anyText],
  [UUID, fc.uuid()],
  [JSON_TYPE, fc.json()],
  [BINARY, fc.oneof(fc.uint8Array(), fc.constant(new Uint8Array(2000)))],
  [TIMESTAMP, fc.oneof(fc.constantFrom(...MICROS), fc.bigInt({ min: MIN_TIMESTAMP, max: MAX_TIMESTAMP }))],
  [LOCAL_TIMESTAMP, fc.oneof(fc.constantFrom(...MICROS), fc.bigInt({ min: MIN_TIMESTAMP, max: MAX_TIMESTAMP }))],
  [DATE, fc.oneof(fc.constantFrom(...DAYS), fc.bigInt({ min: MIN_DATE, max: MAX_DATE }))],
  [TIME, fc.oneof(fc.constantFrom(...TIMES), fc.bigInt({ min: 0n, max: 86_399_999_999n }))],
  [
    decimal(18, 4),
    fc.oneof(
      fc.constantFrom(0n, -1n, 5n, 10_000n, -12_345n),
      fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }),
    ),
  ],
  [decimal(12, 0), fc.bigInt({ min: -(10n ** 12n) + 1n, max: 10n ** 12n - 1n })],
  [decimal(38, 10), fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }).map(toWide)],
  [FIXED_INTERVAL, fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })],
  [
    INTERVAL,
    fc.tuple(fc.integer({ min: -999, max: 999 }), fc.integer()).map(([months, micros]) => `${months}:${micros}`),
  ],
]

test('values of all types, in text and in binary', needsPages, async () => {
  const columns = STORED.map(([type], index) => column(type, `v${index}`))
  const names = columns.map(({ name }) => name)
  const anyRow = fc.tuple(...STORED.map(([, stored]) => fc.option(stored, { freq: 8 })))
  const rows = fc.sample(anyRow, 700)
  await change((database) => {
    database.exec(`CREATE TABLE every (id INTEGER PRIMARY KEY, ${names.join(', ')})`)
    const insert = database.prepare(`INSERT INTO every VALUES (NULL, ${names.map(() => '?').join(', ')})`)
    for (const row of rows) insert.run(...row)
  })
  const outputs = names.map((name, index) => `${name} AS c${index}`).join(', ')
  const statement = { sql: `SELECT ${outputs} FROM every ORDER BY id`, parameters: [] }
  const mixed: WireForm = { kind: 'rows', binary: columns.map((_, index) => index % 2 === 0) }
  assert.equal(await compare(columns, statement, [ROWS, BINARY_ROWS, BINARY_COPY, mixed]), rows.length)
})

const PAIR = [column(INTEGER, 'a'), column(TEXT, 'b')]

test('the order of a statement, whatever it consists of', needsPages, async () => {
  for (const sql of [
    'SELECT id AS c0, b AS c1 FROM numbers',
    'SELECT id AS c0, b AS c1 FROM numbers ORDER BY b, a DESC',
    'SELECT id AS c0, b AS c1 FROM numbers WHERE a > 100 ORDER BY b DESC, id LIMIT 3000 OFFSET 5',
    'SELECT DISTINCT a AS c0, b AS c1 FROM numbers ORDER BY 2, 1',
    'SELECT sum(a) AS c0, b AS c1 FROM numbers GROUP BY b ORDER BY sum(a) DESC',
    'SELECT id AS c0, b AS c1 FROM numbers UNION ALL SELECT a, b FROM numbers ORDER BY 2, 1 DESC',
    'SELECT id AS c0, b AS c1 FROM (SELECT * FROM numbers ORDER BY a)',
    'SELECT row_number() OVER (ORDER BY b DESC, a) AS c0, b AS c1 FROM numbers ORDER BY c0',
    'WITH q AS (SELECT * FROM numbers ORDER BY b LIMIT 100) SELECT q.id AS c0, n.b AS c1 FROM q JOIN numbers n ON n.id = q.a ORDER BY n.b, q.id',
    'SELECT 1 AS c0, NULL AS c1 WHERE 0',
  ])
    await compare(PAIR, { sql, parameters: [] })
})

test('as many rows as one batch, and one more or less', needsPages, async () => {
  const sql = 'SELECT id AS c0, b AS c1 FROM numbers LIMIT CAST(? AS INTEGER)'
  for (const count of [1, 1022, 1023, 1024, 1025, 2047, 2048, 2049])
    assert.equal(await compare(PAIR, { sql, parameters: [BigInt(count)] }), count)
})

test('limits of rows and bytes end the statement, which leaves nothing behind', needsPages, async () => {
  const statement = { sql: 'SELECT id AS c0, b AS c1 FROM numbers', parameters: [] }
  for (const limits of [{ rows: 10 }, { rows: 1024 }, { rows: 3000 }, { bytes: 20_000 }, { skip: 1500, rows: 2000 }])
    await compare(PAIR, statement, [ROWS], { ...NO_LIMITS, ...limits })
  assert.equal(await compare(PAIR, statement), 5000)
})

test('parameters by position and by name', needsPages, async () => {
  const sql = 'SELECT id AS c0, b || :mark AS c1 FROM numbers WHERE a < ? AND id > ? AND b <> :mark'
  assert.equal((await compare(PAIR, { sql, parameters: [2000n, 10.5, { mark: '7', unused: 1n }] })) > 1000, true)
})

test('functions of IQL, also as aggregates over groups and moving frames', needsPages, async () => {
  await compare(PAIR, { sql: `SELECT gh_greatest(a, id) AS c0, gh_least(b, '5') AS c1 FROM numbers`, parameters: [] })
  await compare(PAIR, { sql: 'SELECT gh_sum(a) AS c0, b AS c1 FROM numbers GROUP BY b', parameters: [] })
  const moving = 'gh_sum(a) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)'
  await compare(PAIR, { sql: `SELECT ${moving} AS c0, b AS c1 FROM numbers`, parameters: [] })
})

test('rows of many columns', needsPages, async () => {
  for (const width of [127, 300, 1000]) {
    const columns = Array.from({ length: width }, (_, index) => column(index % 2 === 0 ? INTEGER : UUID, `v${index}`))
    const outputs = columns.map((_, index) =>
      index % 2 === 0 ? `id * ${index} AS c${index}` : `printf('%036d', id) AS c${index}`,
    )
    await compare(columns, { sql: `SELECT ${outputs.join(', ')} FROM numbers LIMIT 200`, parameters: [] }, [ROWS])
  }
})

test('an error of the statement is that of the statement, and the next one runs', needsPages, async () => {
  const sql =
    'SELECT CASE WHEN id < 2000 THEN id ELSE abs(-9223372036854775808) END AS c0, b AS c1 FROM numbers ORDER BY id'
  await assert.rejects(readWith('pages', ROWS, PAIR, { sql, parameters: [] }), /integer overflow/)
  await assert.rejects(
    readWith('pages', ROWS, PAIR, { sql: 'SELECT 1 AS c0, 2 AS c1 FROM missing', parameters: [] }),
    /no such table/,
  )
  assert.equal(await compare(PAIR, { sql: 'SELECT id AS c0, b AS c1 FROM numbers', parameters: [] }), 5000)
})

test('a statement reads one state of the database, and the next one the changes since', needsPages, async () => {
  const statement = { sql: 'SELECT id AS c0, b AS c1 FROM numbers WHERE id >= 4000', parameters: [] }
  await compare(PAIR, statement)
  await change((database) => database.exec(`INSERT INTO numbers VALUES (5000, 1, 'new')`))
  assert.equal(await compare(PAIR, statement), 1001)
})

test('an error of an aggregate refuses the statement, and the next one runs', needsPages, async () => {
  const columns: ResultColumn[] = [{ name: 'x', type: INTEGER, nullable: true } as ResultColumn]
  const failing = [
    ['SELECT (SELECT gh_single(a) FROM numbers) AS c0', /more than one row/],
    ['SELECT gh_ema(a, 0) OVER (ORDER BY id) AS c0 FROM numbers', /at least one row/],
    ['SELECT gh_locf(a) OVER (ORDER BY id ROWS 1 PRECEDING) AS c0 FROM numbers', /moving frame/],
  ] as const
  for (const [sql, reason] of failing) {
    for (const way of ['pages', 'rows'] as const)
      await assert.rejects(readWith(way, ROWS, columns, { sql, parameters: [] }), reason, `${way}: ${sql}`)
    assert.equal(await compare(columns, { sql: 'SELECT id AS c0 FROM numbers LIMIT 3', parameters: [] }), 3)
  }
})

/** Parquet files as bulk inserts, on both engines: what we write, pyarrow and DuckDB write, and what does not fit. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { onEveryEngine } from '../../support/engines.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { fileOfColumns } from './made-file.ts'

const PARQUET = 'application/vnd.apache.parquet'
const EVERY =
  'id Integer PRIMARY KEY, t Text, d Decimal(18,4), f Double, o Boolean, s Timestamp, a Date, m Time, u Uuid, j Json, b Binary, w Decimal(38, 18)'
const ROWS = [
  {
    id: '9223372036854775807',
    t: 'é😀,"b"\r\n',
    d: '-12345678901234.5678',
    f: 0.1,
    o: true,
    s: '2026-01-02T03:04:05.000001Z',
    a: '1969-12-31',
    m: '23:59:59.999999',
    u: '123e4567-e89b-12d3-a456-426614174000',
    j: { k: [1, null] },
    b: 'AP8=',
    w: '-12345678901234567890.123456789012345678',
  },
  { id: 2, t: '', f: 'NaN', o: false, b: '', s: '0001-01-01T00:00:00Z' },
  { id: 3 },
]
const fixture = (name: string): Buffer => readFileSync(new URL(`./fixtures/${name}.parquet`, import.meta.url))

onEveryEngine('Parquet inserts', (place) => {
  let server: QueryServer
  let folder: string
  before(async () => {
    folder = place().dataFolder
    server = await startQueryServer(place())
    for (const statement of [
      `CREATE TABLE every (${EVERY})`,
      `CREATE TABLE copy (${EVERY})`,
      `CREATE TABLE fixture (id Integer PRIMARY KEY, i Integer, i32 Integer, u32 Integer, d9 Decimal(9,2), d18 Decimal(18,4), d38 Decimal(38,18), f Double, f32 Double, o Boolean, t Text, s Timestamp, l Timestamp, a Date, m Time, b Binary)`,
      'CREATE TABLE other (ns Timestamp, ms Timestamp, tns Time, tms Time, half Decimal(4,1), nothing Text, fixed Binary)',
      'CREATE TABLE narrow (id Integer, tags Text, d Integer, u Integer, ns Timestamp, place Text)',
    ])
      assert.equal((await server.query(statement)).status, 200, statement)
    assert.equal((await server.call('/query/every/insert', ROWS)).status, 200)
  })
  after(() => server.stop())

  const insert = async (table: string, body: Uint8Array, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/query/${table}/insert`, {
      method: 'POST',
      headers: { authorization: 'Bearer admin', 'content-type': PARQUET, ...headers },
      body: Buffer.from(body),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> & { detail?: string } }
  }
  const readRows = async (statement: string) => (await server.query(statement)).json.Rows

  test('what is exported is inserted again, every type exactly', async () => {
    const exported = await fetch(`${server.url}/query`, {
      method: 'POST',
      body: 'SELECT * FROM every',
      headers: { authorization: 'Bearer admin', 'content-type': 'text/plain', accept: PARQUET },
    })
    const file = new Uint8Array(await exported.arrayBuffer())
    const headers = { 'idempotency-key': 'once' }
    for (const isReplay of [false, true]) {
      const { status, json } = await insert('copy', file, headers)
      assert.deepEqual([status, json.RowsAffected], [200, 3], `${isReplay} ${JSON.stringify(json)}`)
    }
    assert.deepEqual(
      await readRows('SELECT * FROM copy ORDER BY id'),
      await readRows('SELECT * FROM every ORDER BY id'),
    )
    const again = await insert('copy', file)
    assert.deepEqual([again.status, again.json.Code], [409, 'Data.UniqueViolation'])
  })

  test('files of pyarrow and DuckDB, in all encodings, hold the same rows', async () => {
    const inserted = async (name: string) => {
      const { status, json } = await insert('fixture', fixture(name))
      assert.equal(status, 200, `${name}: ${JSON.stringify(json)}`)
      const rows = await readRows('SELECT * FROM fixture ORDER BY id')
      await server.query('DELETE FROM fixture ALL')
      return rows
    }
    const rows = await inserted('pyarrow-none')
    assert.equal(rows.length, 120)
    assert.equal(rows[0]?.d38, '-12345678901234567890.123456789012345678')
    assert.equal(rows[0]?.l, '2026-03-08T02:30:00Z', 'a time without a zone is in UTC')
    for (const name of ['pyarrow-delta', 'pyarrow-v2-pages', 'duckdb-zstd'])
      assert.deepEqual(await inserted(name), name.startsWith('duckdb') ? rows.slice(0, 60) : rows, name)
  })

  test('values are fitted to the columns of the table', async () => {
    assert.equal((await insert('other', fixture('pyarrow-more-types'))).status, 200)
    assert.deepEqual((await readRows('SELECT * FROM other WHERE half IS NOT NULL'))[0], {
      ns: '2017-07-14T02:40:00Z',
      ms: '2017-07-14T02:40:00.123Z',
      tns: '23:59:59.999999',
      tms: '23:59:59.999',
      half: '1.5',
      nothing: null,
      fixed: 'YWJjZA==',
    })
  })

  test('pages that do not fit into memory together are read', async () => {
    const columns = Array.from({ length: 10 }, (_, index) => `c${index}`)
    await server.query(`CREATE TABLE large (${columns.map((name) => `${name} Text`).join()})`)
    const rows = 1000
    const page = (column: number) => {
      const values = Array.from({ length: rows }, (_, row) => Buffer.from(`${column}-${row}-`.padEnd(4096, 'x')))
      const plain = Buffer.concat(values.flatMap((value) => [Buffer.from([0, 16, 0, 0]), value]))
      return { body: zstdCompressSync(plain), size: plain.length, header: {} }
    }
    const file = fileOfColumns(
      rows,
      columns.map((name, column) => [name, { pages: [page(column)], element: { converted_type: 'UTF8' } }]),
    )
    const { status, json } = await insert('large', file)
    assert.deepEqual([status, json.RowsAffected], [200, rows], JSON.stringify(json))
    const [row] = await readRows("SELECT * FROM large WHERE c0 LIKE '0-999-%'")
    assert.deepEqual(row, Object.fromEntries(columns.map((name, column) => [name, `${column}-999-`.padEnd(4096, 'x')])))
    assert.deepEqual(readdirSync(join(folder, 'bulk')), [])
  })

  test('what does not fit is refused with its row and column, and nothing stays, in the table or on disk', async () => {
    for (const [name, status, message] of [
      ['refused-list', 400, /column "tags" is nested/],
      ['refused-nanoseconds', 422, /^Row 1: Column "ns": a time has nanoseconds/],
      ['refused-uint64', 422, /^Row 1: Column "u": 18446744073709551615 is larger/],
      ['pyarrow-int96', 400, /int96/],
    ] as const) {
      const refused = await insert('narrow', fixture(name))
      assert.equal(refused.status, status, JSON.stringify(refused.json))
      assert.match(refused.json.detail ?? '', message)
    }
    const cut = await insert('fixture', fixture('pyarrow-none').subarray(0, 5000))
    assert.match(cut.json.detail ?? '', /was cut off: it does not end with PAR1/)
    await server.query(
      'CREATE TABLE small (id Integer, i Text, i32 Integer, u32 Integer, d9 Decimal(4,1), d18 Text, d38 Text, f Double, f32 Double, o Boolean, t Text, s Timestamp, l Timestamp, a Date, m Time, b Binary)',
    )
    const unfit = await insert('small', fixture('pyarrow-none'))
    assert.match(unfit.json.detail ?? '', /The column i is Text, and the Parquet file has Integer for it/)
    assert.deepEqual(await readRows('SELECT count(*) AS n FROM narrow'), [{ n: 0 }])
    assert.deepEqual(readdirSync(join(folder, 'bulk')), [])
  })
})

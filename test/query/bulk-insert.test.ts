/** Inserts of many rows: short ones, and long ones that run apart from the event loop, insert and return the same as one row at a time. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

/** The first is written on the event loop, the second is not. */
const SIZES = [130, 2345]

onEveryEngine('inserts of many rows', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    for (const statement of [
      `CREATE TABLE b (id Integer PRIMARY KEY, ") VALUES (" Text, d Decimal(10, 2), f Double, t Timestamp, y Boolean, x Binary, u Uuid)`,
      'CREATE TABLE n (id Integer PRIMARY KEY, s Text NOT NULL)',
      'CREATE INDEX by_s ON n (s)',
    ])
      assert.equal((await server.query(statement)).status, 200)
  })
  after(() => server.stop())

  const buildRow = (id: number) => ({
    id: id % 7 === 0 ? `${9007199254740992n + 2n * BigInt(id)}` : id,
    ') VALUES (': id % 3 === 0 ? null : `é${'x'.repeat(id % 50)}`,
    d: `${id}.25`,
    f: id % 5 === 0 ? 'NaN' : id / 8,
    t: '2026-01-02T03:04:05.000006Z',
    y: id % 2 === 0,
    x: 'AP8=',
    u: '00000000-0000-4000-8000-000000000000',
  })
  const readRows = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => buildRow(first + index))
  const readCount = async (table: string): Promise<unknown> =>
    (await server.query(`SELECT count(*) AS n FROM ${table}`)).json.Rows[0]?.n

  test('the rows of the reply are those of the table, in the order of the request', async () => {
    let first = 1
    for (const size of SIZES) {
      const rows = readRows(first, size)
      const { status, json, text } = await server.call('/query/b/insert', rows)
      assert.equal(status, 200, text.slice(0, 200))
      assert.deepEqual([json.RowsAffected, json.RowCount], [size, size])
      assert.deepEqual(
        json.Rows.map(({ id }) => String(id)),
        rows.map(({ id }) => String(id)),
      )
      const stored = new Map(
        (await server.query('SELECT * FROM b')).json.Rows.map((row): [string, unknown] => [String(row.id), row]),
      )
      for (const row of json.Rows) assert.deepEqual(row, stored.get(String(row.id)))
      first += size
    }
  })

  test('a repeated request has the rows of the first, and inserts none', async () => {
    const before = Number(await readCount('b'))
    for (const [index, size] of SIZES.entries()) {
      const rows = readRows(100_000 * (index + 1) + 1, size)
      const headers = { 'idempotency-key': `bulk-${size}` }
      const first = await server.call('/query/b/insert', rows, { headers })
      const again = await server.call('/query/b/insert', rows, { headers })
      assert.deepEqual([first.status, first.json.Rows.length], [200, size])
      assert.deepEqual(again.json.Rows, first.json.Rows)
    }
    assert.equal(await readCount('b'), before + SIZES.reduce((sum, size) => sum + size, 0))
  })

  test('the first bad row decides the error, and nothing is inserted', async () => {
    for (const size of SIZES) {
      for (const [taken, missing, code] of [
        [60, 80, 'Data.UniqueViolation'],
        [80, 60, 'IQL.NotNull'],
      ] as const) {
        const rows = Array.from({ length: size }, (_, id) => ({
          id: id === taken ? 0 : id,
          s: id === missing ? null : `s${id}`,
        }))
        const { status, json } = await server.call('/query/n/insert', rows)
        assert.deepEqual([status >= 400, json.Code], [true, code], json.detail)
        assert.equal(await readCount('n'), 0)
      }
    }
  })

  test('an error of a value, a column or a row names the row', async () => {
    for (const [third, code, text] of [
      [{ id: 'x', s: 'c' }, 'Data.BadValue', /^Row 3: The value "x" of the column id/],
      [{ id: 3, name: 'c' }, 'Criteria.UnknownColumn', /^Row 3: /],
      ['c', 'Request.BadBody', /^Row 3: A row must be an object/],
    ] as const) {
      const { json } = await server.call('/query/n/insert', [{ id: 1, s: 'a' }, { s: 'b', id: 2 }, third])
      assert.deepEqual([json.Code, json.Row], [code, 3], json.detail)
      assert.match(json.detail, text)
    }
    const { json } = await server.call('/query/n/insert', { id: 'x', s: 'c' })
    assert.deepEqual([json.Row, json.detail.startsWith('The value')], [undefined, true])
    assert.equal(await readCount('n'), 0)
  })
})

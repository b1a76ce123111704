/** node-postgres: text results, named statements, a pool, transactions, errors with their position. */
import assert from 'node:assert/strict'
import pg from 'pg'

const client = new pg.Client()
await client.connect()
for (const [type, value] of [
  ['text', "a'b\\c €"],
  ['int8', '9223372036854775807'],
  ['numeric(18,4)', '12345678901234.5678'],
  ['uuid', '6f0f9a3c-2f5e-4c1b-9d53-0a7c3f9d2b11'],
  ['time', '23:59:59.999999'],
] as const) {
  const { rows } = await client.query(`SELECT $1::${type} AS value`, [value])
  assert.equal(rows[0].value, value)
}
const bytes = Buffer.from([0, 255, 92])
assert.deepEqual((await client.query('SELECT $1::bytea AS value', [bytes])).rows[0].value, bytes)
assert.equal((await client.query('SELECT $1::float8 AS value', [0.1])).rows[0].value, 0.1)
assert.equal((await client.query('SELECT $1::bool AS value', [true])).rows[0].value, true)
const moment = new Date('2026-01-05T08:00:00.123Z')
assert.deepEqual((await client.query('SELECT $1::timestamptz AS value', [moment])).rows[0].value, moment)
assert.deepEqual((await client.query('SELECT $1::json AS value', [{ a: [1] }])).rows[0].value, { a: [1] })
assert.equal((await client.query('SELECT $1::text AS value', [null])).rows[0].value, null)
for (const id of [1, 2, 3]) {
  const { rows } = await client.query({
    name: 'by-id',
    text: 'SELECT id, price FROM trades WHERE id = $1',
    values: [id],
  })
  assert.equal(rows[0].id, String(id))
}
const { rows, fields } = await client.query({ text: 'SELECT * FROM instruments ORDER BY symbol', rowMode: 'array' })
assert.equal(rows.length, 60)
assert.deepEqual(
  fields.slice(4, 6).map(({ name, dataTypeID }) => [name, dataTypeID]),
  [
    ['lot_size', 20],
    ['tick_size', 1700],
  ],
)
const { rows: some } = await client.query('SELECT count(*) FROM trades WHERE symbol = ANY($1)', [['ACME', 'BOLT']])
assert.ok(Number(some[0].count) > 0)
await client.query('BEGIN')
await client.query('SELECT 1')
await client.query('ROLLBACK')
await assert.rejects(client.query('SELECT nothing FROM trades'), { code: '42703', position: '8' })
await client.end()
const pool = new pg.Pool({ max: 3 })
const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => pool.query('SELECT $1::int8 AS n', [at])))
assert.deepEqual(
  answers.map(({ rows: [row] }) => row.n),
  Array.from({ length: 10 }, (_, at) => String(at)),
)
await pool.end()
process.stdout.write('node-postgres: ok\n')

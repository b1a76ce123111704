/** The result formats and compressions: every value round-trips. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { MessageReader, tableFromIPC } from 'apache-arrow'
import { onEveryEngine } from '../support/engines.ts'
import { createEvery, EVERY_TYPE } from './every-type.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const STATEMENT = 'SELECT * FROM every ORDER BY id'

onEveryEngine('formats', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await createEvery(server, [EVERY_TYPE, { id: 2 }, { id: 3, t: '' }])
  })
  after(() => server.stop())

  test('CSV distinguishes NULL from an empty text and quotes where needed (RFC 4180)', async () => {
    const reply = await server.query(STATEMENT, { headers: { accept: 'text/csv' } })
    assert.equal(
      reply.text,
      'id,t,d,f,o,s,a,m,u,j,b,w\r\n' +
        '1,"a,""b""\r\n",-12345.6789,0.1,true,2026-01-02T03:04:05.000001Z,1969-12-31,23:59:59.999999,123e4567-e89b-12d3-a456-426614174000,"{""k"":[1,null]}",AP8=,-12345678901234567890.123456789012345678\r\n' +
        '2,,,,,,,,,,,\r\n3,"",,,,,,,,,,\r\n',
    )
  })

  test('an Interval is a text in JSON, NDJSON and CSV, and a duration in Arrow', async () => {
    const statement = "SELECT s - TIMESTAMP '2026-01-01T00:00:00Z' AS since FROM every WHERE id < 3 ORDER BY id"
    const since = '1 day 03:04:05.000001'
    const accepting = (accept: string) => server.query(statement, { headers: { accept } })
    assert.deepEqual((await server.query(statement)).json.Rows, [{ since }, { since: null }])
    assert.equal((await accepting('application/x-ndjson')).text, `{"since":"${since}"}\n{"since":null}\n`)
    assert.equal((await accepting('text/csv')).text, `since\r\n${since}\r\n\r\n`)
    const response = await fetch(`${server.url}/query`, {
      method: 'POST',
      body: statement,
      headers: {
        authorization: 'Bearer admin',
        'content-type': 'text/plain',
        accept: 'application/vnd.apache.arrow.stream',
      },
    })
    const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()))
    assert.equal(String(table.schema.fields[0]?.type), 'Duration<MICROSECOND>')
    assert.deepEqual([...(table.getChild('since') ?? [])], [97_445_000_001n, null])
  })

  test('an insert returns its row as a query reads it, whether or not each value is stored as it was sent', async () => {
    const usual = {
      t: 'a',
      d: '1.5',
      f: 1,
      o: false,
      s: '2026-01-02T03:04:05Z',
      a: '2026-01-02',
      m: '03:04',
      u: '123E4567-E89B-12D3-A456-426614174000',
      j: { b: 1, a: [1.0, 2] },
      b: '',
      w: 1,
    }
    const odd = [
      { t: 'a\u0001b', f: '-0', d: -0.5 },
      { t: '', f: 'NaN', d: '12.3456', w: '0.000000000000000001' },
      { t: 'é\u2028😀', f: '-Infinity', j: 'text', b: 'AP8=', m: '23:59:59.999999' },
      { t: '1', f: '9007199254740993', j: 1e21, s: '1969-12-31T23:59:59.999999Z', o: null },
      { t: null, f: 5e-324, j: null, b: null, w: null, u: null, d: 123456789 },
    ]
    for (const [index, values] of odd.entries()) {
      const id = 100 + index
      const inserted = await server.call('/query/every/insert', { id, ...usual, ...values })
      assert.equal(inserted.status, 200, inserted.text)
      const selected = await server.query(`SELECT * FROM every WHERE id = ${id}`)
      assert.deepEqual(inserted.json.Rows, selected.json.Rows)
      assert.deepEqual(inserted.json.Columns, selected.json.Columns)
      await server.query(`DELETE FROM every WHERE id = ${id}`)
    }
  })

  test('NDJSON has one row per line', async () => {
    const reply = await server.query(STATEMENT, { headers: { accept: 'application/x-ndjson' } })
    assert.deepEqual(
      reply.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
      [1, 2, 3],
    )
  })

  test('header=columns describes the columns in the first line of NDJSON, also of an empty result', async () => {
    for (const statement of [
      STATEMENT,
      'SELECT id, t FROM every WHERE id = 1',
      'SELECT id, t FROM every WHERE id = 99',
    ]) {
      const lines = await server.call(
        '/query?rows=arrays&header=columns',
        { Statement: statement },
        { headers: { accept: 'application/x-ndjson' } },
      )
      const whole = await server.call('/query?rows=arrays', { Statement: statement })
      const [first = '', ...rows] = lines.text.trimEnd().split('\n')
      assert.deepEqual(JSON.parse(first), { Columns: whole.json.Columns })
      assert.deepEqual(
        rows.map((row) => JSON.parse(row)),
        whole.json.Rows,
      )
    }
  })

  const arrow = async (statement: string): Promise<Uint8Array> => {
    const response = await fetch(`${server.url}/query`, {
      method: 'POST',
      body: statement,
      headers: {
        authorization: 'Bearer admin',
        'content-type': 'text/plain',
        accept: 'application/vnd.apache.arrow.stream',
      },
    })
    return new Uint8Array(await response.arrayBuffer())
  }

  test('Arrow IPC streaming format: one schema, then every row once, in as many batches as it takes', async () => {
    const joins = Array.from('bcdefgh', (name) => `CROSS JOIN every ${name}`).join(' ')
    const bytes = await arrow(`SELECT a.id, a.u, h.t FROM every a ${joins}`)
    const reader = new MessageReader(bytes)
    const kinds: string[] = []
    for (const message of reader) {
      kinds.push(message.isSchema() ? 'schema' : message.isRecordBatch() ? 'batch' : 'other')
      reader.readMessageBody(message.bodyLength)
    }
    assert.ok(kinds.length > 3, 'the result is larger than a batch')
    assert.deepEqual(kinds, ['schema', ...kinds.slice(1).fill('batch')])
    const ids = [...(tableFromIPC(bytes).getChild('id') ?? [])]
    assert.equal(ids.length, 3 ** 8)
    assert.equal(
      ids.reduce((sum, id) => sum + id, 0n),
      BigInt(2 * 3 ** 8),
    )
  })

  test('an Arrow stream has exact types', async () => {
    const table = tableFromIPC(await arrow(STATEMENT))
    assert.equal(table.numRows, 3)
    const types = Object.fromEntries(table.schema.fields.map(({ name, type }) => [name, String(type)]))
    assert.deepEqual(types, {
      id: 'Int64',
      t: 'Utf8',
      d: 'Decimal[18e+4]',
      f: 'Float64',
      o: 'Bool',
      s: 'Timestamp<MICROSECOND, UTC>',
      a: 'Date32<DAY>',
      m: 'Time64<MICROSECOND>',
      u: 'Utf8',
      j: 'Utf8',
      b: 'Binary',
      w: 'Decimal[38e+18]',
    })
    const raw = (name: string): unknown => table.getChild(name)?.data[0]?.values.slice(0, 1)
    assert.deepEqual(raw('s'), BigInt64Array.of(1_767_323_045_000_001n))
    assert.deepEqual(raw('m'), BigInt64Array.of(86_399_999_999n))
    assert.deepEqual(raw('a'), Int32Array.of(-1))
    assert.equal(table.getChild('id')?.get(0), 1n)
    assert.deepEqual([...(table.getChild('t') ?? [])], ['a,"b"\r\n', null, ''])
    assert.deepEqual([...(table.getChild('b')?.get(0) ?? [])], [0, 255])
  })

  test('a LocalTimestamp has no zone, in every format', async () => {
    const statement = "SELECT id, s AT TIME ZONE 'America/New_York' AS l FROM every WHERE id < 3 ORDER BY id"
    const texts = ['2026-01-01T22:04:05.000001', null]
    const csv = await server.query(statement, { headers: { accept: 'text/csv' } })
    assert.equal(csv.text, 'id,l\r\n1,2026-01-01T22:04:05.000001\r\n2,\r\n')
    const json = await server.query(statement)
    assert.deepEqual(json.json.Columns.l, { Ordinal: 1, Type: 'LocalTimestamp', Nullable: true })
    assert.deepEqual(
      json.json.Rows?.map(({ l }) => l),
      texts,
    )
    const table = tableFromIPC(await arrow(statement))
    assert.equal(String(table.schema.fields[1]?.type), 'Timestamp<MICROSECOND>')
    assert.deepEqual(table.getChild('l')?.data[0]?.values.slice(0, 1), BigInt64Array.of(1_767_305_045_000_001n))
    // Long results are written from numbers.
    const long = await server.query(
      `SELECT g AT TIME ZONE 'America/New_York' AS l FROM generate_series('2026-03-08T06:59:59Z', '2026-03-08T16:00:00Z', '1 second') AS g ORDER BY l`,
    )
    const { Rows: rows = [] } = long.json
    assert.deepEqual([rows[0]?.l, rows[1]?.l], ['2026-03-08T01:59:59', '2026-03-08T03:00:00'])
    assert.equal(rows.length, 32_402)
  })

  test('a result is compressed only if the client accepts it', async () => {
    const many = 'SELECT a.id, a.u FROM every a CROSS JOIN every b CROSS JOIN every c CROSS JOIN every d ORDER BY a.id'
    const plain = await server.query(many)
    for (const [coding, decompress] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
      ['zstd', zstdDecompressSync],
    ] as const) {
      const { default: http } = await import('node:http')
      const body = await new Promise<Buffer>((resolve, reject) => {
        const request = http.request(
          `${server.url}/query`,
          {
            method: 'POST',
            headers: { authorization: 'Bearer admin', 'content-type': 'text/plain', 'accept-encoding': coding },
          },
          (response) => {
            assert.equal(response.headers['content-encoding'], coding)
            assert.match(response.headers.vary ?? '', /accept-encoding/i)
            response.toArray().then((chunks) => resolve(Buffer.concat(chunks)), reject)
          },
        )
        request.end(many)
      })
      assert.equal(JSON.parse(decompress(body).toString()).RowCount, plain.json.RowCount, coding)
    }
  })

  test('an unknown format is 406 and lists the known ones', async () => {
    const reply = await server.query(STATEMENT, { headers: { accept: 'image/png' } })
    assert.deepEqual([reply.status, reply.json.Expected.includes('text/csv')], [406, true])
  })

  test('other content types and charsets are 415', async () => {
    for (const type of ['text/plain; charset=utf-16', 'application/xml', 'text/html']) {
      const response = await fetch(`${server.url}/query`, {
        method: 'POST',
        body: 'SELECT 1 AS x',
        headers: { authorization: 'Bearer admin', 'content-type': type },
      })
      assert.equal(response.status, 415, type)
    }
    const bytes = await fetch(`${server.url}/query`, {
      method: 'POST',
      body: Buffer.from([0xff, 0xfe]),
      headers: { authorization: 'Bearer admin', 'content-type': 'text/plain' },
    })
    assert.equal(bytes.status, 415)
  })
})

/** Results as Parquet files over HTTP, on both engines. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../../support/engines.ts'
import { createEvery, EVERY_TYPE } from '../every-type.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { readWhole } from './files.ts'

onEveryEngine('Parquet results', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await createEvery(server, [EVERY_TYPE, { id: 2 }])
  })
  after(() => server.stop())

  const parquet = async (statement: string) => {
    const response = await fetch(`${server.url}/query`, {
      method: 'POST',
      body: statement,
      headers: {
        authorization: 'Bearer admin',
        'content-type': 'text/plain',
        accept: 'application/vnd.apache.parquet',
        'accept-encoding': 'gzip',
      },
    })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'application/vnd.apache.parquet')
    assert.equal(response.headers.get('content-encoding'), null, 'its pages are compressed')
    return readWhole(new Uint8Array(await response.arrayBuffer()))
  }

  test('every type, and NULL', async () => {
    const { types, values } = await parquet(
      `SELECT *, s AT TIME ZONE 'America/New_York' AS l, s - TIMESTAMP '2026-01-01T00:00:00Z' AS since FROM every ORDER BY id`,
    )
    assert.deepEqual(types, {
      id: 'Integer',
      t: 'Text',
      d: 'Decimal(18, 4)',
      f: 'Double',
      o: 'Boolean',
      s: 'Timestamp',
      a: 'Date',
      m: 'Time',
      u: 'Uuid',
      j: 'Json',
      b: 'Binary',
      w: 'Decimal(38, 18)',
      l: 'LocalTimestamp',
      since: 'Text',
    })
    assert.deepEqual(
      [...values].map(([, [first]]) => (first instanceof Uint8Array ? [...first] : first)),
      [
        1n,
        'a,"b"\r\n',
        -123_456_789n,
        0.1,
        true,
        1_767_323_045_000_001n,
        -1n,
        86_399_999_999n,
        EVERY_TYPE.u,
        '{"k":[1,null]}',
        [0, 255],
        -12_345_678_901_234_567_890_123_456_789_012_345_678n,
        1_767_305_045_000_001n,
        '1 day 03:04:05.000001',
      ],
    )
    assert.deepEqual(
      [...values].map(([, [, second]]) => second),
      [2n, ...Array(13).fill(null)],
    )
  })

  test('a result of several row groups has every row once, in order', async () => {
    const { values } = await parquet(
      'SELECT g AS n, CAST(g % 7 AS Text) AS t FROM generate_series(1, 150000) AS g ORDER BY g',
    )
    assert.deepEqual(
      [values.get('n'), values.get('t')],
      [
        Array.from({ length: 150_000 }, (_, index) => BigInt(index + 1)),
        Array.from({ length: 150_000 }, (_, index) => String((index + 1) % 7)),
      ],
    )
  })

  test('the rows that a write returns, and a result without rows', async () => {
    const { values } = await parquet(`UPDATE every SET t = 'b' WHERE id = 2 RETURNING id, t`)
    assert.deepEqual([values.get('id'), values.get('t')], [[2n], ['b']])
    assert.deepEqual((await parquet('SELECT id FROM every WHERE id > 5')).values.get('id'), [])
  })
})

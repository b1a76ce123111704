/** Pages by cursor: every row once in every order, and only cursors of the same request. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

onEveryEngineInLongRuns('pages', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    for (const statement of [
      'CREATE TABLE p (a Integer, b Text, v Integer, d Decimal(9, 3), w Decimal(38, 18), at Timestamp, bin Binary, PRIMARY KEY (a, b))',
      'CREATE TABLE heap (v Integer)',
      `CREATE TABLE own (id Integer PRIMARY KEY, owner Text NOT NULL) WRITE SCOPE 'Platform/Market' ROW FILTER (owner = :sub)`,
    ])
      assert.equal((await server.query(statement)).status, 200)
    const rows = Array.from({ length: 23 }, (_row, index) => ({
      a: index % 5,
      b: `k"${index}`,
      v: index % 3 === 0 ? null : index % 4,
      d: index % 2 === 0 ? null : `${index}.125`,
      w: index % 4 === 0 ? null : `${index - 10}1234567890123456.${'9'.repeat(18)}`,
      at: `2026-01-01T00:00:00.${String(index).padStart(6, '0')}Z`,
      bin: Buffer.from([index, 255]).toString('base64'),
    }))
    assert.equal((await server.call('/query/p/insert', rows)).status, 200)
    assert.equal(
      (
        await server.call(
          '/query/heap/insert',
          rows.map((_row, v) => ({ v })),
        )
      ).status,
      200,
    )
  })
  after(() => server.stop())

  const listPages = async (path: string, body: unknown): Promise<string[]> => {
    const seen: string[] = []
    for (let after = '', page = 0; page < 50; page++) {
      const { status, json, text } = await server.call(`${path}${after}`, body)
      assert.equal(status, 200, text)
      seen.push(...json.Rows.map((row) => JSON.stringify(row)))
      if (json.NextCursor === undefined) return seen
      after = `&after=${json.NextCursor}`
    }
    throw new Error('The pages do not end')
  }

  test('the pages together are the whole result, in every order, with NULLs on either side of a page break', async () => {
    for (const order of ['', 'v', '-v', 'v,-d', '-d,at', '-at', 'bin', '-b,a', 'd,v,bin', '-w', 'w,v']) {
      const whole = await server.call(`/query/p/select?orderby=${order}`, [])
      const wanted = whole.json.Rows.map((row) => JSON.stringify(row))
      assert.equal(wanted.length, 23)
      for (const limit of [1, 4, 22, 23])
        assert.deepEqual(await listPages(`/query/p/select?orderby=${order}&limit=${limit}`, []), wanted, order)
    }
  })

  test('an offset counts once: repeating the request with a cursor skips no row', async () => {
    for (const table of ['p', 'heap']) {
      const rows = await listPages(`/query/${table}/select?columns=v&limit=4&offset=5`, [])
      assert.equal(rows.length, 18, table)
    }
  })

  test('a cursor is valid for its table, criteria and order only; truncated and forged ones are refused', async () => {
    const { json } = await server.call('/query/p/select?orderby=v&limit=2', [])
    const cursor = json.NextCursor
    const content = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const made = (change: object): string =>
      Buffer.from(JSON.stringify({ ...content, ...change })).toString('base64url')
    const criterion = { ColumnName: 'a', Operator: '>', Value: 1 }
    for (const [path, body] of [
      [`/query/p/select?orderby=-v&after=${cursor}`, []],
      [`/query/p/select?after=${cursor}`, []],
      [`/query/p/select?orderby=v&after=${cursor}`, [criterion]],
      [`/query/heap/select?orderby=v&after=${cursor}`, []],
      [`/query?after=${cursor}`, { Statement: 'SELECT * FROM p' }],
      [`/query/p/select?orderby=v&after=${cursor.slice(0, -5)}`, []],
      [`/query/p/select?orderby=v&after=`, []],
      [`/query/p/select?orderby=v&after=${cursor}&after=${cursor}`, []],
      ...[
        { k: [] },
        { k: [1, 2, 3] },
        { k: [null] },
        { k: { length: 3 } },
        { k: undefined, n: -1 },
        { k: undefined, n: 1.5 },
        { k: undefined, n: '1' },
        { k: undefined },
        { r: '' },
      ].map((change) => [`/query/p/select?orderby=v&after=${made(change)}`, []] as const),
    ] as const) {
      const reply = await server.call(path, body)
      assert.equal(reply.status, 400, `${path}: ${reply.text}`)
    }
    // A key that is not a value of its column is an error; any other key is merely another place to start.
    const odd = await server.call(`/query/p/select?orderby=v&after=${made({ k: ["1' OR '1'='1", '1', 'x'] })}`, [])
    assert.deepEqual([odd.status, odd.json.Code], [422, 'Data.BadValue'])
    assert.equal((await server.call(`/query/p/select?orderby=v&after=${made({ k: ['1', '1', 'x'] })}`, [])).status, 200)
  })

  test("another caller's cursor does not reveal that caller's rows", async () => {
    await server.call(
      '/query/own/insert',
      Array.from({ length: 6 }, (_row, id) => ({ id, owner: 'admin' })),
    )
    await server.call(
      '/query/own/insert',
      Array.from({ length: 6 }, (_row, id) => ({ id: id + 3000, owner: 'market' })),
      { as: 'market' },
    )
    const page = await server.call('/query/own/select?limit=2', [])
    const stolen = await server.call(`/query/own/select?after=${page.json.NextCursor}`, [], { as: 'market' })
    assert.ok(stolen.json.Rows.every(({ owner }) => owner === 'market'))
    assert.equal(stolen.json.RowCount, 6)
    const text = await server.query('SELECT id, owner FROM own ORDER BY id')
    assert.equal(text.json.RowCount, 6)
  })
})

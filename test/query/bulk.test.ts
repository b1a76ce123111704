/** Bulk inserts over HTTP, on both engines: formats, duplicates, errors that name their place, rights, limits, a sender that stops. */
import assert from 'node:assert/strict'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Spools } from '../../packages/server/src/query/bulk/spools.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const ARROW = 'application/vnd.apache.arrow.stream'
const NDJSON = 'application/x-ndjson'

interface BulkReply {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>> & { readonly detail?: string; readonly Code?: string }
}

onEveryEngine('bulk inserts', (place) => {
  let server: QueryServer
  let folder: string
  before(async () => {
    const here = place()
    folder = here.dataFolder
    server = await startQueryServer(here, { limits: { importBytes: 4_000_000 } })
    for (const statement of [
      'CREATE TABLE p (id Integer PRIMARY KEY, s Text, d Decimal(10, 2), w Decimal(30, 4), f Double, t Timestamp, y Boolean, x Binary, u Uuid, j Json, a Date, m Time)',
      'CREATE TABLE q (id Integer PRIMARY KEY, s Text NOT NULL, n Integer NOT NULL DEFAULT 7)',
      "CREATE TABLE c (id Integer PRIMARY KEY, owner Text, qty Integer CHECK (qty > 0)) WRITE SCOPE 'Platform/Market'",
      "CREATE TABLE r (id Integer PRIMARY KEY, owner Text) WRITE SCOPE 'Platform/Market' ROW FILTER (owner = :sub)",
      'CREATE TABLE big (id Integer PRIMARY KEY, s Text)',
    ])
      assert.equal((await server.query(statement)).status, 200, statement)
  })
  after(() => server.stop())

  const send = async (
    table: string,
    type: string,
    body: string | Uint8Array,
    { query = '', as = 'admin', headers = {} }: { query?: string; as?: string; headers?: Record<string, string> } = {},
  ): Promise<BulkReply> => {
    const response = await fetch(`${server.url}/query/${table}/insert${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${as}`, 'content-type': type, ...headers },
      body: typeof body === 'string' ? body : Buffer.from(body),
    })
    return { status: response.status, json: (await response.json()) as BulkReply['json'] }
  }
  const readRows = async (statement: string) => (await server.query(statement)).json.Rows
  const readCount = async (table: string): Promise<number> =>
    Number((await readRows(`SELECT count(*) AS n FROM ${table}`))[0]?.n)
  const empty = (table: string) => server.query(`DELETE FROM ${table} ALL`)

  const VALUES = [
    '1,"a ""b"", c\nd",12.50,12345678901234567890.1234,0.1,2026-01-02T03:04:05.000006Z,true,AP8=,00000000-0000-4000-8000-00000000000A,"{""k"":[1,2.50]}",2026-02-28,23:59:59.5',
    '2,"",-0.01,-1.0000,NaN,2300-01-02 03:04:05Z,false,,,[],0001-01-01,00:00:00',
    '-9223372036854775808,é😀,,,-1e300,,,,,,,',
  ]
  const HEADER = 'id,s,d,w,f,t,y,x,u,j,a,m'

  test('CSV: every type arrives exactly, quoted texts and NULL included', async () => {
    const { status, json } = await send('p', 'text/csv', `\uFEFF${HEADER}\r\n${VALUES.join('\r\n')}\r\n`)
    assert.deepEqual([status, json.RowsAffected], [200, 3], JSON.stringify(json))
    const rows = await readRows('SELECT * FROM p ORDER BY id DESC')
    assert.deepEqual(rows, [
      {
        id: 2,
        s: '',
        d: '-0.01',
        w: '-1.0000',
        f: 'NaN',
        t: '2300-01-02T03:04:05Z',
        y: false,
        x: null,
        u: null,
        j: [],
        a: '0001-01-01',
        m: '00:00:00',
      },
      {
        id: 1,
        s: 'a "b", c\nd',
        d: '12.50',
        w: '12345678901234567890.1234',
        f: 0.1,
        t: '2026-01-02T03:04:05.000006Z',
        y: true,
        x: 'AP8=',
        u: '00000000-0000-4000-8000-00000000000a',
        j: { k: [1, 2.5] },
        a: '2026-02-28',
        m: '23:59:59.5',
      },
      {
        id: -9223372036854776000,
        s: 'é😀',
        d: null,
        w: null,
        f: -1e300,
        t: null,
        y: null,
        x: null,
        u: null,
        j: null,
        a: null,
        m: null,
      },
    ])
  })

  test('what is exported as CSV, NDJSON or Arrow is inserted again as it was', async () => {
    const texts: string[] = []
    for (const type of ['text/csv', NDJSON, ARROW]) {
      const exported = await fetch(`${server.url}/query`, {
        method: 'POST',
        headers: { authorization: 'Bearer admin', accept: type, 'content-type': 'text/plain; charset=utf-8' },
        body: 'SELECT * FROM p ORDER BY id',
      })
      const bytes = Buffer.from(await exported.arrayBuffer())
      await empty('p')
      const { status, json } = await send('p', type, bytes)
      assert.deepEqual([status, json.RowsAffected], [200, 3], `${type} ${JSON.stringify(json)}`)
      texts.push((await server.query('SELECT * FROM p ORDER BY id')).text.replace(/"RequestId.*/, ''))
    }
    assert.equal(new Set(texts).size, 1, texts.join('\n'))
  })

  test('times without a zone are those of the given one; a dry run checks the rows and inserts none', async () => {
    await empty('p')
    const body = 'id,t\n1,2026-01-15 09:30\n2,2026-07-15T09:30:00.5\n3,2026-07-15T09:30:00Z\n4,\n5,2026-03-08 02:30\n'
    const dry = await send('p', 'text/csv', body, { query: '?timezone=America/New_York&dryrun=true' })
    assert.deepEqual(
      [dry.status, dry.json.RowsAffected, dry.json.Columns],
      [
        200,
        5,
        { id: { Ordinal: 0, Type: 'Integer', Nullable: false }, t: { Ordinal: 1, Type: 'Timestamp', Nullable: true } },
      ],
    )
    const bad = await send('p', 'text/csv', 'id\nx\n', { query: '?dryrun=true' })
    assert.deepEqual([bad.status, bad.json.Code], [422, 'Data.BadValue'])
    assert.equal(await readCount('p'), 0)
    assert.equal((await send('p', 'text/csv', body, { query: '?timezone=America/New_York' })).json.RowsAffected, 5)
    assert.deepEqual(
      (await readRows('SELECT t FROM p ORDER BY id')).map(({ t }) => t),
      // Clocks skip half past two: the offset is that before.
      ['2026-01-15T14:30:00Z', '2026-07-15T13:30:00.5Z', '2026-07-15T09:30:00Z', null, '2026-03-08T07:30:00Z'],
    )
    for (const query of ['?timezone=Nowhere/City', '?dryrun=maybe'])
      assert.equal((await send('p', 'text/csv', body, { query })).json.Code, 'Request.BadParameter', query)
    await empty('p')
  })

  test('a bad value names its line and column, and nothing is inserted', async () => {
    await empty('q')
    for (const [type, body, code, text] of [
      [
        'text/csv',
        'id,s\n1,a\n"2",b\nx,c\n',
        'Data.BadValue',
        /^Line 4: The value "x" of the column id \(Integer\) is not a whole number/,
      ],
      ['text/csv', 'id,s\n1,"a\nb"\n2,\n', 'IQL.NotNull', /^Line 4: The column s must have a value/],
      ['text/csv', 'id,s\n1,a,b\n', 'Request.BadBody', /^Line 2: The row has 3 fields, not 2/],
      ['text/csv', 'id,s\n1,"a\n', 'Request.BadBody', /^Line 2: A quoted field does not end/],
      ['text/csv', 'id,nosuch\n1,a\n', 'Criteria.UnknownColumn', /nosuch/],
      ['text/csv', Buffer.from('id,s\n1,a\n2,\xff\n', 'latin1'), 'Request.BadBody', /^Line 3: The text is not UTF-8/],
      ['text/csv', 'id,s\n1,a\n2,\0\n', 'Request.BadBody', /^Line 3: The text contains NUL/],
      [
        NDJSON,
        '{"id":1,"s":"a"}\n\n{"s":"b","id":1.5}\n',
        'Data.BadValue',
        /^Line 3: The value "1.5" of the column id/,
      ],
      [
        NDJSON,
        '{"id":1,"s":"a"}\n{"id":2,"s":"b","z":1}\n',
        'Request.BadBody',
        /^Line 2: "z" is not a column that the first line names/,
      ],
      [NDJSON, '{"id":1,"s":"a"}\n{"id":2,"s":"b"\n', 'Request.BadBody', /^Line 2: The line is not JSON/],
      [NDJSON, '{"id":1,"s":"a"}\n{"id":01,"s":"b"}\n', 'Request.BadBody', /^Line 2: The line is not JSON/],
      [NDJSON, '{"id":1,"s":{"a":1}}\n', 'Data.BadValue', /^Line 1: .* is an object or an array/],
    ] as const) {
      const { status, json } = await send('q', type, body)
      assert.ok(status >= 400 && status < 500, `${status} ${JSON.stringify(json)}`)
      assert.equal(json.Code, code, json.detail)
      assert.match(String(json.detail), text)
    }
    assert.equal(await readCount('q'), 0)
  })

  const many = (count: number, readId: (row: number) => number = (row) => row): string =>
    `id,s\n${Array.from({ length: count }, (_, row) => `${readId(row)},s${row}\n`).join('')}`

  test('a taken key rejects all rows, or its row is skipped and listed, or it replaces the other', async () => {
    await empty('q')
    await send('q', 'text/csv', 'id,s,n\n3,old,1\n5,old,1\n')
    const rejected = await send('q', 'text/csv', many(300))
    assert.deepEqual([rejected.status, rejected.json.Code], [409, 'Data.UniqueViolation'])
    assert.equal(await readCount('q'), 2)
    // The rows 4 and 6 have the keys 3 and 5; row 11 has the key of row 10.
    const body = many(300, (row) => (row === 10 ? 9 : row))
    const skipped = await send('q', 'text/csv', body, { query: '?duplicates=skip' })
    assert.deepEqual(
      [skipped.json.RowsAffected, skipped.json.Skipped, skipped.json.SkippedRows],
      [297, 3, [4, 6, 11]],
      JSON.stringify(skipped.json),
    )
    assert.deepEqual(await readRows('SELECT s, n FROM q WHERE id = 3 OR id = 9 ORDER BY id'), [
      { s: 'old', n: 1 },
      { s: 's9', n: 7 },
    ])
    const replaced = await send('q', 'text/csv', `${body}1000,new\n`, { query: '?duplicates=replace' })
    assert.deepEqual([replaced.json.RowsAffected, replaced.json.Replaced], [301, 300], JSON.stringify(replaced.json))
    assert.deepEqual(await readRows('SELECT s, n FROM q WHERE id = 3 OR id = 9 ORDER BY id'), [
      { s: 's3', n: 1 },
      { s: 's10', n: 7 },
    ])
    assert.equal(await readCount('q'), 300)
  })

  test('of many rows, the ones that are skipped, replaced or refused are the right ones', async () => {
    await empty('q')
    const taken = [1, 999, 1000, 1001, 1050, 2500, 14_000]
    await send('q', 'text/csv', `id,s\n${taken.map((row) => `${-row},old\n`).join('')}`)
    const body = many(15_000, (row) => (taken.includes(row + 1) ? -row - 1 : row))
    const rejected = await send('q', 'text/csv', body)
    assert.deepEqual([rejected.status, await readCount('q')], [409, taken.length])
    const skipped = await send('q', 'text/csv', body, { query: '?duplicates=skip' })
    assert.deepEqual([skipped.json.RowsAffected, skipped.json.SkippedRows], [15_000 - taken.length, taken])
    const replaced = await send('q', 'text/csv', body, { query: '?duplicates=replace' })
    assert.deepEqual([replaced.json.RowsAffected, replaced.json.Replaced], [15_000, 15_000])
    assert.deepEqual(await readRows("SELECT count(*) AS n FROM q WHERE s = 'old'"), [{ n: 0 }])
    const [sum] = await readRows('SELECT sum(id) AS ids, count(*) AS n, min(n) AS least FROM q')
    const ids = Array.from({ length: 15_000 }, (_, row) => (taken.includes(row + 1) ? -row - 1 : row))
    assert.deepEqual(sum, { ids: String(ids.reduce((total, id) => total + id, 0)), n: 15_000, least: 7 })
  })

  test('a table and its columns may be named as those of the spool file, and a default is computed for each row', async () => {
    await server.query('CREATE TABLE b (c0 Integer PRIMARY KEY, c1 Text NOT NULL, c2 Uuid NOT NULL DEFAULT gen_uuid())')
    const body = `c1,c0\n${Array.from({ length: 2_000 }, (_, row) => `t${row},${row}\n`).join('')}`
    assert.equal((await send('b', 'text/csv', body)).json.RowsAffected, 2_000)
    const again = await send('b', 'text/csv', body, { query: '?duplicates=replace' })
    assert.equal(again.json.Replaced, 2_000, JSON.stringify(again.json))
    assert.deepEqual(await readRows('SELECT count(DISTINCT c2) AS n, max(c0) AS c0 FROM b'), [{ n: 2_000, c0: 1_999 }])
    assert.deepEqual(await readRows('SELECT c1 FROM b WHERE c0 = 1234'), [{ c1: 't1234' }])
  })

  test('a repeated request with its Idempotency-Key inserts nothing again, and another body is refused', async () => {
    await empty('q')
    const headers = { 'idempotency-key': 'bulk-once' }
    const first = await send('q', 'text/csv', many(120), { headers })
    const again = await send('q', 'text/csv', many(120), { headers })
    assert.deepEqual([first.json.RowsAffected, again.status, again.json.RowsAffected], [120, 200, 120])
    const other = await send('q', 'text/csv', many(121), { headers })
    assert.deepEqual([other.status, other.json.Code], [422, 'Request.IdempotencyMismatch'])
    assert.equal(await readCount('q'), 120)
  })

  test('checks, row filters, scopes and system tables are those of every insert', async () => {
    const bad = await send('c', 'text/csv', 'id,owner,qty\n1,market,5\n2,market,0\n', { as: 'market' })
    assert.deepEqual([bad.status, bad.json.Code], [409, 'Data.CheckViolation'], bad.json.detail)
    for (const duplicates of ['reject', 'skip', 'replace']) {
      const rows = Array.from({ length: 300 }, (_, row) => `${row},market,${row === 170 ? 0 : 1}\n`).join('')
      const late = await send('c', 'text/csv', `id,owner,qty\n${rows}`, {
        as: 'market',
        query: `?duplicates=${duplicates}`,
      })
      assert.deepEqual([late.status, late.json.Code], [409, 'Data.CheckViolation'], late.json.detail)
      assert.equal(await readCount('c'), 0)
      const owners = rows.replaceAll(',0\n', '\n').replaceAll(',1\n', '\n').replace('170,market', '170,trader')
      const foreign = await send('r', 'text/csv', `id,owner\n${owners}`, {
        as: 'market',
        query: `?duplicates=${duplicates}`,
      })
      assert.ok(foreign.status >= 400, JSON.stringify(foreign.json))
      assert.equal((await server.query('SELECT count(*) AS n FROM r', { as: 'market' })).json.Rows[0]?.n, 0)
    }
    const own = await send('r', 'text/csv', 'id,owner\n1,market\n', { as: 'market' })
    assert.deepEqual([own.status, own.json.RowsAffected], [200, 1], own.json.detail)
    const others = await send('r', 'text/csv', 'id,owner\n2,trader\n', { as: 'market' })
    assert.equal(others.status >= 400, true)
    const hidden = await send('r', 'text/csv', 'id,owner\n1,trader\n', { as: 'trader', query: '?duplicates=replace' })
    assert.deepEqual([hidden.status, hidden.json.Code], [409, 'Data.UniqueViolation'], hidden.json.detail)
    const unscoped = await send('q', 'text/csv', 'id,s\n9000,a\n', { as: 'market' })
    assert.equal(unscoped.status, 403)
    const system = await send('cataloguetable', 'text/csv', 'name\nx\n')
    assert.equal(system.status, 415, system.json.detail)
  })

  test('what is too large, announced or not, is refused', async () => {
    const long = `id,s\n1,${'x'.repeat(4_100_000)}\n`
    const announced = await send('big', 'text/csv', long)
    assert.deepEqual([announced.status, announced.json.Code], [413, 'Request.TooLarge'])
    const bomb = Buffer.concat([Buffer.from([255, 255, 255, 255]), Buffer.alloc(4, 0x7f)])
    const arrow = await send('big', ARROW, bomb)
    assert.deepEqual([arrow.status, arrow.json.Code], [400, 'Request.BadBody'])
    const damaged = await send(
      'big',
      ARROW,
      Buffer.concat([Buffer.from([255, 255, 255, 255, 8, 0, 0, 0]), Buffer.alloc(8, 0xff)]),
    )
    assert.deepEqual([damaged.status, damaged.json.Code], [400, 'Request.BadBody'], damaged.json.detail)
  })

  test('files that a process has left are removed at a start, those of running processes are not', async () => {
    const spools = join(folder, 'bulk')
    await mkdir(spools, { recursive: true })
    // Process 1 runs; no process has the other number.
    for (const name of ['1-running', '99999999-left']) await writeFile(join(spools, name), 'rows')
    await new Spools(folder, { importBytes: 1 }).removeLeft()
    assert.deepEqual(await readdir(spools), ['1-running'])
    await rm(join(spools, '1-running'))
  })

  test('a sender that stops holds nobody up, and its file is removed when it leaves', async () => {
    const { port } = new URL(server.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `POST /query/big/insert HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer admin\r\nContent-Type: text/csv\r\nContent-Length: 100000\r\n\r\nid,s\n1,a\n`,
    )
    const spools = join(folder, 'bulk')
    const files = async () => (await readdir(spools).catch(() => [])).length
    for (let tries = 0; (await files()) === 0 && tries < 100; tries++) await sleep(20)
    assert.equal(await files(), 1)
    const started = performance.now()
    assert.equal((await send('big', 'text/csv', 'id,s\n2,b\n')).status, 200)
    assert.ok(performance.now() - started < 3000)
    socket.destroy()
    for (let tries = 0; (await files()) > 0 && tries < 100; tries++) await sleep(20)
    assert.equal(await files(), 0)
    assert.equal(await readCount('big'), 1)
  })
})

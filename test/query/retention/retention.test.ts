/** Retention: rows before the horizon are closed by every protocol, and deleted up to the cut; a held table loses none. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import type { AuditEvent } from 'gatehouse-protocol'
import pg from 'pg'
import { onEveryEngine } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type CallOptions, type QueryServer, type Reply, startQueryServer } from '../query-server.ts'

const DAY = 86_400_000

onEveryEngine('retention', (place, engine) => {
  let server: QueryServer
  const audited: AuditEvent[] = []
  const audit = { record: (event: AuditEvent) => void audited.push(event) }
  before(async () => {
    server = await startQueryServer(place(), { audit })
  })
  after(() => server.stop())

  const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString()
  const must = async (statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }
  const create = async (table: string, options = '') => {
    await must(`CREATE TABLE ${table} (id Integer PRIMARY KEY, at Timestamp NOT NULL, v Integer) ${options}`)
    await must(`CREATE INDEX ${table}_at ON ${table} (at)`)
  }
  /** Rows 1, 2, … of so many days ago. */
  const fill = (table: string, days: readonly number[]) =>
    must(`INSERT INTO ${table} VALUES ${days.map((day, index) => `(${index + 1}, '${ago(day)}', 0)`).join(', ')}`)
  const keep = (table: string, time = '30 days', more = '') =>
    must(`ALTER TABLE ${table} SET WITH (retention = '${time}' ON at${more})`)
  const ids = async (table: string) =>
    (await must(`SELECT id FROM ${table} ORDER BY id`)).Rows.map(({ id }) => Number(id))
  const run = async (table: string) => (await server.service.retention()).run(table, AbortSignal.timeout(60_000))
  const refused = (reply: Reply, code = 'Data.TooOld') => {
    assert.deepEqual([reply.status, reply.json.Code], [409, code], reply.text)
    if (code === 'Data.TooOld') {
      const { Horizon } = JSON.parse(reply.text)
      assert.ok(Math.abs(Date.parse(Horizon) - (Date.now() - 30 * DAY)) < 3 * 60_000, Horizon)
    }
  }

  test('rows before the horizon cannot be inserted, changed or deleted, and are deleted by a round', async () => {
    await create('trades')
    await fill('trades', [40, 35, 20, 0])
    await keep('trades')
    refused(await server.query(`INSERT INTO trades VALUES (9, '${ago(31)}', 0)`))
    refused(await server.query(`UPDATE trades SET at = '${ago(31)}' WHERE id = 4`))
    const ran = await run('trades')
    assert.deepEqual(await ids('trades'), [3, 4])
    assert.equal(ran?.Horizon, ran?.Cut)
    await must('UPDATE trades SET v = 1 WHERE id = 3')
    await must('DELETE FROM trades WHERE id = 4')
    assert.deepEqual(await ids('trades'), [3])
  })

  test('while the clock of the node is wrong, rows are closed and none is deleted', async () => {
    await server.stop()
    server = await startQueryServer(place(), { clock: () => Date.now() + 3_600_000 })
    await create('paused')
    await fill('paused', [40, 1])
    await keep('paused')
    refused(await server.query('DELETE FROM paused WHERE id IN (1, 2)'))
    refused(await server.query('UPDATE paused SET v = 1 WHERE id = 1'))
    await assert.rejects(run('paused'), /differ by 3600 s/)
    assert.deepEqual(await ids('paused'), [1, 2])
    assert.match((await readState('paused'))?.fault ?? '', /differ/)
    await server.stop()
    server = await startQueryServer(place(), { audit })
    await run('paused')
    assert.deepEqual(await ids('paused'), [2])
  })

  test('every way of writing is refused: upsert, INSERT … SELECT, JSON, NDJSON with its line, an idempotency key', async () => {
    await create('entries')
    await keep('entries')
    await fill('entries', [1])
    const old = { id: 5, at: ago(60), v: 0 }
    const upsert = `INSERT INTO entries VALUES (1, '${ago(60)}', 0) ON CONFLICT (id) DO UPDATE SET at = excluded.at`
    refused(await server.query(upsert))
    refused(await server.query(`INSERT INTO entries SELECT id + 10, at - INTERVAL '60 days', v FROM entries`))
    refused(await server.call('/query/entries/insert', old))
    const keyed = { headers: { 'idempotency-key': 'one' } }
    refused(await server.call('/query/entries/insert', [{ id: 6, at: ago(0), v: 0 }, old], keyed))
    assert.deepEqual(await ids('entries'), [1])
    const lines = [{ id: 7, at: ago(0), v: 0 }, { id: 8, at: ago(0), v: 0 }, old].map((row) => JSON.stringify(row))
    const ndjson = await bulk('entries', lines.join('\n'))
    refused(ndjson)
    assert.equal(JSON.parse(ndjson.text).Line ?? ndjson.json.Row, 3, ndjson.text)
    assert.deepEqual(await ids('entries'), [1])
  })

  test('another program is refused too', async () => {
    await create('foreign_rows')
    await fill('foreign_rows', [40, 1])
    await keep('foreign_rows', '30 days')
    const seconds = Math.floor(Date.now() / 1000) - 60 * 86_400
    const [table, time] =
      engine === 'sqlite'
        ? ['foreign_rows', `${seconds} * 1000000`]
        : ['gatehouse_data.foreign_rows', `to_timestamp(${seconds})::timestamp`]
    await assert.rejects(foreign(`INSERT INTO ${table} (id, at, v) VALUES (9, ${time}, 0)`), /TooOld|retention/)
    await assert.rejects(foreign(`UPDATE ${table} SET at = ${time} WHERE id = 2`), /TooOld|retention/)
    await run('foreign_rows')
    assert.deepEqual(await ids('foreign_rows'), [2])
  })

  test('a Date closes whole days; months are those of the calendar', async () => {
    await must('CREATE TABLE closes (day Date NOT NULL, symbol Text, PRIMARY KEY (day, symbol))')
    const day = (days: number) => ago(days).slice(0, 10)
    await must(`INSERT INTO closes VALUES ('${day(100)}', 'A'), ('${day(45)}', 'A'), ('${day(0)}', 'A')`)
    await must(`ALTER TABLE closes SET WITH (retention = '2 months' ON day)`)
    refused2(await server.query(`INSERT INTO closes VALUES ('${day(70)}', 'B')`))
    await run('closes')
    assert.equal((await must('SELECT day FROM closes')).Rows.length, 2)

    function refused2(reply: Reply): void {
      assert.equal(reply.json.Code, 'Data.TooOld', reply.text)
      assert.match(JSON.parse(reply.text).Horizon, /T00:00:00/)
    }
  })

  test('a longer time opens rows again, but none before the cut', async () => {
    await create('longer')
    await fill('longer', [50, 1])
    await keep('longer', '30 days')
    await run('longer')
    await keep('longer', '60 days')
    assert.equal((await server.query(`INSERT INTO longer VALUES (7, '${ago(40)}', 0)`)).status, 409)
    await must('ALTER TABLE longer SET WITH (retention = NULL)')
    await must(`INSERT INTO longer VALUES (7, '${ago(40)}', 0)`)
    assert.equal(await run('longer'), undefined)
    assert.deepEqual(await ids('longer'), [2, 7])
  })

  test('renaming the column keeps the cut; EXPLAIN knows it after the retention has ended', async () => {
    await create('renamed')
    await fill('renamed', [50, 1])
    await keep('renamed', '30 days')
    await run('renamed')
    await keep('renamed', '60 days')
    await must('ALTER TABLE renamed RENAME COLUMN at TO moment')
    assert.equal((await server.query(`INSERT INTO renamed VALUES (7, '${ago(40)}', 0)`)).json.Code, 'Data.TooOld')
    const { cut } = (await readState('renamed')) ?? {}
    await must('ALTER TABLE renamed SET WITH (retention = NULL)')
    const { Rows } = await must(`EXPLAIN ALTER TABLE renamed SET WITH (retention = '60 days' ON moment)`)
    assert.deepEqual([Rows[0]?.horizon, Rows[0]?.cut], [cut, cut])
  })

  test('a held table loses no row: DELETE, DROP, DROP COLUMN, replacing and rounds are refused, updates are not', async () => {
    await create('evidence')
    await fill('evidence', [40, 1])
    await must(`ALTER TABLE evidence SET WITH (retention = '30 days' ON at, hold = on)`)
    refused(await server.query('DELETE FROM evidence WHERE id = 2'), 'Data.Held')
    refused(await server.query('DROP TABLE evidence'), 'Data.Held')
    refused(await server.query('ALTER TABLE evidence DROP COLUMN v'), 'Data.Held')
    const replaced = JSON.stringify({ id: 2, at: ago(0), v: 7 })
    refused(await bulk('evidence', replaced, '?duplicates=replace'), 'Data.Held')
    await assert.rejects(run('evidence'), /is held/)
    await must('UPDATE evidence SET v = 7 ALL')
    assert.deepEqual(await ids('evidence'), [1, 2])
    await must('ALTER TABLE evidence SET WITH (hold = off)')
    await run('evidence')
    assert.deepEqual(await ids('evidence'), [2])
    const held = audited.filter(({ target }) => target === 'evidence').map(({ event }) => event)
    assert.deepEqual(
      held.filter((event) => event.startsWith('table.')),
      ['table.held', 'table.released'],
    )
  })

  test('EXPLAIN says which rows would go, and changes nothing', async () => {
    await create('dry')
    await fill('dry', [90, 40, 1])
    const { Rows } = await must(`EXPLAIN ALTER TABLE dry SET WITH (retention = '30 days' ON at)`)
    assert.equal(Rows.length, 1)
    assert.partialDeepStrictEqual(Rows[0], { rows: 2, stay: [], go: [] })
    assert.equal(Rows[0]?.horizon, Rows[0]?.cut)
    assert.deepEqual(await ids('dry'), [1, 2, 3])
    await must(`INSERT INTO dry VALUES (4, '${ago(80)}', 0)`)
  })

  test('a live statement is sent the removals', async () => {
    await create('watched')
    await fill('watched', [40, 1])
    const removed: unknown[] = []
    const stop = new AbortController()
    const response = await fetch(`${server.url}/query`, {
      method: 'POST',
      body: 'SELECT id, v FROM watched',
      headers: { authorization: 'Bearer admin', 'content-type': 'text/plain', accept: 'text/event-stream' },
      signal: stop.signal,
    })
    void (async () => {
      for await (const part of response.body ?? []) removed.push(Buffer.from(part).toString())
    })().catch(() => {})
    await until('the snapshot has come', 5000, () => removed.join('').includes('Snapshot'))
    await keep('watched')
    await run('watched')
    await until('the removal has come', 5000, () => removed.join('').includes('Remove'))
    stop.abort()
  })

  test('definitions that cannot be kept are refused with a hint; what a retention needs cannot go', async () => {
    await must('CREATE TABLE bare (id Integer PRIMARY KEY, at Timestamp NOT NULL, n Timestamp, v Integer)')
    const set = (clause: string) => server.query(`ALTER TABLE bare SET WITH (retention = ${clause})`)
    const unindexed = await set(`'30 days' ON at`)
    assert.deepEqual([unindexed.status, unindexed.json.Code], [400, 'IQL.BadDefinition'])
    assert.match(unindexed.json.Hint, /CREATE INDEX bare_at ON bare \(at\)/)
    for (const clause of [
      `'30 days' ON n`,
      `'30 days' ON v`,
      `'soon' ON at`,
      `'30 seconds' ON at`,
      `'101 years' ON at`,
    ])
      assert.equal((await set(clause)).json.Code, 'IQL.BadDefinition', clause)
    assert.equal((await set(`'30 days' ON nothing`)).json.Code, 'IQL.UnknownColumn')
    await must('CREATE INDEX bare_at ON bare (at)')
    await must(`ALTER TABLE bare SET WITH (retention = '30 days' ON at)`)
    assert.equal((await server.query('DROP INDEX bare_at')).json.Code, 'Data.Conflict')
    await must('ALTER TABLE bare RENAME COLUMN at TO happened')
    await must('ALTER TABLE bare ADD COLUMN note Text')
    assert.equal(
      (await server.query(`INSERT INTO bare (id, happened) VALUES (1, '${ago(60)}')`)).json.Code,
      'Data.TooOld',
    )
    const shown = await server.call('/catalogue/tables/bare', undefined, { method: 'GET' })
    assert.deepEqual(JSON.parse(shown.text).retention, { time: '30 days', on: 'happened' })
  })

  test('the list says how far each table is; a restarted server goes on', async () => {
    await create('listed')
    await fill('listed', [40, 1])
    await keep('listed', '1 month 12 hours')
    await server.stop()
    server = await startQueryServer(place())
    await until('the rows are deleted', 20_000, async () => (await ids('listed')).length === 1)
    const items = await (await server.service.retention()).list()
    const listed = items.find(({ table }) => table === 'listed')
    assert.partialDeepStrictEqual(listed, { time: '1 month 12 hours', on: 'at', hold: false, fault: null })
    assert.equal(listed?.horizon, listed?.cut)
    assert.match(server.metrics.render(), /gatehouse_retention_rows_total\{table="\w+"\} \d/)
  })

  test('a keeper that has not loaded a longer time deletes nothing that is kept now', async () => {
    await create('stale')
    await fill('stale', [40, 20, 1])
    await keep('stale', '1 day', ', hold = on')
    // Its bus is another one: the first node is not told.
    const other = await startQueryServer(place(), { audit })
    try {
      const longer = await other.query(`ALTER TABLE stale SET WITH (retention = '30 days' ON at, hold = off)`)
      assert.equal(longer.status, 200, longer.text)
      const rounds = await other.service.retention()
      await rounds.run('stale', AbortSignal.timeout(60_000))
      const { horizon } = (await rounds.find('stale')) ?? {}
      assert.ok(Date.parse(horizon ?? '') <= Date.now() - 30 * DAY, String(horizon))
      assert.ok((await ids('stale')).includes(2))
    } finally {
      await other.stop()
    }
  })

  test('the audit log has how many rows were deleted, also by a keeper that has gone', async () => {
    await create('counted')
    await fill('counted', [40, 35, 31, 1])
    await keep('counted', '32 days')
    await run('counted')
    await server.stop()
    audited.length = 0
    server = await startQueryServer(place(), { audit })
    await keep('counted', '30 days')
    await run('counted')
    assert.deepEqual(await ids('counted'), [4])
    await must('ALTER TABLE counted SET WITH (retention = NULL)')
    const find = () => audited.find(({ event, target }) => event === 'retention.cut' && target === 'counted')
    await until('it is recorded', 10_000, () => find() !== undefined)
    const { rows, oldest } = Object(find()?.details)
    assert.deepEqual([rows, String(oldest).slice(0, 10)], [3, ago(40).slice(0, 10)])
  })

  test('a table that fails says why, and does not keep others from their work', async () => {
    for (const table of ['broken', 'sound']) {
      await create(table)
      await fill(table, [40, 1])
    }
    const raise =
      engine === 'sqlite'
        ? `CREATE TRIGGER stubborn BEFORE DELETE ON broken BEGIN SELECT RAISE(ABORT, 'not today'); END`
        : `CREATE FUNCTION stubborn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$;
           CREATE TRIGGER stubborn BEFORE DELETE ON gatehouse_data.broken EXECUTE FUNCTION stubborn()`
    await foreign(raise)
    for (const table of ['broken', 'sound']) await keep(table)
    await assert.rejects(run('broken'), /not today/)
    await run('sound')
    assert.deepEqual(await ids('sound'), [2])
    assert.match((await readState('broken'))?.fault ?? '', /not today/)
    assert.equal(server.log.filter((line) => line.includes('not today')).length, 1, server.log.join('\n'))
    await foreign(engine === 'sqlite' ? 'DROP TRIGGER stubborn' : 'DROP FUNCTION stubborn CASCADE')
    await run('broken')
    assert.deepEqual(await ids('broken'), [2])
    assert.equal((await readState('broken'))?.fault, null)
  })

  if (engine === 'postgres') {
    test('the cut waits for a transaction that does not know the horizon; one with an old snapshot is refused', async () => {
      await create('late')
      await keep('late', '60 days')
      const [writer, reader] = [await connect(), await connect()]
      await writer.query('BEGIN')
      await writer.query(`INSERT INTO gatehouse_data.late VALUES (1, now()::timestamp - interval '40 days', 0)`)
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await reader.query('SELECT count(*) FROM gatehouse_data.late')
      await keep('late')
      const kept = run('late')
      const before = (await readState('late'))?.horizon
      await assert.rejects(
        until('the cut moves', 300, async () => (await readState('late'))?.cut === before),
        /did not happen/,
      )
      assert.deepEqual(await ids('late'), [])
      await writer.query('COMMIT')
      await writer.end()
      await kept
      assert.deepEqual(await ids('late'), [])
      await assert.rejects(
        reader.query(`INSERT INTO gatehouse_data.late VALUES (2, now()::timestamp - interval '40 days', 0)`),
        /serialize|retention/,
      )
      await reader.end()
    })

    test('TRUNCATE of closed rows is refused', async () => {
      await create('truncated')
      await fill('truncated', [40])
      await must(`ALTER TABLE truncated SET WITH (hold = on)`)
      await assert.rejects(foreign('TRUNCATE gatehouse_data.truncated'), /is held/)
    })
  } else {
    test('column segments and rows agree after a round', async () => {
      await create('columnar', 'WITH (columns = on)')
      await fill('columnar', [40, 35, 1, 0])
      await keep('columnar')
      await run('columnar')
      const { Rows } = await must('SELECT count(*) AS n, min(id) AS least FROM columnar')
      assert.deepEqual(Rows, [{ n: 2, least: 3 }])
    })

    test('INSERT OR REPLACE of another program does not delete a closed row', async () => {
      await create('replaced')
      await fill('replaced', [40, 1])
      await must(`ALTER TABLE replaced SET WITH (retention = '30 days' ON at, hold = on)`)
      const now = `${Date.now()} * 1000`
      await assert.rejects(foreign(`INSERT OR REPLACE INTO replaced (id, at, v) VALUES (1, ${now}, 5)`), /Held/)
      await foreign(`INSERT OR IGNORE INTO replaced (id, at, v) VALUES (1, ${now}, 5)`)
      await foreign(`INSERT INTO replaced (id, at, v) VALUES (1, ${now}, 5) ON CONFLICT (id) DO NOTHING`)
      await foreign(`INSERT OR REPLACE INTO replaced (id, at, v) VALUES (3, ${now}, 5)`)
      assert.deepEqual(await ids('replaced'), [1, 2, 3])
    })
  }

  async function readState(table: string) {
    return (await (await server.service.retention()).list()).find((item) => item.table === table)
  }

  async function bulk(table: string, body: string, query = ''): Promise<Reply> {
    const options: CallOptions = { headers: { 'content-type': 'application/x-ndjson' } }
    return server.call(`/query/${table}/insert${query}`, body, options)
  }

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: place().databaseUrl })
    await client.connect()
    return client
  }

  async function foreign(statement: string): Promise<void> {
    if (engine === 'sqlite') {
      const database = new Sqlite(join(place().dataFolder, 'query.db'), { timeout: 5000 })
      try {
        database.exec(statement)
      } finally {
        database.close()
      }
      return
    }
    const client = await connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  }
})

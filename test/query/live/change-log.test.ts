/** The change log: every change of a table since a position is known, also those of other programs, or the position is lost. */
import assert from 'node:assert/strict'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { logName } from '../../../packages/server/src/query/engines/change-log.ts'
import {
  LostPosition,
  type Positions,
  packPositions,
  unpackPositions,
} from '../../../packages/server/src/query/engines/live-source.ts'
import {
  comparePositions,
  writePosition,
} from '../../../packages/server/src/query/engines/postgres/dialect/positions.ts'
import { BY_KEY } from '../../../packages/server/src/query/engines/postgres/live/live-source.ts'
import { ServerHistory } from '../../../packages/server/src/store/database/servers/history.ts'
import { onEveryEngine, type TestPlace } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { committed, findChanged, type LiveEngine, openLiveEngine, readRows } from './live-engine.ts'

/** The first is read on the event loop, the second in a reader process. */
const STATEMENTS = [
  "SELECT id, symbol, price FROM quotes WHERE symbol <> 'hidden'",
  "SELECT id, symbol, price FROM quotes WHERE upper(symbol) <> 'HIDDEN'",
]
const [BY_EVENT_LOOP = ''] = STATEMENTS

onEveryEngine('the change log', (place, kind) => {
  let live: LiveEngine
  before(async () => {
    live = await openLiveEngine(place())
    await live.run('CREATE TABLE Quotes (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(12, 4))')
  })
  after(() => live.close())

  /** Runs the writes in one transaction and expects the keys (and whether they were inserted) and the rows that have changed. */
  const changes = async (
    writes: readonly string[],
    keys: Record<string, boolean>,
    rows: Record<string, unknown>,
  ): Promise<void> => {
    const { positions } = await live.read(BY_EVENT_LOOP)
    assert.equal((await live.engine.live.changedSince(positions)).size, 0)
    await live.run(...writes)
    assert.deepEqual([...(await live.engine.live.changedSince(positions))], [['Quotes', 'changed']])
    for (const statement of STATEMENTS) {
      const reply = await live.readSince(statement, positions)
      assert.deepEqual(findChanged(reply), keys)
      assert.deepEqual(readRows(reply), rows)
      assert.equal((await live.engine.live.changedSince(reply.positions)).size, 0)
      const [then, now] = [positions.get('Quotes') ?? '', reply.positions.get('Quotes') ?? '']
      assert.ok(Number(live.engine.live.compare(then, now)) < 0 && live.engine.live.compare(now, now) === 0)
    }
  }

  test('inserts, updates, deletes and upserts are in it, several in one transaction too', async () => {
    const row = (id: number, symbol: string, price: string | null) => ({ id, symbol, price })
    await changes(
      ["INSERT INTO quotes VALUES (1, 'BHP', 45.1), (2, 'RIO', 120), (3, 'hidden', 1)"],
      { '[1]': true, '[2]': true, '[3]': true },
      { '[1]': row(1, 'BHP', '45.1000'), '[2]': row(2, 'RIO', '120.0000') },
    )
    await changes(['UPDATE quotes SET price = 46 WHERE id = 1'], { '[1]': false }, { '[1]': row(1, 'BHP', '46.0000') })
    await changes(["UPDATE quotes SET symbol = 'hidden' WHERE id = 2"], { '[2]': false }, {})
    await changes(['DELETE FROM quotes WHERE id < 3'], { '[1]': false, '[2]': false }, {})
    await changes(
      [
        "INSERT INTO quotes VALUES (3, 'CBA', 2), (4, 'CSL', 3) ON CONFLICT (id) DO UPDATE SET symbol = excluded.symbol",
      ],
      { '[3]': false, '[4]': true },
      { '[3]': row(3, 'CBA', '1.0000'), '[4]': row(4, 'CSL', '3.0000') },
    )
    await changes(
      [
        'DELETE FROM quotes WHERE id = 4',
        "INSERT INTO quotes VALUES (4, 'CSL', 4), (5, 'WES', 5)",
        'DELETE FROM quotes WHERE id = 5',
      ],
      { '[4]': false, '[5]': true },
      { '[4]': row(4, 'CSL', '4.0000') },
    )
  })

  test('an update of the key logs the old and the new one', async () => {
    await live.run("INSERT INTO quotes VALUES (10, 'ANZ', 1), (11, 'NAB', 2)")
    const { positions } = await live.read(BY_EVENT_LOOP)
    await live.run('UPDATE quotes SET id = id + 100 WHERE id IN (10, 11)')
    const reply = await live.readSince(BY_EVENT_LOOP, positions)
    assert.deepEqual(Object.keys(findChanged(reply)).sort(), ['[10]', '[110]', '[111]', '[11]'].sort())
    assert.equal(findChanged(reply)['[10]'], false)
    assert.deepEqual(Object.keys(readRows(reply)), ['[110]', '[111]'])
  })

  test('rows as they were, and whole results, are read at any position since', async () => {
    await live.run(
      'CREATE TABLE past (a Integer, b Text, note Text, price Decimal(18, 4), d Double, PRIMARY KEY (b, a))',
    )
    await live.run('CREATE TABLE names (id Integer PRIMARY KEY, name Text)')
    const byKey = "SELECT note, price FROM past WHERE note <> 'hidden'"
    const results = [
      'SELECT count(*) AS n, sum(price) AS total, max(note) AS last FROM past',
      'SELECT p.a, p.note, n.name FROM past p LEFT JOIN names n ON n.id = p.a ORDER BY p.b, p.a',
      'SELECT name FROM names WHERE id IN (SELECT a FROM past WHERE d > 1) UNION ALL SELECT b FROM past',
      'WITH w AS (SELECT a, price FROM past) SELECT DISTINCT a FROM w WHERE price > 0',
      'SELECT q.id, t.price FROM names q ASOF LEFT JOIN past t ON t.a <= q.id',
    ]
    await live.run(
      "INSERT INTO past VALUES (1, 'x', 'one', 1.5, 0.1), (2, 'x', 'two', 12345678901234.1234, 2), (3, 'y', NULL, NULL, 3)",
      "INSERT INTO names VALUES (1, 'first'), (2, 'second')",
    )
    const steps = [
      ["UPDATE past SET note = 'hidden', price = 9 WHERE a = 1"],
      ["UPDATE past SET note = 'shown' WHERE a = 1", "INSERT INTO past VALUES (4, 'z', 'four', 4, 4)"],
      ['DELETE FROM past WHERE a = 2', "INSERT INTO past VALUES (2, 'x', 'again', 0, 0)"],
      ['UPDATE past SET a = 7 WHERE a = 3', "UPDATE names SET name = 'other' WHERE id = 2"],
      [
        'DELETE FROM past WHERE a = 7',
        "UPDATE past SET a = 3, note = 'new' WHERE a = 4",
        'DELETE FROM names WHERE id = 1',
      ],
      ['UPDATE past SET price = price + 1 ALL'],
    ]
    const told: { positions: Positions; keys: string[]; rows: string[][] }[] = []
    for (const writes of [[], ...steps]) {
      if (writes.length > 0) await live.run(...writes)
      const rows: string[][] = []
      for (const statement of results) rows.push((await live.read(statement)).rows.map(({ row }) => row))
      const { rows: keyed, positions } = await live.read(byKey)
      const { positions: names } = await live.read('SELECT name FROM names')
      told.push({ positions: new Map([...positions, ...names]), keys: keyed.map(({ key }) => key).sort(), rows })
    }
    for (const { positions, keys, rows } of told) {
      const { rows: now } = await live.read(byKey)
      const former = await live.readFormer(byKey, positions)
      const unchanged = now.map(({ key }) => key).filter((key) => former.changed?.has(key) !== true)
      assert.deepEqual([...unchanged, ...former.rows.map(({ key }) => key)].sort(), keys)
      assert.ok([...(former.changed?.values() ?? [])].every((key) => key.wasInserted !== key.isFormerKept))
      for (const [index, statement] of results.entries()) {
        const tables = statement.includes('names') ? positions : new Map([...positions].slice(0, 1))
        const texts = (await live.readFormer(statement, tables)).rows.map(({ row }) => row)
        const isOrdered = statement.includes('ORDER BY')
        assert.deepEqual(isOrdered ? texts : texts.sort(), isOrdered ? rows[index] : rows[index]?.sort(), statement)
      }
    }
  })

  test('the earlier values of a long row are not kept, so a former result that needs them cannot be computed', async () => {
    await live.run('CREATE TABLE letters (id Integer PRIMARY KEY, body Text)')
    await live.run("INSERT INTO letters VALUES (1, 'short'), (2, repeat('long', 1000))")
    const { positions } = await live.read('SELECT body FROM letters')
    await live.run("UPDATE letters SET body = 'changed' WHERE id = 1")
    const sum = 'SELECT count(*) AS n FROM letters'
    assert.equal((await live.readFormer(sum, positions)).rows[0]?.row, '{"n":2}')
    await live.run('DELETE FROM letters WHERE id = 2')
    const { changed, rows } = await live.readFormer('SELECT body FROM letters', positions)
    assert.deepEqual([...(changed ?? [])].map(([key, { isFormerKept }]) => [key, isFormerKept]).sort(), [
      ['[1]', true],
      ['[2]', false],
    ])
    assert.deepEqual(
      rows.map(({ key }) => key),
      ['[1]'],
    )
    await assert.rejects(live.readFormer(sum, positions), LostPosition)
  })

  test('a write that fails leaves nothing in it', async () => {
    const { positions } = await live.read(BY_EVENT_LOOP)
    await assert.rejects(live.run("INSERT INTO quotes VALUES (20, 'a', 1)", "INSERT INTO quotes VALUES (20, 'b', 1)"))
    assert.equal((await live.engine.live.changedSince(positions)).size, 0)
    assert.deepEqual(findChanged(await live.readSince(BY_EVENT_LOOP, positions)), {})
  })

  test('keys of several columns are written as in the rows', async () => {
    await live.run(`CREATE TABLE fills (venue Text, at Timestamp, amount Decimal(18, 2), uid Uuid, note Text,
      PRIMARY KEY (uid, venue, at, amount))`)
    const statement = 'SELECT note FROM fills'
    const { positions } = await live.read(statement)
    await live.run(`INSERT INTO fills VALUES ('a "b"', TIMESTAMP '2026-01-02T03:04:05.678901Z', 1234567890123456.5,
      UUID '6f2c1f3a-0000-4000-8000-000000000001', 'n')`)
    const key =
      '["6f2c1f3a-0000-4000-8000-000000000001","a \\"b\\"","2026-01-02T03:04:05.678901Z","1234567890123456.50"]'
    const reply = await live.readSince(statement, positions)
    assert.deepEqual(findChanged(reply), { [key]: true })
    assert.deepEqual(readRows(reply), { [key]: { note: 'n' } })
  })

  test('a table without a primary key has changed or has not', async () => {
    await live.run('CREATE TABLE ticks (price Integer)')
    const { positions } = await live.read('SELECT price FROM ticks')
    await live.run('INSERT INTO ticks VALUES (1), (2)')
    assert.deepEqual([...(await live.engine.live.changedSince(positions))], [['ticks', 'changed']])
    const reply = await live.read('SELECT price FROM ticks')
    assert.deepEqual(reply.rows.map(({ row }) => row).sort(), ['{"price":1}', '{"price":2}'])
    assert.equal((await live.engine.live.changedSince(reply.positions)).size, 0)
    await live.run('UPDATE ticks SET price = 3 ALL')
    assert.deepEqual([...(await live.engine.live.changedSince(reply.positions))], [['ticks', 'changed']])
  })

  test('WITH (live = off): only the commits of this node are counted', async () => {
    await live.run('CREATE TABLE bulk (id Integer PRIMARY KEY) WITH (live = off)')
    const { positions } = await live.read('SELECT id FROM bulk')
    await live.run("INSERT INTO quotes VALUES (30, 'x', 1)")
    assert.equal((await live.engine.live.changedSince(positions)).size, 0, 'another table')
    await live.run('INSERT INTO bulk VALUES (1)')
    assert.deepEqual([...(await live.engine.live.changedSince(positions))], [['bulk', 'changed']])
    const later = (await live.read('SELECT id FROM bulk')).positions
    assert.ok(Number(live.engine.live.compare(positions.get('bulk') ?? '', later.get('bulk') ?? '')) < 0)
    await live.run('ALTER TABLE bulk SET WITH (live = on)')
    assert.deepEqual([...(await live.engine.live.changedSince(later))], [['bulk', 'lost']])
  })

  test('system tables have positions too', async () => {
    const { positions } = await live.read('SELECT name FROM cataloguetables')
    assert.equal((await live.engine.live.changedSince(positions)).size, 0)
    await live.run('CREATE TABLE another (id Integer PRIMARY KEY)')
    assert.deepEqual([...(await live.engine.live.changedSince(positions)).values()], ['changed'])
  })

  test('a result beyond a limit says so', async () => {
    const rows = await live.read(BY_EVENT_LOOP, { maxRows: 2 })
    assert.equal(rows.exceeded, 'rows')
    assert.equal((await live.read(BY_EVENT_LOOP, { maxBytes: 10 })).exceeded, 'bytes')
    assert.equal((await live.read(BY_EVENT_LOOP)).exceeded, 'no')
  })

  test('many changes and long rows are read apart from the event loop, with the same result', async () => {
    await live.run('CREATE TABLE many (id Integer PRIMARY KEY, note Text)')
    const { positions } = await live.read('SELECT id, note FROM many')
    const values = Array.from({ length: 1000 }, (_row, id) => `(${id}, ${id === 7 ? "repeat('x', 100000)" : "'n'"})`)
    await live.run(`INSERT INTO many VALUES ${values.join(', ')}`)
    const reply = await live.readSince('SELECT id, note FROM many', positions)
    assert.deepEqual([reply.rows.length, reply.changed?.size], [1000, 1000])
    assert.equal(JSON.parse(reply.rows.find(({ key }) => key === '[7]')?.row ?? '').note.length, 100_000)
    await live.run('UPDATE many SET note = note WHERE id = 7')
    const one = await live.readSince('SELECT id, note FROM many', reply.positions)
    assert.equal(one.rows[0]?.row.length, 100_000 + '{"id":7,"note":""}'.length)
  })

  test('changed rows are found by their keys, whatever else the statement asks', async () => {
    await live.run("UPDATE many SET note = 'n' WHERE id = 7")
    await live.run('CREATE INDEX many_by_note ON many (note)')
    const { positions } = await live.read('SELECT id FROM many')
    const statement = "SELECT id, note FROM many WHERE note >= 'm' AND note < 'o'"
    const { sql, parameters } = live.restricted(statement, positions.get('many') ?? '')
    if (kind === 'sqlite') {
      const steps = withSqlite(place(), (database) =>
        database.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters),
      )
      const details = steps.map(({ detail }) => detail).join('\n')
      assert.match(details, /^SEARCH s\d+ USING INTEGER PRIMARY KEY \(rowid=\?\)$/m)
      assert.doesNotMatch(details, /many_by_note/)
      return
    }
    const client = await connect(place())
    await client.query('BEGIN')
    await client.query(BY_KEY)
    const { rows } = await client.query(`EXPLAIN ${sql}`, [...parameters])
    await client.end()
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.match(plan, /Index Scan using "_gh_key_/)
    assert.doesNotMatch(plan, /Seq Scan|many_by_note/)
  })

  test('rights and indexes leave positions as they are; another column, a new table or none does not', async () => {
    const { positions } = await live.read(BY_EVENT_LOOP)
    await live.run("ALTER TABLE quotes SET READ SCOPE 'Platform/Market'")
    await live.run('CREATE INDEX quotes_by_symbol ON quotes (symbol)')
    assert.equal((await live.engine.live.changedSince(positions)).size, 0)
    const lost = async (statement: string, before: Positions): Promise<void> => {
      await live.run(statement)
      assert.deepEqual([...(await live.engine.live.changedSince(before))], [['Quotes', 'lost']], statement)
    }
    await lost('ALTER TABLE quotes ADD COLUMN note Text', positions)
    await assert.rejects(live.readSince(BY_EVENT_LOOP, positions), LostPosition)
    await lost(
      'ALTER TABLE quotes RENAME COLUMN id TO number',
      (await live.read('SELECT symbol FROM quotes')).positions,
    )
    const renamed = await live.read('SELECT symbol FROM quotes')
    await live.run("INSERT INTO quotes VALUES (40, 'y', 1, 'n')")
    assert.deepEqual(findChanged(await live.readSince('SELECT symbol FROM quotes', renamed.positions)), {
      '[40]': true,
    })
    await lost('ALTER TABLE quotes DROP COLUMN note', renamed.positions)
    const last = (await live.read('SELECT symbol FROM quotes')).positions
    await lost('DROP TABLE quotes', last)
    await lost('CREATE TABLE Quotes (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(12, 4))', last)
  })

  test('a write of another program wakes, and is in the log', async () => {
    const { positions } = await live.read(BY_EVENT_LOOP)
    const hasChanged = async () => (await live.engine.live.changedSince(positions)).size > 0
    const woken = committed(live.engine, hasChanged)
    await writeFromOutside(place(), "INSERT INTO quotes (id, symbol, price) VALUES (50, 'out', 1)")
    await woken
    assert.deepEqual(findChanged(await live.readSince(BY_EVENT_LOOP, positions)), { '[50]': true })
  })

  test('a commit of this node wakes', async () => {
    const told: (readonly string[] | undefined)[] = []
    const stop = live.engine.live.onCommit((tables) => told.push(tables && [...tables]))
    // A poll at the same time may fold it into a commit of others.
    for (let id = 51; id < 91 && !told.some((tables) => tables?.join() === 'Quotes'); id += 2) {
      await live.run(`INSERT INTO quotes VALUES (${id}, 'z', 1)`, `INSERT INTO quotes VALUES (${id + 1}, 'z', 1)`)
      await new Promise(setImmediate)
      await new Promise(setImmediate)
    }
    assert.deepEqual(told.at(-1), ['Quotes'], 'the table is named as in the catalogue')
    stop()
  })

  test('a malformed position, or one of nowhere, is lost', async () => {
    const known = (await live.read(BY_EVENT_LOOP)).positions.get('Quotes') ?? ''
    const [epoch] = known.split('.')
    const forged = [
      '0:0:',
      '9:5:',
      '5:9:4',
      '5:9:9',
      '5:9:7,6',
      '99999999999999999999:99999999999999999999:',
      '5:9',
      "5:9:'",
    ]
    for (const position of [
      ...['', 'x', '1.2', '#1.0123456789abcdef', 'ab.1:1:', "1.1' OR 1", '999999.zzzz', `${epoch}`, `${epoch}.`],
      ...forged.map((snapshot) => `${epoch}.${snapshot}`),
    ]) {
      const positions = new Map([['Quotes', position]])
      assert.deepEqual([...(await live.engine.live.changedSince(positions))], [['Quotes', 'lost']], position)
      await assert.rejects(live.readSince(BY_EVENT_LOOP, positions), LostPosition, position)
    }
  })

  test('a table of an earlier version gets a log when the database is opened', async () => {
    await live.close()
    const log = logName('quotes')
    for (const event of ['insert', 'update', 'delete', ...(kind === 'sqlite' ? ['rekey'] : ['truncate'])])
      await writeFromOutside(place(), `DROP TRIGGER ${log}_${event}${kind === 'sqlite' ? '' : ' ON quotes'}`)
    live = await openLiveEngine(place())
    const { positions } = await live.read(BY_EVENT_LOOP)
    await live.run("INSERT INTO quotes VALUES (60, 'old', 1)")
    assert.deepEqual(findChanged(await live.readSince(BY_EVENT_LOOP, positions)), { '[60]': true })
    await live.close()
    live = await openLiveEngine(place())
    assert.deepEqual(
      [...(await live.engine.live.changedSince(positions))],
      [['Quotes', 'changed']],
      'kept by a restart',
    )
  })

  /**
   * Of a moment at which no other transaction runs, not even one of the server itself, such as autovacuum: on PostgreSQL a
   * position names those that run, and is lost with what they have written.
   */
  const quietPositions = async (): Promise<Positions> => {
    let { positions } = await live.read(BY_EVENT_LOOP)
    const isQuiet = () => kind === 'sqlite' || /-(\d+):\1:/.test(positions.get('Quotes') ?? '')
    await until('no other transaction runs', 20_000, async () => {
      if (!isQuiet()) positions = (await live.read(BY_EVENT_LOOP)).positions
      return isQuiet()
    })
    return positions
  }

  test('what is trimmed is lost, and never a gap; a table that does not change keeps its positions', async () => {
    const other = await openLiveEngine(place(), { milliseconds: 600_000, changes: 5 })
    try {
      const quiet = (await live.read('SELECT id, note FROM many')).positions
      const first = (await live.read(BY_EVENT_LOOP)).positions
      const insert = (id: number) => live.run(`INSERT INTO quotes VALUES (${id}, 't', 1)`)
      for (let id = 100; id < 110; id++) await insert(id)
      const second = await quietPositions()
      for (let id = 110; id < 113; id++) await insert(id)
      await trimmed(other, async () => (await live.engine.live.changedSince(first)).get('Quotes') === 'lost')
      await assert.rejects(live.readSince(BY_EVENT_LOOP, first), LostPosition)
      assert.deepEqual(findChanged(await live.readSince(BY_EVENT_LOOP, second)), {
        '[110]': true,
        '[111]': true,
        '[112]': true,
      })
      await trimmed(other, () => other.engine.live.logged.includes(5))
      assert.equal((await live.engine.live.changedSince(quiet)).size, 0)
    } finally {
      await other.close()
    }
  })

  test('values of changed and deleted rows are not kept longer than the log', async () => {
    await live.run('CREATE TABLE secrets (id Integer PRIMARY KEY, word Text)')
    await live.run("INSERT INTO secrets VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    await live.run("UPDATE secrets SET word = 'other' WHERE id = 1", 'DELETE FROM secrets WHERE id > 1')
    const sql = (schema: string): string => `SELECT o0 FROM ${schema}.${logName('secrets')} WHERE o0 IS NOT NULL`
    const kept = async (): Promise<number> => {
      if (kind === 'postgres') {
        const client = await connect(place())
        const { rowCount } = await client.query(sql('gatehouse_data'))
        await client.end()
        return rowCount ?? 0
      }
      const file = new Sqlite(join(place().dataFolder, 'query.db'), { readonly: true })
      const rows = file.prepare(sql('main')).all()
      file.close()
      return rows.length
    }
    assert.equal(await kept(), 3)
    const other = await openLiveEngine(place(), { milliseconds: 0, changes: 1_000_000 })
    await trimmed(other, async () => (await kept()) === 0)
    await other.close()
  })

  if (kind === 'sqlite') {
    test('a restored file makes the positions since then lost, even with as many changes again', async () => {
      await live.close()
      const file = join(place().dataFolder, 'query.db')
      withSqlite(place(), (database) => database.pragma('wal_checkpoint(TRUNCATE)'))
      await copyFile(file, `${file}.copy`)
      live = await openLiveEngine(place())
      const kept = (await live.read(BY_EVENT_LOOP)).positions
      await live.run("INSERT INTO quotes VALUES (200, 'lost', 1)")
      const lost = (await live.read(BY_EVENT_LOOP)).positions
      await live.close()
      for (const end of ['-wal', '-shm']) await rm(file + end, { force: true })
      await copyFile(`${file}.copy`, file)
      live = await openLiveEngine(place())
      assert.deepEqual([...(await live.engine.live.changedSince(lost))], [['Quotes', 'lost']])
      await live.run("INSERT INTO quotes VALUES (201, 'other', 1)")
      assert.deepEqual([...(await live.engine.live.changedSince(lost))], [['Quotes', 'lost']])
      assert.deepEqual(findChanged(await live.readSince(BY_EVENT_LOOP, kept)), { '[201]': true })
    })
    return
  }

  test('transactions that commit out of order are each seen once', async () => {
    const [early, late] = await Promise.all([connect(place()), connect(place())])
    try {
      await early.query("BEGIN; INSERT INTO quotes VALUES (300, 'early', 1)")
      await late.query("INSERT INTO quotes VALUES (301, 'late', 1)")
      const between = await live.read(BY_EVENT_LOOP)
      assert.ok(between.rows.some(({ key }) => key === '[301]') && !between.rows.some(({ key }) => key === '[300]'))
      assert.equal((await live.engine.live.changedSince(between.positions)).size, 0)
      await early.query("INSERT INTO quotes VALUES (302, 'early', 1); COMMIT")
      assert.deepEqual([...(await live.engine.live.changedSince(between.positions))], [['Quotes', 'changed']])
      const reply = await live.readSince(BY_EVENT_LOOP, between.positions)
      assert.deepEqual(findChanged(reply), { '[300]': true, '[302]': true })
      assert.deepEqual(Object.keys(readRows(reply)), ['[300]', '[302]'])
    } finally {
      await Promise.all([early.end(), late.end()])
    }
  })

  test('writers of one table do not wait for one another', async () => {
    const [one, two] = await Promise.all([connect(place()), connect(place())])
    try {
      await one.query("BEGIN; INSERT INTO quotes VALUES (310, 'one', 1)")
      await two.query("SET lock_timeout = '1ms'; INSERT INTO quotes VALUES (311, 'two', 1)")
      await one.query('COMMIT')
    } finally {
      await Promise.all([one.end(), two.end()])
    }
  })

  test('a commit of another node wakes', async () => {
    const { positions } = await live.read(BY_EVENT_LOOP)
    const woken = committed(live.engine, async () => (await live.engine.live.changedSince(positions)).size > 0)
    const other = await openLiveEngine(place())
    await other.run("INSERT INTO quotes VALUES (320, 'node', 1)")
    await woken
    await other.close()
  })

  test('TRUNCATE makes positions lost', async () => {
    const { positions } = await live.read(BY_EVENT_LOOP)
    await writeFromOutside(place(), 'TRUNCATE quotes')
    assert.deepEqual([...(await live.engine.live.changedSince(positions))], [['Quotes', 'lost']])
  })

  test('a copy of the database has different positions', async () => {
    const { positions } = await live.read(BY_EVENT_LOOP)
    await live.close()
    const { databaseUrl } = place()
    const url = new URL(databaseUrl)
    const name = url.pathname.slice(1)
    url.pathname = `/${name}_copy`
    const server = new pg.Client({ connectionString: databaseUrl.replace(`/${name}`, '/postgres') })
    await server.connect()
    try {
      await server.query(`CREATE DATABASE "${name}_copy" TEMPLATE "${name}"`)
      const copy = await openLiveEngine({ ...place(), databaseUrl: url.href })
      assert.deepEqual([...(await copy.engine.live.changedSince(positions))], [['Quotes', 'lost']])
      await copy.close()
      await server.query(`DROP DATABASE "${name}_copy"`)
    } finally {
      await server.end()
      live = await openLiveEngine(place())
    }
    assert.equal((await live.engine.live.changedSince(positions)).size, 0)
  })

  test('the role of queries cannot write to a log', async () => {
    const client = await connect(place())
    try {
      await client.query('SET ROLE gatehouse_query')
      await client.query("INSERT INTO quotes VALUES (330, 'role', 1)")
      await assert.rejects(client.query(`DELETE FROM ${logName('quotes')}`), /permission denied/)
      await assert.rejects(client.query(`INSERT INTO ${logName('quotes')} (op, k0) VALUES (1, 1)`), /permission denied/)
    } finally {
      await client.end()
    }
  })
})

/** Trims until the log is as expected: on PostgreSQL the oldest running transaction, of whichever database, holds a trim back. */
async function trimmed({ engine }: LiveEngine, isDone: () => boolean | Promise<boolean>): Promise<void> {
  await until('the log is trimmed', 10_000, async () => {
    await engine.live.trim()
    return isDone()
  })
}

test('a snapshot with many running transactions is replaced by an older state', () => {
  const running = Array.from({ length: 60 }, (_entry, index) => String(1_000_000 + 2 * index))
  const position = writePosition('0123456789ab', 'a0b1c2', `1000000:1000200:${running.join(',')}`)
  assert.equal(position, '0123456789ab~.a0b1c2-1000000:1000000:')
  const history = new ServerHistory()
  assert.equal(comparePositions(position, '0123456789ab.a0b1c2-1000000:1000200:1000000', history), -1)
  assert.equal(comparePositions('0123456789ab.a0b1c2-5:9:5,7', '0123456789ab.a0b1c2-5:9:5', history), -1)
  assert.equal(comparePositions('0123456789ab.a0b1c2-5:9:5,7', 'ba9876543210.a0b1c2-5:9:5', history), undefined)
})

test('a position of an earlier primary is older, unless a later primary uses numbers again that it has seen', () => {
  const history = new ServerHistory()
  const primary = { startedAt: 1, recoveredTo: undefined, lost: undefined, isAccepted: false }
  const compare = (snapshot: string) => {
    const earlier = `0123456789ab.aaaaaa-${snapshot}`
    const order = comparePositions(earlier, '0123456789ab.bbbbbb-100:100:', history)
    assert.equal(comparePositions('0123456789ab.bbbbbb-100:100:', earlier, history), order && -order)
    return order
  }
  assert.equal(compare('5:9:5'), undefined, 'the primaries are not known')
  history.replace([
    { ...primary, id: 'bbbbbb', timeline: 2, nextXid: 8n },
    { ...primary, id: 'aaaaaa', timeline: 1, nextXid: 3n },
  ])
  assert.equal(compare('5:8:5'), -1)
  assert.equal(compare('5:9:5'), undefined, 'it has seen transaction 8 end')
  assert.equal(compare('5:9:5,8'), -1, 'transaction 8 was running')
  history.replace([
    { ...primary, id: 'aaaaaa', timeline: 1, nextXid: 3n },
    { ...primary, id: 'bbbbbb', timeline: 2, nextXid: 8n, lost: 'a write' },
  ])
  assert.equal(compare('5:8:5'), undefined)
})

test('the positions of many tables are one text, short if they share a snapshot', () => {
  const tables = Array.from({ length: 10 }, (_table, index) => `t${index}`)
  const snapshot = `100:200:${Array.from({ length: 40 }, (_entry, index) => 100 + index).join(',')}`
  const positions = new Map(
    tables.map((table, index) => [table, writePosition(`00000000000${index}`, 'a0b1c2', snapshot)]),
  )
  positions.set('t3', '#7.0123456789abcdef')
  const text = packPositions(tables, positions)
  assert.deepEqual(unpackPositions(tables, text), positions)
  assert.ok(Buffer.from(text).toString('base64url').length + 22 <= 700, `${text.length}`)
  assert.equal(unpackPositions(tables.slice(1), text), undefined)
  assert.deepEqual(unpackPositions([], packPositions([], new Map())), new Map())
})

async function connect({ databaseUrl }: TestPlace): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=gatehouse_data' })
  await client.connect()
  return client
}

function withSqlite<Result>({ dataFolder }: TestPlace, use: (database: Sqlite.Database) => Result): Result {
  const database = new Sqlite(join(dataFolder, 'query.db'))
  try {
    return use(database)
  } finally {
    database.close()
  }
}

/** As a program that knows nothing of the service. */
async function writeFromOutside(place: TestPlace, sql: string): Promise<void> {
  if (place.databaseUrl === '') {
    withSqlite(place, (database) => database.exec(sql))
    return
  }
  const client = await connect(place)
  await client.query(sql).finally(() => client.end())
}

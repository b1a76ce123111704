/** A backup taken under load is consistent and contains every write that was acknowledged before it began. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'
import { verifyAuditLog } from '../../packages/server/src/store/audit/verify.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { EMPTY, onEveryEngine, shortOnSqlite, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { createPostgresDatabase } from '../support/postgres.ts'
import { launchGatehouse, runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { REFUSING_RECORD } from '../support/stored-backup.ts'
import { until } from '../support/until.ts'

onEveryEngine('backup', EMPTY, (place, engine) => {
  let scratch: string
  let server: TestServer
  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'gatehouse-backup-'))
    server = await startTestServer(place())
    await writeQueryData(place())
  })
  after(async () => {
    await server.stop()
    await rm(scratch, { recursive: true, force: true })
  })

  test('taken under load and restored elsewhere: every acknowledged write is there, the audit chain is intact', async () => {
    const writer = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    let acknowledged = 0
    let writing = true
    const work = (async () => {
      while (writing) {
        const name = `role-${acknowledged + 1}`
        await writer.db
          .insertInto('roles')
          .values({ name, scopes: '[]', description: 'x'.repeat(500), require_second_factor: 0 })
          .execute()
        acknowledged += 1
      }
    })()
    while (acknowledged < 200) await new Promise((resolve) => setTimeout(resolve, 5))
    const before = acknowledged
    const target = join(scratch, 'under-load')
    const taken = gatehouse(place(), ['backup', target, '--json'], runGatehouse)
    await taken.finally(async () => {
      writing = false
      await work
      await writer.close()
    })
    assert.equal(JSON.parse(await taken).engine, place().engine)

    const other = await freshPlace(place())
    await gatehouse(other.place, ['restore', target], runGatehouse)
    const database = await openDatabase({ dataFolder: other.place.dataFolder, url: other.place.databaseUrl })
    const roles = await database.db.selectFrom('roles').select('name').execute()
    const numbers = roles.map(({ name }) => Number(name.slice(5))).sort((one, two) => one - two)
    assert.ok(numbers.length >= before, `${numbers.length} of ${before}`)
    assert.deepEqual(
      numbers,
      Array.from({ length: numbers.length }, (_value, index) => index + 1),
    )
    assert.deepEqual((await verifyAuditLog(database)).faults, [])
    const restored = await database.db
      .selectFrom('audit_log')
      .select('event')
      .orderBy('seq', 'desc')
      .executeTakeFirstOrThrow()
    assert.equal(restored.event, 'backup.restored')
    assert.deepEqual(await database.db.selectFrom('nodes').select('name').execute(), [])
    await database.close()
    assert.deepEqual(await readQueryData(other.place), await readQueryData(place()))

    const again = await startTestServer(other.place)
    assert.equal((await fetch(`${again.issuer}/readyz`)).status, 200)
    await again.stop()
    await other.leave()
  })

  test(
    'a backup is recorded in the audit log, unless the schema is older than the program: that is left as it is',
    shortOnSqlite(engine),
    async () => {
      const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
      const { version } = await database.db
        .selectFrom('schema_version')
        .selectAll()
        .orderBy('version', 'desc')
        .executeTakeFirstOrThrow()
      const taken = () =>
        database.db.selectFrom('audit_log').select('seq').where('event', '=', 'backup.taken').execute()
      const before = (await taken()).length
      await gatehouse(place(), ['backup', join(scratch, 'recorded')])
      assert.equal((await taken()).length, before + 1)
      const older = await database.db
        .deleteFrom('schema_version')
        .where('version', '=', version)
        .returningAll()
        .execute()
      await gatehouse(place(), ['backup', join(scratch, 'older')])
      assert.equal((await taken()).length, before + 1)
      const versions = await database.db.selectFrom('schema_version').select('version').execute()
      assert.ok(!versions.some((row) => row.version === version))
      await database.db.insertInto('schema_version').values(older).execute()
      await database.close()
    },
  )

  test('tables and views created in IQL are restored with rows, indexes and scopes, and accept new rows', async () => {
    const other = await freshPlace(place())
    const look = 'SELECT * FROM odd'
    const count = 'SELECT count(*) AS n FROM trades'
    const views = "SELECT * FROM cataloguetables WHERE isview AND name LIKE 'dear%'"
    const throughViews = 'SELECT dear.id, n.note FROM dear JOIN dear_notes AS n ON n.note = dear.note'
    const kept = await withDemo(place(), async (run) => {
      await run(`CREATE TABLE odd (id Integer PRIMARY KEY, price Decimal(18,6) NOT NULL, at Timestamp, day Date,
        flag Boolean DEFAULT true, note Text UNIQUE) READ SCOPE 'Platform/Trading'`)
      await run(`INSERT INTO odd (id, price, at, day, note) VALUES
        (9007199254740993, 123456789012.345678, TIMESTAMP '2026-11-15T00:26:00.123456Z', DATE '2026-11-15', 'it''s')`)
      await run('CREATE INDEX odd_by_price ON odd (price)')
      await run(`CREATE VIEW dear (id, note) READ SCOPE 'Platform/Trading' COMMENT 'Above 100'
        AS SELECT id, note FROM odd WHERE price > 100`)
      await run('CREATE VIEW dear_notes AS SELECT note FROM dear')
      await gatehouse(place(), ['backup', join(scratch, 'tables')])
      return [await run(look), await run(count), await run(views), await run(throughViews)]
    })
    assert.match(JSON.stringify(kept[2]), /Above 100.*Platform.Trading|Platform.Trading.*Above 100/)
    assert.match(JSON.stringify(kept[3]), /it's/)
    await gatehouse(other.place, ['restore', join(scratch, 'tables')])
    await withDemo(other.place, async (run) => {
      assert.deepEqual([await run(look), await run(count), await run(views), await run(throughViews)], kept)
      await run("INSERT INTO odd (id, price, note) VALUES (2, 1, 'two'), (4, 101, 'four')")
      assert.match(JSON.stringify(await run(throughViews)), /four/)
      await assert.rejects(run('DROP TABLE odd'), /409/)
      await run('DROP VIEW dear_notes')
      await run('DROP VIEW dear')
      await assert.rejects(run("INSERT INTO odd (id, price, note) VALUES (3, 1, 'two')"), /409/)
      await run('DROP TABLE odd')
    })
    await other.leave()
  })

  test('saved queries and boards are restored with their owners and readers', shortOnSqlite(engine), async () => {
    const other = await freshPlace(place())
    const list = async ({ issuer }: TestServer): Promise<unknown> => {
      const form = { grant_type: 'password', username: 'alice', password: 'wonderland-1', client_id: 'demo-cli' }
      const answer = await fetch(`${issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
      const headers = { authorization: `Bearer ${JSON.parse(await answer.text()).access_token}` }
      const found = JSON.parse(await (await fetch(`${issuer}/saved`, { headers })).text())
      const board = JSON.parse(await (await fetch(`${issuer}/saved/demo-market`, { headers })).text())
      assert.ok(found.items.length >= 4 && board.body.tiles.length > 0)
      return { found, board }
    }
    const demo = await startTestServer(place(), { flags: { '--demo': 'true' } })
    const kept = await list(demo)
    await gatehouse(place(), ['backup', join(scratch, 'saved')])
    await demo.stop()
    await gatehouse(other.place, ['restore', join(scratch, 'saved')])
    // Without the demonstration, which would create them again.
    const restored = await startTestServer(other.place)
    assert.deepEqual(await list(restored), kept)
    await restored.stop()
    await other.leave()
  })

  test('a backup is readable by its owner only', shortOnSqlite(engine), async () => {
    const target = join(scratch, 'modes')
    await gatehouse(place(), ['backup', target])
    assert.equal((await stat(target)).mode & 0o777, 0o700)
    for (const name of await readdir(target)) assert.equal((await stat(join(target, name))).mode & 0o777, 0o600, name)
  })

  test('--keep deletes the oldest backups of this installation, and nothing else', shortOnSqlite(engine), async () => {
    const folder = await mkdtemp(join(scratch, 'kept-'))
    await mkdir(join(folder, 'notes'))
    await gatehouse(place(), ['backup', join(folder, 'foreign')])
    const manifest = await readFile(join(folder, 'foreign', 'manifest.json'), 'utf8')
    await writeFile(join(folder, 'foreign', 'manifest.json'), manifest.replace(/"seal": "..../, '"seal": "AAAA'))
    // By age, not by name.
    for (const name of ['c', 'b', 'a']) {
      await gatehouse(place(), ['backup', join(folder, name), '--keep', '2'])
      if (name === 'c') await cp(join(folder, 'c'), join(folder, 'copy-of-c'), { recursive: true })
    }
    assert.deepEqual((await readdir(folder)).sort(), ['a', 'b', 'copy-of-c', 'foreign', 'notes'])
  })

  test(
    '--keep never deletes the backup that was just taken, also if a wrong clock made another one seem newer',
    shortOnSqlite(engine),
    async () => {
      const folder = await mkdtemp(join(scratch, 'clock-'))
      const clock = `const Real = Date; globalThis.Date = class extends Real {
      constructor(...words) { words.length > 0 ? super(...words) : super(Real.now() + 864e5) }
      static now() { return Real.now() + 864e5 }
    }`
      const environment = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(clock)}` }
      const wrong = await runGatehouse(['backup', join(folder, 'future'), ...readSettings(place())], { environment })
      assert.equal(wrong.status, 0, wrong.stderr)
      await gatehouse(place(), ['backup', join(folder, 'now'), '--keep', '1'])
      assert.deepEqual(await readdir(folder), ['now'])
    },
  )

  test('a backup that is stopped leaves nothing behind, and one that was killed is removed by the next', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const folder = await mkdtemp(join(scratch, 'killed-'))
      const release = await blockBackups(place())
      const child = launchGatehouse(['backup', join(folder, 'first'), ...readSettings(place())])
      await until('the backup has begun', 30_000, async () => (await readdir(folder)).length === 1)
      child.child.kill(signal)
      await release()
      assert.notEqual(await child.ended, 0)
      if (signal === 'SIGKILL') {
        assert.equal((await readdir(folder)).length, 1)
        await gatehouse(place(), ['backup', join(folder, 'second')])
      }
      assert.deepEqual(await readdir(folder), signal === 'SIGKILL' ? ['second'] : [])
    }
  })

  test('a damaged or incomplete backup is refused with the reason', shortOnSqlite(engine), async () => {
    const target = join(scratch, 'damaged')
    await gatehouse(place(), ['backup', target])
    const other = await freshPlace(place())
    const [database = ''] = (await readdir(target)).filter((name) => /roles|identity\.db/.test(name))
    await appendFile(join(target, database), 'x')
    await assert.rejects(gatehouse(other.place, ['restore', target]), /is damaged/)
    await rm(join(target, database))
    await assert.rejects(gatehouse(other.place, ['restore', target]), /is missing from the backup/)
    await rm(join(target, 'manifest.json'))
    await assert.rejects(gatehouse(other.place, ['restore', target]), /not a complete backup/)
    await other.leave()
  })

  test(
    'a backup that was changed after it was taken is refused, also if its manifest was made to match',
    shortOnSqlite(engine),
    async () => {
      const target = join(scratch, 'changed')
      await gatehouse(place(), ['backup', target])
      const other = await freshPlace(place())
      const restore = (...options: string[]) => gatehouse(other.place, ['restore', target, ...options])
      const written = await readFile(join(target, 'manifest.json'), 'utf8')
      const manifest = JSON.parse(written)
      const changed = manifest.files.find(({ name }: { name: string }) => /roles\.ndjson|identity\.db/.test(name))
      await changeRole(join(target, changed.name))
      const content = await readFile(join(target, changed.name))
      changed.sha256 = createHash('sha256').update(content).digest('hex')
      changed.bytes = content.length
      changed.rows += 1
      const write = (value: object) => writeFile(join(target, 'manifest.json'), JSON.stringify(value, null, 2))
      await write(manifest)
      await assert.rejects(restore(), /was changed after it was taken, or sealed under another master key/)
      const { seal, ...unsealed } = manifest
      assert.equal(typeof seal, 'string')
      await write(unsealed)
      await assert.rejects(restore(), /has no seal: .*earlier version.*--unsealed/)
      await write({ ...unsealed, seal: 1 })
      await assert.rejects(restore(), /not a manifest/)
      assert.deepEqual(await readdir(other.place.dataFolder).catch(() => []), [])
      await write(manifest)
      await restore('--unsealed')
      await other.leave()
    },
  )

  test(
    'the seal of a backup is checked with the master key of the settings, which a backup does not contain',
    shortOnSqlite(engine),
    async () => {
      const keyed = await freshPlace(place())
      const key = (byte: number) => ['--master-key', Buffer.alloc(32, byte).toString('base64')]
      const target = join(scratch, 'keyed')
      await gatehouse(keyed.place, ['migrate', '--create', ...key(1)])
      await gatehouse(keyed.place, ['keys', 'rotate', ...key(1)])
      await assert.rejects(gatehouse(keyed.place, ['backup', target]), /master key is missing/)
      await assert.rejects(gatehouse(keyed.place, ['backup', target, ...key(2)]), /another master key/)
      await gatehouse(keyed.place, ['backup', target, ...key(1)])
      assert.ok(!(await readdir(target)).includes('master.key'))
      const other = await freshPlace(place())
      await assert.rejects(gatehouse(other.place, ['restore', target]), /cannot be checked: set GATEHOUSE_MASTER_KEY/)
      await assert.rejects(gatehouse(other.place, ['restore', target, ...key(2)]), /sealed under another master key/)
      await gatehouse(other.place, ['restore', target, ...key(1)])
      await other.leave()
      await keyed.leave()
    },
  )

  test(
    'a restore that is stopped leaves nothing behind; a temporary file is no data',
    shortOnSqlite(engine),
    async () => {
      const target = join(scratch, 'stopped')
      await gatehouse(place(), ['backup', target])
      const other = await freshPlace(place())
      const { dataFolder, databaseUrl } = other.place
      await mkdir(dataFolder, { recursive: true })
      await writeFile(join(dataFolder, 'start.lock.tmp'), '')
      // On SQLite a restore is too short to be met in the middle.
      if (databaseUrl !== '')
        await onPostgres(databaseUrl, async (client) => {
          await client.query('begin; create schema gatehouse')
          const child = launchGatehouse(['restore', target, ...readSettings(other.place)])
          await until('the restore has begun', 30_000, async () => (await readdir(dataFolder)).length > 1)
          child.child.kill('SIGTERM')
          assert.notEqual(await child.ended, 0)
          assert.deepEqual(await readdir(dataFolder), ['start.lock.tmp'])
        })
      await gatehouse(other.place, ['restore', target])
      await other.leave()
    },
  )

  if (engine === 'sqlite')
    test('a restore that the audit log cannot record leaves nothing behind', async () => {
      const target = join(scratch, 'unrecorded')
      const database = new SqliteDatabase(join(place().dataFolder, 'identity.db'))
      database.exec(REFUSING_RECORD)
      await gatehouse(place(), ['backup', target]).finally(() => {
        database.exec('drop trigger refusing_record')
        database.close()
      })
      const other = await freshPlace(place())
      await assert.rejects(gatehouse(other.place, ['restore', target], runGatehouse), /there is no room/)
      assert.deepEqual(await readdir(other.place.dataFolder), [])
      await other.leave()
    })

  test('neither a backup nor data is overwritten', shortOnSqlite(engine), async () => {
    const target = join(scratch, 'kept')
    await gatehouse(place(), ['backup', target])
    await assert.rejects(gatehouse(place(), ['backup', target]), /exists already/)
    await assert.rejects(gatehouse(place(), ['restore', target]), /not empty/)
    const nowhere = { ...place(), dataFolder: '/proc/none/data' }
    await assert.rejects(
      gatehouse(nowhere, ['restore', target]),
      /The data folder \/proc\/none\/data cannot be created \(\w+\): make \/proc writable/,
    )
    if (place().engine === 'postgres') {
      const emptyFolder = { ...place(), dataFolder: join(scratch, 'empty') }
      await assert.rejects(
        gatehouse(emptyFolder, ['restore', target]),
        /The database postgres:\/\/[^@]+\/\w+ is not empty \(it has gatehouse\.\w+\): name an empty one/,
      )
    }
  })
})

/** Locks something that a backup reads; returns the release. */
async function blockBackups({ engine, dataFolder, databaseUrl }: TestPlace): Promise<() => unknown> {
  if (engine === 'sqlite') {
    const database = new SqliteDatabase(join(dataFolder, 'extra.db'))
    database.exec('begin exclusive')
    return () => database.close()
  }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin; lock table gatehouse_extra.child in access exclusive mode')
  return () => client.end()
}

/** Makes a user an administrator. */
async function changeRole(file: string): Promise<void> {
  if (file.endsWith('.db')) {
    const database = new SqliteDatabase(file)
    database.exec("insert into roles (name, scopes, description, require_second_factor) values ('x', '[]', '', 0)")
    database.pragma('journal_mode = delete')
    return void database.close()
  }
  const row = { name: 'x', scopes: '[]', description: '', require_second_factor: 0 }
  const rows = gunzipSync(await readFile(file)).toString()
  await writeFile(file, gzipSync(`${rows}${JSON.stringify(row)}\n`))
}

function readSettings({ dataFolder, databaseUrl }: TestPlace): string[] {
  return ['--data', dataFolder, '--database-url', databaseUrl]
}

/** Values that a careless conversion would alter. */
const AWKWARD = ['1.10', '9007199254740993', 'it\'s \\ "x"\n\u2028', '\u{1F600}']

async function writeQueryData(place: TestPlace): Promise<void> {
  if (place.engine === 'sqlite') {
    const database = new SqliteDatabase(join(place.dataFolder, 'extra.db'))
    database.exec('create table "Odd ""Name" (id integer primary key, big integer, value text, raw blob)')
    const insert = database.prepare('insert into "Odd ""Name" (big, value, raw) values (?, ?, ?)')
    for (const value of AWKWARD) insert.run(9007199254740993n, value, Buffer.from(value))
    database.close()
    return
  }
  await onPostgres(place.databaseUrl, async (client) => {
    await client.query(`create schema gatehouse_extra;
      create table gatehouse_extra."Odd ""Name" (
        id bigint generated always as identity primary key, big bigint, price numeric(18, 6), value text collate "C" not null,
        raw bytea, at timestamptz, float double precision, doubled bigint generated always as (big * 2) stored,
        unique (value), check (price > 0));
      create table gatehouse_extra.child (parent bigint references gatehouse_extra."Odd ""Name" (id), note jsonb default '{}');
      create index odd_by_price on gatehouse_extra."Odd ""Name" (price desc) where big > 0`)
    for (const [index, value] of AWKWARD.entries()) {
      await client.query(
        `insert into gatehouse_extra."Odd ""Name" (big, price, value, raw, at, float)
         values (4503599627370497 + $1, 123456789012.345678, $2, $3, '2026-11-15 00:26:00.123456+00', $4::float8)`,
        [index, value, Buffer.from(value), ['0.1', 'NaN', 'Infinity', '1e-300'][index]],
      )
    }
    await client.query(
      `insert into gatehouse_extra.child values (1, '{"n": 12345678901234567890.10}'), (null, default)`,
    )
  })
}

async function readQueryData(place: TestPlace): Promise<unknown> {
  if (place.engine === 'sqlite') {
    const database = new SqliteDatabase(join(place.dataFolder, 'extra.db'), { readonly: true })
    const rows = database.prepare('select * from "Odd ""Name"').safeIntegers(true).all()
    database.close()
    return rows
  }
  return await onPostgres(place.databaseUrl, async (client) => ({
    rows: (
      await client.query(`select o::text, c::text from gatehouse_extra."Odd ""Name" o
      full join gatehouse_extra.child c on c.parent = o.id order by o.id`)
    ).rows,
    layout: (
      await client.query(`select pg_get_indexdef(indexrelid) from pg_index
      join pg_class on pg_class.oid = indrelid join pg_namespace n on n.oid = relnamespace
      where nspname like 'gatehouse%' and relname not like '\\_gh\\_log%' order by 1`)
    ).rows,
    constraints: (
      await client.query(`select conname, pg_get_constraintdef(oid) from pg_constraint
      where connamespace = 'gatehouse_extra'::regnamespace order by 1`)
    ).rows,
  }))
}

async function onPostgres<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function freshPlace(like: TestPlace): Promise<{ place: TestPlace; leave(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-restored-'))
  const database = like.engine === 'postgres' ? await createPostgresDatabase() : undefined
  return {
    place: { engine: like.engine, dataFolder: join(folder, 'data'), databaseUrl: database?.url ?? '' },
    async leave() {
      await database?.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Resolves with what the command prints; rejects with its error. */
async function gatehouse(place: TestPlace, args: readonly string[], run = runInProcess): Promise<string> {
  const environment = { GATEHOUSE_DATA: place.dataFolder, GATEHOUSE_DATABASE_URL: place.databaseUrl }
  const { status, stdout, stderr } = await run(args, { environment })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

/** Runs `work` with a demonstration server; `run` returns the rows of a statement. */
async function withDemo<T>(
  place: TestPlace,
  work: (run: (statement: string) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const { issuer, stop } = await startTestServer(place, { flags: { '--demo': 'true' } })
  try {
    const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
    const answer = await fetch(`${issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    const { access_token } = JSON.parse(await answer.text())
    return await work(async (statement) => {
      const response = await fetch(`${issuer}/query`, {
        method: 'POST',
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'text/plain' },
        body: statement,
      })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${response.status} ${text}`)
      return JSON.parse(text).Rows
    })
  } finally {
    await stop()
  }
}

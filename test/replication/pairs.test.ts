/** Replication beside whatever else changes a data folder: retention, VACUUM, compact, move, workers, an upgrade of the schema. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { startReplication } from '../../packages/server/src/replication/replication.ts'
import { readStatus } from '../../packages/server/src/replication/spool/status.ts'
import { FolderTarget } from '../../packages/server/src/replication/target/folder.ts'
import { MIGRATIONS } from '../../packages/server/src/store/database/migrations.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { createOlderSchema } from '../support/older-schema.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'
import {
  BACKUP_KEY,
  DATABASE_FILES,
  endWriters,
  listDescendants,
  replicationOptions,
  restoreDatabases,
  startWriters,
  untilStored,
} from '../support/replicated-folder.ts'
import { until } from '../support/until.ts'

const KEY = BACKUP_KEY.toString('base64')
const MIB = 2 ** 20

let scratch: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-pairs-'))
})
afterEach(endWriters)
after(async () => {
  await stopOwnPostgres()
  await rm(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

interface Place {
  readonly data: string
  readonly target: string
  readonly flags: readonly string[]
}

async function newPlace(name: string): Promise<Place> {
  const [data, target] = [join(scratch, name), join(scratch, `${name}-target`)]
  return { data, target, flags: ['--data', data, '--backup-url', `file://${target}`, '--backup-key', KEY] }
}

async function serve(flags: readonly string[]): Promise<RunningProcess> {
  return serveProcess(['--demo', ...flags])
}

async function administer(server: RunningProcess): Promise<(statement: string) => Promise<void>> {
  const { access_token: token } = await signIn(server, ADMIN)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
  return async (body) => {
    const reply = await fetch(`${server.issuer}/query`, { method: 'POST', headers, body })
    assert.equal(reply.status, 200, `${body}: ${await reply.text()}`)
  }
}

/** The last moment, compared with the stopped server's files page by page. */
async function assertRestored({ data, target }: Place, at?: number): Promise<string> {
  const restored = join(scratch, 'restored')
  await restoreDatabases(new FolderTarget(target), restored, at)
  if (at === undefined)
    for (const file of DATABASE_FILES.filter((name) => existsSync(join(data, name))))
      assert.ok((await readFile(join(data, file))).equals(await readFile(join(restored, file))), file)
  return restored
}

function count(folder: string, table: string): number {
  const database = new Sqlite(join(folder, 'query.db'), { readonly: true })
  try {
    return Number(database.prepare(`select count(*) from ${table}`).pluck().get())
  } finally {
    database.close()
  }
}

test('retention, dropped tables, compact and a start after it: the copy is equal, page by page', async () => {
  const place = await newPlace('retention')
  const server = await serve(place.flags)
  const query = await administer(server)
  await query('CREATE TABLE ticks (id Integer PRIMARY KEY, at Timestamp NOT NULL, note Text)')
  await query('CREATE INDEX ticks_at ON ticks (at)')
  const rows = Array.from({ length: 2_000 }, (_, id) => `(${id}, '2026-01-01T00:00:00Z', '${'x'.repeat(200)}')`)
  for (let at = 0; at < rows.length; at += 200)
    await query(`INSERT INTO ticks VALUES ${rows.slice(at, at + 200).join(', ')}`)
  await query('CREATE TABLE dropped (id Integer PRIMARY KEY, note Text)')
  await query(`INSERT INTO dropped SELECT id, note FROM ticks`)
  await untilStored(place.data)
  const full = Date.now()
  await query("ALTER TABLE ticks SET WITH (retention = '1 day' ON at)")
  await query('DROP TABLE dropped')
  const run = await fetch(`${server.issuer}/admin/retention/ticks/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${(await signIn(server, ADMIN)).access_token}` },
  })
  assert.equal(run.status, 200, await run.text())
  await until('the rows are deleted', 60_000, () => count(place.data, 'ticks') === 0)
  await untilStored(place.data)
  await server.stop()
  await assertRestored(place)
  assert.equal(count(await assertRestored(place, full), 'ticks'), 2_000, 'before the retention')

  const before = (await readFile(join(place.data, 'query.db'))).length
  const compacted = await runGatehouse(['compact', '--data', place.data])
  assert.equal(compacted.status, 0, compacted.stderr)
  assert.ok((await readFile(join(place.data, 'query.db'))).length < before, 'the file is shorter')
  const again = await serve(place.flags)
  await untilStored(place.data)
  await again.stop()
  await assertRestored(place)
  assert.equal((await readdir(place.target)).length, 1, 'one generation')
})

test('a VACUUM of more than fits in one segment: merged into several objects, and restored', IN_LONG_RUNS, async () => {
  const place = await newPlace('vacuum')
  await mkdir(place.data)
  const database = new Sqlite(join(place.data, 'query.db'))
  database.pragma('journal_mode = wal')
  database.exec(`create table large (id integer primary key, content blob);
    insert into large with recursive n(i) as (select 1 union all select i + 1 from n where i < 150) select i, randomblob(${MIB}) from n`)
  const timing = { periods: [1_000, 3_000], mergeEveryMs: 200 } as const
  const options = replicationOptions(place.data, `file://${place.target}`, { timing, rate: 2 ** 28 })
  const writers = startWriters(options, { count: 1, pauseMs: 50 })
  await writers.logged('a base of the backup is stored')
  database.exec('delete from large where id % 10 = 0; vacuum')
  database.close()
  const [generation = ''] = await readdir(place.target)
  const sizes = async (level: number): Promise<readonly number[]> => {
    const folder = join(place.target, generation, 'segments', String(level))
    const names = await readdir(folder).catch(() => [])
    return Promise.all(names.map(async (name) => (await readFile(join(folder, name))).length))
  }
  for (const level of [1, 2])
    await until(
      `segments of level ${level} have the pages`,
      60_000,
      async () => (await sizes(level)).reduce((sum, size) => sum + size, 0) > 130 * MIB,
    )
  await writers.stop()
  for (const level of [0, 1, 2])
    for (const size of await sizes(level)) assert.ok(size < 64 * MIB, `an object of level ${level} has ${size} bytes`)
  await assertRestored(place)
})

test('a server that has views and nothing to do stores nothing', async (t) => {
  const place = await newPlace('idle')
  const server = await serve([...place.flags, '--demo-market=false'])
  t.after(() => server.stop())
  await untilStored(place.data)
  const keeper = new Sqlite(join(place.data, 'query.db'), { readonly: true })
  await until('the views have a keeper', 30_000, () => keeper.prepare('select 1 from _gh_keeper').get() !== undefined)
  keeper.close()
  await sleep(5_000)
  const [generation = ''] = await readdir(place.target)
  const stored = async () => (await readdir(join(place.target, generation, 'segments', '0'))).length
  const before = await stored()
  await sleep(10_000)
  // Something is done now and then, such as every minute.
  const added = (await stored()) - before
  assert.ok(added <= 2, `${added} segments in 10 s`)
})

test('a server with workers replicates once, and loses nothing when they are killed', async () => {
  const place = await newPlace('workers')
  const server = await serve([...place.flags, '--workers', '2'])
  await until('all workers have started', 30_000, () => server.output().stdout.includes('all workers have started'))
  const query = await administer(server)
  await query('CREATE TABLE notes (id Integer PRIMARY KEY)')
  await until('there is a base', 60_000, () => readStatus(place.data)?.base !== undefined)
  const replicators = listDescendants(server.child.pid ?? 0).filter(isReplicator)
  assert.equal(replicators.length, 1)
  for (let id = 1; id <= 5; id++) await query(`INSERT INTO notes VALUES (${id})`)
  // Whichever: the supervisor starts another one.
  const worker = listDescendants(server.child.pid ?? 0).find((pid) => readCommand(pid).includes('worker'))
  assert.ok(worker !== undefined)
  process.kill(worker, 'SIGKILL')
  for (let id = 6; id <= 10; id++)
    await until('the row is written', 30_000, () =>
      query(`INSERT INTO notes VALUES (${id})`).then(
        () => true,
        // It may have been written by the worker that was killed.
        (error) => String(error).includes('Data.UniqueViolation'),
      ),
    )
  await server.stop()
  assert.equal(count(await assertRestored(place), 'notes'), 10)
})

test('an upgrade of the schema: moments before and after it can be restored, and a server starts on both', async () => {
  const place = await newPlace('upgrade')
  const first = await serve(['--data', place.data])
  await first.stop()
  const older = MIGRATIONS.length - 1
  await createOlderSchema({ engine: 'sqlite', dataFolder: place.data, databaseUrl: '' }, older)
  const writers = startWriters(replicationOptions(place.data, `file://${place.target}`), { count: 1 })
  await writers.logged('a base of the backup is stored')
  await untilStored(place.data)
  const before = Date.now()
  await writers.stop()
  const upgrading = await serve(place.flags)
  await untilStored(place.data)
  await upgrading.stop()
  assert.equal((await readdir(place.target)).length, 1, 'one generation')
  assert.equal(readVersion(await assertRestored(place)), MIGRATIONS.length)
  assert.equal(readVersion(await assertRestored(place, before)), older)
  for (const at of [[], ['--at', new Date(before).toISOString()]]) {
    const folder = await mkdtemp(join(scratch, 'upgraded-'))
    const words = [`file://${place.target}`, '--data', folder, '--backup-key', KEY, ...at]
    const restored = await runGatehouse(['restore', ...words])
    assert.equal(restored.status, 0, restored.stderr)
    const server = await serve(['--data', folder])
    assert.equal((await fetch(`${server.issuer}/readyz`)).status, 200)
    await server.stop()
  }
})

test('moments before the tables of the databases were made, and before most of the databases: a server starts on them', async () => {
  const place = await newPlace('early')
  await mkdir(place.data)
  await writeFile(join(place.data, 'gatehouse.json'), JSON.stringify({ format: 1 }))
  const create = (file: string) => {
    const database = new Sqlite(join(place.data, file))
    database.pragma('journal_mode = wal')
    return database
  }
  const query = create('query.db')
  const logger = createLogger({ level: 'error', format: 'json', destination: process.stderr })
  const replication = startReplication(replicationOptions(place.data, `file://${place.target}`), logger)
  const moments: number[] = []
  const captured = async () => {
    await untilStored(place.data)
    moments.push(Date.now())
  }
  try {
    await captured()
    const others = ['identity.db', 'feeds.db'].map(create)
    query.exec('create table other (id integer primary key)')
    await captured()
    for (const database of [query, ...others]) database.close()
  } finally {
    await replication.stop()
  }
  for (const at of [['--at', new Date(moments[0] ?? 0).toISOString()], []]) {
    const folder = await mkdtemp(join(scratch, 'early-'))
    const words = [`file://${place.target}`, '--data', folder, '--backup-key', KEY, ...at]
    const restored = await runGatehouse(['restore', ...words])
    assert.equal(restored.status, 0, restored.stderr)
    const server = await serve(['--data', folder])
    assert.equal((await fetch(`${server.issuer}/readyz`)).status, 200)
    await server.stop()
  }
})

test(
  'move to PostgreSQL and back: both are listed at one address, and each restores its own',
  IN_LONG_RUNS,
  async () => {
    const place = await newPlace('moved')
    const database = await createPostgresDatabase()
    try {
      const server = await serve(place.flags)
      const query = await administer(server)
      await query('CREATE TABLE notes (id Integer PRIMARY KEY)')
      await query('INSERT INTO notes VALUES (1)')
      await untilStored(place.data)
      await server.stop()
      const moved = await runGatehouse(['move', '--data', place.data, '--to', database.url])
      assert.equal(moved.status, 0, moved.stderr)
      const onPostgres = await serve([...place.flags, '--database-url', database.url])
      await (await administer(onPostgres))('INSERT INTO notes VALUES (2)')
      const began = Date.now()
      await runGatehouse(['backups', 'take', ...place.flags, '--database-url', database.url])
      await until('a dump is stored', 60_000, () => (readStatus(place.data)?.moment ?? 0) > began)
      await onPostgres.stop()
      const listed = await runGatehouse(['restore', `file://${place.target}`, '--list', '--json', '--backup-key', KEY])
      const generations: readonly { generation: string }[] = JSON.parse(listed.stdout)
      assert.deepEqual(generations.map(({ generation }) => generation.startsWith('postgres-')).sort(), [false, true])

      const folder = join(scratch, 'before-move')
      const sqlite = await runGatehouse(['restore', `file://${place.target}`, '--data', folder, '--backup-key', KEY])
      assert.equal(sqlite.status, 0, sqlite.stderr)
      assert.equal(count(folder, 'notes'), 1)
      const other = await createPostgresDatabase()
      const words = ['--data', join(scratch, 'after-move'), '--database-url', other.url, '--backup-key', KEY]
      const dump = await runGatehouse(['restore', `file://${place.target}`, ...words])
      assert.equal(dump.status, 0, dump.stderr)
      await other.drop()
    } finally {
      await database.drop()
    }
  },
)

function isReplicator(pid: number): boolean {
  return readCommand(pid).includes('replicator-main')
}

/** Empty if it has ended. */
function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function readVersion(folder: string): number {
  const database = new Sqlite(join(folder, 'identity.db'), { readonly: true })
  try {
    return Number(database.prepare('select max(version) from schema_version').pluck().get())
  } finally {
    database.close()
  }
}

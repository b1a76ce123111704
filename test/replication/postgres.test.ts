/** Dumps of PostgreSQL at backup_url: by one node, restored as of a time into an empty database, and read back by themselves. */
import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, readFile, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import pg from 'pg'
import { leaveRequest } from '../../packages/server/src/replication/spool/requests.ts'
import { readStatus } from '../../packages/server/src/replication/spool/status.ts'
import { IN_LONG_RUNS, openPlace, type TestPlace } from '../support/engines.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const KEY = Buffer.alloc(32, 9).toString('base64')
const STORED = 'a dump of PostgreSQL is stored'

let scratch: string
let target: string
let place: TestPlace
let leave: () => Promise<void>
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-dumps-'))
  target = join(scratch, 'target')
  const opened = await openPlace('postgres', { isMigrated: true })
  place = opened.place
  leave = opened.leave
})
after(async () => {
  await leave()
  await stopOwnPostgres()
  await rm(scratch, { recursive: true, force: true })
})

async function inDatabase<Row extends pg.QueryResultRow>(url: string, text: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

const addRole = (name: string) =>
  inDatabase(
    place.databaseUrl,
    `insert into gatehouse.roles (name, scopes, description, require_second_factor) values ('${name}', '[]', '', 0)`,
  )

/** Into a new database, which has nothing in it if that fails. */
async function restore(words: readonly string[], { url = `file://${target}`, key = KEY } = {}) {
  const database = await createPostgresDatabase()
  const folder = await mkdtemp(join(scratch, 'restored-'))
  const data = join(folder, 'data')
  const flags = ['--data', data, '--database-url', database.url, '--backup-key', key]
  const { status, stderr, stdout } = await runGatehouse(['restore', url, ...words, ...flags])
  const roles =
    status === 0
      ? await inDatabase<{ name: string }>(
          database.url,
          "select name from gatehouse.roles where name like 'r-%' order by 1",
        )
      : await inDatabase<{ name: string }>(
          database.url,
          "select tablename as name from pg_tables where schemaname = 'gatehouse'",
        )
  // The dump is not left beside the data folder.
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name !== 'data'),
    [],
  )
  if (status !== 0) assert.deepEqual(await readdir(data).catch(() => []), [])
  await database.drop()
  return { status, stderr, stdout, roles: roles.map(({ name }) => name) }
}

async function start(t: TestContext, key = KEY): Promise<TestServer> {
  const server = await startTestServer(place, { flags: { '--backup-url': `file://${target}`, '--backup-key': key } })
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= server.stop())
  t.after(stop)
  return { ...server, stop }
}

test('a dump each backup_full and when asked for; --at takes the one before', async (t) => {
  const server = await start(t)
  const dumps = () => server.log.filter((line) => line.includes(STORED)).length
  await addRole('r-1')
  await until('a dump is stored', 60_000, () => dumps() >= 1)
  const between = Date.now()
  await addRole('r-2')
  leaveRequest(place.dataFolder, 'take')
  await until('another dump is stored', 60_000, () => dumps() === 2)
  leaveRequest(place.dataFolder, 'verify')
  await until('it is read back', 60_000, () => readStatus(place.dataFolder)?.verified !== undefined)
  const events = await inDatabase<{ event: string }>(
    place.databaseUrl,
    "select event from gatehouse.audit_log where event like 'backup.%' order by seq",
  )
  assert.deepEqual(
    events.map(({ event }) => event),
    ['backup.taken', 'backup.taken', 'backup.verified'],
  )
  const status = readStatus(place.dataFolder)
  assert.equal(status?.behindSince, undefined)
  assert.equal(status?.error, undefined)
  await server.stop()

  const last = await restore([])
  assert.equal(last.status, 0, last.stderr)
  assert.deepEqual(last.roles, ['r-1', 'r-2'])
  const earlier = await restore(['--at', new Date(between).toISOString(), '--json'])
  assert.equal(earlier.status, 0, earlier.stderr)
  assert.deepEqual(earlier.roles, ['r-1'])
  assert.equal(JSON.parse(earlier.stdout).engine, 'postgres')
  const tooEarly = await restore(['--at', '2001-01-01T00:00:00Z'])
  assert.match(tooEarly.stderr, /There is no dump from before 2001/)
  const listed = await runGatehouse(['restore', `file://${target}`, '--list', '--json', '--backup-key', KEY])
  assert.equal(JSON.parse(listed.stdout)[0].bases, 2, listed.stderr)
})

test('a second start sends no dump before its time', async (t) => {
  const server = await start(t)
  const began = Date.now()
  await until('the newest is known', 30_000, () => {
    const { at = 0, base } = readStatus(place.dataFolder) ?? {}
    return at > began && base !== undefined
  })
  await server.stop()
  assert.equal(server.log.filter((line) => line.includes(STORED)).length, 0)
})

test('another key, and parts that are cut, exchanged or missing, restore nothing', IN_LONG_RUNS, async () => {
  const other = await restore([], { key: Buffer.alloc(32, 1).toString('base64') })
  assert.match(other.stderr, /sealed with another backup_key/)
  assert.deepEqual(other.roles, [])
  for (const [change, message] of [
    [(file: string) => truncate(file, 100), /is not what its dump lists/],
    [(file: string) => rm(file), /is missing/],
    [(file: string) => cp(`${file.slice(0, -1)}1`, file), /is not what its dump lists/],
  ] as const) {
    const copy = await mkdtemp(join(scratch, 'changed-'))
    await cp(target, copy, { recursive: true })
    const [generation = ''] = await readdir(copy)
    const newest = (await readdir(join(copy, generation, 'dumps'))).sort().at(-1) ?? ''
    await change(join(copy, generation, 'dumps', newest, '00000000'))
    const refused = await restore([], { url: `file://${copy}` })
    assert.equal(refused.status, 1)
    assert.match(refused.stderr, message)
    assert.deepEqual(refused.roles, [])
  }
})

test('what is sent cannot be read without the key', async () => {
  for (const entry of await readdir(target, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name !== 'conditions')
      assert.equal((await readFile(join(entry.parentPath, entry.name))).toString('latin1', 0, 4), 'GHB1')
})

test('with another backup_key a dump is taken at once, and those before are restored with the key of then', async (t) => {
  const between = Date.now()
  const other = Buffer.alloc(32, 1).toString('base64')
  await addRole('r-3')
  const server = await start(t, other)
  await until('a dump is stored', 60_000, () => server.log.some((line) => line.includes(STORED)))
  await server.stop()
  assert.ok(server.log.some((line) => line.includes('the last dump at the target cannot be read')))
  assert.equal((await restore([], { key: other })).roles.at(-1), 'r-3')
  assert.equal((await restore(['--at', new Date(between).toISOString()])).roles.at(-1), 'r-2')
  assert.match((await restore([])).stderr, /sealed with another backup_key/)
  const listed = await runGatehouse(['restore', `file://${target}`, '--list', '--backup-key', KEY])
  assert.match(listed.stdout, /not with this backup_key/, listed.stderr)
})

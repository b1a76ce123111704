/** `gatehouse move` that is killed, refused or given up: no row is lost or doubled, and of two copies at most one is served. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'
import { IS_LONG_RUN } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { launchGatehouse } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const ROWS = IS_LONG_RUN ? 100_000 : 40_000
let scratch: string
/** A data folder with two long tables, which the tests copy. */
let model: string
const databases: { drop(): Promise<void> }[] = []

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-move-'))
  model = join(scratch, 'model')
  const server = await startTestServer(
    { engine: 'sqlite', dataFolder: model, databaseUrl: '' },
    { flags: { '--demo': 'true' } },
  )
  const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
  const reply = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
  const headers = {
    authorization: `Bearer ${JSON.parse(await reply.text()).access_token}`,
    'content-type': 'text/plain',
  }
  for (const body of [
    'CREATE TABLE keyed (id Integer PRIMARY KEY, note Text UNIQUE)',
    'CREATE TABLE keyless (id Integer, note Text)',
  ])
    assert.equal((await fetch(`${server.issuer}/query`, { method: 'POST', headers, body })).status, 200)
  await server.stop()
  write(
    model,
    `INSERT INTO keyed WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
    SELECT i, 'row ' || i FROM n; INSERT INTO keyless SELECT id / 2, 'row ' || (id / 2) FROM keyed`,
  )
})
after(async () => {
  for (const database of databases) await database.drop()
  await stopOwnPostgres()
  await rm(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

test('a move that is killed while it copies and while it compares continues, in both directions', async () => {
  const [folder, url] = [await copyOfModel('killed'), await newDatabase()]
  const client = await connect(url)
  const there = ['--data', folder, '--to', url]
  await killWhen(there, () => isBetween(client, 'query.keyed'))
  if (IS_LONG_RUN) await killWhen(there, () => isBetween(client, 'query.keyless'))
  await killWhen(there, async () => (await readState(client, 'query.keyed'))?.state === 'verified')
  for (const place of [
    ['--data', folder],
    ['--data', folder, '--database-url', url],
  ])
    assert.match(await catchRefusal(['serve', '--port', '0', ...place]), /unfinished/)
  assert.match((await gatehouse(['move', ...there, '--json'])).stdout, /"isResumed":true/)
  const sums = 'SELECT count(*), sum(id), count(DISTINCT note) FROM gatehouse_data.'
  for (const [table, ids] of [
    ['keyed', ROWS],
    ['keyless', ROWS / 2],
  ] as const) {
    const { rows } = await client.query({ text: sums + table, rowMode: 'array' })
    assert.deepEqual(rows[0]?.map(Number), sumsIn(folder, table), table)
    assert.ok(Number(rows[0]?.[2]) >= ids)
  }
  await client.end()

  const back = join(scratch, 'back')
  const home = ['--data', folder, '--database-url', url, '--to', back]
  if (IS_LONG_RUN) await killWhen(home, async () => isBetweenIn(back, 'query.keyed'))
  await killWhen(home, async () => isBetweenIn(back, 'query.keyless'))
  await gatehouse(['move', ...home])
  for (const table of ['keyed', 'keyless']) assert.deepEqual(sumsIn(back, table), sumsIn(folder, table))
  const server = await startTestServer({ engine: 'sqlite', dataFolder: back, databaseUrl: '' })
  await server.stop()
})

test('a copy that differs from its source is found, with the table, the row and the column', async () => {
  const [folder, url] = [await copyOfModel('differing'), await newDatabase()]
  const client = await connect(url)
  const there = ['--data', folder, '--to', url]
  await killWhen(there, async () => (await readState(client, 'query.keyed'))?.state === 'copied')
  await client.query(`UPDATE gatehouse_data.keyed SET note = 'changed' WHERE id = 4711`)
  assert.match(
    await catchRefusal(['move', ...there]),
    /query\.keyed .*id = 4711.* note is "changed" instead of "row 4711"/,
  )
  await client.query(`DELETE FROM gatehouse_data.keyed WHERE id = 4711`)
  assert.match(await catchRefusal(['move', ...there]), /query\.keyed /)
  assert.match(await catchRefusal(['serve', '--port', '0', '--data', folder]), /is being moved/)
  await gatehouse(['move', '--reopen', '--data', folder])
  assert.match(await catchRefusal(['move', ...there]), /unfinished move from .* was reopened or is another one/)
  await client.end()
})

test('a moved database is not served until it is reopened, and offline commands refuse it', async () => {
  const [folder, url] = [await copyOfModel('moved'), await newDatabase()]
  write(folder, 'DELETE FROM keyed; DELETE FROM keyless')
  await gatehouse(['move', '--data', folder, '--to', url])
  for (const command of [
    ['serve', '--port', '0'],
    ['user', 'list'],
  ])
    assert.match(await catchRefusal([...command, '--data', folder]), /was moved to postgres:.*move --reopen/)
  assert.match(await catchRefusal(['move', '--data', folder, '--to', url]), /was moved to postgres:/)
  assert.match((await gatehouse(['doctor', '--data', folder], 1)).stdout, /was moved to postgres:.*database\.moved/)
  await gatehouse(['user', 'list', '--data', folder, '--database-url', url])
  assert.match(
    await catchRefusal(['move', '--data', folder, '--database-url', url, '--to', folder]),
    /holds the data that was moved/,
  )
  const open = join(scratch, 'open')
  await mkdir(open)
  await chmod(open, 0o777)
  assert.match(
    await catchRefusal(['move', '--data', folder, '--database-url', url, '--to', open]),
    /Everyone on this machine can write to .*open \(mode 777\)/,
  )
  const client = await connect(url)
  await client.query(`UPDATE gatehouse_data._gh_tables SET created = 'infinity' WHERE key = 'keyed'`)
  await client.end()
  const away = ['--data', folder, '--database-url', url, '--to', join(scratch, 'away')]
  assert.match(
    await catchRefusal(['move', ...away]),
    /_gh_tables \(key = keyed\): created is infinity, which is outside/,
  )
  assert.ok(!existsSync(join(scratch, 'away')))
  assert.match((await gatehouse(['move', '--reopen', '--data', folder])).stdout, /can be served again/)
  await gatehouse(['user', 'list', '--data', folder])
  assert.match(await catchRefusal(['move', '--reopen', '--data', folder]), /was not moved/)
  assert.match(await catchRefusal(['move', '--data', folder, '--to', url]), /is not empty \(it has gatehouse/)
})

test('values that PostgreSQL cannot hold are found before anything is copied, with table, row and column', async () => {
  const [folder, url] = [await copyOfModel('unmovable'), await newDatabase()]
  write(
    folder,
    `UPDATE keyed SET note = 'a' || char(0) WHERE id = 12; UPDATE keyed SET note = CAST(x'61eda080' AS TEXT) WHERE id = 13;
    UPDATE keyed SET note = '\ufffd' WHERE id = 14; INSERT INTO keyless VALUES ('x', NULL)`,
  )
  const refusal = await catchRefusal(['move', '--data', folder, '--to', url, '--dry-run'])
  assert.match(refusal, /^gatehouse: 3 values/)
  assert.match(refusal, /query\.keyed \(id = 12\): note contains the character NUL/)
  assert.match(refusal, /query\.keyed \(id = 13\): note contains bytes that are not UTF-8/)
  assert.match(refusal, /query\.keyless \(id = "x", note = NULL\): id is not a valid Integer/)
  assert.match(await catchRefusal(['move', '--data', folder, '--to', url]), /3 values/)
  const client = await connect(url)
  const { rows } = await client.query(`SELECT 1 FROM pg_namespace WHERE nspname LIKE 'gatehouse%'`)
  await client.end()
  assert.deepEqual(rows, [])
  write(folder, `UPDATE keyed SET note = 'mended' || id WHERE id IN (12, 13); DELETE FROM keyless WHERE id = 'x'`)
  assert.match((await gatehouse(['move', '--data', folder, '--to', url, '--dry-run'])).stdout, /can be moved/)
  await gatehouse(['user', 'list', '--data', folder])
})

test('a move from a served database, within one engine, or to nowhere is refused', async () => {
  const [folder, url] = [await copyOfModel('served'), await newDatabase()]
  const server = launchGatehouse(['serve', '--data', folder, '--port', '0', '--stop-delay', '0'])
  await until('it serves', 30_000, async () => /started|Ready|listen/i.test(server.output().stdout))
  assert.match(await catchRefusal(['move', '--data', folder, '--to', url]), /A server \(.*\) runs on .*: stop it/)
  server.child.kill('SIGTERM')
  await server.ended
  assert.match(await catchRefusal(['move', '--data', folder, '--to', join(scratch, 'other')]), /both SQLite.*backup/)
  assert.match(await catchRefusal(['move', '--data', join(scratch, 'none'), '--to', url]), /no database/)
  assert.match(await catchRefusal(['move', '--data', folder], 2), /needs --to/)
  assert.match(await catchRefusal(['move', '--data', folder, '--to', 'postgres://a b'], 2), /--to: it must look like/)
})

test('a database cannot be reopened while its move runs', async () => {
  const [folder, url] = [await copyOfModel('running'), await newDatabase()]
  const client = await connect(url)
  const { ended } = launchGatehouse(['move', '--data', folder, '--to', url])
  await until('it copies', 30_000, () => isBetween(client, 'query.keyed'))
  assert.match(await catchRefusal(['move', '--reopen', '--data', folder]), /Another gatehouse moves/)
  assert.equal(await ended, 0)
  await client.end()
})

async function copyOfModel(name: string): Promise<string> {
  const folder = join(scratch, name)
  await cp(model, folder, { recursive: true })
  return folder
}

async function newDatabase(): Promise<string> {
  const database = await createPostgresDatabase()
  databases.push(database)
  return database.url
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

/** Changes rows as a program does that knows nothing of the change logs. */
function write(folder: string, statements: string): void {
  const file = new SqliteDatabase(join(folder, 'query.db'))
  const triggers = file.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`).pluck().all()
  for (const name of triggers) file.exec(`DROP TRIGGER ${name}`)
  file.exec(statements)
  file.close()
}

/** Starts a move and kills it as soon as the condition is true. */
async function killWhen(args: readonly string[], isDue: () => Promise<boolean>): Promise<void> {
  const { child, ended, output } = launchGatehouse(['move', ...args])
  let isEnded = false
  const end = ended.then(() => {
    isEnded = true
  })
  while (!isEnded && !(await isDue())) await new Promise((resolve) => setTimeout(resolve, 2))
  child.kill('SIGKILL')
  await end
  assert.equal(child.signalCode, 'SIGKILL', output().stderr)
}

async function readState(client: pg.Client, table: string): Promise<{ rows: number; state: string } | undefined> {
  const { rows } = await client.query(`SELECT to_regclass('gatehouse.move_progress') AS found`)
  if (rows[0]?.found === null) return undefined
  const progress = await client.query('SELECT rows::int, state FROM gatehouse.move_progress WHERE name = $1', [table])
  return progress.rows[0]
}

/** Whether some rows of the table have been copied, but not all. */
async function isBetween(client: pg.Client, table: string): Promise<boolean> {
  const found = await readState(client, table)
  return found?.state === 'copying' && found.rows > 0
}

function isBetweenIn(folder: string, table: string): boolean {
  try {
    const file = new SqliteDatabase(join(folder, 'query.db'), { readonly: true })
    const row = file
      .prepare<[string], { rows: number; state: string }>('SELECT "rows", state FROM move_progress WHERE name = ?')
      .get(table)
    file.close()
    return row?.state === 'copying' && row.rows > 0
  } catch {
    // The file or the table is not there yet.
    return false
  }
}

function sumsIn(folder: string, table: string): unknown {
  const file = new SqliteDatabase(join(folder, 'query.db'), { readonly: true })
  const sums = file.prepare(`SELECT count(*), sum(id), count(DISTINCT note) FROM ${table}`).raw(true).get()
  file.close()
  return sums
}

async function gatehouse(args: readonly string[], status = 0) {
  const finished = await runInProcess(args)
  assert.equal(finished.status, status, finished.stderr)
  return finished
}

async function catchRefusal(args: readonly string[], status = 1): Promise<string> {
  const { stderr } = await gatehouse(args, status)
  // Without the progress.
  return stderr.replace(/^(checking|copying|comparing) .*\n/gm, '')
}

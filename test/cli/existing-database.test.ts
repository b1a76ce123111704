/** Commands work on the database of the server or not at all: none of them creates or migrates one, except those that say so. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { MIGRATIONS } from '../../packages/server/src/store/database/migrations.ts'
import { changeDatabase } from '../support/change-database.ts'
import { EMPTY, onEveryEngineInLongRuns, openPlace, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { createOlderSchema } from '../support/older-schema.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { takeSnapshot } from '../support/snapshot.ts'

/** One of each kind: reading, writing, those that used to create a database, and those that are not of the administration. */
const COMMANDS: readonly (readonly string[])[] = [
  ['user', 'list'],
  ['role', 'add', 'trader'],
  ['user', 'invite', 'alice'],
  ['user', 'first-admin'],
  ['keys', 'rotate'],
  ['audit', 'verify'],
  ['migrate'],
  ['migrate', '--dry-run'],
]

let base: string
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'gatehouse-existing-'))
  await writeFile(join(base, 'gatehouse.yaml'), 'roles: [{ name: trader }]\n')
})
after(async () => {
  await rm(base, { recursive: true, force: true })
  await stopOwnPostgres()
})

const databaseFlags = ({ dataFolder, databaseUrl }: Pick<TestPlace, 'dataFolder' | 'databaseUrl'>) => [
  ...['--data', dataFolder],
  ...(databaseUrl === '' ? [] : ['--database-url', databaseUrl]),
]

function commandsIn(folder: string): readonly (readonly string[])[] {
  return [...COMMANDS, ['apply', '--config', join(base, 'gatehouse.yaml')], ['backup', join(folder, 'backup')]]
}

test('without a database in the data folder every command says what to set, and creates nothing', async () => {
  for (const name of ['missing', 'of-postgres']) {
    const folder = await mkdtemp(join(base, `${name}-`))
    const dataFolder = join(folder, 'data')
    if (name === 'of-postgres') {
      const { url, drop } = await createPostgresDatabase()
      const created = await runInProcess(['migrate', '--create', ...databaseFlags({ dataFolder, databaseUrl: url })])
      assert.equal(created.status, 0, created.stderr)
      await drop()
    }
    const before = await readdir(folder, { recursive: true })
    for (const command of commandsIn(folder)) {
      const { status, stderr } = await runInProcess([...command, '--data', dataFolder])
      assert.equal(status, 1, command.join(' '))
      assert.match(
        stderr,
        /^gatehouse: There is no database in .*GATEHOUSE_DATABASE_URL.*GATEHOUSE_DATA.*\n$/,
        command.join(' '),
      )
    }
    const doctor = await runInProcess(['doctor', '--data', dataFolder])
    assert.equal(doctor.status, 1)
    assert.match(doctor.stdout, /FAULT {4}There is no identity\.db/)
    assert.deepEqual(await readdir(folder, { recursive: true }), before)
  }
})

test('a PostgreSQL database without our tables is another one than that of the server: nothing is created there', async () => {
  const { url, drop } = await createPostgresDatabase()
  const folder = await mkdtemp(join(base, 'empty-'))
  const dataFolder = join(folder, 'data')
  for (const command of commandsIn(folder)) {
    const { status, stderr } = await runInProcess([...command, ...databaseFlags({ dataFolder, databaseUrl: url })])
    assert.equal(status, 1, command.join(' '))
    assert.match(
      stderr,
      /^gatehouse: The database postgres:\/\/[^:@]+:\d+\/\w+ has no Gatehouse tables: .*GATEHOUSE_DATABASE_URL/,
    )
  }
  const doctor = await runInProcess(['doctor', ...databaseFlags({ dataFolder, databaseUrl: url })])
  assert.equal(doctor.status, 1)
  assert.match(doctor.stdout, /FAULT {4}The database .* has no Gatehouse tables \[database\.empty\]/)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query("select nspname from pg_namespace where nspname like 'gatehouse%'")
  assert.deepEqual(rows, [])
  await client.end()
  assert.deepEqual(await readdir(folder), [])
  await drop()
})

onEveryEngineInLongRuns('migrate --create', EMPTY, (place) => {
  test('creates a database, which other commands then use as it is', async () => {
    const flags = databaseFlags(place())
    const rehearsed = await runInProcess(['migrate', '--create', '--dry-run', ...flags])
    assert.equal(rehearsed.status, 0, rehearsed.stderr)
    assert.equal((await runInProcess(['user', 'list', ...flags])).status, 1)
    const created = await runInProcess(['migrate', '--create', ...flags])
    assert.match(created.stdout, /^The database .* was created with schema \d+\.\n$/)
    assert.equal((await runInProcess(['role', 'add', 'trader', ...flags])).status, 0)
    assert.match((await runInProcess(['migrate', '--create', ...flags])).stdout, /no migration is pending/)
    assert.match((await runInProcess(['role', 'list', ...flags])).stdout, /trader/)
    assert.deepEqual(
      (await readdir(place().dataFolder)).filter((name) => name.endsWith('.tmp')),
      [],
    )
  })

  test('a command does not migrate the database under servers that run', async () => {
    const flags = databaseFlags(place())
    await changeDatabase(place(), `delete from schema_version where version = ${MIGRATIONS.length}`)
    const before = await takeSnapshot(place())
    for (const command of [
      ['user', 'list'],
      ['role', 'add', 'other'],
      ['apply', '--config', join(base, 'gatehouse.yaml')],
    ]) {
      const { status, stderr } = await runInProcess([...command, ...flags])
      assert.equal(status, 1, command.join(' '))
      assert.match(stderr, /has schema \d+, but this version uses \d+: .*gatehouse migrate/)
    }
    assert.deepEqual(await takeSnapshot(place()), before)
  })

  test('a migration that fails is named, with the reason and what to do, and nothing is changed', async () => {
    const before = await takeSnapshot(place())
    // What the last migration would add is there already.
    for (const command of [['migrate'], ['migrate', '--dry-run'], ['serve', '--port', '0']]) {
      const { status, stderr } = await runInProcess([...command, ...databaseFlags(place())])
      assert.equal(status, 1, command.join(' '))
      assert.match(
        stderr,
        /^gatehouse: The migration \d+ \([\w -]+\) of the database \S+ failed: .*(duplicate|exists).* Nothing was changed\. .*\n$/,
        command.join(' '),
      )
      assert.ok(stderr.includes(`The migration ${MIGRATIONS.length} (${MIGRATIONS.at(-1)?.name}) of`), stderr)
    }
    assert.deepEqual(await takeSnapshot(place()), before)
  })

  test('a server that migrates says so in its log', async () => {
    await createOlderSchema(place(), MIGRATIONS.length - 1)
    const migrated = ({ log }: TestServer) => log.filter((line) => line.includes('the database was migrated'))
    const server = await startTestServer(place())
    await server.stop()
    const [line = '{}', ...others] = migrated(server)
    const { level, from, to, milliseconds } = JSON.parse(line)
    assert.deepEqual([level, from, to, others], ['info', MIGRATIONS.length - 1, MIGRATIONS.length, []])
    assert.ok(milliseconds >= 0)
    const again = await startTestServer(place())
    await again.stop()
    assert.deepEqual(migrated(again), [])
  })
})

describe('the settings file', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let file: string
  before(async () => {
    ;({ place, leave } = await openPlace('postgres'))
    file = join(base, 'gatehouse.env')
    const url = `${place.databaseUrl}?sslmode=disable&host=127.0.0.1`
    const lines = [
      '# The service',
      `GATEHOUSE_DATA=${place.dataFolder}`,
      `GATEHOUSE_DATABASE_URL=${url}`,
      'ALICE=alice-has-one',
    ]
    await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o640 })
  })
  after(() => leave())
  const environment = () => ({ GATEHOUSE_SETTINGS_FILE: file })

  test('is read without a shell: a URL with & is the whole URL', async () => {
    assert.equal((await runInProcess(['migrate', '--create'], { environment: environment() })).status, 0)
    assert.equal((await runInProcess(['role', 'add', 'trader', '--settings-file', file])).status, 0)
    assert.match((await runInProcess(['role', 'list'], { environment: environment() })).stdout, /trader/)
    assert.equal(existsSync(join(place.dataFolder, 'identity.db')), false)
    const config = JSON.parse((await runInProcess(['config', '--json'], { environment: environment() })).stdout)
    assert.deepEqual(config.data, { value: place.dataFolder, source: 'settings_file' })
    assert.deepEqual(config.settings_file, { value: file, source: 'environment' })
    const shown = await runInProcess(['config'], { environment: environment() })
    assert.match(shown.stdout, new RegExp(`data +\\S+ +GATEHOUSE_DATA in ${file}`))
  })

  test('may hold variables to which the declarative file refers', async () => {
    const declared = join(base, 'users.yaml')
    await writeFile(declared, 'users: [{ username: alice, password: { env: ALICE } }]\n')
    const applied = await runInProcess(['apply', '--config', declared], { environment: environment() })
    assert.equal(applied.status, 0, applied.stderr)
  })

  test('cannot name another one, must be readable, and should not be readable for all users', async () => {
    const other = join(base, 'other.env')
    await writeFile(other, `${await readFile(file, 'utf8')}GATEHOUSE_SETTINGS_FILE=${file}\n`)
    const nested = await runInProcess(['user', 'list', '--settings-file', other])
    assert.match(nested.stderr, /GATEHOUSE_SETTINGS_FILE in .*other\.env: a file cannot name another file/)
    const missing = await runInProcess(['user', 'list', '--settings-file', join(base, 'none.env')])
    assert.match(missing.stderr, /The settings file .*none\.env cannot be read \(ENOENT\)/)
    const doctor = async () => (await runInProcess(['doctor', '--json'], { environment: environment() })).stdout
    assert.doesNotMatch(await doctor(), /settings\.file_open/)
    await chmod(file, 0o644)
    assert.match(await doctor(), /settings\.file_open/)
    await chmod(file, 0o640)
  })

  test('the doctor reports a SQLite database that a command without the URL created although PostgreSQL is used', async () => {
    const doctor = async () => {
      const { stdout } = await runInProcess(['doctor', '--json'], { environment: environment() })
      const { findings }: { findings: { code: string; message: string }[] } = JSON.parse(stdout)
      return findings.find(({ code }) => code === 'database.unused')?.message ?? ''
    }
    assert.equal(await doctor(), '')
    const created = await runInProcess(['migrate', '--create', '--data', place.dataFolder])
    assert.equal(created.status, 0, created.stderr)
    assert.match(await doctor(), /identity\.db/)
  })
})

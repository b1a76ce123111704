/** A start that is refused, for any reason, changes nothing and says in one sentence what to do. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { MIGRATIONS } from '../../packages/server/src/store/database/migrations.ts'
import { createStores } from '../../packages/server/src/store/stores.ts'
import { createCertificate, writeCertificate } from '../support/certificate.ts'
import { EMPTY, IS_LONG_RUN, onEveryEngineInLongRuns, openPlace, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { type Finished, runGatehouse, serveProcess } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import { takeSnapshot } from '../support/snapshot.ts'

const FIRST = {
  roles: [{ name: 'trader', scopes: ['Platform/Market'] }],
  users: [{ username: 'alice', password: 'first password', roles: ['trader'] }],
  tables: [{ name: 'trades', columns: [{ name: 'id', type: 'Integer', primary_key: true }] }],
}
/** Would change something of every kind. */
const SECOND = {
  roles: [...FIRST.roles, { name: 'new-role' }],
  users: [
    { username: 'alice', password: 'second password', roles: ['trader', 'new-role'] },
    { username: 'bob', password: 'second password' },
  ],
  clients: [{ client_id: 'cli', token_endpoint_auth_method: 'none', redirect_uris: ['https://a.example/'] }],
  tables: [...FIRST.tables, { name: 'quotes', columns: [{ name: 'id', type: 'Integer', primary_key: true }] }],
}
const CONTROLLER = 'summary: "", topics: { T: { summary: "", needs: "nothing", publish() {} } }'

interface Kind {
  readonly name: string
  readonly says: RegExp
  /** Of a setting: an error of usage. */
  readonly isWrongValue?: true
  readonly flags?: (folder: string, place: TestPlace) => Record<string, string> | Promise<Record<string, string>>
  /** Changes something before the snapshot; the returned function undoes it. */
  readonly prepare?: (place: TestPlace) => Promise<() => unknown>
  readonly only?: 'sqlite' | 'postgres'
  /** Found in files, flags and ports alone: on PostgreSQL in long runs only. */
  readonly isOfSettings?: true
  /** Refused late, when much is already open: a separate process must end without being killed. */
  readonly isLate?: true
}

const declaring = (declaration: object) => async (folder: string) => ({
  '--config': await written(folder, 'bad.json', JSON.stringify(declaration)),
})
const controller = (source: string) => async (folder: string) => ({
  '--stream-controllers': await written(folder, 'controller.mjs', source),
})

/** With the public password of the demonstration. */
async function knownPassword(place: TestPlace) {
  const hashes = [await hashPassword('wonderland-1'), await hashPassword('first password')] as const
  const set = async (hash: string) => {
    const database = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
    await database.db.updateTable('users').set({ password_hash: hash }).where('username', '=', 'alice').execute()
    await database.close()
  }
  await set(hashes[0])
  return () => set(hashes[1])
}

/** A client with the public secret of the demonstration. */
async function knownSecret(place: TestPlace) {
  const database = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
  const { clients } = createStores(database, Date.now)
  await clients.put({ client_id: 'demo-web' })
  await clients.addSecret('demo-web', 'demo-web-secret')
  await database.close()
  return async () => {
    const again = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
    await createStores(again, Date.now).clients.remove('demo-web')
    await again.close()
  }
}

const KINDS: readonly Kind[] = [
  {
    name: 'a user of the demonstration where other machines can reach the server',
    prepare: knownPassword,
    flags: () => ({ '--host': '0.0.0.0' }),
    says: /the user alice are public.*gatehouse user remove/,
  },
  {
    name: 'a client of the demonstration under a public issuer',
    prepare: knownSecret,
    flags: () => ({ '--issuer': 'https://gate.example.com' }),
    says: /the client demo-web are public.*gatehouse client remove/,
  },
  {
    name: 'another master key',
    flags: () => ({ '--master-key': randomBytes(32).toString('base64') }),
    says: /sealed under another master key.*GATEHOUSE_MASTER_KEY/,
  },
  {
    name: 'a missing master key',
    prepare: async ({ dataFolder }) => {
      const kept = `${dataFolder}.key`
      await rename(join(dataFolder, 'master.key'), kept)
      return () => rename(kept, join(dataFolder, 'master.key'))
    },
    says: /master key.*is missing.*restore master\.key/,
  },
  {
    name: 'a new data folder without the master key of the database',
    only: 'postgres',
    flags: (folder) => ({ '--data': join(folder, 'new-node') }),
    says: /master key.*is missing.*GATEHOUSE_MASTER_KEY/,
  },
  {
    name: 'a missing certificate',
    isOfSettings: true,
    flags: (folder) => ({ '--tls-certificate': join(folder, 'no.pem'), '--tls-key': join(folder, 'no.pem') }),
    says: /GATEHOUSE_TLS_CERTIFICATE.*cannot be used/,
  },
  {
    name: 'a key that does not belong to the certificate',
    isOfSettings: true,
    flags: async (folder) => {
      const { certFile } = await writeCertificate(createCertificate(['localhost']), folder)
      await mkdir(join(folder, 'other'))
      const { keyFile } = await writeCertificate(createCertificate(['localhost']), join(folder, 'other'))
      return { '--tls-certificate': certFile, '--tls-key': keyFile }
    },
    says: /GATEHOUSE_TLS_KEY cannot be used/,
  },
  {
    name: 'a missing logo',
    isOfSettings: true,
    flags: (folder) => ({ '--brand-logo': join(folder, 'no.svg') }),
    says: /GATEHOUSE_BRAND_LOGO cannot be read/,
  },
  {
    name: 'a missing controller',
    isOfSettings: true,
    flags: (folder) => ({ '--stream-controllers': join(folder, 'none') }),
    says: /no such file or folder.*GATEHOUSE_STREAM_CONTROLLERS/,
  },
  {
    name: 'a controller with a syntax error',
    isOfSettings: true,
    flags: controller('export default {'),
    says: /controller\.mjs cannot be loaded: SyntaxError/,
  },
  {
    name: 'a controller that throws when it is loaded',
    isOfSettings: true,
    flags: controller('throw new Error("no licence")'),
    says: /controller\.mjs cannot be loaded: Error: no licence/,
  },
  {
    name: 'a controller that throws when it is started',
    isLate: true,
    flags: controller(`export default { name: 'X', ${CONTROLLER}, start() { throw new Error('no feed') } }`),
    says: /The controller X could not start: Error: no feed/,
  },
  {
    name: 'two controllers of one name',
    isOfSettings: true,
    flags: async (folder) => {
      const at = join(folder, 'controllers')
      await mkdir(at)
      for (const name of ['a.mjs', 'b.mjs']) await written(at, name, `export default { name: 'X', ${CONTROLLER} }`)
      return { '--stream-controllers': at }
    },
    says: /b\.mjs: .*a\.mjs has a controller named X too/,
  },
  {
    name: 'a port in use',
    isLate: true,
    flags: () => ({ '--port': String(portInUse()) }),
    says: /Port \d+ is in use.*GATEHOUSE_PORT/,
  },
  {
    name: 'a metrics port in use',
    isOfSettings: true,
    flags: () => ({ '--metrics-port': String(portInUse()) }),
    says: /metrics port \d+ on 127\.0\.0\.1 is in use.*GATEHOUSE_METRICS_PORT/,
  },
  {
    name: 'an address that this machine does not have',
    isOfSettings: true,
    flags: () => ({ '--host': '192.0.2.1', '--issuer': 'https://gate.example' }),
    says: /does not have the address of --host or GATEHOUSE_HOST/,
  },
  {
    name: 'a setting with an invalid value',
    isOfSettings: true,
    isWrongValue: true,
    flags: () => ({ '--key-rotation': 'sometimes' }),
    says: /--key-rotation/,
  },
  {
    name: 'a declarative file that is not there',
    isOfSettings: true,
    flags: (folder) => ({ '--config': join(folder, 'none.yaml') }),
    says: /declarative file cannot be read.*GATEHOUSE_CONFIG/,
  },
  {
    name: 'a declared role that does not exist',
    flags: declaring({ ...SECOND, users: [{ username: 'bob', roles: ['nobody'] }] }),
    says: /users\[0\]\.roles\[0\]: unknown role "nobody"/,
  },
  {
    name: 'a declared secret that is not set',
    isOfSettings: true,
    flags: declaring({ ...SECOND, users: [{ username: 'bob', password: { env: 'NOT_SET_ANYWHERE' } }] }),
    says: /users\[0\]\.password: the environment variable NOT_SET_ANYWHERE is not set/,
  },
  {
    name: 'a declared file of rows that is not there',
    isOfSettings: true,
    flags: declaring({ ...SECOND, tables: [{ ...SECOND.tables[1], csv: 'none.csv' }] }),
    says: /tables\[0\]\.csv: the file .* cannot be read/,
  },
  {
    name: 'a row filter that is not valid IQL',
    flags: declaring({ ...SECOND, tables: [{ ...SECOND.tables[1], row_filter: 'no such column = 1' }] }),
    says: /tables\[0\]\.row_filter: /,
  },
  {
    name: 'a change of a table that has rows',
    flags: declaring({
      ...SECOND,
      tables: [{ name: 'trades', columns: [{ name: 'id', type: 'Text', primary_key: true }] }],
    }),
    says: /tables\[0\]\.columns\[0\]: .*cannot be changed in place/,
  },
  {
    name: 'a schema that a newer version wrote',
    prepare: (place) => withVersion(place, 999),
    says: /schema version 999.*newer gatehouse/,
  },
  {
    name: 'a damaged query database',
    only: 'sqlite',
    prepare: async ({ dataFolder }) => {
      const file = join(dataFolder, 'query.db')
      await rename(file, `${dataFolder}.query`)
      await writeFile(file, 'this is not a database, although it is long enough to be one '.repeat(20))
      return async () => {
        await rename(`${dataFolder}.query`, file)
      }
    },
    says: /query\.db is damaged: restore/,
  },
  {
    name: 'a database user without privileges',
    only: 'postgres',
    flags: (_folder, { databaseUrl }) => ({ '--database-url': as(databaseUrl, plainUser) }),
    says: /belongs to postgres.*database user plain_[0-9a-f]+ cannot change it/,
  },
  {
    name: 'a read-only database',
    only: 'postgres',
    flags: (_folder, { databaseUrl }) => ({ '--database-url': as(databaseUrl, readOnlyUser) }),
    says: /is read-only.*GATEHOUSE_DATABASE_URL/,
  },
  {
    name: 'a database user with few connections',
    only: 'postgres',
    isLate: true,
    prepare: async (place) => {
      await onPostgres(place, `alter role ${fewUser} connection limit 3`)
      return () => onPostgres(place, `alter role ${fewUser} connection limit -1`)
    },
    flags: (_folder, { databaseUrl }) => ({ '--database-url': as(databaseUrl, fewUser) }),
    says: /user few_[0-9a-f]+ has \d+ connections left.*ALTER ROLE few_/,
  },
  {
    name: 'a database with few connections',
    only: 'postgres',
    prepare: async (place) => {
      const { pathname } = new URL(place.databaseUrl)
      await onPostgres(place, `alter database ${pathname.slice(1)} connection limit 5`)
      return () => onPostgres(place, `alter database ${pathname.slice(1)} connection limit -1`)
    },
    flags: (_folder, { databaseUrl }) => ({ '--database-url': as(databaseUrl, fewUser) }),
    says: /The database test_[0-9a-f]+ has \d+ connections left.*ALTER DATABASE/,
  },
]

const suffix = randomBytes(6).toString('hex')
const plainUser = `plain_${suffix}`
const readOnlyUser = `reading_${suffix}`
const fewUser = `few_${suffix}`
const occupied = createServer()
let base: string
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'gatehouse-refused-'))
  await new Promise<void>((resolve) => occupied.listen(0, '127.0.0.1', resolve))
})
after(async () => {
  occupied.close()
  await rm(base, { recursive: true, force: true })
})

onEveryEngineInLongRuns('a refused start has changed nothing:', EMPTY, (place, engine) => {
  before(async () => {
    const server = await startTestServer(place(), {
      flags: { '--config': await written(base, 'first.json', JSON.stringify(FIRST)) },
    })
    await server.stop()
    if (engine === 'sqlite') return
    await onPostgres(place(), `create role ${plainUser} login password 'plain'`)
    await onPostgres(place(), `create role ${readOnlyUser} login superuser password 'plain'`)
    await onPostgres(place(), `create role ${fewUser} login password 'plain' in role postgres`)
    await onPostgres(place(), `alter role ${readOnlyUser} set default_transaction_read_only = on`)
  })
  after(async () => {
    if (engine === 'postgres') await onPostgres(place(), `drop role ${plainUser}, ${readOnlyUser}, ${fewUser}`)
  })

  for (const kind of KINDS) {
    if (kind.only !== undefined && kind.only !== engine) continue
    if (kind.isOfSettings && engine === 'postgres' && !IS_LONG_RUN) continue
    test(kind.name, async () => {
      const folder = await mkdtemp(join(base, 'kind-'))
      const flags = {
        '--port': '0',
        '--data': place().dataFolder,
        '--database-url': place().databaseUrl,
        '--config': await written(folder, 'second.json', JSON.stringify(SECOND)),
        ...(await kind.flags?.(folder, place())),
      }
      const undo = await kind.prepare?.(place())
      try {
        const earlier = await takeSnapshot(place())
        const { status, stdout, stderr } = await (kind.isLate ? runGatehouse : serveInProcess)([
          'serve',
          ...Object.entries(flags).flat(),
        ])
        assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
        assert.match(stderr, /^gatehouse: /)
        assert.match(stderr, kind.says)
        assert.equal(status, kind.isWrongValue ? 2 : 1)
        assert.ok(!stdout.includes('"msg":"started"'))
        assert.deepEqual(await takeSnapshot(place()), earlier)
        assert.ok(!existsSync(join(folder, 'new-node')), 'no data folder is created')
      } finally {
        await undo?.()
      }
    })
  }

  test('and without the fault the same start succeeds and changes all of it', async () => {
    const earlier = await takeSnapshot(place())
    const server = await startTestServer(place(), {
      flags: { '--config': await written(base, 'second.json', JSON.stringify(SECOND)) },
    })
    await server.stop()
    const later = (await takeSnapshot(place())).filter((line) => !earlier.includes(line)).join('\n')
    for (const name of ['new-role', 'bob', 'cli', 'quotes']) assert.match(later, new RegExp(name))
  })

  test('`gatehouse apply` with another master key is refused too', async () => {
    const config = await written(base, 'third.json', JSON.stringify(FIRST))
    const earlier = await takeSnapshot(place())
    const { status, stderr } = await runInProcess([
      ...['apply', '--config', config, '--data', place().dataFolder, '--database-url', place().databaseUrl],
      ...['--master-key', randomBytes(32).toString('base64')],
    ])
    assert.equal(status, 1)
    assert.match(stderr, /^gatehouse: .*another master key/)
    assert.deepEqual(await takeSnapshot(place()), earlier)
  })
})

const FIRST_STARTS: readonly [name: string, flags: (folder: string) => Promise<Record<string, string>>][] = [
  ['a missing logo', async (folder) => ({ '--brand-logo': join(folder, 'no.svg') })],
  [
    'a controller that throws when it is started',
    controller(`export default { name: 'X', ${CONTROLLER}, start() { throw new Error('no feed') } }`),
  ],
]
for (const [name, flagsIn] of FIRST_STARTS) {
  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`a first start on ${engine} that is refused for ${name} creates neither a data folder nor a schema`, async () => {
      const { place, leave } = await openPlace(engine)
      try {
        const folder = await mkdtemp(join(base, 'first-'))
        const data = join(folder, 'never')
        const flags = { '--data': data, '--database-url': place.databaseUrl, ...(await flagsIn(folder)) }
        const { status } = await serveInProcess(['serve', '--port', '0', ...Object.entries(flags).flat()])
        assert.equal(status, 1)
        assert.ok(!existsSync(data))
        if (engine === 'postgres') assert.deepEqual(await listSchemas(place), [])
      } finally {
        await leave()
        if (engine === 'postgres') await stopOwnPostgres()
      }
    })
  }
}

for (const [what, table, csv, says] of [
  ['a row filter that is not IQL', { row_filter: 'no such column = 1' }, 'id\n1\n', /tables\[0\]\.row_filter: /],
  ['the name of a system table', { name: 'CatalogueTable' }, 'id\n1\n', /tables\[0\]\.name: /],
  ['a value that is not of its type', {}, 'id\n1\ntwo\n', /tables\[0\]\.csv: Row 2: the value "two"/],
  [
    'a row without a value that it needs',
    {},
    'id,note\n,x\n',
    /tables\[0\]\.csv: Row 1 has no value for the column id/,
  ],
  ['two rows with one key', {}, 'id\n7\n8\n07\n', /tables\[0\]\.csv: Row 3 has the same id as an earlier one/],
  ['a column that the table does not have', {}, 'id,other\n1,x\n', /tables\[0\]\.csv: .*no column "other"/],
  ['a quote that does not end', {}, 'id,note\n1,"x\n', /tables\[0\]\.csv: line 2: a quoted field does not end/],
] as const) {
  test(`a first start with ${what} in the declarative file leaves no data folder`, async () => {
    const folder = await mkdtemp(join(base, 'first-'))
    await written(folder, 'rows.csv', csv)
    const columns = [
      { name: 'id', type: 'Integer', primary_key: true },
      { name: 'note', type: 'Text' },
    ]
    const declaration = { tables: [{ name: 'rows', columns, csv: 'rows.csv', ...table }] }
    const config = await written(folder, 'bad.json', JSON.stringify(declaration))
    const { status, stderr } = await serveInProcess([
      ...['serve', '--port', '0', '--data', join(folder, 'data'), '--config', config],
    ])
    assert.equal(status, 1)
    assert.match(stderr, says)
    assert.ok(!existsSync(join(folder, 'data')))
  })
}

test('a second server on a SQLite folder is refused if its issuer differs, and starts if it is the same', async () => {
  const folder = join(base, 'shared')
  const first = await serveProcess(['--data', folder, '--issuer', 'https://a.example'])
  try {
    const other = ['serve', '--port', '0', '--data', folder, '--issuer', 'https://b.example']
    const { status, stderr } = await runGatehouse(other)
    assert.equal(status, 1)
    assert.match(
      stderr,
      /^gatehouse: Another node \(\S+:\d+\) serves the database .*https:\/\/a\.example.*https:\/\/b\.example.*GATEHOUSE_ISSUER/,
    )
    assert.equal(stderr.trimEnd().split('\n').length, 1)
    const second = await serveProcess(['--data', folder, '--issuer', 'https://a.example'])
    assert.equal(await second.stop(), 0)
  } finally {
    await first.stop('SIGKILL')
  }
  const later = await serveProcess(['--data', folder, '--issuer', 'https://b.example'])
  assert.equal(await later.stop(), 0, 'a killed server does not block the folder')
})

/** The log of a server goes to the descriptor, which belongs to the test runner here: nothing may be written to it. */
function serveInProcess(args: readonly string[]): Promise<Finished> {
  return runInProcess([...args, '--log-level', 'fatal'])
}

async function written(folder: string, name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content)
  return join(folder, name)
}

function portInUse(): number {
  const address = occupied.address()
  return typeof address === 'object' && address !== null ? address.port : assert.fail('not listening')
}

function as(url: string, user: string): string {
  return Object.assign(new URL(url), { username: user, password: 'plain' }).href
}

async function listSchemas({ databaseUrl }: TestPlace): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query("select nspname from pg_namespace where nspname like 'gatehouse%'")
  await client.end()
  return rows
}

async function onPostgres({ databaseUrl }: TestPlace, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(statement)
  await client.end()
}

async function withVersion(place: TestPlace, version: number): Promise<() => unknown> {
  const table = place.databaseUrl === '' ? 'schema_version' : 'gatehouse.schema_version'
  const run = (statement: string) => {
    if (place.databaseUrl !== '') return onPostgres(place, statement)
    const database = new SqliteDatabase(join(place.dataFolder, 'identity.db'))
    database.exec(statement)
    return database.close()
  }
  assert.ok(version > MIGRATIONS.length)
  await run(`insert into ${table} (version, name, applied_at) values (${version}, 'future', 0)`)
  return () => run(`delete from ${table} where version = ${version}`)
}

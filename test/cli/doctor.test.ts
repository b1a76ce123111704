/** `gatehouse doctor` finds faults, says how to fix them, and finds none in a healthy installation; `gatehouse migrate`. */
import assert from 'node:assert/strict'
import { chmod, chown, cp, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import { examine } from '../../packages/server/src/cli/doctor/doctor.ts'
import type { Finding } from '../../packages/server/src/cli/doctor/finding.ts'
import { checkRetention } from '../../packages/server/src/cli/doctor/retention.ts'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createCertificate, writeCertificate } from '../support/certificate.ts'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { EMPTY, onEveryEngine, onEveryEngineInLongRuns, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { createOlderSchema } from '../support/older-schema.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'

const DAY = 86_400_000
const NOBODY = 65534
let base: string
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'gatehouse-doctor-'))
})
after(() => rm(base, { recursive: true, force: true }))

/** A copy of a data folder after a first start. */
async function healthy(): Promise<TestPlace> {
  started ??= startOnce()
  const dataFolder = join(await mkdtemp(join(base, 'place-')), 'data')
  await cp(await started, dataFolder, { recursive: true })
  return { engine: 'sqlite', dataFolder, databaseUrl: '' }
}

let started: Promise<string> | undefined
async function startOnce(): Promise<string> {
  const dataFolder = join(base, 'started')
  const place: TestPlace = { engine: 'sqlite', dataFolder, databaseUrl: '' }
  const server = await startTestServer(place, { flags: { '--demo': 'true' } })
  await server.stop()
  return dataFolder
}

async function codes(
  { dataFolder, databaseUrl }: TestPlace,
  flags: Readonly<Record<string, string>> = {},
  now = Date.now,
): Promise<string[]> {
  const { config } = loadConfig({ flags: { '--data': dataFolder, '--database-url': databaseUrl, ...flags } })
  const findings = await examine(config, now)
  for (const finding of findings) assert.equal(finding.level === 'ok', finding.mend === undefined, finding.code)
  return findings.filter(({ level }) => level !== 'ok').map(({ level, code }) => `${level} ${code}`)
}

function onDatabase(place: TestPlace, statement: string): void {
  const database = new SqliteDatabase(join(place.dataFolder, 'identity.db'))
  database.exec(statement)
  database.close()
}

onEveryEngineInLongRuns('a healthy installation', (place) => {
  test('has no fault', async () => {
    const server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    await server.stop()
    const found = await codes(place())
    assert.deepEqual(
      found.filter((finding) => finding.startsWith('fault')),
      [],
    )
  })
})

describe('faults and warnings', () => {
  const faults: readonly {
    name: string
    finds: string
    cause?: (place: TestPlace) => unknown
    flags?: Record<string, string>
    now?: () => number
  }[] = [
    {
      name: 'a missing data folder',
      cause: (place) => rm(place.dataFolder, { recursive: true }),
      finds: 'fault folder.missing',
    },
    {
      name: 'a data folder without its mark',
      cause: (place) => rm(join(place.dataFolder, 'gatehouse.json')),
      finds: 'fault folder.foreign',
    },
    {
      name: 'a data folder that other users can read',
      cause: (place) => chmod(place.dataFolder, 0o755),
      finds: 'fault folder.open',
    },
    {
      name: 'a key that other users can read',
      cause: (place) => chmod(join(place.dataFolder, 'master.key'), 0o644),
      finds: 'fault folder.key_open',
    },
    {
      name: 'a database file that other users can read',
      cause: (place) => chmod(join(place.dataFolder, 'query.db'), 0o640),
      finds: 'fault folder.database_open',
    },
    {
      name: 'a missing master key',
      cause: (place) => rm(join(place.dataFolder, 'master.key')),
      finds: 'fault keys.master_missing',
    },
    {
      name: 'a different master key',
      cause: (place) => writeFile(join(place.dataFolder, 'master.key'), Buffer.alloc(32, 7)),
      finds: 'fault keys.sealed',
    },
    {
      name: 'a truncated database',
      cause: (place) => truncate(join(place.dataFolder, 'identity.db'), 20_000),
      finds: 'fault database.damaged',
    },
    {
      name: 'a missing database',
      cause: (place) => rm(join(place.dataFolder, 'identity.db')),
      finds: 'fault database.missing',
    },
    {
      name: 'a database with a newer schema',
      cause: (place) => onDatabase(place, "insert into schema_version values (999, 'x', 0, 0)"),
      finds: 'fault database.too_new',
    },
    {
      name: 'a database with an older schema',
      cause: (place) => onDatabase(place, 'delete from schema_version where version > 1'),
      finds: 'warning database.behind',
    },
    {
      name: 'an unreachable database',
      flags: { '--database-url': 'postgres://nobody:hidden@127.0.0.1:1/none' },
      finds: 'fault database.unreachable',
    },
    {
      name: 'an altered audit row',
      cause: (place) => onDatabase(place, "update audit_log set actor = 'somebody' where seq = 1"),
      finds: 'fault audit.broken',
    },
    {
      name: 'a clock that is an hour slow',
      now: () => Date.now() - 3_600_000,
      finds: 'fault clock.behind',
    },
    {
      name: 'a signing key that was not rotated',
      cause: (place) => onDatabase(place, `update signing_keys set active_from = ${Date.now() - 200 * DAY}`),
      finds: 'warning keys.old',
    },
    {
      name: 'a confidential client without a secret',
      cause: (place) => onDatabase(place, 'delete from client_secrets'),
      finds: 'fault access.no_secret',
    },
    {
      name: 'an installation without an administrator',
      cause: (place) => onDatabase(place, 'delete from user_roles'),
      finds: 'warning access.no_admin',
    },
    {
      name: 'a public server without TLS',
      flags: { '--host': '0.0.0.0' },
      finds: 'warning settings.no_tls',
    },
    {
      name: 'metrics that everyone can read',
      flags: { '--metrics-port': '9464', '--metrics-host': '0.0.0.0' },
      finds: 'warning settings.metrics_open',
    },
    {
      name: 'a wire port that takes passwords',
      flags: { '--wire-port': '5433', '--wire-passwords': 'true' },
      finds: 'warning settings.wire_passwords',
    },
    {
      name: 'a wire port that other machines cannot reach',
      flags: { '--wire-port': '5433', '--host': '0.0.0.0', '--trusted-proxies': '10.0.0.1' },
      finds: 'warning settings.wire_local',
    },
    {
      name: 'a wire port without the query service',
      flags: { '--wire-port': '5433', '--services': 'identity' },
      finds: 'warning settings.wire_without_query',
    },
    {
      name: 'more workers than cores',
      flags: { '--workers': '128' },
      finds: 'warning settings.workers_many',
    },
  ]

  let usual: readonly string[]
  before(async () => {
    usual = await codes(await healthy())
  })

  for (const { name, finds, cause, flags, now } of faults) {
    test(`${name} is found`, async () => {
      const place = await healthy()
      assert.ok(!usual.includes(finds), 'found before it was caused')
      await cause?.(place)
      const found = await codes(place, flags, now)
      assert.ok(found.includes(finds), found.join(', '))
    })
  }

  test('modes that are too open do not hide what is wrong with the content', async () => {
    const place = await healthy()
    await onDatabase(place, "update audit_log set actor = 'somebody' where seq = 1")
    await chmod(place.dataFolder, 0o755)
    await chmod(join(place.dataFolder, 'identity.db'), 0o644)
    const found = await codes(place)
    for (const code of ['fault folder.open', 'fault folder.database_open', 'fault audit.broken'])
      assert.ok(found.includes(code), `${code}: ${found.join(', ')}`)
  })

  test('certificates that have expired, expire soon, or have another key or name are found', async () => {
    const place = await healthy()
    const files = await writeCertificate(createCertificate(['gate.example']), base)
    const flags = {
      '--tls-certificate': files.certFile,
      '--tls-key': files.keyFile,
      '--issuer': 'https://gate.example',
    }
    assert.deepEqual(await codes(place, flags), usual)
    const at = (days: number) => () => Date.now() + days * DAY
    assert.ok((await codes(place, flags, at(40))).includes('fault certificate.expired'))
    assert.ok((await codes(place, flags, at(15))).includes('warning certificate.soon'))
    const named = await codes(place, { ...flags, '--issuer': 'https://other.example' })
    assert.deepEqual(named, ['fault certificate.wrong_name', ...usual])
    const other = join(base, 'other.key')
    await writeFile(other, createCertificate(['gate.example']).key)
    assert.deepEqual(await codes(place, { ...flags, '--tls-key': other }), ['fault certificate.wrong_key', ...usual])
    const missing = await codes(place, { ...flags, '--tls-certificate': join(base, 'none.pem') })
    assert.deepEqual(missing, ['fault certificate.unreadable', ...usual])
  })
})

onEveryEngineInLongRuns('the copy of the audit log', (place) => {
  async function onCopy(change: string, condition: string): Promise<void> {
    if (place().engine === 'sqlite') {
      const database = new SqliteDatabase(join(place().dataFolder, 'query.db'))
      database.exec(`${change.replace('COPY', '_gh_auditlog')} ${condition}`)
      return void database.close()
    }
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    await sql.raw(`${change.replace('COPY', 'gatehouse_data._gh_auditlog')} ${condition}`).execute(database.db)
    await database.close()
  }

  test('is compared with the log: altered and missing rows are found; an empty copy is accepted', async () => {
    const server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    const { headers } = bearer((await signIn(server, ADMIN)).access_token)
    const read = await fetch(`http://127.0.0.1:${server.port}/query`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/plain' },
      body: 'SELECT count(*) AS n FROM auditlog',
    })
    assert.equal(read.status, 200)
    await server.stop()
    const found = async () => (await codes(place())).filter((finding) => finding.includes(' audit.'))
    assert.deepEqual(await found(), [])
    await onCopy("update COPY set node = node || 'x'", 'where seq = 1')
    assert.deepEqual(await found(), ['fault audit.copy_differs'])
    await onCopy('update COPY set node = substr(node, 1, length(node) - 1)', 'where seq = 1')
    assert.deepEqual(await found(), [])
    await onCopy('delete from COPY', 'where seq = 1')
    assert.deepEqual(await found(), ['fault audit.copy_differs'])
    await onCopy('delete from COPY', '')
    assert.deepEqual(await found(), [])
  })
})

onEveryEngine('the retention of tables', (place, engine) => {
  const onQuery = async (statement: string): Promise<void> => {
    if (engine === 'sqlite') {
      const database = new SqliteDatabase(join(place().dataFolder, 'query.db'))
      database.exec(statement.replaceAll('gatehouse_data.', 'main.'))
      database.close()
      return
    }
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    await sql.raw(statement).execute(database.db)
    await database.close()
  }

  test('nothing is said without one; what stands still and missing triggers are found, and are there again after a start', async () => {
    const start = () => startTestServer(place(), { flags: { '--demo': 'true' } })
    const server = await start()
    const found = async () => {
      const { dataFolder, databaseUrl } = place()
      const { config } = loadConfig({ flags: { '--data': dataFolder, '--database-url': databaseUrl } })
      const database = await openDatabase({ dataFolder, url: databaseUrl })
      const finding = await checkRetention(config, database, Date.now())
      await database.close()
      return finding && `${finding.level} ${finding.code}`
    }
    assert.equal(await found(), undefined)
    const { access_token: token } = await signIn(server, ADMIN)
    const define = async (body: string) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
      const response = await fetch(`${server.issuer}/query`, { method: 'POST', body, headers })
      assert.equal(response.status, 200, await response.text())
    }
    await define(`CREATE TABLE kept (at Timestamp PRIMARY KEY) WITH (retention = '30 days' ON at)`)
    await define(`CREATE TABLE evidence (id Integer PRIMARY KEY) WITH (hold = on)`)
    await server.stop()
    assert.equal(await found(), 'ok retention')
    await onQuery("UPDATE gatehouse_data._gh_retention SET fault = 'The clock was set' WHERE name = 'kept'")
    assert.equal(await found(), 'warning retention.stands_still')
    await onQuery('UPDATE gatehouse_data._gh_retention SET fault = NULL')
    if (engine === 'postgres') await onQuery('ALTER TABLE gatehouse_data.evidence DISABLE TRIGGER USER')
    else {
      const database = new SqliteDatabase(join(place().dataFolder, 'query.db'))
      const names = database
        .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'evidence'")
        .pluck()
        .all()
      for (const name of names.filter((one) => one.startsWith('_gh_retention'))) database.exec(`DROP TRIGGER ${name}`)
      database.close()
    }
    assert.equal(await found(), 'fault retention.unguarded')
    const again = await start()
    await again.stop()
    assert.equal(await found(), 'ok retention')
  })
})

test('without an administrator the doctor names the command that invites the first one', async () => {
  const place = await healthy()
  onDatabase(place, 'delete from user_roles')
  const { stdout } = await runInProcess(['doctor', '--data', place.dataFolder])
  assert.match(stdout, /\[access\.no_admin\]\n +→ Run "gatehouse user first-admin"/)
})

test('the command prints each fault and its fix, and exits with status 1', async () => {
  const place = await healthy()
  await chmod(place.dataFolder, 0o755)
  const written = await runGatehouse(['doctor', '--data', place.dataFolder])
  assert.equal(written.status, 1)
  assert.match(written.stdout, /FAULT {4}Other users can read .* \[folder\.open\]\n {9}→ chmod 700/)
  const json = await runInProcess(['doctor', '--json', '--port', 'x'])
  const { findings }: { findings: Finding[] } = JSON.parse(json.stdout)
  assert.equal(json.status, 1)
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['settings.unreadable'],
  )
  await chmod(place.dataFolder, 0o700)
  assert.equal((await runInProcess(['doctor', '--data', place.dataFolder])).status, 0)
})

test('a folder that cannot be written: the intact databases in it are not called damaged', async () => {
  const place = await healthy()
  const args = ['doctor', '--json', '--data', place.dataFolder]
  // Root may write everywhere, so the doctor runs as another user, who owns the folder.
  const uid = process.getuid?.() === 0 ? NOBODY : undefined
  await chmod(base, 0o755)
  await chmod(dirname(place.dataFolder), 0o755)
  if (uid !== undefined) {
    for (const name of await readdir(place.dataFolder)) await chown(join(place.dataFolder, name), uid, uid)
    await chown(place.dataFolder, uid, uid)
  }
  await chmod(place.dataFolder, 0o500)
  try {
    const { stdout } = await runGatehouse(args, uid === undefined ? {} : { uid })
    const { findings }: { findings: Finding[] } = JSON.parse(stdout)
    assert.deepEqual(
      findings.filter(({ level }) => level === 'fault').map(({ code }) => code),
      ['folder.readonly'],
    )
    const database = findings.find(({ code }) => code === 'database')
    assert.ok(database?.message.includes(join(place.dataFolder, 'identity.db')), database?.message)
    assert.ok(findings.some(({ code }) => code === 'audit') && findings.some(({ code }) => code === 'keys'))
  } finally {
    await chmod(place.dataFolder, 0o700)
  }
})

test('a thousand clients with the same fault are one finding', async () => {
  const place = await healthy()
  onDatabase(
    place,
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
     insert into clients (client_id, metadata, disabled, created_at, updated_at)
     select 'bare-' || i, '{"client_id":"bare-' || i || '","redirect_uris":["https://a.example/"]}', 0, 0, 0 from n`,
  )
  // One that has a key needs no secret.
  const withKey = { client_id: 'key', token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } }
  onDatabase(
    place,
    `insert into clients (client_id, metadata, disabled, created_at, updated_at) values ('key', '${JSON.stringify(withKey)}', 0, 0, 0)`,
  )
  const { config } = loadConfig({ flags: { '--data': place.dataFolder } })
  const found = (await examine(config)).filter(({ code }) => code === 'access.no_secret')
  assert.equal(found.length, 1)
  assert.match(
    found[0]?.message ?? '',
    /^1000 clients \(bare-1, .* and 995 more\) are confidential but have no secret$/,
  )
})

test('no finding or message contains a part of the password of the database', async () => {
  for (const password of ['hidden', 'hidden%2Fmore', '12/hidden', '12?hidden', '12#hidden', 'hidden%', 'a@12/hidden'])
    for (const command of [['doctor'], ['user', 'list'], ['migrate', '--create'], ['config']]) {
      const url = `postgres://u:${password}@127.0.0.1:1/d`
      const { stdout, stderr } = await runInProcess([...command, '--database-url', url])
      assert.match(stdout + stderr, /does not answer|refused the connection|percent-encoded|\*{8}/)
      assert.ok(!(stdout + stderr).includes('hidden'), `${command.join(' ')} ${password}`)
    }
})

onEveryEngine('migrations', EMPTY, (place) => {
  test('can be rehearsed: they run and are rolled back', async () => {
    const settings = ['--data', place().dataFolder, '--database-url', place().databaseUrl]
    await runInProcess(['migrate', '--create', ...settings])
    const again = await runInProcess(['migrate', '--dry-run', '--json', ...settings])
    assert.deepEqual(JSON.parse(again.stdout).pending, [])
    if (place().engine === 'sqlite') {
      await createOlderSchema(place(), 6)
      onDatabase(
        place(),
        `insert into interactions (digest, details, created_at, expires_at) values ('d', '{"browser":"b"}', 1, 2)`,
      )
      const rehearsed = JSON.parse((await runInProcess(['migrate', '--dry-run', '--json', ...settings])).stdout)
      assert.partialDeepStrictEqual(rehearsed.pending, [{ version: 7, name: 'set-up links' }])
      assert.ok(rehearsed.pending[0].milliseconds >= 0)
      const database = new SqliteDatabase(join(place().dataFolder, 'identity.db'))
      const found = database.prepare("select count(*) from sqlite_schema where name = 'set_up_links'").pluck().get()
      assert.equal(found, 0)
      database.close()
      const migrated = await runInProcess(['migrate', ...settings])
      assert.match(migrated.stdout, /was migrated from schema 6 to \d+/)
      const after = new SqliteDatabase(join(place().dataFolder, 'identity.db'))
      assert.deepEqual(after.prepare('select browser, network from interactions').all(), [
        { browser: 'b', network: '' },
      ])
      after.close()
    }
  })
})

/** The doctor finds what is planted, says how to mend it, and calls a healthy installation healthy. */
import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import { examine } from '../../src/cli/doctor/doctor.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { loadConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/store/database.ts'
import { createCertificate, writeCertificate } from '../support/certificate.ts'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngine, type TestPlace } from '../support/engines.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'

const DAY = 86_400_000
let base: string
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'gatehouse-doctor-'))
})
after(() => rm(base, { recursive: true, force: true }))

/** A data folder as a first start leaves it. */
async function healthy(): Promise<TestPlace> {
  const dataFolder = join(await mkdtemp(join(base, 'place-')), 'data')
  const place: TestPlace = { engine: 'sqlite', dataFolder, databaseUrl: '' }
  const server = await startTestServer(place, { flags: { '--demo': 'true' } })
  await server.stop()
  return place
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

onEveryEngine('a healthy installation', (place) => {
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

describe('planted faults', () => {
  const planted: readonly {
    name: string
    finds: string
    plant?: (place: TestPlace) => unknown
    flags?: Record<string, string>
    now?: () => number
  }[] = [
    {
      name: 'a data folder that is not there',
      plant: (place) => rm(place.dataFolder, { recursive: true }),
      finds: 'fault folder.missing',
    },
    {
      name: 'a data folder without its mark',
      plant: (place) => rm(join(place.dataFolder, 'gatehouse.json')),
      finds: 'fault folder.foreign',
    },
    {
      name: 'a data folder that others can read',
      plant: (place) => chmod(place.dataFolder, 0o755),
      finds: 'fault folder.open',
    },
    {
      name: 'a key that others can read',
      plant: (place) => chmod(join(place.dataFolder, 'master.key'), 0o644),
      finds: 'fault folder.key_open',
    },
    {
      name: 'a master key that is gone',
      plant: (place) => rm(join(place.dataFolder, 'master.key')),
      finds: 'fault keys.master_missing',
    },
    {
      name: 'a master key that is another',
      plant: (place) => writeFile(join(place.dataFolder, 'master.key'), Buffer.alloc(32, 7)),
      finds: 'fault keys.sealed',
    },
    {
      name: 'a database that is cut short',
      plant: (place) => truncate(join(place.dataFolder, 'identity.db'), 20_000),
      finds: 'fault database.damaged',
    },
    {
      name: 'a database that is gone',
      plant: (place) => rm(join(place.dataFolder, 'identity.db')),
      finds: 'fault database.missing',
    },
    {
      name: 'a database from the future',
      plant: (place) => onDatabase(place, "insert into schema_version values (999, 'x', 0)"),
      finds: 'fault database.too_new',
    },
    {
      name: 'a database from the past',
      plant: (place) => onDatabase(place, 'delete from schema_version where version > 1'),
      finds: 'warning database.behind',
    },
    {
      name: 'a database that does not answer',
      flags: { '--database-url': 'postgres://nobody:hidden@127.0.0.1:1/none' },
      finds: 'fault database.unreachable',
    },
    {
      name: 'an audit row that was changed',
      plant: (place) => onDatabase(place, "update audit_log set actor = 'somebody' where seq = 1"),
      finds: 'fault audit.broken',
    },
    {
      name: 'a clock that runs an hour behind',
      now: () => Date.now() - 3_600_000,
      finds: 'fault clock.behind',
    },
    {
      name: 'a signing key that was never replaced',
      plant: (place) => onDatabase(place, `update signing_keys set active_from = ${Date.now() - 200 * DAY}`),
      finds: 'warning keys.old',
    },
    {
      name: 'a client that cannot prove itself',
      plant: (place) => onDatabase(place, 'delete from client_secrets'),
      finds: 'fault access.no_secret',
    },
    {
      name: 'nobody who may administer',
      plant: (place) => onDatabase(place, 'delete from user_roles'),
      finds: 'warning access.no_admin',
    },
    {
      name: 'a server open to all without TLS',
      flags: { '--host': '0.0.0.0' },
      finds: 'warning settings.no_tls',
    },
  ]

  for (const { name, finds, plant, flags, now } of planted) {
    test(`${name} is found`, async () => {
      const place = await healthy()
      assert.ok(!(await codes(place)).includes(finds), 'found before it was planted')
      await plant?.(place)
      const found = await codes(place, flags, now)
      assert.ok(found.includes(finds), found.join(', '))
    })
  }

  test('certificates that expired, end soon, have another key or another name are found', async () => {
    const place = await healthy()
    const usual = await codes(place)
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

onEveryEngine('the copy of the audit log', (place) => {
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

  test('is compared with the log: a changed row and a missing one are found, an empty copy is none', async () => {
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

test('the command says what is wrong in a line, how to mend it in the next, and ends with status 1', async () => {
  const place = await healthy()
  await chmod(place.dataFolder, 0o755)
  const written = await runGatehouse(['doctor', '--data', place.dataFolder])
  assert.equal(written.status, 1)
  assert.match(written.stdout, /FAULT {4}Others can look into .* \[folder\.open\]\n {9}→ chmod 700/)
  const json = await runGatehouse(['doctor', '--json', '--port', 'x'])
  const { findings }: { findings: Finding[] } = JSON.parse(json.stdout)
  assert.equal(json.status, 1)
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['settings.unreadable'],
  )
  await chmod(place.dataFolder, 0o700)
  assert.equal((await runGatehouse(['doctor', '--data', place.dataFolder])).status, 0)
})

test('the password of a database is in no finding', async () => {
  const { stdout } = await runGatehouse(['doctor', '--database-url', 'postgres://u:hidden@127.0.0.1:1/d'])
  assert.ok(stdout.includes('does not answer') && !stdout.includes('hidden'))
})

onEveryEngine('migrations', (place) => {
  test('can be rehearsed: the changes are tried and taken back', async () => {
    const settings = ['--data', place().dataFolder, '--database-url', place().databaseUrl]
    const migrated = await runGatehouse(['migrate', ...settings])
    assert.match(migrated.stdout, /went from schema 0 to \d+/)
    const again = await runGatehouse(['migrate', '--dry-run', '--json', ...settings])
    assert.deepEqual(JSON.parse(again.stdout).pending, [])
    if (place().engine === 'sqlite') {
      onDatabase(place(), 'drop table nodes; drop table node_answers; delete from schema_version where version = 4')
      const rehearsed = JSON.parse((await runGatehouse(['migrate', '--dry-run', '--json', ...settings])).stdout)
      assert.partialDeepStrictEqual(rehearsed.pending, [{ version: 4, name: 'nodes' }])
      assert.ok(rehearsed.pending[0].milliseconds >= 0)
      const database = new SqliteDatabase(join(place().dataFolder, 'identity.db'))
      assert.equal(database.prepare("select count(*) as n from sqlite_schema where name = 'nodes'").pluck().get(), 0)
      database.close()
      await runGatehouse(['migrate', ...settings])
    }
  })
})

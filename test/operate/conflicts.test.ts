/** Nodes that must not share a database with others: with a version older than its schema, or with another issuer. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MIGRATIONS } from '../../packages/server/src/store/database/migrations.ts'
import { changeDatabase } from '../support/change-database.ts'
import { bearer, post, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns, shortOnSqlite } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect, refusedUpgrade } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const ISSUER = 'http://localhost:5999'

onEveryEngineInLongRuns('a node that others have overtaken', (place, engine) => {
  let server: TestServer
  beforeEach(async () => {
    server = await startTestServer(place(), {
      flags: { '--demo': 'true', '--issuer': ISSUER, '--stream-drain-time': '0.1' },
    })
  })

  afterEach(() => server.stop())

  const get = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`)
  const readiness = async () => {
    const response = await get('/readyz')
    return { status: response.status, text: await response.text() }
  }
  const reasonLogged = () => server.log.find((line) => line.includes('no longer serves requests')) ?? ''

  /** It says why at /readyz and in the log, refuses requests, and has closed its streams; it still says that it lives. */
  async function assertClosed(reason: RegExp): Promise<void> {
    await until('it is not ready', 10_000, async () => (await readiness()).status === 503)
    assert.match((await readiness()).text, reason)
    assert.match(reasonLogged(), reason)
    assert.match(reasonLogged(), /"level":"error"/)
    for (const [path, init] of [
      ['/connect/token', { method: 'POST', body: new URLSearchParams({ grant_type: 'password' }) }],
      ['/.well-known/openid-configuration', {}],
      ['/query', { method: 'POST', body: 'SELECT 1' }],
      ['/console', {}],
    ] as const) {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, init)
      assert.equal(response.status, 503, path)
      assert.match(await response.text(), reason)
    }
    assert.equal((await get('/healthz')).status, 200)
  }

  test('a newer version has migrated the database: it stops serving, says why, and ends on request', async () => {
    const { access_token: token } = await signIn(server)
    const stream = await connect(server.port, bearer(token))
    const live = await openEvents(`http://127.0.0.1:${server.port}/query`, {
      token,
      body: 'SELECT id FROM trades WHERE id = 1',
      headers: { 'content-type': 'text/plain' },
    })
    const version = MIGRATIONS.length + 1
    await changeDatabase(
      place(),
      `insert into schema_version (version, name, applied_at) values (${version}, 'future', 0)`,
    )
    try {
      await until('it has noticed by itself', 10_000, () => reasonLogged() !== '')
      await assertClosed(new RegExp(`newer version.*schema ${version}.*${MIGRATIONS.length}`))
      assert.equal((await stream.closed).code, 1012)
      await live.ended()
      assert.equal((await refusedUpgrade(server.port, bearer(token))).status, 503)
      assert.equal((await post(server, '/connect/token', {})).status, 503)
    } finally {
      await changeDatabase(place(), `delete from schema_version where version = ${version}`)
    }
    await server.stop()
    assert.match(server.log.at(-1) ?? '', /"msg":"stopped"/)
  })

  test(
    'a migration that only adds leaves nodes of the version before serving, and they can be started again',
    shortOnSqlite(engine),
    async () => {
      const version = MIGRATIONS.length + 1
      await changeDatabase(
        place(),
        `insert into schema_version (version, name, applied_at, compatible) values (${version}, 'future', 0, 1)`,
      )
      try {
        // It looks every two seconds.
        await sleep(2_500)
        assert.equal((await readiness()).status, 200)
        assert.equal(reasonLogged(), '')
        await server.stop()
        server = await startTestServer(place(), { flags: { '--demo': 'true', '--issuer': ISSUER } })
        assert.ok((await signIn(server)).access_token)
      } finally {
        await changeDatabase(place(), `delete from schema_version where version = ${version}`)
      }
    },
  )

  test('a node with another issuer is refused while this one runs', shortOnSqlite(engine), async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-other-'))
    const { dataFolder, databaseUrl } = place()
    const args = ['serve', '--port', '0', '--database-url', databaseUrl]
    // The master key of both is the same.
    const data = engine === 'sqlite' ? dataFolder : folder
    const key = engine === 'sqlite' ? [] : ['--master-key', await readFile(join(dataFolder, 'master.key'), 'base64')]
    const refused = await runGatehouse([...args, ...key, '--data', data, '--issuer', 'https://b.example'])
    assert.equal(refused.status, 1)
    assert.match(
      refused.stderr,
      /^gatehouse: Another node \(\S+:\d+\) serves the database .* with the issuer http:\/\/localhost:5999, and this one would have https:\/\/b\.example: .*GATEHOUSE_ISSUER/,
    )
    assert.equal((await readiness()).status, 200)
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  if (engine === 'postgres')
    test('of two nodes with different issuers that did not see each other start, the later one stops serving', async () => {
      const row = (startedAt: number, issuer: string) => `insert into nodes (id, name, seen_at, issuer, started_at)
        values ('${issuer}', 'elsewhere:${startedAt}', ${Date.now()}, '${issuer}', ${startedAt})`
      await changeDatabase(place(), row(Date.now() + 60_000, 'https://later.example'))
      await changeDatabase(place(), row(1, ISSUER))
      // A probe looks at once.
      assert.equal((await readiness()).status, 200)
      await changeDatabase(place(), row(2, 'https://earlier.example'))
      await assertClosed(/elsewhere:2.*https:\/\/earlier\.example/)
      await server.stop()
      await changeDatabase(place(), "delete from nodes where name like 'elsewhere:%'")
    })
})

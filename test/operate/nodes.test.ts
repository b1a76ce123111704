/** Administration across nodes: what runs on any node is listed and ended from any other. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ADMIN, bearer, identify, post, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns, openPlace, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

interface Listed {
  readonly items: readonly Record<string, unknown>[]
  readonly silent: readonly string[]
}

const SLOW = `SELECT count(*) AS n FROM ${Array.from({ length: 7 }, (_value, index) => `trades t${index}`).join(' CROSS JOIN ')}`

describe('two nodes', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let otherFolder: string
  let here: TestServer
  let there: RunningProcess
  let thereName: string
  let admin: string
  let alice: string

  before(async () => {
    ;({ place, leave } = await openPlace('postgres'))
    otherFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
    const flags = {
      '--master-key': randomBytes(32).toString('base64'),
      '--issuer': 'http://localhost:5999',
      '--stream-drain-time': '0.1',
    }
    here = await startTestServer(place, { flags: { ...flags, '--demo': 'true' } })
    there = await serveProcess([
      ...Object.entries({ ...flags, '--data': otherFolder, '--database-url': place.databaseUrl }).flat(),
      '--demo',
    ])
    thereName = `${hostname()}:${there.child.pid}`
    admin = (await signIn(here, ADMIN)).access_token
    alice = (await signIn(here)).access_token
  })
  after(async () => {
    await there.stop()
    await here.stop()
    await rm(otherFolder, { recursive: true })
    await leave()
    await stopOwnPostgres()
  })

  const send = (at: { port: number }, method: string, path: string, token: string, body?: string, headers = {}) =>
    fetch(`http://127.0.0.1:${at.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'text/plain' }), ...headers },
      ...(body && { body }),
    })
  const list = async (path: string, at: { port: number } = here): Promise<Listed> => {
    const response = await send(at, 'GET', path, admin)
    assert.equal(response.status, 200)
    return (await response.json()) as Listed
  }

  test('what an administrator has declared is there on every node when the reply comes', async () => {
    const json = { 'content-type': 'application/json' }
    const statuses: number[][] = []
    for (let round = 0; round < 10; round++) {
      const feed = JSON.stringify({ name: `Everywhere${round}` })
      const declared = await send(here, 'POST', '/admin/feeds', admin, feed, json)
      const published = await send(there, 'POST', `/feeds/Everywhere${round}/A`, admin, '1', json)
      const created = await send(
        here,
        'POST',
        '/query',
        admin,
        `CREATE TABLE everywhere${round} (id Integer PRIMARY KEY)`,
      )
      const read = await send(there, 'POST', '/query', admin, `SELECT id FROM everywhere${round}`)
      const removed = await send(here, 'DELETE', `/admin/feeds/Everywhere${round}`, admin)
      const gone = await send(there, 'POST', `/feeds/Everywhere${round}/A`, admin, '1', json)
      statuses.push([declared, published, created, read, removed, gone].map(({ status }) => status))
    }
    assert.deepEqual(
      statuses,
      statuses.map(() => [201, 200, 200, 200, 204, 404]),
    )
  })

  test('streaming connections of both are listed at either, each with its node, and closed from the other', async () => {
    const far = await connect(there.port, bearer(alice))
    const near = await connect(here.port, bearer(alice))
    await until('both are listed', 5000, async () => (await list('/admin/streams')).items.length === 2)
    for (const at of [here, there]) {
      const { items, silent } = await list('/admin/streams', at)
      assert.deepEqual(items.map(({ node }) => node).toSorted(), [thereName, `${hostname()}:${process.pid}`].toSorted())
      assert.deepEqual(silent, [])
    }
    assert.deepEqual(
      [(await list('/admin/streams?user=admin')).items.length, (await list('/admin/streams?user=alice')).items.length],
      [0, 2],
    )
    const { items } = await list('/admin/streams')
    const id = items.find(({ node }) => node === thereName)?.id
    assert.equal((await send(here, 'DELETE', `/admin/streams/${id}`, admin)).status, 200)
    assert.equal((await far.closed).code, 4000)
    await until('only the near one is left', 2000, async () => {
      const rest = await list('/admin/streams', there)
      return rest.items.length === 1 && rest.items[0]?.node === `${hostname()}:${process.pid}`
    })
    near.socket.close()
    await near.closed
  })

  test('a running query of the other node is listed and cancelled', async () => {
    const slow = send(there, 'POST', '/query', alice, SLOW, { 'request-id': 'slow-1' })
    await until('it is listed', 5000, async () => (await list('/admin/queries')).items.length === 1)
    assert.partialDeepStrictEqual((await list('/admin/queries')).items, [{ id: 'slow-1', node: thereName }])
    assert.equal((await send(here, 'DELETE', '/admin/queries/slow-1', admin)).status, 204)
    assert.equal((await slow).status, 499)
    assert.equal((await send(here, 'DELETE', '/admin/queries/slow-1', admin)).status, 404)
  })

  test('a caller can cancel its own query through any node, and no other', async () => {
    const service = await post(here, '/connect/token', {
      grant_type: 'client_credentials',
      client_id: 'demo-service',
      client_secret: 'demo-service-secret',
      scope: 'Platform/Market',
    })
    const other = ((await service.json()) as { access_token: string }).access_token
    const slow = send(there, 'POST', '/query', alice, SLOW, { 'request-id': 'slow-2' })
    await until('it is listed', 5000, async () => (await list('/admin/queries')).items.length === 1)
    assert.equal((await send(here, 'DELETE', '/query/slow-2', other)).status, 404)
    assert.equal((await send(here, 'DELETE', '/query/slow-2', alice)).status, 204)
    assert.equal((await slow).status, 499)
  })

  test('a node that does not reply within a second is listed in silent', async () => {
    there.child.kill('SIGSTOP')
    try {
      const started = performance.now()
      assert.deepEqual((await list('/admin/streams')).silent, [thereName])
      assert.ok(performance.now() - started < 2_500)
    } finally {
      there.child.kill('SIGCONT')
    }
    await until('it replies again', 5000, async () => (await list('/admin/streams')).silent.length === 0)
  })

  test('a stopped node is no longer called', async () => {
    await there.stop()
    const { items, silent } = await list('/admin/queries')
    assert.deepEqual({ items, silent }, { items: [], silent: [] })
  })
})

describe('services in separate processes on one SQLite folder', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let identity: RunningProcess
  let rest: RunningProcess
  const serve = (services: string, ...flags: string[]) =>
    serveProcess(['--data', place.dataFolder, '--services', services, '--issuer', 'http://localhost:5999', ...flags])

  before(async () => {
    ;({ place, leave } = await openPlace('sqlite'))
    identity = await serve('identity', '--demo')
    rest = await serve('streaming,query', '--demo')
  })
  after(async () => {
    await rest.stop()
    await identity.stop()
    await leave()
  })

  const query = (token: string) =>
    fetch(`http://127.0.0.1:${rest.port}/query`, {
      method: 'POST',
      headers: { ...bearer(token).headers, 'content-type': 'text/plain' },
      body: 'SELECT count(*) AS n FROM trades',
    })

  test('a token from the first is valid at the second, and revoked there within a second', async () => {
    const { access_token: token } = await signIn(identity)
    const stream = await connect(rest.port, bearer(token))
    assert.equal((await identify(stream)).Result, 'Success')
    assert.equal((await query(token)).status, 200)
    const told = performance.now()
    assert.equal((await post(identity, '/connect/revocation', { token, client_id: 'demo-cli' })).status, 200)
    await until('the query service refuses it', 1000, async () => (await query(token)).status === 401)
    assert.ok(performance.now() - told < 1000)
    assert.equal((await identify(stream)).Result, 'Reject')
    stream.socket.close()
    await stream.closed
  })

  test('streaming connections of the second are listed at the first, also after it was killed and restarted', async () => {
    const admin = (await signIn(identity, ADMIN)).access_token
    const stream = await connect(rest.port, bearer((await signIn(identity)).access_token))
    const list = async (): Promise<Listed> => {
      const response = await fetch(`http://127.0.0.1:${identity.port}/admin/streams`, bearer(admin))
      return (await response.json()) as Listed
    }
    await until('it is listed', 2000, async () => (await list()).items.length === 1)
    assert.deepEqual((await list()).silent, [])
    await rest.stop('SIGKILL')
    await stream.closed
    rest = await serve('streaming,query', '--demo')
    await until('the killed node is removed', 2000, async () => (await list()).silent.length === 0)
  })
})

onEveryEngineInLongRuns('the command line beside a server', (place) => {
  let server: TestServer
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
  })
  after(() => server.stop())

  const local = () => ['--data', place().dataFolder, '--database-url', place().databaseUrl]
  const run = (...words: string[]) => runInProcess([...words, '--json', ...local()])

  test('lists and closes streaming connections without a login', async () => {
    const stream = await connect(server.port, bearer((await signIn(server)).access_token))
    // As a separate process, as an operator would run it; the others run in this process.
    const { stdout, stderr } = await runGatehouse(['session', 'list', '--json', ...local()])
    const { items } = JSON.parse(stdout || '{}')
    assert.partialDeepStrictEqual(items, [{ username: 'alice', node: `${hostname()}:${process.pid}` }], stderr)
    const kick = ['session', 'kick', '--connection', items[0].id, '--yes']
    assert.equal((await runGatehouse([...kick, '--json', ...local()])).status, 0)
    assert.equal((await stream.closed).code, 4000)
  })

  test('sessions are selected by username, an unknown one is an error, and the number closed is reported', async () => {
    const streams = await Promise.all(
      [1, 2].map(async () => connect(server.port, bearer((await signIn(server)).access_token))),
    )
    const told = async (...args: string[]) => {
      const { status, stdout, stderr } = await runInProcess([...args, ...local()])
      return [status, stdout + stderr]
    }
    const kick = (user: string) => told('session', 'kick', '--user', user, '--yes')
    assert.deepEqual(await kick('admin'), [0, 'There were no sessions to close.\n'])
    assert.deepEqual(await kick('alice'), [0, '2 sessions were closed.\n'])
    for (const { closed } of streams) assert.equal((await closed).code, 4000)
    const unknown = [1, 'gatehouse: There is no user or client "alcie"\n']
    assert.deepEqual(await kick('alcie'), unknown)
    assert.deepEqual(await told('session', 'list', '--user', 'alcie'), unknown)
    assert.deepEqual(await told('audit', 'list', '--actor', 'alcie'), unknown)
    const { items } = JSON.parse((await run('audit', 'list', '--actor', 'alice', '--limit', '1')).stdout)
    assert.match(items[0].actor, /^usr_/)
  })

  test('lists and cancels running queries without a login', async () => {
    const { access_token } = await signIn(server)
    const slow = fetch(`${server.issuer}/query`, {
      method: 'POST',
      headers: { ...bearer(access_token).headers, 'content-type': 'text/plain', 'request-id': 'slow-3' },
      body: SLOW,
    })
    await until('it is listed', 5000, async () => JSON.parse((await run('queries', 'list')).stdout).items.length === 1)
    assert.equal((await run('queries', 'cancel', 'slow-3', '--yes')).status, 0)
    assert.equal((await slow).status, 499)
    assert.equal((await run('queries', 'cancel', 'slow-3', '--yes')).status, 1)
  })

  test('reports when no server is running', async () => {
    await server.stop()
    const { status, stderr } = await run('session', 'list')
    assert.equal(status, 1)
    assert.match(stderr, /No node that uses this data runs the streaming service/)
  })
})

/** Two nodes on one PostgreSQL database: revocations reach the connections of the other node, also after a failure. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { ADMIN, bearer, identify, post, signIn } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { serveProcess } from '../support/process.ts'
import { startProgram } from '../support/remote-program.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const TICKER = fileURLToPath(new URL('../../examples/ticker', import.meta.url))
const FLAGS = { '--demo': 'true', '--stream-drain-time': '0.1', '--stream-controllers': TICKER }

describe('two nodes on one PostgreSQL database', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let secondFolder: string
  let flags: Record<string, string>
  /** The second node's connection to the database. */
  let proxy: TcpProxy
  const nodes: TestServer[] = []
  before(async () => {
    ;({ place, leave } = await openPlace('postgres'))
    secondFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
    const masterKey = randomBytes(32).toString('base64')
    flags = { ...FLAGS, '--master-key': masterKey, '--issuer': 'http://localhost:5999' }
    const database = new URL(place.databaseUrl)
    proxy = await startTcpProxy(database.hostname, Number(database.port))
    nodes.push(await startTestServer(place, { flags }))
    database.port = String(proxy.port)
    nodes.push(await startTestServer({ ...place, dataFolder: secondFolder, databaseUrl: database.href }, { flags }))
  })
  after(async () => {
    for (const node of nodes) await node.stop()
    await proxy.close()
    await rm(secondFolder, { recursive: true })
    await leave()
    await stopOwnPostgres()
  })

  function bothNodes(): [TestServer, TestServer] {
    const [a, b] = nodes
    assert.ok(a !== undefined && b !== undefined)
    return [a, b]
  }

  test('a grant revoked on one node closes its connections on the other within a second', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(a)
    const client = await connect(b.port, bearer(tokens.access_token))
    assert.equal((await identify(client)).Result, 'Success')
    const started = performance.now()
    await post(a, '/connect/revocation', { client_id: 'demo-cli', token: tokens.refresh_token })
    assert.equal((await client.closed).code, 4000)
    assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`)
  })

  test('a token revoked on one node is rejected by the other within a second', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(b)
    const client = await connect(b.port, bearer(tokens.access_token))
    client.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
    assert.equal(((await client.next()).Data as { Result: string }).Result, 'Success')
    const started = performance.now()
    await post(a, '/connect/revocation', { client_id: 'demo-cli', token: tokens.access_token })
    assert.equal(((await client.next()).Data as { Result: string }).Result, 'Reject')
    assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`)
    client.socket.terminate()
  })

  /** Calls the admin API of a node. */
  async function operate(node: TestServer, method: string, path: string, body: object): Promise<void> {
    const { access_token: token } = await signIn(node, ADMIN)
    const reply = await fetch(`http://127.0.0.1:${node.port}/admin/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(method === 'PATCH' && { 'if-match': '*' }),
      },
      body: JSON.stringify(body),
    })
    assert.ok(reply.ok, `${reply.status} ${await reply.text()}`)
  }

  async function addUser(node: TestServer, username: string): Promise<{ username: string; password: string }> {
    const user = { username, password: 'a long enough password' }
    await operate(node, 'POST', 'users', { ...user, roles: ['trader'] })
    return user
  }

  test('roles removed on one node end subscriptions on the other within a second', async () => {
    const [a, b] = bothNodes()
    const user = await addUser(a, 'demoted')
    const client = await connect(b.port, bearer((await signIn(a, user)).access_token))
    const about = { Controller: 'Ticker', Topic: 'Price/ACME' }
    assert.equal((await client.request({ ...about, Action: 'Sub', Confirm: true })).Confirm, true)
    await operate(a, 'PATCH', 'users/demoted', { roles: [] })
    const started = performance.now()
    let message = await client.next()
    while (message.Action === 'Publish') message = await client.next()
    assert.deepEqual(message, { ...about, Action: 'Error', Data: 'Authority' })
    assert.deepEqual(await client.next(), { ...about, Action: 'Unsub', Confirm: true })
    assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`)
    assert.deepEqual((await identify(client)).Scope, [])
    client.socket.terminate()
  })

  test('a remote controller declared on one node is used by the other within a second', async (t) => {
    const [a, b] = bothNodes()
    const program = await startProgram()
    t.after(() => program.stop())
    const client = await connect(b.port, bearer((await signIn(a)).access_token))
    const ask = async () =>
      (await client.request({ Controller: 'Orders', Topic: 'Place', TransactionID: 1, Data: {} })).Data
    assert.equal(await ask(), 'Controller Orders')
    await operate(a, 'PUT', 'controllers/Orders', { url: program.url, topics: [{ name: 'Place', needs: 'identity' }] })
    await until('it is used', 1000, async () => isDeepStrictEqual(await ask(), {}))
    await operate(a, 'DELETE', 'controllers/Orders', {})
    await until('it is removed', 1000, async () => (await ask()) === 'Controller Orders')
    client.socket.terminate()
  })

  for (const [what, method, path, body] of [
    ['a changed password', 'PUT', 'users/leaver/password', { password: 'another long password' }],
    ['a disabled user', 'PATCH', 'users/leaver', { disabled: true }],
  ] as const) {
    test(`${what} on one node closes connections on the other within a second; earlier tokens are rejected`, async () => {
      const [a, b] = bothNodes()
      const user = await addUser(a, 'leaver')
      const { access_token: token } = await signIn(a, user)
      const client = await connect(b.port, bearer(token))
      const waiting = await connect(b.port)
      await operate(a, method, path, body)
      const started = performance.now()
      assert.equal((await client.closed).code, 4000)
      assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`)
      const Data = { Provider: 'Bearer', AccessToken: Buffer.from(token).toString('base64') }
      const restored = await waiting.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data })
      assert.deepEqual(restored.Data, { Result: 'Reject' })
      waiting.socket.terminate()
      await operate(a, 'DELETE', 'users/leaver', {})
    })
  }

  test('a client disabled on one node loses its connections on the other within a second', async () => {
    const [a, b] = bothNodes()
    const fields = { client_id: 'demo-service', client_secret: 'demo-service-secret', scope: 'Platform/Market' }
    const reply = await post(a, '/connect/token', { grant_type: 'client_credentials', ...fields })
    const { access_token: token } = (await reply.json()) as { access_token: string }
    const client = await connect(b.port, bearer(token))
    await operate(a, 'PATCH', 'clients/demo-service', { disabled: true })
    const started = performance.now()
    assert.equal((await client.closed).code, 4000)
    assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`)
  })

  test('a node without its database for ten seconds catches up on revocations after reconnecting', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(a)
    const client = await connect(b.port, bearer(tokens.access_token))
    proxy.cut()
    await post(a, '/connect/revocation', { client_id: 'demo-cli', token: tokens.refresh_token })
    await pause(10_000)
    assert.equal(client.socket.readyState, client.socket.OPEN)
    proxy.mend()
    assert.equal((await client.closed).code, 4000)
  })

  test('a killed node loses its own connections only', async () => {
    const [a] = bothNodes()
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
    const args = Object.entries({ ...flags, '--data': folder, '--database-url': place.databaseUrl }).flat()
    const killed = await serveProcess(args.filter((arg) => arg !== 'true'))
    const tokens = await signIn(a)
    const lost = await connect(killed.port, bearer(tokens.access_token))
    const kept = await connect(a.port, bearer(tokens.access_token))
    await killed.stop('SIGKILL')
    assert.equal((await lost.closed).code, 1006)
    assert.equal((await identify(kept)).Result, 'Success')
    kept.socket.terminate()
    await rm(folder, { recursive: true })
  })

  test('a stopping node closes with 1012; the other keeps its connections', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(a)
    const leaving = await connect(b.port, bearer(tokens.access_token))
    const staying = await connect(a.port, bearer(tokens.access_token))
    await b.stop()
    assert.equal((await leaving.closed).code, 1012)
    assert.equal((await identify(staying)).Result, 'Success')
    await connect(a.port, bearer(tokens.access_token))
  })
})

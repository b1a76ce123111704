/** Streaming inside the whole server: real tokens, real revocations, on both engines, and over two nodes. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { onEveryEngine, openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect, refusedUpgrade, type StreamClient } from '../support/stream-client.ts'

const FLAGS = { '--demo': 'true', '--stream-drain-time': '0.1' }

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

async function post(server: TestServer, path: string, fields: Record<string, string>): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body: new URLSearchParams(fields) })
}

const ALICE = { username: 'alice', password: 'wonderland-1' }
const ADMIN = { username: 'admin', password: 'admin-please-change' }

async function signIn(server: TestServer, user = ALICE): Promise<Tokens> {
  const fields = { grant_type: 'password', client_id: 'demo-cli', ...user }
  const reply = await post(server, '/connect/token', fields)
  assert.equal(reply.status, 200)
  return (await reply.json()) as Tokens
}

const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })

async function identify(client: StreamClient): Promise<Record<string, unknown>> {
  const { Data } = await client.request({ Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1 })
  return Data as Record<string, unknown>
}

onEveryEngine('streaming in the server', (place) => {
  let server: TestServer
  before(async () => {
    server = await startTestServer(place(), { flags: FLAGS })
  })
  after(() => server.stop())

  test('an issued token opens a connection by header and by AuthToken; refreshing renews it', async () => {
    const tokens = await signIn(server)
    const byHeader = await connect(server.port, bearer(tokens.access_token))
    const identity = await identify(byHeader)
    assert.equal(identity.Result, 'Success')
    assert.equal(identity.UserID, 'alice')
    assert.deepEqual(identity.Scope, [
      'Vendor.Platform.Market',
      'Vendor.Platform.News',
      'Vendor.Platform.OrderPad',
      'Vendor.Platform.Trading',
    ])
    const fields = { grant_type: 'refresh_token', client_id: 'demo-cli', refresh_token: tokens.refresh_token }
    const refreshed = (await (await post(server, '/connect/token', fields)).json()) as Tokens
    const Data = { Provider: 'Bearer', AccessToken: refreshed.access_token }
    const reply = await byHeader.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 2, Data })
    assert.deepEqual([reply.Topic, (reply.Data as { Result: string }).Result], ['Identify', 'Success'])
    byHeader.socket.terminate()
  })

  test('an ID token and a refresh token are rejected', async () => {
    const fields = { grant_type: 'password', client_id: 'demo-cli', username: 'alice', password: 'wonderland-1' }
    const reply = await post(server, '/connect/token', { ...fields, scope: 'openid Platform/Market offline_access' })
    const { id_token: idToken, refresh_token: refreshToken } = (await reply.json()) as Record<string, string>
    for (const token of [idToken, refreshToken]) {
      if (token === undefined) continue
      assert.equal((await refusedUpgrade(server.port, bearer(token))).status, 401)
    }
    assert.ok(refreshToken)
  })

  test('a revoked refresh token ends the live connections of its grant with 4000, within a second', async () => {
    const tokens = await signIn(server)
    const other = await connect(server.port, bearer((await signIn(server)).access_token))
    const client = await connect(server.port, bearer(tokens.access_token))
    const started = performance.now()
    await post(server, '/connect/revocation', { client_id: 'demo-cli', token: tokens.refresh_token })
    assert.equal((await client.closed).code, 4000)
    assert.ok(performance.now() - started < 1_000)
    assert.equal((await identify(other)).Result, 'Success')
    assert.equal((await refusedUpgrade(server.port, bearer(tokens.access_token))).status, 401)
    other.socket.terminate()
  })

  test('a revoked access token takes the rights of the connection, which may authenticate again', async () => {
    const tokens = await signIn(server)
    const client = await connect(server.port, bearer(tokens.access_token))
    client.send({ Topic: 'Feeds', Action: 'Sub' })
    assert.deepEqual((await client.next()).Data, [])
    await post(server, '/connect/revocation', { client_id: 'demo-cli', token: tokens.access_token })
    assert.deepEqual(await client.next(), {
      Controller: 'Platform',
      Topic: 'Feeds',
      Action: 'Error',
      Data: 'Authority',
    })
    assert.equal((await client.next()).Action, 'Unsub')
    assert.equal((await identify(client)).Result, 'Reject')
    client.socket.terminate()
  })

  test('an operator sees the live session over HTTP, kicks it, and it is closed with 4000', async () => {
    const client = await connect(server.port, bearer((await signIn(server)).access_token))
    const { access_token: admin } = await signIn(server, ADMIN)
    const address = `http://127.0.0.1:${server.port}/admin/streams`
    const list = await fetch(address, bearer(admin))
    assert.equal(list.status, 200)
    const { items } = (await list.json()) as { items: { id: string; username: string }[] }
    const mine = items.find(({ username }) => username === 'alice')
    assert.ok(mine)
    assert.equal((await fetch(`${address}/${mine.id}`, { method: 'DELETE', ...bearer(admin) })).status, 204)
    assert.deepEqual(await client.closed, { code: 4000, reason: 'ended by an operator' })
  })

  test('a plain request at the address is a 426', async () => {
    const reply = await fetch(`http://127.0.0.1:${server.port}/platform?version=1.1`)
    assert.equal(reply.status, 426)
    assert.equal(reply.headers.get('upgrade'), 'websocket')
  })
})

describe('two nodes on one PostgreSQL', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let secondFolder: string
  const nodes: TestServer[] = []
  before(async () => {
    ;({ place, leave } = await openPlace('postgres'))
    secondFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
    const masterKey = randomBytes(32).toString('base64')
    const flags = { ...FLAGS, '--master-key': masterKey, '--issuer': 'http://localhost:5999' }
    for (const dataFolder of [place.dataFolder, secondFolder])
      nodes.push(await startTestServer({ ...place, dataFolder }, { flags }))
  })
  after(async () => {
    for (const node of nodes) await node.stop()
    await rm(secondFolder, { recursive: true })
    await leave()
    await stopOwnPostgres()
  })

  function bothNodes(): [TestServer, TestServer] {
    const [a, b] = nodes
    assert.ok(a !== undefined && b !== undefined)
    return [a, b]
  }

  test('a grant revoked on one ends its connection on the other within a second', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(a)
    const client = await connect(b.port, bearer(tokens.access_token))
    assert.equal((await identify(client)).Result, 'Success')
    const started = performance.now()
    await post(a, '/connect/revocation', { client_id: 'demo-cli', token: tokens.refresh_token })
    assert.equal((await client.closed).code, 4000)
    assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`)
  })

  test('a token revoked on one loses its rights on the other within a second', async () => {
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

  test('a node that stops closes with 1012; the other serves on', async () => {
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

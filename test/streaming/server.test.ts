/** Streaming inside the whole server: real tokens and real revocations, on both engines. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, test } from 'node:test'
import { ADMIN, bearer, identify, post, signIn, type Tokens } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect, refusedUpgrade } from '../support/stream-client.ts'

const FLAGS = { '--demo': 'true', '--stream-drain-time': '0.1' }

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

  test('the signature of a token that is known lends nothing to another header or body', async () => {
    const { access_token: token } = await signIn(server)
    const client = await connect(server.port, bearer(token))
    const [head = '', body = '', signature = ''] = token.split('.')
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
    const raised = Buffer.from(JSON.stringify({ ...claims, scope: `${claims.scope} Platform/Admin` }))
    for (const forged of [
      `${head}.${raised.toString('base64url')}.${signature}`,
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.${signature}`,
    ]) {
      assert.equal((await refusedUpgrade(server.port, bearer(forged))).status, 401)
      const Data = { Provider: 'Bearer', AccessToken: forged }
      const reply = await client.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 3, Data })
      assert.deepEqual(reply.Data, { Result: 'Reject' })
    }
    client.socket.terminate()
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

  test('RFC 9110 §7.8: a request that offers another protocol is answered as if it did not', async () => {
    const headers = {
      Connection: 'Upgrade, HTTP2-Settings',
      Upgrade: 'h2c',
      'HTTP2-Settings': 'AAMAAABkAAQAoAAAAAIAAAAA',
    }
    const asked = request({ port: server.port, path: '/healthz', headers }).end()
    const [reply] = (await once(asked, 'response')) as [IncomingMessage]
    reply.resume()
    assert.equal(reply.statusCode, 200)
  })

  test('a plain request at the address is a 426', async () => {
    const reply = await fetch(`http://127.0.0.1:${server.port}/platform?version=1.1`)
    assert.equal(reply.status, 426)
    assert.equal(reply.headers.get('upgrade'), 'websocket')
  })
})

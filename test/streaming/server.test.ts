/** Streaming in the complete server: real tokens and revocations, on both database engines. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { trustedCertificate, writeCertificate } from '../support/certificate.ts'
import { ADMIN, ALICE, bearer, identify, post, signIn, type Tokens } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns, openPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect, refusedUpgrade } from '../support/stream-client.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const FLAGS = { '--demo': 'true', '--stream-drain-time': '0.1' }

onEveryEngineInLongRuns('streaming in the server', (place) => {
  let server: TestServer
  before(async () => {
    server = await startTestServer(place(), { flags: FLAGS })
  })
  after(() => server.stop())

  /** Uses the hybrid flow, so that the tokens belong to a browser session. */
  async function signInWithBrowser(): Promise<{ agent: UserAgent; accessToken: string; idToken: string }> {
    const agent = createUserAgent({ home: server.issuer })
    const parameters = {
      client_id: 'demo-web',
      response_type: 'code id_token token',
      redirect_uri: 'http://localhost:5090/callback',
      scope: 'openid Platform/Market',
      nonce: 'n',
    }
    const { end } = await visit(agent, await agent.get(`/connect/authorize?${new URLSearchParams(parameters)}`), ALICE)
    assert.ok(end.kind === 'left')
    const answer = new URLSearchParams(end.url.hash.slice(1))
    const [accessToken, idToken] = [answer.get('access_token'), answer.get('id_token')]
    assert.ok(accessToken !== null && idToken !== null)
    return { agent, accessToken, idToken }
  }

  test('an issued token authenticates by header and by AuthToken; a refreshed token renews the authority', async () => {
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

  test('an ID token, a refresh token and a token for another API are rejected', async () => {
    const { refresh_token: refreshToken } = await signIn(server)
    const { idToken } = await signInWithBrowser()
    const fields = { grant_type: 'password', client_id: 'demo-cli', ...ADMIN, scope: 'openid Identity/Admin' }
    const { access_token: otherApi } = (await (await post(server, '/connect/token', fields)).json()) as Tokens
    const client = await connect(server.port)
    for (const token of [idToken, refreshToken, otherApi]) {
      assert.ok(token.length > 20)
      assert.equal((await refusedUpgrade(server.port, bearer(token))).status, 401)
      const Data = { Provider: 'Bearer', AccessToken: token }
      const reply = await client.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data })
      assert.deepEqual(reply.Data, { Result: 'Reject' })
    }
    client.socket.terminate()
  })

  test('a client acting for itself is identified by its client ID, without a display name', async () => {
    const fields = { client_id: 'demo-service', client_secret: 'demo-service-secret', scope: 'Platform/Market' }
    const reply = await post(server, '/connect/token', { grant_type: 'client_credentials', ...fields })
    const client = await connect(server.port, bearer(((await reply.json()) as Tokens).access_token))
    const { ExpiryDate: expiry, ...identity } = await identify(client)
    assert.deepEqual(identity, { Result: 'Success', UserID: 'demo-service', Scope: ['Vendor.Platform.Market'] })
    assert.match(String(expiry), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    client.socket.terminate()
  })

  test('sign-out closes the connections of the browser session with 4000 and invalidates their restore tokens', async () => {
    const { agent, accessToken, idToken } = await signInWithBrowser()
    const client = await connect(server.port)
    const Data = { Provider: 'Bearer', AccessToken: accessToken }
    const signInAgain = { Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1 }
    const reply = await client.request({ ...signInAgain, Data })
    const { AccessToken: restore } = reply.Data as { AccessToken: string }
    const elsewhere = await connect(server.port, bearer((await signIn(server)).access_token))
    await agent.get(`/connect/endsession?${new URLSearchParams({ id_token_hint: idToken })}`)
    const started = performance.now()
    assert.equal((await client.closed).code, 4000)
    assert.ok(performance.now() - started < 1_000)
    const late = await connect(server.port)
    const restored = await late.request({ ...signInAgain, Data: { ...Data, AccessToken: restore } })
    assert.deepEqual(restored.Data, { Result: 'Reject' })
    assert.equal((await identify(elsewhere)).Result, 'Success')
    for (const { socket } of [late, elsewhere]) socket.terminate()
  })

  test('the signature of a cached token is not accepted with another header or body', async () => {
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

  test('revoking a refresh token closes the connections of its grant with 4000 within a second', async () => {
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

  test('revoking an access token ends subscriptions but not the connection', async () => {
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

  test('an operator lists live sessions over HTTP and closes one with 4000', async () => {
    const client = await connect(server.port, bearer((await signIn(server)).access_token))
    const { access_token: admin } = await signIn(server, ADMIN)
    const address = `http://127.0.0.1:${server.port}/admin/streams`
    const list = await fetch(address, bearer(admin))
    assert.equal(list.status, 200)
    const { items } = (await list.json()) as { items: { id: string; username: string }[] }
    const mine = items.find(({ username }) => username === 'alice')
    assert.ok(mine)
    assert.equal((await fetch(`${address}/${mine.id}`, { method: 'DELETE', ...bearer(admin) })).status, 200)
    assert.deepEqual(await client.closed, { code: 4000, reason: 'ended by an operator' })
  })

  test('RFC 9110 §7.8: an upgrade to an unsupported protocol is ignored', async () => {
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

  test('over TLS: authentication by header, with and without compression', async (t) => {
    const { place: elsewhere, leave } = await openPlace('sqlite')
    const certificate = trustedCertificate()
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-tls-'))
    const { certFile, keyFile } = await writeCertificate(certificate, folder)
    const flags = { ...FLAGS, '--tls-certificate': certFile, '--tls-key': keyFile }
    const secure = await startTestServer(elsewhere, { flags })
    t.after(async () => {
      await secure.stop()
      await leave()
      await rm(folder, { recursive: true })
    })
    const body = new URLSearchParams({ grant_type: 'password', client_id: 'demo-cli', ...ALICE })
    const granted = await fetch(`https://localhost:${secure.port}/connect/token`, { method: 'POST', body })
    const { access_token: token } = (await granted.json()) as Tokens
    for (const perMessageDeflate of [false, true]) {
      const options = { ...bearer(token), perMessageDeflate, scheme: 'wss', ca: certificate.cert } as const
      const client = await connect(secure.port, options)
      assert.equal((await identify(client)).Result, 'Success')
      client.socket.terminate()
    }
  })

  test('RFC 9110 §7.8: the Upgrade header of an HTTP/1.0 request is ignored', async () => {
    const socket = connectTcp(server.port, '127.0.0.1')
    socket.write(
      'GET /Platform?version=1.1 HTTP/1.0\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: PlatformJson\r\n\r\n',
    )
    const [reply] = await once(socket, 'data')
    assert.match(String(reply), /^HTTP\/1.1 426 /)
    socket.destroy()
  })

  test('a request without an upgrade gets 426', async () => {
    const reply = await fetch(`http://127.0.0.1:${server.port}/platform?version=1.1`)
    assert.equal(reply.status, 426)
    assert.equal(reply.headers.get('upgrade'), 'websocket')
  })
})

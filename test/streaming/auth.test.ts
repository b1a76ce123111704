/** The Auth controller: AuthToken, QueryIdentify and Identify, in both profiles. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { readAccessToken } from '../../packages/server/src/streaming/controllers/auth.ts'
import { createTestController } from '../support/controllers.ts'
import { startGateway } from '../support/gateway.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'

const authToken = (AccessToken: unknown, Provider: unknown = 'Bearer', TransactionID = 1): object => ({
  Controller: 'Auth',
  Topic: 'AuthToken',
  TransactionID,
  Data: { Provider, AccessToken },
})
const QUERY_IDENTIFY = { Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 2 }

async function openResult(client: StreamClient, message: object): Promise<Record<string, unknown>> {
  const { Action = 'Publish', Data } = await client.request(message)
  assert.equal(Action, 'Publish')
  return Data as Record<string, unknown>
}

test('AuthToken: the provider is case-insensitive; the token is raw or Base64', async (t) => {
  const { port, mint } = await startGateway(t)
  const token = await mint.issue()
  const base64 = Buffer.from(token).toString('base64')
  for (const [provider, text] of [
    ['Bearer', token],
    ['bearer', token],
    ['BEARER', base64],
  ] as const) {
    const client = await connect(port)
    assert.equal((await openResult(client, authToken(text, provider))).Result, 'Success')
  }
})

test('invalid Base64 is taken as the raw token', async (t) => {
  const { port, mint } = await startGateway(t)
  const client = await connect(port)
  // Three consecutive lengths, so that each needs a different padding.
  for (const tokenId of ['1', '12', '123']) {
    const base64 = Buffer.from(await mint.issue({ tokenId })).toString('base64')
    const bare = base64.replace(/=*$/, '')
    const wrong = ['', '=', '==', '==='].map((padding) => `${bare}${padding}`).filter((text) => text !== base64)
    for (const text of [...wrong, `${base64}\n`, ` ${base64}`, `-${base64}`])
      assert.deepEqual(await openResult(client, authToken(text)), { Result: 'Reject' }, text.slice(-8))
    assert.equal((await openResult(client, authToken(base64))).Result, 'Success')
  }
})

test('Base64 is decoded only in the standard alphabet with correct padding', () => {
  for (const [text, token] of [
    ['QUJD', 'ABC'],
    ['QUI=', 'AB'],
    ['QQ==', 'A'],
    ['Pj4+Pz8/', '>>>???'],
    ...['Pj4-Pz8_', 'QQ', 'QQ=', 'QQ===', 'QUI', 'Q', '====', 'QU=D', ' QUJD', 'QUJD\n', 'a.b.', ''].map((raw) => [
      raw,
      raw,
    ]),
  ])
    assert.equal(readAccessToken(text ?? ''), token)
})

test('Reject gives no reason', async (t) => {
  const { port, mint, clock } = await startGateway(t)
  const expired = await mint.issue({ lifetime: 1 })
  clock.advance(1_000)
  const good = await mint.issue()
  const [head = '', body = '', signature = ''] = good.split('.')
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const hmacHead = encoded({ alg: 'HS256', typ: 'at+jwt' })
  const hmac = createHmac('sha256', mint.publicKeyPem).update(`${hmacHead}.${body}`).digest('base64url')
  const client = await connect(port)
  for (const [reason, token] of Object.entries({
    expired,
    'an ID token': await mint.issue({ type: 'JWT' }),
    'another issuer': await mint.issue({ issuer: 'https://other.test' }),
    'another audience': await mint.issue({ audiences: ['identity'] }),
    'no platform scope': await mint.issue({ scopes: ['openid', 'profile'] }),
    'alg none': `${encoded({ alg: 'none', typ: 'at+jwt' })}.${body}.`,
    'HS256 over the public key': `${hmacHead}.${body}.${hmac}`,
    'a changed body': `${head}.${encoded({ sub: 'root' })}.${signature}`,
    'a refresh token': 'k2Zr0p2mBd0n3gLrQ0r8t9-x',
    nothing: '',
    nonsense: 'x'.repeat(100_000),
  })) {
    assert.deepEqual(await openResult(client, authToken(token)), { Result: 'Reject' }, reason)
  }
  assert.deepEqual(await openResult(client, authToken(good, 'Basic')), { Result: 'Reject' })
  assert.deepEqual(await openResult(client, QUERY_IDENTIFY), { Result: 'Reject' })
})

test('a missing member is Data, a wrong type Data.Deserialise; neither is Reject', async (t) => {
  const { port } = await startGateway(t)
  const client = await connect(port)
  const base = { Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1 }
  for (const [data, expected] of [
    [undefined, 'Data Data'],
    [{ AccessToken: 'x' }, 'Data Provider'],
    [{ Provider: 'Bearer' }, 'Data AccessToken'],
    [{ Provider: 5, AccessToken: 'x' }, 'Data.Deserialise Provider'],
    [{ Provider: 'Bearer', AccessToken: null }, 'Data.Deserialise AccessToken'],
    ['text', 'Data.Deserialise Data'],
    [null, 'Data.Deserialise Data'],
    [[], 'Data.Deserialise Data'],
  ] as const) {
    const reply = await client.request({ ...base, Data: data })
    assert.equal(reply.Action, 'Error')
    assert.equal(reply.Topic, 'AuthToken')
    assert.equal(reply.Data, expected)
  }
})

test('the AccessToken of a Success authenticates another connection later, unless the setting withholds it', async (t) => {
  const { port, mint } = await startGateway(t)
  const first = await connect(port)
  const { AccessToken } = await openResult(first, authToken(await mint.issue()))
  first.socket.close()
  const second = await connect(port)
  assert.equal((await openResult(second, authToken(AccessToken))).UserID, 'alice')

  const strict = await startGateway(t, { settings: { streamRestoreTokens: false } })
  const third = await connect(strict.port)
  assert.equal('AccessToken' in (await openResult(third, authToken(await strict.mint.issue()))), false)
})

test('Scope lists platform scopes only, prefixed with the vendor', async (t) => {
  const { port, mint } = await startGateway(t, { settings: { streamVendor: 'Acme' } })
  const client = await connect(port)
  const scopes = ['openid', 'profile', 'Platform/News', 'Identity/Admin', 'Platform/OrderPad', 'offline_access']
  const { Scope } = await openResult(client, authToken(await mint.issue({ scopes })))
  assert.deepEqual(Scope, ['Acme.Platform.News', 'Acme.Platform.OrderPad'])
})

test('re-authentication replaces the authority; a rejected attempt keeps the old one', async (t) => {
  const { port, mint } = await startGateway(t)
  const client = await connect(port)
  await openResult(client, authToken(await mint.issue({ scopes: ['Platform/Market'] })))
  await openResult(client, authToken(await mint.issue({ scopes: ['Platform/News'], lifetime: 7200 })))
  const expected = { ExpiryDate: '2026-11-15T02:00:00Z', Scope: ['Vendor.Platform.News'] }
  const { ExpiryDate, Scope } = await openResult(client, QUERY_IDENTIFY)
  assert.deepEqual({ ExpiryDate, Scope }, expected)
  assert.deepEqual(await openResult(client, authToken('nonsense')), { Result: 'Reject' })
  const after = await openResult(client, QUERY_IDENTIFY)
  assert.deepEqual({ ExpiryDate: after.ExpiryDate, Scope: after.Scope }, expected)
})

test('another user on the same connection is rejected, whether the first came by header or AuthToken', async (t) => {
  const { port, mint } = await startGateway(t)
  const client = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue({ subject: 'alice' })}` } })
  assert.deepEqual(await openResult(client, authToken(await mint.issue({ subject: 'bob' }))), { Result: 'Reject' })
  assert.equal((await openResult(client, QUERY_IDENTIFY)).UserID, 'alice')
})

test('Identify pushes the authority at once and after each renewal, after the reply', async (t) => {
  const { port, mint } = await startGateway(t)
  const client = await connect(port)
  const subscribe = { Controller: 'Auth', Topic: 'Identify', Action: 'Sub' }
  assert.deepEqual(await client.request(subscribe), {
    Controller: 'Auth',
    Topic: 'Identify',
    Action: 'Publish',
    Data: { Result: 'Reject' },
  })
  const reply = await client.request(authToken(await mint.issue()))
  assert.equal(reply.TransactionID, 1)
  const push = await client.next()
  assert.equal('TransactionID' in push, false)
  assert.equal((push.Data as { Result: string }).Result, 'Success')
  await client.expectSilence()
})

test('AuthToken without a TransactionID is answered once, on the Identify subscription', async (t) => {
  const { port, mint } = await startGateway(t)
  const client = await connect(port)
  const { TransactionID: _, ...anonymous } = authToken(await mint.issue()) as { TransactionID: number }
  const unsubscribed = await client.request(anonymous)
  assert.equal(unsubscribed.Data, 'Operation.NoResult')
  assert.equal((await openResult(client, QUERY_IDENTIFY)).Result, 'Success')
  await client.request({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
  const subscribed = await client.request(anonymous)
  assert.equal((subscribed.Data as { Result: string }).Result, 'Success')
  await client.expectSilence()
})

test('profile 2: topic AuthToken, Rejected, always an AccessToken, ExpiresIn in addition to ExpiryDate', async (t) => {
  const { port, mint, clock } = await startGateway(t)
  const client = await connect(port, { path: '/Platform?version=2.0' })
  const rejected = await client.request(authToken('nonsense'))
  assert.deepEqual([rejected.Topic, rejected.Data], ['AuthToken', { Result: 'Rejected' }])
  assert.deepEqual(await openResult(client, QUERY_IDENTIFY), { Result: 'Rejected' })
  const token = await mint.issue()
  const reply = await client.request(authToken(token))
  assert.equal(reply.Topic, 'AuthToken')
  assert.deepEqual(reply.Data, {
    Result: 'Success',
    AccessToken: Buffer.from(token).toString('base64'),
    DisplayName: 'Alice Liddell',
    UserID: 'alice',
    ExpiryDate: '2026-11-15T01:00:00Z',
    ExpiresIn: '01:00:00.0',
    Scope: ['Vendor.Platform.Market'],
  })
  clock.advance(1_500)
  const later = await openResult(client, QUERY_IDENTIFY)
  assert.equal(later.ExpiresIn, '00:59:58.5')
  assert.equal(later.AccessToken, Buffer.from(token).toString('base64'))
})

test('a revocation during the check of the token is not missed', async (t) => {
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const started = await startGateway(t, {
    controllers: [createTestController()],
    authenticate: async (token) => {
      const principal = await started.mint.authenticate(token)
      await gate
      return principal
    },
  })
  const { port, mint, bus } = started
  const client = await connect(port)
  client.send(authToken(await mint.issue({ tokenId: 'revoked' })))
  const token = await mint.issue({ tokenId: 'revoked' })
  const upgrade = connect(port, { headers: { Authorization: `Bearer ${token}` } })
  const refused = assert.rejects(upgrade, /refused with 401/)
  await client.expectSilence()
  await new Promise((resolve) => setTimeout(resolve, 50))
  await bus.publish({ kind: 'token-revoked', tokenId: 'revoked', expiresAt: 0 })
  release()
  assert.deepEqual((await client.next()).Data, { Result: 'Reject' })
  await refused
})

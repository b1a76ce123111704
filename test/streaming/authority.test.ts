/** Changes of authority on open connections: expiry, renewal, revocation, sign-out, reduced rights, displaced sessions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GateEvent } from '../../packages/server/src/events/bus.ts'
import { createTestController } from '../support/controllers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'
import { KEY_ID, type TokenWishes } from '../support/tokens.ts'

const sub = (Topic: string, Controller = 'Test'): object => ({ Controller, Topic, Action: 'Sub', Confirm: true })

async function startTest(t: Parameters<typeof startGateway>[0], settings = {}) {
  const controller = createTestController()
  // These tests advance the clock far without sending frames.
  const withoutIdleTimeout = { streamIdleTimeout: 1e9, ...settings }
  return { ...(await startGateway(t, { controllers: [controller], settings: withoutIdleTimeout })), controller }
}

async function signedIn({ port, mint }: TestGateway, wishes: TokenWishes = {}): Promise<StreamClient> {
  return connect(port, { headers: { Authorization: `Bearer ${await mint.issue(wishes)}` } })
}

async function renew({ mint }: TestGateway, client: StreamClient, wishes: TokenWishes = {}): Promise<unknown> {
  const Data = { Provider: 'Bearer', AccessToken: await mint.issue(wishes) }
  const reply = await client.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 9, Data })
  return (reply.Data as { Result: string }).Result
}

async function nextResult(client: StreamClient): Promise<unknown> {
  const { Topic, Data } = await client.next()
  assert.equal(Topic, 'Identify')
  return (Data as { Result: string }).Result
}

test('Identify pushes a warning before expiry, the expiry and the renewal', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { lifetime: 600 })
  client.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
  assert.equal(await nextResult(client), 'Success')
  gate.clock.advance(479_000)
  await client.expectSilence()
  gate.clock.advance(1_000)
  assert.equal(await nextResult(client), 'Success')
  gate.clock.advance(119_999)
  await client.expectSilence()
  gate.clock.advance(1)
  assert.equal(await nextResult(client), 'Reject')
  assert.equal(await renew(gate, client), 'Success')
  assert.equal(await nextResult(client), 'Success')
})

test('from the millisecond of expiry, requests get Authority and subscriptions are paused', async (t) => {
  // Without the sweep, which must not matter for expiry.
  const gate = await startTest(t, { streamSweepInterval: 1_000_000 })
  const client = await signedIn(gate, { lifetime: 600 })
  await client.request(sub('Market'))
  await client.request(sub('Open'))
  gate.clock.advance(599_999)
  gate.controller.publish('Market', 1)
  assert.equal((await client.next()).Data, 1)
  gate.clock.advance(1)
  gate.controller.publish('Market', 2)
  gate.controller.publish('Open', 3)
  assert.equal((await client.next()).Data, 3)
  assert.equal((await client.request({ Controller: 'Test', Topic: 'Market', TransactionID: 1 })).Data, 'Authority')
})

test('re-authentication within the grace period resumes the subscriptions with a new snapshot', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { lifetime: 600 })
  await client.request(sub('Market'))
  await client.request(sub('State'))
  assert.equal((await client.next()).Data, 'now')
  gate.clock.advance(600_000)
  await client.expectSilence()
  gate.controller.publish('Market', 'missed')
  gate.clock.advance(59_000)
  await client.expectSilence()
  assert.equal(await renew(gate, client), 'Success')
  const resumed = await client.next()
  assert.deepEqual([resumed.Topic, resumed.Data], ['State', 'now'])
  gate.controller.publish('Market', 'delivered')
  assert.equal((await client.next()).Data, 'delivered')
  await client.expectSilence()
})

test('after the grace period the connection is closed with 1008, not with 4000', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { lifetime: 600 })
  gate.clock.advance(600_000)
  await client.expectSilence()
  gate.clock.advance(60_000)
  assert.deepEqual(await client.closed, { code: 1008, reason: 'not authenticated again in time' })
})

test('renewal with fewer scopes ends the subscriptions that need the others', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { scopes: ['Platform/Market', 'Platform/Trading'] })
  await client.request(sub('Market'))
  await client.request(sub('Trades'))
  assert.equal(await renew(gate, client, { scopes: ['Platform/Market'] }), 'Success')
  assert.deepEqual(await client.next(), { Controller: 'Test', Topic: 'Trades', Action: 'Error', Data: 'Authority' })
  assert.deepEqual(await client.next(), { Controller: 'Test', Topic: 'Trades', Action: 'Unsub', Confirm: true })
  gate.controller.publish('Trades', 1)
  gate.controller.publish('Market', 2)
  assert.equal((await client.next()).Data, 2)
})

test('reduced rights end the affected subscriptions only: Error Authority, then Unsub; restored rights apply again', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { scopes: ['openid', 'Platform/Market', 'Platform/Trading'] })
  await client.request(sub('Market'))
  await client.request(sub('Trades'))
  client.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
  await client.next()
  const rights = (scopes: string[]): GateEvent => ({
    kind: 'rights-changed',
    roles: [],
    subject: 'alice',
    scopes,
    at: Date.now(),
    expiresAt: Date.now() + 60_000,
  })
  await gate.bus.publish(rights(['Platform/Market', 'Platform/News']))
  assert.deepEqual(((await client.next()).Data as { Scope: string[] }).Scope, ['Vendor.Platform.Market'])
  assert.deepEqual(await client.next(), { Controller: 'Test', Topic: 'Trades', Action: 'Error', Data: 'Authority' })
  assert.deepEqual(await client.next(), { Controller: 'Test', Topic: 'Trades', Action: 'Unsub', Confirm: true })
  gate.controller.publish('Market', 'open')
  assert.equal((await client.next()).Data, 'open')
  assert.equal((await client.request({ ...sub('Trades'), TransactionID: 5 })).Data, 'Authority')
  assert.equal((await client.next()).Confirm, false)
  await gate.bus.publish(rights(['Platform/Market', 'Platform/Trading']))
  assert.deepEqual(((await client.next()).Data as { Scope: string[] }).Scope, [
    'Vendor.Platform.Market',
    'Vendor.Platform.Trading',
  ])
  assert.equal((await client.request(sub('Trades'))).Confirm, true)
  await gate.bus.publish({ ...rights([]), subject: 'bob' } as GateEvent)
  await client.expectSilence()
})

test('a revoked token: Identify pushes it, subscriptions end, and a fresh token is accepted within the grace period', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { tokenId: 'lost' })
  const other = await signedIn(gate, { tokenId: 'kept' })
  await client.request(sub('Market'))
  client.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
  await client.next()
  await gate.bus.publish({ kind: 'token-revoked', tokenId: 'lost', expiresAt: gate.clock() + 1000 })
  assert.equal(await nextResult(client), 'Reject')
  assert.equal((await client.next()).Data, 'Authority')
  assert.equal((await client.next()).Action, 'Unsub')
  assert.equal((await client.request({ Controller: 'Test', Topic: 'Who', TransactionID: 1 })).Data, 'Authority')
  assert.equal(await renew(gate, client, { subject: 'bob' }), 'Reject')
  assert.equal(await renew(gate, client), 'Success')
  assert.equal(await nextResult(client), 'Success')
  await gate.bus.publish({ kind: 'token-revoked', tokenId: 'kept', expiresAt: gate.clock() + 1000 })
  gate.clock.advance(60_000)
  assert.equal((await other.closed).code, 1008)
})

for (const [what, wishes, event] of [
  ['sign-out', { sessionId: 's1' }, { kind: 'session-ended', sessionId: 's1', expiresAt: 0 }],
  ['a revoked grant', { grantId: 'g1' }, { kind: 'grant-revoked', grantId: 'g1', expiresAt: 0 }],
  [
    'a disabled user or changed password',
    {},
    { kind: 'subject-cut', subject: 'alice', at: Date.UTC(2026, 10, 16), expiresAt: 0 },
  ],
  [
    'a disabled client',
    { clientId: 'c1' },
    { kind: 'client-cut', clientId: 'c1', at: Date.UTC(2026, 10, 16), expiresAt: 0 },
  ],
  [
    'a client without any scopes left',
    { clientId: 'c1' },
    { kind: 'client-scopes-changed', clientId: 'c1', scopes: [], at: Date.UTC(2026, 10, 16), expiresAt: 0 },
  ],
  ['an operator who kicks the user', {}, { kind: 'stream-kick', subject: 'alice' }],
] as const satisfies readonly [string, TokenWishes, GateEvent][]) {
  test(`${what} closes the connection with 4000, and no others`, async (t) => {
    const gate = await startTest(t)
    const client = await signedIn(gate, wishes)
    const bystander = await signedIn(gate, { subject: 'bob', clientId: 'c2', sessionId: 's2', grantId: 'g2' })
    const anonymous = await connect(gate.port)
    client.send({ Controller: 'Test', Topic: 'Wait', TransactionID: 1 })
    await client.expectSilence()
    await gate.bus.publish(event)
    assert.deepEqual(await client.next(), {
      Controller: 'Test',
      Topic: 'Wait',
      Action: 'Error',
      TransactionID: 1,
      Data: 'Session',
    })
    assert.equal((await client.closed).code, 4000)
    await bystander.expectSilence()
    await anonymous.expectSilence()
  })
}

test('sign-out closes a connection in the grace period after expiry', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { sessionId: 's1', lifetime: 10 })
  gate.clock.advance(10_000)
  await client.expectSilence()
  await gate.bus.publish({ kind: 'session-ended', sessionId: 's1', expiresAt: 0 })
  assert.equal((await client.closed).code, 4000)
})

test('tokens issued after a subject-cut or client-cut stay valid', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate)
  await gate.bus.publish({ kind: 'subject-cut', subject: 'alice', at: gate.clock() - 1, expiresAt: 0 })
  await gate.bus.publish({ kind: 'client-cut', clientId: 'demo-cli', at: gate.clock() - 1, expiresAt: 0 })
  await client.expectSilence()
})

test('operators list live sessions and kick one', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate)
  const anonymous = await connect(gate.port, { path: '/Platform?version=2.0' })
  await client.request(sub('Market'))
  const sessions = gate.gateway.connections()
  assert.equal(sessions.length, 2)
  const mine = sessions.find(({ subject }) => subject === 'alice')
  assert.ok(mine)
  assert.deepEqual(
    [mine.address, mine.openedAt, mine.protocol, mine.version, mine.subscriptions],
    ['127.0.0.1', gate.clock(), 'PlatformJson', '1.x', 1],
  )
  await gate.gateway.kick({ connectionId: mine.connectionId })
  assert.deepEqual(await client.closed, { code: 4000, reason: 'ended by an operator' })
  await anonymous.expectSilence()
  assert.equal(gate.gateway.connections().length, 1)
})

test('sessions per user: the oldest is closed with 4000; connections of one sign-in are one session', async (t) => {
  const gate = await startTest(t, { streamMaxSessionsPerUser: 2 })
  const first = await signedIn(gate, { grantId: 'g1' })
  const firstAgain = await signedIn(gate, { grantId: 'g1' })
  const second = await signedIn(gate, { grantId: 'g2' })
  const other = await signedIn(gate, { subject: 'bob', grantId: 'g9' })
  await first.expectSilence()
  const third = await connect(gate.port)
  assert.equal(await renew(gate, third, { grantId: 'g3' }), 'Success')
  assert.deepEqual(await first.closed, { code: 4000, reason: 'displaced by a newer session' })
  assert.equal((await firstAgain.closed).code, 4000)
  for (const client of [second, third, other]) await client.expectSilence()
  assert.equal(gate.gateway.counters.sessionsDisplaced, 1)
  second.socket.close()
  await second.closed
  await signedIn(gate, { grantId: 'g4' })
  await third.expectSilence()
})

test('a handler sees the current scopes and roles, not those in the token', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { scopes: ['openid', 'Platform/Market', 'Platform/Trading'] })
  const rights = async () => (await client.request({ Controller: 'Test', Topic: 'Rights', TransactionID: 1 })).Data
  assert.deepEqual(await rights(), { scopes: ['openid', 'Platform/Market', 'Platform/Trading'], roles: [] })
  const lowered = { subject: 'alice', scopes: ['Platform/Market'], roles: ['reader'] }
  await gate.bus.publish({ kind: 'rights-changed', ...lowered, at: gate.clock(), expiresAt: 0 })
  assert.deepEqual(await rights(), { scopes: ['openid', 'Platform/Market'], roles: ['reader'] })
})

test('scopes removed from a client are lost on its connections, and on no others', async (t) => {
  const gate = await startTest(t)
  const scopes = ['Platform/Market', 'Platform/Trading']
  const client = await signedIn(gate, { clientId: 'c1', scopes })
  const other = await signedIn(gate, { clientId: 'c2', scopes })
  for (const { request } of [client, other]) await request(sub('Trades'))
  const left = { clientId: 'c1', scopes: ['Platform/Market'] }
  await gate.bus.publish({ kind: 'client-scopes-changed', ...left, at: gate.clock() - 1, expiresAt: 0 })
  await client.expectSilence()
  await gate.bus.publish({ kind: 'client-scopes-changed', ...left, at: gate.clock(), expiresAt: 0 })
  assert.deepEqual(await client.next(), { Controller: 'Test', Topic: 'Trades', Action: 'Error', Data: 'Authority' })
  assert.equal((await client.next()).Action, 'Unsub')
  await other.expectSilence()
})

test('a withdrawn signing key revokes the tokens that it signed', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate)
  const identify = { Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1 }
  for (const [event, expected] of [
    [{ kind: 'keys-changed' }, 'Success'],
    [{ kind: 'keys-changed', withdrawn: 'another' }, 'Success'],
    [{ kind: 'keys-changed', withdrawn: KEY_ID }, 'Reject'],
  ] as const) {
    await gate.bus.publish(event)
    assert.equal(((await client.request(identify)).Data as { Result: string }).Result, expected)
  }
})

test('a rights change that arrives after a later one is ignored', async (t) => {
  const gate = await startTest(t)
  const both = ['Platform/Market', 'Platform/Trading']
  const client = await signedIn(gate, { scopes: both })
  const allowed = (scopes: string[], at: number): GateEvent[] => [
    { kind: 'rights-changed', subject: 'alice', roles: [], scopes, at, expiresAt: 0 },
    { kind: 'client-scopes-changed', clientId: 'demo-cli', scopes, at, expiresAt: 0 },
  ]
  const scope = async () =>
    (
      (await client.request({ Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1 })).Data as {
        Scope: string[]
      }
    ).Scope
  for (const event of [...allowed(['Platform/Market'], gate.clock() + 2), ...allowed(both, gate.clock() + 1)])
    await gate.bus.publish(event)
  assert.deepEqual(await scope(), ['Vendor.Platform.Market'])
  for (const event of allowed(both, gate.clock() + 3)) await gate.bus.publish(event)
  assert.deepEqual(await scope(), ['Vendor.Platform.Market', 'Vendor.Platform.Trading'])
})

test('a token that is revoked after it expired gets no second grace period', async (t) => {
  const gate = await startTest(t)
  const client = await signedIn(gate, { tokenId: 'lost', lifetime: 10 })
  gate.clock.advance(10_000)
  await client.expectSilence()
  gate.clock.advance(59_000)
  await gate.bus.publish({ kind: 'token-revoked', tokenId: 'lost', expiresAt: 0 })
  await client.expectSilence()
  gate.clock.advance(1_000)
  assert.equal((await client.closed).code, 1008)
})

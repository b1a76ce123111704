/** Rare orders of events: late results, overlapping token checks, changing sessions, server faults. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Principal } from 'gatehouse-protocol'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { UserSessions } from '../../packages/server/src/streaming/connection/user-sessions.ts'
import { createTestController } from '../support/controllers.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'

const { config: SETTINGS } = loadConfig({})

test('a connection that signs in again joins the newest session, which can displace an older one', () => {
  const sessions = new UserSessions({ ...SETTINGS, streamMaxSessionsPerUser: 1 }, () => {})
  const displaced: string[] = []
  const [first, second] = ['first', 'second'].map((name) => ({ displace: () => void displaced.push(name) }))
  assert.ok(first !== undefined && second !== undefined)
  sessions.admit(first, createPrincipal('old'))
  sessions.admit(second, createPrincipal('old'))
  sessions.admit(first, createPrincipal('new'))
  assert.deepEqual(displaced, ['second'])
})

test('a sign-in that timed out does not make the next one miss a revocation', async (t) => {
  const gates: (() => void)[] = []
  const started = await startGateway(t, {
    authenticate: async (token) => {
      const principal = await started.mint.authenticate(token)
      await new Promise<void>((resolve) => gates.push(resolve))
      return principal
    },
  })
  const { port, mint, bus, clock } = started
  const client = await connect(port)
  const signIn = async (id: number, tokenId: string): Promise<void> => {
    const Data = { Provider: 'Bearer', AccessToken: await mint.issue({ tokenId }) }
    client.send({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: id, Data })
    await client.expectSilence()
  }
  await signIn(1, 'late')
  clock.advance(36_000)
  assert.equal((await client.next()).Data, 'Operation.Timeout')
  await signIn(2, 'revoked')
  gates[0]?.()
  await client.expectSilence()
  await bus.publish({ kind: 'token-revoked', tokenId: 'revoked', expiresAt: 0 })
  gates[1]?.()
  assert.deepEqual((await client.next()).Data, { Result: 'Reject' })
})

test('a revocation between the check of a token and the sign-in is not missed', async (t) => {
  for (let steps = 0; steps < 10; steps++) {
    const started = await startGateway(t, {
      authenticate: async (token) => {
        const principal = await started.mint.authenticate(token)
        afterMicrotasks(steps, () => void started.bus.publish(revoked))
        return principal
      },
    })
    const { port, mint } = started
    const revoked = { kind: 'token-revoked', tokenId: 'revoked', expiresAt: 0 } as const
    const token = await mint.issue({ tokenId: 'revoked' })
    const identify = { Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 2 }
    const byMessage = await connect(port)
    const Data = { Provider: 'Bearer', AccessToken: token }
    await byMessage.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data })
    assert.deepEqual((await byMessage.request(identify)).Data, { Result: 'Reject' }, `AuthToken, ${steps} steps`)
    const upgrade = connect(port, { headers: { Authorization: `Bearer ${token}` } })
    const byHeader = await upgrade.catch((error: Error) => assert.match(error.message, /refused with 401/))
    if (byHeader !== undefined)
      assert.deepEqual((await byHeader.request(identify)).Data, { Result: 'Reject' }, `header, ${steps} steps`)
  }
})

function afterMicrotasks(count: number, then: () => void): void {
  if (count === 0) then()
  else queueMicrotask(() => afterMicrotasks(count - 1, then))
}

test('a server fault closes one connection with 1011; the others still receive the event', async (t) => {
  let isBroken = false
  const broken = {
    summary: 'A topic of a faulty controller.',
    get needs() {
      if (isBroken) throw new Error('a secret detail')
      return 'nothing'
    },
    subscription: { slow: 'latest' },
  } as const
  const controllers = [{ name: 'Broken', summary: 'Faulty.', topics: { Topic: broken } }, createTestController()]
  const { port, mint, bus, clock, log } = await startGateway(t, { controllers })
  const open = async (lifetime: number) => {
    const headers = { Authorization: `Bearer ${await mint.issue({ lifetime })}` }
    const client = await connect(port, { headers })
    await client.request({ Controller: 'Broken', Topic: 'Topic', Action: 'Sub', Confirm: true })
    return client
  }
  const byEvent = await open(3600)
  const byTime = await open(10)
  const bystander = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  await bystander.request({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
  isBroken = true
  clock.advance(10_000)
  assert.deepEqual(await byTime.closed, { code: 1011, reason: 'the server failed' })
  const rights = { roles: [], scopes: [], at: clock(), expiresAt: 0 }
  await bus.publish({ kind: 'rights-changed', subject: 'alice', ...rights })
  assert.equal((await byEvent.closed).code, 1011)
  assert.deepEqual(((await bystander.next()).Data as { Scope: string[] }).Scope, [])
  assert.equal(log.filter((line) => line.includes('a secret detail')).length, 2)
})

test('an asynchronous result that cannot be encoded is a Fault', async (t) => {
  const controller = createTestController()
  const { port } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port)
  client.send({ Controller: 'Test', Topic: 'Wait', TransactionID: 1 })
  await client.expectSilence()
  controller.release(1n)
  assert.equal((await client.next()).Data, 'Fault')
})

function createPrincipal(grantId: string): Principal {
  return {
    subject: 'alice',
    kind: 'user',
    clientId: 'demo-cli',
    scopes: new Set(),
    roles: [],
    audiences: ['platform'],
    tokenId: grantId,
    sessionId: undefined,
    grantId,
    username: 'alice',
    displayName: undefined,
    issuedAt: 0,
    expiresAt: 1,
    authTime: undefined,
  }
}

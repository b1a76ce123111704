/** Subscriptions resumed after a renewal: a new snapshot, then the messages published while it was fetched. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestController } from '../support/controllers.ts'
import { startGateway } from '../support/gateway.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'

const RIGHTS = { scopes: ['Platform/Market', 'Platform/Trading'] }

/** A subscription that expired and was renewed, and whose snapshot is being fetched. */
async function startResuming(t: TestContext, topic: string, lifetime = 3_600) {
  const controller = createTestController()
  const gate = await startGateway(t, { controllers: [controller], settings: { streamIdleTimeout: 1e9 } })
  const headers = { Authorization: `Bearer ${await gate.mint.issue({ ...RIGHTS, lifetime: 600 })}` }
  const client = await connect(gate.port, { headers })
  client.send({ Controller: 'Test', Topic: topic, Action: 'Sub' })
  await until(() => controller.waiting() === 1)
  controller.release('first')
  assert.equal((await client.next()).Data, 'first')
  gate.clock.advance(600_000)
  await client.expectSilence()
  const renew = async (seconds: number): Promise<void> => {
    const Data = { Provider: 'Bearer', AccessToken: await gate.mint.issue({ ...RIGHTS, lifetime: seconds }) }
    await client.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data })
    await until(() => controller.waiting() > 0)
  }
  await renew(lifetime)
  return { ...gate, controller, client, renew }
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition() && tries < 500; tries++) await pause(5)
  assert.ok(condition())
}

async function expectEnd(client: StreamClient, topic: string, error: string): Promise<void> {
  const about = { Controller: 'Test', Topic: topic }
  assert.deepEqual(await client.next(), { ...about, Action: 'Error', Data: error })
  assert.deepEqual(await client.next(), { ...about, Action: 'Unsub', Confirm: true })
}

for (const [topic, expected] of [
  ['SlowMarket', ['now', 2, 3]],
  ['SlowTrades', ['now', 1, 2, 3]],
] as const) {
  test(`${topic}: no message is sent before the snapshot of a resumed subscription`, async (t) => {
    const { client, controller } = await startResuming(t, topic)
    controller.publish(topic, 1)
    controller.publish(topic, 2)
    await client.expectSilence()
    controller.release('now')
    for (const data of expected.slice(0, -1)) assert.equal((await client.next()).Data, data)
    controller.publish(topic, 3)
    assert.equal((await client.next()).Data, 3)
    await client.expectSilence()
  })
}

test('too many messages before the snapshot end the subscription with an error', async (t) => {
  const { client, controller } = await startResuming(t, 'SlowTrades')
  for (let count = 0; count <= 1_000; count++) controller.publish('SlowTrades', count)
  controller.release('now')
  await expectEnd(client, 'SlowTrades', 'Limited messages during the snapshot')
  assert.equal(controller.subscribers('SlowTrades'), 0)
})

test('a snapshot that takes longer than the SubscriptionTimeout ends the subscription and is not sent later', async (t) => {
  const { client, controller, clock } = await startResuming(t, 'SlowTrades')
  controller.publish('SlowTrades', 1)
  clock.advance(34_999)
  await client.expectSilence()
  clock.advance(1)
  await expectEnd(client, 'SlowTrades', 'Operation.Timeout')
  assert.equal(controller.aborted(), 1)
  controller.release('late')
  await client.expectSilence()
})

test('a snapshot that fails is a Fault and ends the subscription', async (t) => {
  const { client, controller } = await startResuming(t, 'SlowMarket')
  controller.publish('SlowMarket', 1)
  controller.release(Promise.reject(new Error('a secret detail')))
  await expectEnd(client, 'SlowMarket', 'Fault')
})

test('an authority that expires again while the snapshot is fetched cancels it; the next renewal fetches another', async (t) => {
  const { client, controller, clock, renew } = await startResuming(t, 'SlowTrades', 10)
  controller.publish('SlowTrades', 1)
  clock.advance(10_000)
  await until(() => controller.aborted() === 1)
  controller.release('stale')
  await client.expectSilence()
  await renew(3_600)
  controller.publish('SlowTrades', 2)
  controller.release('now')
  for (const data of ['now', 2]) assert.equal((await client.next()).Data, data)
})

test('a snapshot that arrives at the millisecond of expiry is not sent', async (t) => {
  const { client, controller, clock } = await startResuming(t, 'SlowMarket', 10)
  clock.advance(10_000)
  controller.release('too late')
  await client.expectSilence()
})

test('Unsub while the snapshot is fetched cancels it; a new Sub gets its own snapshot', async (t) => {
  const { client, controller } = await startResuming(t, 'SlowTrades')
  client.send({ Controller: 'Test', Topic: 'SlowTrades', Action: 'Unsub' })
  client.send({ Controller: 'Test', Topic: 'SlowTrades', Action: 'Sub' })
  await until(() => controller.waiting() === 2)
  controller.release('of the old one')
  controller.publish('SlowTrades', 1)
  controller.release('of the new one')
  for (const data of ['of the new one', 1]) assert.equal((await client.next()).Data, data)
  await client.expectSilence()
})

test('closing the connection aborts the fetching of the snapshot', async (t) => {
  const { client, controller } = await startResuming(t, 'SlowTrades')
  client.socket.terminate()
  await until(() => controller.aborted() === 1)
  controller.release('too late')
  assert.equal(controller.subscribers('SlowTrades'), 0)
})

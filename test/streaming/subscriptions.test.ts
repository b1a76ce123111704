/** Sub and Unsub, snapshots, fan-out, Configure and the topics of the Platform controller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { decode } from '@msgpack/msgpack'
import { createTestController } from '../support/controllers.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'

const about = { Controller: 'Test', Topic: 'Open' }

test('Sub and Unsub are counted; each message is delivered once, however many Subs there were', async (t) => {
  const controller = createTestController()
  const { port } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port)
  client.send({ ...about, Action: 'Sub' })
  client.send({ ...about, Action: 'Sub' })
  client.send({ ...about, Action: 'Unsub' })
  await client.expectSilence()
  controller.publish('Open', 1)
  assert.deepEqual(await client.next(), { ...about, Action: 'Publish', Data: 1 })
  client.send({ ...about, Action: 'Unsub' })
  await client.expectSilence()
  controller.publish('Open', 2)
  await client.expectSilence()
  client.send({ ...about, Action: 'Unsub' })
  client.send({ ...about, Action: 'Sub' })
  await client.expectSilence()
  controller.publish('Open', 3)
  assert.equal((await client.next()).Data, 3)
})

test('Confirm requests a confirmation, which echoes the TransactionID', async (t) => {
  const { port } = await startGateway(t, { controllers: [createTestController()] })
  const client = await connect(port)
  assert.deepEqual(await client.request({ ...about, Action: 'Sub', Confirm: true }), {
    ...about,
    Action: 'Sub',
    Confirm: true,
  })
  const second = { ...about, Action: 'Sub', Confirm: true, TransactionID: 7 }
  assert.deepEqual(await client.request(second), second)
  const third = { ...about, Action: 'Unsub', Confirm: true, TransactionID: 8 }
  assert.deepEqual(await client.request(third), third)
})

test('a failed Sub gets an Error, then an unconfirmed Sub if it requested confirmation', async (t) => {
  const { port } = await startGateway(t, {
    controllers: [createTestController()],
    settings: { streamMaxSubscriptions: 1 },
  })
  const client = await connect(port)
  client.send({ ...about, Action: 'Sub' })
  for (const [topic, error] of [
    ['Market', 'Authority'],
    ['Missing', 'Operation.Unknown Missing'],
    ['Echo', 'Operation.Unknown Echo'],
    ['Price/ACME', 'Limited subscriptions'],
  ] as const) {
    const message = { Controller: 'Test', Topic: topic, Action: 'Sub', TransactionID: 3 }
    assert.deepEqual(await client.request({ ...message, Confirm: true }), { ...message, Action: 'Error', Data: error })
    assert.deepEqual(await client.next(), { ...message, Confirm: false })
    assert.equal((await client.request(message)).Data, error)
    await client.expectSilence()
  }
})

test('the confirmation is followed by the snapshot, then by messages; a second Sub gets no second snapshot', async (t) => {
  const controller = createTestController()
  const { port, mint } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  const state = { Controller: 'Test', Topic: 'State' }
  client.send({ ...state, Action: 'Sub', Confirm: true })
  assert.deepEqual(await client.next(), { ...state, Action: 'Sub', Confirm: true })
  assert.deepEqual(await client.next(), { ...state, Action: 'Publish', Data: 'now' })
  controller.publish('State', 'later')
  assert.equal((await client.next()).Data, 'later')
  client.send({ ...state, Action: 'Sub' })
  await client.expectSilence()
})

test('a Sub fails if its snapshot takes longer than the SubscriptionTimeout', async (t) => {
  const controller = createTestController()
  const { port, clock } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port)
  await client.request({
    Controller: 'Test',
    Topic: 'Configure',
    TransactionID: 1,
    Data: { SubscriptionTimeout: '00:00:05' },
  })
  client.send({ Controller: 'Test', Topic: 'SlowState', Action: 'Sub', TransactionID: 2 })
  await client.expectSilence()
  clock.advance(5_000)
  assert.equal((await client.next()).Data, 'Operation.Timeout')
  controller.release('too late')
  controller.publish('SlowState', 1)
  await client.expectSilence()
})

test('Configure and QueryConfigure set and return the timeouts of one controller on one connection', async (t) => {
  const { port } = await startGateway(t, { controllers: [createTestController()] })
  const client = await connect(port)
  const query = async (Controller: string, Topic: string, Data?: unknown): Promise<unknown> =>
    (await client.request({ Controller, Topic, TransactionID: 1, Data })).Data
  const defaults = { ActionTimeout: '00:00:35', SubscriptionTimeout: '00:00:35' }
  for (const controller of ['Platform', 'Auth', 'Test'])
    assert.deepEqual(await query(controller, 'QueryConfigure'), defaults)
  const changed = { ActionTimeout: '00:01:02.5', SubscriptionTimeout: '00:00:35' }
  assert.deepEqual(await query('Test', 'Configure', { ActionTimeout: '00:01:02.500' }), changed)
  assert.deepEqual(await query('Test', 'QueryConfigure'), changed)
  assert.deepEqual(await query('Auth', 'QueryConfigure'), defaults)
  assert.deepEqual(await query('Test', 'Configure', {}), changed)
  for (const [data, error] of [
    [{ ActionTimeout: 35 }, 'Data.Deserialise ActionTimeout'],
    [{ ActionTimeout: '35' }, 'Data.Deserialise ActionTimeout'],
    [{ SubscriptionTimeout: '00:61:00' }, 'Data.Deserialise SubscriptionTimeout'],
    [{ ActionTimeout: '00:00:00' }, 'Data ActionTimeout'],
    [{ ActionTimeout: '1.00:00:00' }, 'Data ActionTimeout'],
    [undefined, 'Data Data'],
  ] as const) {
    assert.equal(await query('Test', 'Configure', data), error)
  }
})

test('Platform: ServerInfo needs no authentication, Feeds does', async (t) => {
  const { port, mint } = await startGateway(t, { controllers: [createTestController()] })
  const client = await connect(port)
  const info = { Name: 'test', Class: 'Gatehouse', Version: '0.0.0', Protocol: '1.x' }
  assert.deepEqual((await client.request({ Topic: 'ServerInfo', Action: 'Sub' })).Data, info)
  assert.deepEqual((await client.request({ Topic: 'QueryServerInfo', TransactionID: 1 })).Data, info)
  assert.equal((await client.request({ Topic: 'Feeds', Action: 'Sub' })).Data, 'Authority')
  const signedIn = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  const feeds = await signedIn.request({ Topic: 'Feeds', Action: 'Sub' })
  assert.deepEqual(feeds.Data, [{ Name: 'Test', Class: 'Controller', Status: 'Up' }])
})

test('a message reaches every subscriber in its own sub-protocol, and no other connection', async (t) => {
  const controller = createTestController()
  const { port, gateway } = await startGateway(t, { controllers: [controller] })
  const clients = await Promise.all(Array.from({ length: 20 }, () => connect(port)))
  const packed = await connect(port, { protocols: ['PlatformMsgPack'] })
  const bystander = await connect(port)
  for (const client of clients) {
    client.send({ Controller: 'Test', Topic: 'Price/ACME', Action: 'Sub' })
    await client.expectSilence()
  }
  const { encode } = await import('@msgpack/msgpack')
  packed.socket.send(encode({ Controller: 'Test', Topic: 'Price/ACME', Action: 'Sub' }))
  await packed.expectSilence()
  controller.publish('Price/ACME', { Bid: 1.5 })
  controller.publish('Price/OTHER', { Bid: 2.5 })
  const expected = { Controller: 'Test', Topic: 'Price/ACME', Action: 'Publish', Data: { Bid: 1.5 } }
  for (const client of clients) assert.deepEqual(await client.next(), expected)
  assert.deepEqual(decode(await packed.nextBytes()), expected)
  await bystander.expectSilence()
  for (const client of clients) await client.expectSilence()
  assert.equal(
    gateway.connections().reduce((sum, { subscriptions }) => sum + subscriptions, 0),
    21,
  )
})

test('messages published while a snapshot is fetched follow it: the latest, or all if each counts', async (t) => {
  const controller = createTestController()
  const { port } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port)
  for (const [topic, expected] of [
    ['SlowState', ['state', 2]],
    ['SlowLog', ['state', 1, 2]],
  ] as const) {
    const about = { Controller: 'Test', Topic: topic }
    client.send({ ...about, Action: 'Sub', Confirm: true })
    while (controller.waiting() === 0) await pause(5)
    controller.publish(topic, 1)
    controller.publish(topic, 2)
    await client.expectSilence()
    controller.release('state')
    assert.deepEqual(await client.next(), { ...about, Action: 'Sub', Confirm: true })
    for (const Data of expected) assert.deepEqual(await client.next(), { ...about, Action: 'Publish', Data })
    controller.publish(topic, 3)
    assert.equal((await client.next()).Data, 3)
  }
})

test('a Sub that is cancelled or exceeds its backlog while its snapshot is fetched leaves nothing behind', async (t) => {
  const controller = createTestController()
  const { port } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port)
  const about = { Controller: 'Test', Topic: 'SlowLog' }
  client.send({ ...about, Action: 'Sub', TransactionID: 1 })
  while (controller.waiting() === 0) await pause(5)
  assert.equal(controller.subscribers('SlowLog'), 1)
  client.send({ Action: 'Cancel', TransactionID: 1 })
  assert.equal((await client.next()).Data, 'Operation.Abort')
  assert.equal(controller.subscribers('SlowLog'), 0)
  controller.release()
  client.send({ ...about, Action: 'Sub', TransactionID: 2 })
  while (controller.waiting() === 0) await pause(5)
  for (let count = 0; count <= 1_000; count++) controller.publish('SlowLog', count)
  controller.release('state')
  assert.equal((await client.next()).Data, 'Limited messages during the snapshot')
  assert.equal(controller.subscribers('SlowLog'), 0)
  controller.publish('SlowLog', 'after')
  await client.expectSilence()
})

test('a snapshot is not sent if the authority expires while it is fetched', async (t) => {
  const controller = createTestController()
  const { port, mint, clock } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  const about = { Controller: 'Test', Topic: 'SlowMarket', Action: 'Sub', TransactionID: 1 }
  client.send({ ...about, Confirm: true })
  while (controller.waiting() === 0) await pause(5)
  clock.advance(3_600_000)
  controller.release('state')
  assert.deepEqual(await client.next(), { ...about, Action: 'Error', TransactionID: 1, Data: 'Authority' })
  assert.deepEqual(await client.next(), { ...about, TransactionID: 1, Confirm: false })
  assert.equal(controller.subscribers('SlowMarket'), 0)
})

test('a snapshot that cannot be encoded is a Fault and leaves no subscription behind', async (t) => {
  const controller = createTestController()
  const { port } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port)
  const about = { Controller: 'Test', Topic: 'Unwritable' }
  client.send({ ...about, Action: 'Sub', TransactionID: 1 })
  assert.deepEqual(await client.next(), { ...about, Action: 'Error', TransactionID: 1, Data: 'Fault' })
  assert.equal(controller.subscribers('Unwritable'), 0)
  controller.publish('Unwritable', 'after')
  await client.expectSilence()
})

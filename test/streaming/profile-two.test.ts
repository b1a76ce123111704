/** Profile 2 (`version=2.x`): what its clients expect besides the replies of Auth. Profile 1 is tested everywhere else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, encode } from '@msgpack/msgpack'
import { createTestController } from '../support/controllers.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'

const TWO = { path: '/Platform?version=2.0' }
const ONE = { path: '/Platform?version=1.1' }

test('replies and pushes have no Action; in profile 1 they have the default one', async (t) => {
  const controller = createTestController()
  const { port } = await startGateway(t, { controllers: [controller] })
  for (const [options, action] of [
    [TWO, {}],
    [ONE, { Action: 'Publish' }],
  ] as const) {
    const client = await connect(port, options)
    assert.deepEqual(await client.request({ Controller: 'Test', Topic: 'Echo', TransactionID: 7, Data: 'x' }), {
      Controller: 'Test',
      Topic: 'Echo',
      ...action,
      TransactionID: 7,
      Data: 'x',
    })
    // A reply without data.
    assert.deepEqual(await client.request({ Controller: 'Test', Topic: 'Nothing', TransactionID: 8 }), {
      Controller: 'Test',
      Topic: 'Nothing',
      ...action,
      TransactionID: 8,
    })
    // A snapshot, and an answer on a subscription.
    const info = await client.request({ Topic: 'ServerInfo', Action: 'Sub' })
    assert.deepEqual(Object.keys(info), ['Controller', 'Topic', ...Object.keys(action), 'Data'])
  }
})

test('a published message reaches subscribers of both profiles and sub-protocols, each in its form', async (t) => {
  const controller = createTestController()
  const { port } = await startGateway(t, { controllers: [controller] })
  const clients = await Promise.all(
    [TWO, ONE].flatMap((options) => [
      connect(port, options),
      connect(port, { ...options, perMessageDeflate: { threshold: 0 } }),
    ]),
  )
  const packed = await connect(port, { ...TWO, protocols: ['PlatformMsgPack'] })
  for (const client of clients)
    await client.request({ Controller: 'Test', Topic: 'Price/ACME', Action: 'Sub', Confirm: true })
  packed.send(Buffer.from(encode({ Controller: 'Test', Topic: 'Price/ACME', Action: 'Sub', Confirm: true })))
  await packed.nextBytes()
  const data = 'x'.repeat(2_000)
  controller.publish('Price/ACME', data)
  const message = { Controller: 'Test', Topic: 'Price/ACME', Data: data }
  const received = await Promise.all(clients.map((client) => client.next()))
  assert.deepEqual(received, [message, message, { ...message, Action: 'Publish' }, { ...message, Action: 'Publish' }])
  assert.deepEqual(decode(await packed.nextBytes()), message)
})

test('errors, confirmed Subs and an Unsub of the server keep their Action and Confirm', async (t) => {
  const { port, mint, bus, clock } = await startGateway(t, { controllers: [createTestController()] })
  const token = await mint.issue({ scopes: ['Platform/Market'], tokenId: 'lost' })
  const client = await connect(port, { ...TWO, headers: { Authorization: `Bearer ${token}` } })
  const unknown = await client.request({ Topic: 'No', TransactionID: 1 })
  assert.deepEqual([unknown.Action, unknown.Data], ['Error', 'Operation.Unknown No'])
  const confirmed = { Controller: 'Test', Topic: 'Market', Action: 'Sub', Confirm: true }
  assert.deepEqual(await client.request(confirmed), confirmed)
  await bus.publish({ kind: 'token-revoked', tokenId: 'lost', expiresAt: clock() + 1000 })
  assert.equal((await client.next()).Action, 'Error')
  assert.deepEqual(await client.next(), { ...confirmed, Action: 'Unsub' })
})

test('a confirmed Unsub of the client is answered without Confirm, which marks those of the server', async (t) => {
  const { port } = await startGateway(t, { controllers: [createTestController()] })
  for (const [options, mark] of [
    [TWO, {}],
    [ONE, { Confirm: true }],
  ] as const) {
    const client = await connect(port, options)
    const request = { Controller: 'Test', Topic: 'Open', TransactionID: 3 }
    await client.request({ ...request, Action: 'Sub', Confirm: true })
    assert.deepEqual(await client.request({ ...request, Action: 'Unsub', Confirm: true }), {
      ...request,
      Action: 'Unsub',
      ...mark,
    })
  }
})

test('Feeds have a class and a status that the clients know', async (t) => {
  const market = { ...createTestController(), name: 'Prices', feedClass: 'Market' } as const
  const { port, mint } = await startGateway(t, { controllers: [createTestController(), market] })
  const headers = { Authorization: `Bearer ${await mint.issue()}` }
  const two = await connect(port, { ...TWO, headers })
  assert.deepEqual((await two.request({ Topic: 'Feeds', Action: 'Sub' })).Data, [
    { Name: 'Test', Class: 'Channel', Status: 'Active' },
    { Name: 'Prices', Class: 'Market', Status: 'Active' },
  ])
  const one = await connect(port, { ...ONE, headers })
  assert.deepEqual((await one.request({ Topic: 'Feeds', Action: 'Sub' })).Data, [
    { Name: 'Test', Class: 'Controller', Status: 'Up' },
    { Name: 'Prices', Class: 'Controller', Status: 'Up' },
  ])
})

test('Feeds are pushed again when a controller sets its status', async (t) => {
  const controller = createTestController()
  const other = { ...createTestController(), name: 'Prices', feedClass: 'Market' } as const
  const { port, mint } = await startGateway(t, { controllers: [controller, other] })
  const headers = { Authorization: `Bearer ${await mint.issue()}` }
  const clients = await Promise.all([TWO, ONE].map((options) => connect(port, { ...options, headers })))
  const stranger = await connect(port, TWO)
  const feeds = { Topic: 'Feeds', Action: 'Sub' }
  await stranger.request(feeds)
  controller.setStatus('Initialising')
  for (const client of clients) client.send(feeds)
  const statuses = async () => {
    const messages = await Promise.all(clients.map((client) => client.next()))
    return messages.map(({ Data }) => (Data as { Status: string }[]).map(({ Status }) => Status))
  }
  assert.deepEqual(await statuses(), [
    ['Initialising', 'Active'],
    ['Down', 'Up'],
  ])
  for (const [status, up] of [
    ['Active', 'Up'],
    ['Impaired', 'Down'],
    ['Inactive', 'Down'],
    ['Expired', 'Down'],
    ['Closed', 'Down'],
  ] as const) {
    controller.setStatus(status)
    controller.setStatus(status)
    assert.deepEqual(await statuses(), [
      [status, 'Active'],
      [up, 'Up'],
    ])
  }
  for (const client of [...clients, stranger]) await client.expectSilence()
  // As a controller in JavaScript could.
  assert.throws(() => Reflect.apply(controller.setStatus, controller, ['Broken']), /A status is one of Initialising/)
})

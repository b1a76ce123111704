/** Pings, idle connections, draining, slow readers and limits over real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestController } from '../support/controllers.ts'
import { openGateway, startGateway } from '../support/gateway.ts'
import { createTestClock } from '../support/server.ts'
import { connect, refusedUpgrade } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

test('the server pings every 30 s; a client that answers stays connected', async (t) => {
  const { port, clock, mint } = await startGateway(t)
  const client = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  for (let round = 0; round < 5; round++) {
    const pinged = once(client.socket, 'ping')
    clock.advance(30_000)
    await pinged
    await client.expectSilence()
  }
  assert.equal(client.socket.readyState, client.socket.OPEN)
})

test('60 s without any frame closes with 1008', async (t) => {
  const { port, clock, mint } = await startGateway(t)
  const client = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` }, autoPong: false })
  clock.advance(59_000)
  await pause(20)
  clock.advance(1_000)
  assert.deepEqual(await client.closed, { code: 1008, reason: 'no frame for too long' })
})

test('a message, a ping or a fragment counts as a frame', async (t) => {
  const { port, clock, mint } = await startGateway(t)
  const client = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` }, autoPong: false })
  for (const send of [
    () => client.send({ Topic: 'QueryServerInfo', TransactionID: 1 }),
    () => client.socket.ping(),
    () => client.socket.send('{"Topic":', { fin: false }),
    () => client.socket.send('"QueryServerInfo",', { fin: false }),
    () => client.socket.send('"TransactionID":2}', { fin: true }),
  ]) {
    clock.advance(50_000)
    await pause(20)
    send()
    await pause(20)
  }
  assert.equal((await client.next()).TransactionID, 1)
  assert.equal((await client.next()).TransactionID, 2)
})

test('drain: no new connections, requests in progress finish, closes with 1012 are spread over the drain time', async (t) => {
  const controller = createTestController()
  const { port, gateway } = await startGateway(t, { controllers: [controller], settings: { streamDrainTime: 1_600 } })
  const clients = await Promise.all(Array.from({ length: 20 }, () => connect(port)))
  const busy = clients[19]
  assert.ok(busy)
  busy.send({ Controller: 'Test', Topic: 'Wait', TransactionID: 1 })
  busy.send({ Controller: 'Test', Topic: 'Echo', TransactionID: 2, Data: 'queued' })
  await busy.expectSilence()
  const started = performance.now()
  const ends = clients.map(async (client) => ({ ...(await client.closed), after: performance.now() - started }))
  const drained = gateway.drain()
  const { status, headers } = await refusedUpgrade(port)
  assert.equal(status, 503)
  assert.equal(headers['retry-after'], '1')
  await pause(1_700)
  busy.send({ Controller: 'Test', Topic: 'Echo', TransactionID: 3 })
  controller.release('done')
  assert.equal((await busy.next()).Data, 'done')
  assert.equal((await busy.next()).Data, 'queued')
  const closes = await Promise.all(ends)
  await drained
  for (const { code } of closes) assert.equal(code, 1012)
  const times = closes.slice(0, 19).map(({ after }) => after)
  assert.ok(
    Math.max(...times) - Math.min(...times) > 1_000,
    `closed within ${Math.max(...times) - Math.min(...times)} ms`,
  )
  const early = times.filter((after) => after < 800).length
  assert.ok(early > 4 && early < 15, `${early} of 19 were closed in the first half`)
})

test('drain does not wait indefinitely for an operation that never ends', async () => {
  const { port, stop } = await openGateway({ controllers: [createTestController()] })
  const client = await connect(port)
  client.send({ Controller: 'Test', Topic: 'Wait', TransactionID: 1 })
  await client.expectSilence()
  const started = performance.now()
  await stop()
  assert.ok(performance.now() - started < 4_000)
})

test('a slow reader of a coalescing topic gets the latest message when it reads again; memory stays bounded', async (t) => {
  const controller = createTestController()
  const { port, gateway } = await startGateway(t, {
    controllers: [controller],
    settings: { streamSendQueueBytes: 256 * 1024 },
  })
  const client = await connect(port)
  await client.request({ Controller: 'Test', Topic: 'Open', Action: 'Sub', Confirm: true })
  client.socket.pause()
  const filler = 'x'.repeat(50_000)
  let worst = 0
  for (let count = 0; count < 1_000; count++) {
    controller.publish('Open', { count, filler })
    if (count % 50 === 0) await pause(1)
    worst = Math.max(worst, gateway.connections()[0]?.queuedBytes ?? 0)
  }
  assert.ok(worst < 512 * 1024, `${worst} bytes were queued`)
  assert.ok(gateway.counters.messagesCoalesced > 100)
  client.socket.resume()
  let last = -1
  let received = 0
  while (last < 999) {
    const { Data } = await client.next()
    const { count } = Data as { count: number }
    assert.ok(count > last, 'no message twice or out of order')
    last = count
    received++
  }
  assert.ok(received < 900)
})

test('publishing data that cannot be encoded throws, even if all subscribers are slow', async (t) => {
  const controller = createTestController()
  const settings = { streamSendQueueBytes: 64 * 1024 }
  const { port } = await startGateway(t, { controllers: [controller], settings })
  const client = await connect(port)
  await client.request({ Controller: 'Test', Topic: 'Open', Action: 'Sub', Confirm: true })
  client.socket.pause()
  for (let count = 0; count < 200; count++) {
    controller.publish('Open', { count, filler: 'x'.repeat(50_000) })
    if (count % 50 === 0) await pause(1)
  }
  assert.throws(() => controller.publish('Open', 1n), TypeError)
  controller.publish('Open', 'last')
  client.socket.resume()
  for (let data: unknown; data !== 'last'; ) data = (await client.next()).Data
})

test('a slow reader of a topic where each message counts is closed with 1013', async (t) => {
  const controller = createTestController()
  const { port, mint, gateway } = await startGateway(t, {
    controllers: [controller],
    settings: { streamSendQueueBytes: 256 * 1024 },
  })
  const token = await mint.issue({ scopes: ['Platform/Trading'] })
  const client = await connect(port, { headers: { Authorization: `Bearer ${token}` } })
  await client.request({ Controller: 'Test', Topic: 'Trades', Action: 'Sub', Confirm: true })
  client.socket.pause()
  for (let count = 0; count < 1_000; count++) {
    controller.publish('Trades', { count, filler: 'x'.repeat(50_000) })
    if (count % 50 === 0) await pause(1)
  }
  client.socket.resume()
  assert.deepEqual(await client.closed, { code: 1013, reason: 'reads too slowly' })
  await pause(20)
  assert.equal(gateway.counters.closes.get(1013), 1)
})

test('a client that does not read its replies is no longer read until it does', async (t) => {
  const { port, gateway } = await startGateway(t, {
    controllers: [createTestController()],
    settings: { streamSendQueueBytes: 64 * 1024, streamReceiveQueueBytes: 64 * 1024, streamMessageBurst: 1e6 },
  })
  const client = await connect(port)
  client.socket.pause()
  const Data = 'x'.repeat(20_000)
  const count = 2_000
  for (let id = 0; id < count; id++) client.send({ Controller: 'Test', Topic: 'Echo', TransactionID: id, Data })
  await pause(300)
  const queued = gateway.connections()[0]?.queuedBytes ?? 0
  assert.ok(queued < 1024 * 1024, `${queued} bytes were queued`)
  assert.ok(gateway.counters.messagesIn < count, 'the server stopped reading')
  client.socket.resume()
  for (let id = 0; id < count; id++) assert.equal((await client.next()).TransactionID, id)
})

test('a client that reads nothing for a minute with a full queue is closed with 1013', async (t) => {
  const controller = createTestController()
  const { port, clock, gateway } = await startGateway(t, {
    controllers: [controller],
    settings: { streamSendQueueBytes: 64 * 1024, streamAuthenticationDeadline: 1e9 },
  })
  const client = await connect(port)
  await client.request({ Controller: 'Test', Topic: 'Open', Action: 'Sub', Confirm: true })
  client.socket.pause()
  for (let count = 0; count < 300; count++) controller.publish('Open', { count, filler: 'x'.repeat(50_000) })
  await pause(50)
  clock.advance(60_000)
  await until(
    'the socket, from which the client reads nothing, is terminated when the closing handshake times out',
    2_000,
    () => {
      clock.advance(5_000)
      return gateway.connections().length === 0
    },
  )
  assert.equal(gateway.counters.closes.get(1013), 1)
})

test('messages per second: messages beyond the burst get Limited, in order, until time passes', async (t) => {
  const { port, clock, gateway } = await startGateway(t, {
    settings: { streamMessageBurst: 5, streamMessagesPerSecond: 2 },
  })
  const client = await connect(port)
  const query = async (id: number): Promise<unknown> =>
    (await client.request({ Topic: 'QueryServerInfo', TransactionID: id })).Data
  for (let id = 0; id < 5; id++) assert.notEqual(typeof (await query(id)), 'string')
  for (let id = 5; id < 8; id++) assert.equal(await query(id), 'Limited messages per second')
  clock.advance(1_000)
  assert.notEqual(typeof (await query(8)), 'string')
  assert.notEqual(typeof (await query(9)), 'string')
  assert.equal(await query(10), 'Limited messages per second')
  assert.equal(gateway.counters.limited.get('messages per second'), 4)
})

test('a flood is refused up to a second burst, then not read for a second; an Error from the client counts', async (t) => {
  const { port, clock, gateway } = await startGateway(t, {
    settings: { streamMessageBurst: 5, streamMessagesPerSecond: 1 },
  })
  const client = await connect(port)
  const read = () => gateway.counters.messagesIn
  for (let sent = 0; sent < 5; sent++) client.send({ Action: 'Error', Topic: 'X' })
  for (let id = 0; id < 6; id++)
    assert.equal(
      (await client.request({ Topic: 'QueryServerInfo', TransactionID: id })).Data,
      'Limited messages per second',
    )
  assert.equal(read(), 11)
  client.send({ Topic: 'QueryServerInfo', TransactionID: 99 })
  await pause(100)
  assert.equal(read(), 11, 'no more messages are read')
  clock.advance(1_000)
  const answer = await client.next()
  assert.equal(answer.TransactionID, 99)
  assert.notEqual(typeof answer.Data, 'string')
})

test('connections are limited in total, per address and per user, until they close', async (t) => {
  const total = await startGateway(t, { settings: { streamMaxConnections: 2 } })
  const [first] = [await connect(total.port), await connect(total.port)]
  const full = await refusedUpgrade(total.port)
  assert.equal(full.status, 503)
  assert.equal(full.headers['retry-after'], '10')
  assert.equal(total.gateway.counters.refusals.get('stream.full'), 1)
  first?.socket.close()
  await first?.closed
  await pause(20)
  await connect(total.port)

  const address = await startGateway(t, { settings: { streamMaxConnectionsPerAddress: 1 } })
  await refusedUpgrade(address.port, { headers: { Authorization: 'Bearer nonsense' } })
  await pause(20)
  await connect(address.port)
  assert.equal((await refusedUpgrade(address.port)).status, 429)

  const user = await startGateway(t, { settings: { streamMaxConnectionsPerUser: 1 } })
  const Authorization = `Bearer ${await user.mint.issue()}`
  const only = await connect(user.port, { headers: { Authorization } })
  assert.equal((await refusedUpgrade(user.port, { headers: { Authorization } })).status, 429)
  const second = await connect(user.port)
  const Data = { Provider: 'Bearer', AccessToken: await user.mint.issue() }
  const authToken = { Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data }
  assert.equal((await second.request(authToken)).Data, 'Limited connections per user')
  assert.equal(((await only.request(authToken)).Data as { Result: string }).Result, 'Success')
  only.socket.close()
  await only.closed
  await pause(20)
  assert.equal(((await second.request(authToken)).Data as { Result: string }).Result, 'Success')
})

test('no connection, subscription or session is left after many connects and disconnects', async (t) => {
  const controller = createTestController()
  const { port, gateway, mint } = await startGateway(t, {
    controllers: [controller],
    settings: { streamMaxConnections: 10, streamMaxConnectionsPerUser: 10 },
  })
  const Authorization = `Bearer ${await mint.issue()}`
  for (let round = 0; round < 20; round++) {
    const clients = await Promise.all(Array.from({ length: 10 }, () => connect(port, { headers: { Authorization } })))
    for (const client of clients) {
      await client.request({ Controller: 'Test', Topic: 'Market', Action: 'Sub', Confirm: true })
      client.send({ Controller: 'Test', Topic: 'Wait', TransactionID: 1 })
    }
    for (const [index, client] of clients.entries()) {
      if (index % 2 === 0) client.socket.terminate()
      else client.socket.close()
    }
    await Promise.all(clients.map(({ closed }) => closed))
    while (gateway.connections().length > 0) await pause(2)
  }
  assert.equal(gateway.counters.connectionsOpened, 200)
  assert.equal(
    [...gateway.counters.closes.values()].reduce((sum, count) => sum + count, 0),
    200,
  )
})

test('during a slow request others are read up to a limit; a client that is not read is not considered idle', async (t) => {
  const controller = createTestController()
  const settings = { streamReceiveQueueBytes: 16_384, streamAuthenticationDeadline: 1e9, streamMessageBurst: 1e6 }
  const { port, clock, gateway } = await startGateway(t, { controllers: [controller], settings })
  const client = await connect(port)
  const about = { Controller: 'Test', TransactionID: 1 }
  await client.request({ ...about, Topic: 'Configure', Data: { ActionTimeout: '01:00:00' } })
  client.send({ ...about, Topic: 'Wait' })
  // More than the socket buffers hold, so that pongs queue behind it.
  const filler = 'x'.repeat(20_000)
  for (let sent = 0; sent < 500; sent++) client.send({ ...about, Topic: 'Echo', Data: filler })
  for (let round = 0; round < 12; round++) {
    clock.advance(10_000)
    await pause(20)
  }
  assert.ok(gateway.counters.messagesIn < 50, `${gateway.counters.messagesIn} messages were read`)
  controller.release('done')
  assert.equal((await client.next()).Data, 'done')
  for (let received = 0; received < 500; received++) assert.equal((await client.next()).Data, filler)
})

test('timeouts and rates do not follow the time of day: it may jump either way', async (t) => {
  const monotonic = createTestClock(1_000)
  const { port, clock, mint, gateway } = await startGateway(t, {
    controllers: [createTestController()],
    monotonic,
    settings: { streamMessageBurst: 4, streamMessagesPerSecond: 1 },
  })
  const headers = { Authorization: `Bearer ${await mint.issue({ lifetime: 10 * 86_400 })}` }
  const busy = await connect(port, { headers })
  const anonymous = await connect(port)
  busy.send({ Controller: 'Test', Topic: 'Wait', TransactionID: 1 })
  const pinged = t.mock.fn()
  busy.socket.on('ping', pinged)
  clock.advance(86_400_000)
  for (const client of [busy, anonymous]) await client.expectSilence()
  assert.equal(pinged.mock.callCount(), 0)
  for (let id = 0; id < 3; id++) busy.send({ Topic: 'QueryServerInfo', TransactionID: id })
  clock.advance(-2 * 86_400_000)
  monotonic.advance(36_000)
  assert.equal((await busy.next()).Data, 'Operation.Timeout')
  for (let id = 0; id < 3; id++) assert.notEqual(typeof (await busy.next()).Data, 'string')
  monotonic.advance(24_000)
  assert.equal((await anonymous.closed).code, 1008)
  for (let id = 0; id < 5; id++) busy.send({ Topic: 'QueryServerInfo', TransactionID: id })
  const replies = await Promise.all(Array.from({ length: 5 }, () => busy.next()))
  assert.deepEqual(
    replies.map(({ Data }) => typeof Data),
    ['object', 'object', 'object', 'object', 'string'],
  )
  busy.socket.pause()
  await until('the client that answers no ping has left', 5_000, () => {
    monotonic.advance(10_000)
    return gateway.connections().length === 0
  })
  assert.equal(gateway.counters.closes.get(1008), 2)
})

/** The envelope: defaults, TransactionID, order of replies, errors, Cancel, frames of the wrong kind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, encode } from '@msgpack/msgpack'
import { createTestController } from '../support/controllers.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

test('Controller defaults to Platform, Action to Publish; unknown members are ignored; names are case-sensitive', async (t) => {
  const { port } = await startGateway(t)
  const client = await connect(port)
  const info = await client.request({ Topic: 'QueryServerInfo', TransactionID: 5, Extra: { any: 'thing' } })
  assert.deepEqual(
    [info.Controller, info.Action, info.Topic, info.TransactionID],
    ['Platform', 'Publish', 'QueryServerInfo', 5],
  )
  assert.equal(
    (await client.request({ Topic: 'queryserverinfo', TransactionID: 6 })).Data,
    'Operation.Unknown queryserverinfo',
  )
  assert.equal(
    (await client.request({ Controller: 'auth', Topic: 'QueryIdentify', TransactionID: 7 })).Data,
    'Controller auth',
  )
  assert.equal((await client.request({ topic: 'QueryServerInfo', TransactionID: 8 })).Data, 'Data Topic')
})

test('TransactionID: any JSON integer is echoed digit for digit', async (t) => {
  const { port } = await startGateway(t)
  const client = await connect(port)
  for (const id of [
    '0',
    '-0',
    '1',
    '-1',
    '2147483648',
    '4294967296',
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '-9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
    '18446744073709551615',
    '123456789012345678901234567890',
  ]) {
    for (const text of [
      `{"Topic":"QueryServerInfo","TransactionID":${id}}`,
      `{"TransactionID" : ${id} ,"Topic":"QueryServerInfo","Data":{"TransactionID":7}}`,
      `{"Data":{"TransactionID":9007199254740999},"TransactionID":1.5,"TransactionID":${id},"Topic":"QueryServerInfo"}`,
      `{"Topic":"QueryServerInfo","Tr\\u0061nsactionID":${id}}`,
    ]) {
      client.send(text)
      assert.match(await client.nextText(), new RegExp(`"TransactionID":${id},`), text)
    }
  }
})

test('TransactionID: a string, float, null or object is an error, whatever its value', async (t) => {
  const { port } = await startGateway(t)
  const client = await connect(port)
  for (const id of [
    '"1"',
    '1.0',
    '1.5',
    '1e3',
    '1E0',
    '-1.0',
    '1e400',
    'null',
    '{}',
    '[]',
    'true',
    '1234567890123456.0',
  ]) {
    client.send(`{"Topic":"QueryServerInfo","TransactionID":${id}}`)
    assert.equal(
      await client.nextText(),
      '{"Controller":"Platform","Topic":"QueryServerInfo","Action":"Error","Data":"Data.Deserialise TransactionID"}',
      id,
    )
  }
})

test('replies to thousands of pipelined requests are sent in the order of arrival', async (t) => {
  const { port } = await startGateway(t, { controllers: [createTestController()] })
  const client = await connect(port)
  const count = 4000
  for (let id = 0; id < count; id++) {
    const topic = id % 7 === 0 ? 'Later' : id % 11 === 0 ? 'Missing' : 'Echo'
    client.send({ Controller: 'Test', Topic: topic, TransactionID: id, Data: id })
  }
  for (let id = 0; id < count; id++) {
    const reply = await client.next()
    assert.equal(reply.TransactionID, id)
    assert.equal(reply.Action, id % 7 !== 0 && id % 11 === 0 ? 'Error' : 'Publish')
  }
})

test('a request sees the effects of all requests before it', async (t) => {
  const { port, mint } = await startGateway(t, { controllers: [createTestController()] })
  const client = await connect(port)
  client.send({ Controller: 'Test', Topic: 'Who', TransactionID: 1 })
  client.send({
    Controller: 'Auth',
    Topic: 'AuthToken',
    TransactionID: 2,
    Data: { Provider: 'Bearer', AccessToken: await mint.issue() },
  })
  client.send({ Controller: 'Test', Topic: 'Who', TransactionID: 3 })
  assert.equal((await client.next()).Data, 'Authority')
  assert.equal((await client.next()).TransactionID, 2)
  assert.equal((await client.next()).Data, 'alice')
})

test('without a TransactionID the result goes to a subscription of the topic, else the reply is Operation.NoResult', async (t) => {
  const { port } = await startGateway(t, { controllers: [createTestController()] })
  const client = await connect(port)
  const error = await client.request({ Controller: 'Test', Topic: 'Echo', Data: 1 })
  assert.deepEqual(error, { Controller: 'Test', Topic: 'Echo', Action: 'Error', Data: 'Operation.NoResult' })
  client.send({ Controller: 'Test', Topic: 'Price/ACME', Action: 'Sub' })
  const answer = await client.request({ Controller: 'Test', Topic: 'Price/ACME' })
  assert.deepEqual(answer, { Controller: 'Test', Topic: 'Price/ACME', Action: 'Publish', Data: 'Price/ACME' })
})

test('errors have a code and a context; the connection stays open', async (t) => {
  const { port, log, gateway } = await startGateway(t, { controllers: [createTestController()] })
  const client = await connect(port)
  for (const [message, data] of [
    [{ Controller: 'Nowhere', Topic: 'X' }, 'Controller Nowhere'],
    [{ Topic: 'X' }, 'Operation.Unknown X'],
    [{ Topic: 'constructor' }, 'Operation.Unknown constructor'],
    [{ Controller: '__proto__', Topic: 'X' }, 'Controller __proto__'],
    [{ Topic: 'QueryServerInfo', Action: 'Sub' }, 'Operation.Unknown QueryServerInfo'],
    [{ Topic: 'ServerInfo', Action: 'Publish' }, 'Operation.Unknown ServerInfo'],
    [{ Controller: 'Test', Topic: 'Market' }, 'Authority'],
    [{ Controller: 'Test', Topic: 'Market', Action: 'Sub' }, 'Authority'],
    [{ Controller: 'Test', Topic: 'Refuse' }, 'Data Price'],
    [{ Controller: 'Test', Topic: 'Break' }, 'Fault'],
    [{}, 'Data Topic'],
    [{ Controller: 'Test', Topic: `Price/${'x'.repeat(251)}`, Action: 'Sub' }, 'Data Topic'],
    [{ Topic: 5 }, 'Data.Deserialise Topic'],
    [{ Topic: 'X', Controller: null }, 'Data.Deserialise Controller'],
    [{ Topic: 'X', Action: 'Subscribe' }, 'Data.Deserialise Action'],
    [{ Topic: 'X', Action: 1 }, 'Data.Deserialise Action'],
    [{ Topic: 'X', Confirm: 'yes' }, 'Data.Deserialise Confirm'],
    [{ Topic: 'X', Action: 'Cancel', TransactionID: undefined }, 'Data TransactionID'],
  ] as const) {
    const sent = { TransactionID: 77, ...message }
    const reply = await client.request(sent)
    assert.equal(reply.Action, 'Error')
    assert.equal(reply.Data, data)
    assert.equal(reply.TransactionID, sent.TransactionID)
    assert.equal(reply.Topic, 'Topic' in message && typeof message.Topic === 'string' ? message.Topic : undefined)
  }
  const longest = `Price/${'x'.repeat(250)}`
  assert.equal((await client.request({ Controller: 'Test', Topic: longest, TransactionID: 1 })).Data, longest)
  assert.ok(log.some((line) => line.includes('a secret detail')))
  assert.equal(gateway.counters.errors.get('Fault'), 1)
})

test('an Error from the client is not answered', async (t) => {
  const { port } = await startGateway(t)
  const client = await connect(port)
  client.send({ Topic: 'X', Action: 'Error', TransactionID: 1, Data: 'Fault' })
  await client.expectSilence()
})

test('anything but one JSON object is Data.Deserialise; several in a row close with 1007', async (t) => {
  const { port } = await startGateway(t, { settings: { streamMaxUnreadable: 4 } })
  const client = await connect(port)
  for (const text of ['', 'nonsense', '[1]', '"text"', '5', 'null', '{"a":1}{"b":2}', '{"Topic":']) {
    assert.deepEqual(await client.request(Buffer.from(text).toString() as unknown as object), {
      Action: 'Error',
      Data: 'Data.Deserialise',
    })
    // A readable message resets the count.
    await client.request({ Topic: 'QueryServerInfo', TransactionID: 1 })
  }
  for (let count = 0; count < 4; count++) client.send('nonsense')
  for (let count = 0; count < 3; count++) assert.equal((await client.next()).Data, 'Data.Deserialise')
  assert.equal((await client.closed).code, 1007)
})

test('a binary frame on PlatformJson closes with 1003, a text frame on PlatformMsgPack too', async (t) => {
  const { port } = await startGateway(t)
  const json = await connect(port)
  json.socket.send(Buffer.from('{}'), { binary: true })
  assert.equal((await json.closed).code, 1003)
  const packed = await connect(port, { protocols: ['PlatformMsgPack'] })
  packed.socket.send('{}')
  assert.equal((await packed.closed).code, 1003)
})

test('a message over the size limit closes with 1009', async (t) => {
  const { port } = await startGateway(t)
  const client = await connect(port)
  const padding = 'x'.repeat(1024 * 1024 - 60)
  const largest = await client.request({ Topic: 'QueryServerInfo', TransactionID: 1, Data: padding })
  assert.equal(largest.TransactionID, 1)
  client.send({ Topic: 'QueryServerInfo', TransactionID: 2, Data: `${padding}${'x'.repeat(60)}` })
  assert.equal((await client.closed).code, 1009)
})

test('PlatformMsgPack: the same messages in binary frames, with 64-bit ids', async (t) => {
  const { port, mint } = await startGateway(t)
  const client = await connect(port, { protocols: ['PlatformMsgPack'] })
  const send = (message: object): void => client.socket.send(encode(message, { useBigInt64: true }))
  const next = async (): Promise<Record<string, unknown>> =>
    decode(await client.nextBytes(), { useBigInt64: true }) as Record<string, unknown>
  send({
    Controller: 'Auth',
    Topic: 'AuthToken',
    TransactionID: 1,
    Data: { Provider: 'Bearer', AccessToken: await mint.issue() },
  })
  const reply = await next()
  assert.equal(reply.Topic, 'Identify')
  assert.equal((reply.Data as { Result: string }).Result, 'Success')
  for (const id of [
    0,
    -1,
    4294967296n,
    9007199254740991n,
    9223372036854775807n,
    -9223372036854775808n,
    18446744073709551615n,
  ]) {
    send({ Topic: 'QueryServerInfo', TransactionID: id })
    assert.equal((await next()).TransactionID, id)
  }
  for (const id of ['1', 1.5, null, {}]) {
    send({ Topic: 'QueryServerInfo', TransactionID: id })
    assert.equal((await next()).Data, 'Data.Deserialise TransactionID')
  }
  client.socket.send(Buffer.from([0xc1]))
  assert.deepEqual(await next(), { Action: 'Error', Data: 'Data.Deserialise' })
})

test('Cancel ends a running or waiting operation with Operation.Abort, in order', async (t) => {
  const controller = createTestController()
  const { port } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port)
  const wait = (id: number): void => client.send({ Controller: 'Test', Topic: 'Wait', TransactionID: id })
  const cancel = (id: number): void => client.send({ Action: 'Cancel', TransactionID: id })
  wait(1)
  client.send({ Controller: 'Test', Topic: 'Echo', TransactionID: 2, Data: 'second' })
  wait(3)
  cancel(2)
  cancel(99)
  await client.expectSilence()
  assert.equal(controller.aborted(), 0)
  cancel(1)
  assert.deepEqual(await client.next(), {
    Controller: 'Test',
    Topic: 'Wait',
    Action: 'Error',
    TransactionID: 1,
    Data: 'Operation.Abort',
  })
  assert.equal((await client.next()).Data, 'Operation.Abort')
  assert.equal(controller.aborted(), 1)
  controller.release('too late')
  await until('the third operation waits', 100, () => controller.waiting() === 1)
  controller.release('third')
  assert.deepEqual(await client.next(), {
    Controller: 'Test',
    Topic: 'Wait',
    Action: 'Publish',
    TransactionID: 3,
    Data: 'third',
  })
  cancel(3)
  await client.expectSilence()
})

test('an operation that takes too long ends with Operation.Timeout, and the next one starts', async (t) => {
  const controller = createTestController()
  const { port, clock } = await startGateway(t, { controllers: [controller] })
  const client = await connect(port)
  client.send({ Controller: 'Test', Topic: 'Wait', TransactionID: 1 })
  client.send({ Controller: 'Test', Topic: 'Echo', TransactionID: 2, Data: 'next' })
  await client.expectSilence()
  clock.advance(34_900)
  await client.expectSilence()
  clock.advance(100)
  assert.equal((await client.next()).Data, 'Operation.Timeout')
  assert.equal((await client.next()).Data, 'next')
  assert.equal(controller.aborted(), 1)
})

test('the reply to an operation without a result has no Data', async (t) => {
  const { port } = await startGateway(t, { controllers: [createTestController()] })
  const client = await connect(port)
  assert.deepEqual(await client.request({ Controller: 'Test', Topic: 'Nothing', TransactionID: 4 }), {
    Controller: 'Test',
    Topic: 'Nothing',
    Action: 'Publish',
    TransactionID: 4,
  })
})

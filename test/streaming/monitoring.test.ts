/** What operators see of the gateway: metrics, the audit log, rate limits, addresses behind proxies. */
import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { type AuditEvent, Refusal } from 'gatehouse-protocol'
import { ClientAddresses } from '../../packages/server/src/http/request/request-head.ts'
import { watchGateway } from '../../packages/server/src/streaming/metrics.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { createTestController } from '../support/controllers.ts'
import { startGateway } from '../support/gateway.ts'
import { connect, refusedUpgrade } from '../support/stream-client.ts'

test('metrics show connections, messages, errors, sign-ins, closes and refusals', async (t) => {
  const { port, mint, gateway } = await startGateway(t, { controllers: [createTestController()] })
  const metrics = new Metrics()
  watchGateway(metrics, gateway)
  const client = await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  const leaving = await connect(port)
  await client.request({ Controller: 'Test', Topic: 'Market', Action: 'Sub', Confirm: true })
  await client.request({ Topic: 'Nowhere', TransactionID: 1 })
  await refusedUpgrade(port, { headers: { Authorization: 'Bearer nonsense' } })
  leaving.socket.close(1000)
  await leaving.closed
  await client.expectSilence()
  const page = metrics.render()
  for (const line of [
    'gatehouse_streaming_connections{state="authenticated"} 1',
    'gatehouse_streaming_connections{state="anonymous"} 0',
    'gatehouse_streaming_connections_total{outcome="accepted"} 2',
    'gatehouse_streaming_connections_total{outcome="stream.invalid_token"} 1',
    'gatehouse_streaming_closes_total{code="1000"} 1',
    'gatehouse_streaming_messages_total{direction="in"} 2',
    'gatehouse_streaming_messages_total{direction="out"} 2',
    'gatehouse_streaming_errors_total{code="Operation.Unknown"} 1',
    'gatehouse_streaming_subscriptions 1',
    'gatehouse_streaming_queue_bytes 0',
    'gatehouse_streaming_signins_total{outcome="accepted"} 1',
    'gatehouse_streaming_signins_total{outcome="rejected"} 1',
  ]) {
    assert.ok(page.includes(`${line}\n`), `${line}\n---\n${page.match(/^gatehouse_streaming.*$/gm)?.join('\n')}`)
  }
})

test('each limit that a client reaches is counted by name', async (t) => {
  const rateLimits = {
    countAddress(): [] {
      if (isFull) throw new Refusal('http.too_many_requests', 429, 'Too many requests')
      return []
    },
    countCaller: () => [],
  }
  let isFull = false
  const settings = { streamMaxSubscriptions: 0, streamMaxConnectionsPerUser: 1, streamMessageBurst: 6 }
  const controllers = [createTestController()]
  const { port, mint, gateway } = await startGateway(t, { rateLimits, settings, controllers })
  await connect(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  const client = await connect(port)
  isFull = true
  const signIn = (AccessToken: string) => ({ Topic: 'AuthToken', Data: { Provider: 'Bearer', AccessToken } })
  for (const [limit, message] of [
    ['subscriptions', { Topic: 'Identify', Action: 'Sub' }],
    ['connections per user', signIn(await mint.issue())],
    ['rejected sign-ins', signIn('no.such.token')],
    ['memory', { Controller: 'Test', Topic: 'Limit', Data: 'memory' }],
    ['queries', { Controller: 'Test', Topic: 'Limit', Data: 'queries' }],
    ['of its own', { Controller: 'Test', Topic: 'Limit', Data: 'of its own' }],
    ['messages per second', { Topic: 'QueryIdentify' }],
  ] as const)
    assert.equal((await client.request({ Controller: 'Auth', TransactionID: 1, ...message })).Data, `Limited ${limit}`)
  const metrics = new Metrics()
  watchGateway(metrics, gateway)
  const shown = metrics.render().match(/^gatehouse_streaming_limited_total.*$/gm)
  const names = [
    'subscriptions',
    'connections per user',
    'rejected sign-ins',
    'memory',
    'queries',
    'other',
    'messages per second',
  ]
  assert.deepEqual(
    shown,
    names.map((limit) => `gatehouse_streaming_limited_total{limit="${limit}"} 1`),
  )
})

test('the audit log records refused tokens without the token', async (t) => {
  const events: AuditEvent[] = []
  const { port, log } = await startGateway(t, { audit: { record: (event) => void events.push(event) } })
  await refusedUpgrade(port, { headers: { Authorization: 'Bearer s3cr3t.to.ken' } })
  const client = await connect(port)
  const signIn = { Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1 }
  await client.request({ ...signIn, Data: { Provider: 'Bearer', AccessToken: 's3cr3t.to.ken' } })
  await client.request({ ...signIn, Data: { Provider: 's3cr3t.to.ken', AccessToken: 'Bearer' } })
  assert.deepEqual(events, [
    { event: 'stream.refused', address: '127.0.0.1', details: { reason: 'stream.invalid_token' } },
    {
      event: 'stream.refused',
      address: '127.0.0.1',
      actor: undefined,
      details: { reason: 'rejected', provider: 'Bearer' },
    },
    {
      event: 'stream.refused',
      address: '127.0.0.1',
      actor: undefined,
      details: { reason: 'rejected', provider: 'unknown' },
    },
  ])
  assert.ok(!JSON.stringify([events, log]).includes('s3cr3t'))
})

test('rate limits apply to upgrades, by address and by caller', async (t) => {
  const counted: string[] = []
  const { port, mint } = await startGateway(t, {
    rateLimits: {
      countAddress(group, address) {
        counted.push(`${group} ${address}`)
        return []
      },
      countCaller(_group, _address, { client, user }) {
        counted.push(`${client} ${user}`)
        throw new Refusal('http.too_many_requests', 429, 'Too many requests', { headers: { 'retry-after': '7' } })
      },
    },
  })
  await connect(port)
  const { status, headers } = await refusedUpgrade(port, { headers: { Authorization: `Bearer ${await mint.issue()}` } })
  assert.equal(status, 429)
  assert.equal(headers['retry-after'], '7')
  assert.deepEqual(counted, ['stream 127.0.0.1', 'stream 127.0.0.1', 'demo-cli alice'])
})

test('the address of a client is taken from the headers of trusted proxies only', () => {
  for (const [trusted, nearest, forwarded, expected] of [
    [[], '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    [['10.0.0.0/8'], '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    [['10.0.0.0/8'], '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    [['10.0.0.0/8'], '10.1.2.3', '192.0.2.66, 198.51.100.1, 10.9.9.9', '198.51.100.1'],
    [['10.0.0.0/8'], '10.1.2.3', '198.51.100.1:50123', '198.51.100.1'],
    [['10.0.0.0/8'], '10.1.2.3', '192.0.2.66, 198.51.100.1:50123,10.9.9.9:80', '198.51.100.1'],
    [['10.0.0.0/8'], '10.1.2.3', '[2001:db8::5]:50123', '2001:db8::5'],
    [['10.0.0.0/8'], '10.1.2.3', '[2001:db8::5], 10.9.9.9', '2001:db8::5'],
    [['10.0.0.0/8'], '::ffff:10.1.2.3', '2001:db8::5', '2001:db8::5'],
    [['10.0.0.0/8'], '10.1.2.3', '10.9.9.9, 10.9.9.8', '10.9.9.9'],
    [['10.0.0.0/8'], '10.1.2.3', '198.51.100.1, unknown', 'unknown'],
    [['10.0.0.0/8'], '10.1.2.3', 'nonsense', 'unknown'],
    [['10.0.0.0/8'], '10.1.2.3', ' , ', '10.1.2.3'],
    [['10.0.0.0/8'], '10.1.2.3', undefined, '10.1.2.3'],
    [['::1'], '::1', '2001:db8::5', '2001:db8::5'],
  ] as const) {
    const socket = new Socket()
    Object.defineProperty(socket, 'remoteAddress', { value: nearest })
    const request = new IncomingMessage(socket)
    if (forwarded !== undefined) request.headers['x-forwarded-for'] = forwarded
    const addresses = new ClientAddresses({ trustedProxies: trusted, exempt: [] }, () => assert.fail())
    assert.equal(addresses.read(request), expected)
  }
})

/** Abusive clients: limits on the memory, time and connections that each can use. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type AuditEvent, Refusal } from 'gatehouse-protocol'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { CODECS } from '../../packages/server/src/streaming/codec/codec.ts'
import { StreamLimits } from '../../packages/server/src/streaming/gateway/stream-limits.ts'
import { frame, OPCODE, openRaw } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'

const { config: SETTINGS } = loadConfig({})

test('a client that sends pings but does not read the pongs is no longer read', async (t) => {
  const { port, gateway } = await startGateway(t, { settings: { streamSendQueueBytes: 65_536 } })
  const { socket } = await openRaw(port, '/Platform?version=1.1')
  socket.pause()
  const pings = Buffer.concat(Array(2_000).fill(frame({ opcode: OPCODE.ping, payload: 'x'.repeat(125) })))
  for (let sent = 0; sent < 40_000_000 && socket.writableLength < 4_000_000; sent += pings.length) {
    socket.write(pings)
    await pause(1)
  }
  await pause(100)
  const [live] = gateway.connections()
  assert.ok(live !== undefined && live.queuedBytes < 1_000_000, `${live?.queuedBytes} bytes are queued`)
  socket.destroy()
})

test('a refused client that keeps its side open does not count as a connection', async (t) => {
  const { port } = await startGateway(t, { settings: { streamMaxConnections: 1 } })
  const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => socket.destroy())
  socket.write(
    'GET /Platform?version=1.1 HTTP/1.1\r\nHost: gate\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
      'Sec-WebSocket-Protocol: PlatformJson\r\nAuthorization: Bearer no.such.token\r\n\r\n',
  )
  const [reply] = await once(socket, 'data')
  assert.match(String(reply), /^HTTP\/1.1 401 /)
  await pause(50)
  const client = await connect(port)
  client.socket.terminate()
})

test('reading a long TransactionID in a long message takes about as long as parsing the message', () => {
  const id = '12345678901234567890'
  const payload = Buffer.from(`{"Data":[${Array(500_000).fill('1').join(',')}],"TransactionID":${id}}`)
  const plain = fastest(() => JSON.parse(payload.toString()))
  const read = fastest(() => assert.equal(CODECS.PlatformJson.decode(payload)?.id, BigInt(id)))
  assert.ok(read < plain * 8 + 10, `${read} ms, of which ${plain} ms are parsing`)
})

test('the TransactionID of the message is found among others, with any spelling of the key', () => {
  const id = 98765432109876543210n
  for (const text of [
    `{"Data":{"TransactionID":1,"x":"\\"TransactionID\\":2"},"TransactionID":${id}}`,
    `{"TransactionID":${id},"Data":[{"TransactionID":3}],"Topic":"TransactionID"}`,
    `{"TransactionID":4,"TransactionID" : ${id} }`,
    `{"Transaction\\u0049D":${id}}`,
    `{"a\\\\":"\\\\","b":"}{][\\\\\\"","TransactionID":\n${id}\n}`,
  ]) {
    assert.equal(CODECS.PlatformJson.decode(Buffer.from(text))?.id, id, text)
  }
})

test('all addresses of an IPv6 network share one limit', () => {
  const connectionLimits = new StreamLimits({ ...SETTINGS, streamMaxConnectionsPerAddress: 2 })
  const release = connectionLimits.acquire('2001:db8::1')
  connectionLimits.acquire('2001:db8::2')
  assert.throws(() => connectionLimits.acquire('2001:db8:0:0:ffff::3'), /too many connections/)
  connectionLimits.acquire('2001:db8:0:1::1')
  release()
  connectionLimits.acquire('2001:db8::4')
})

test('rejected sign-ins on an open connection count towards the rate limit, like refused upgrades', async (t) => {
  let left = 3
  const countAddress = (): [] => {
    if (left-- > 0) return []
    throw new Refusal('http.too_many_requests', 429, 'Too many requests')
  }
  const recorded: AuditEvent[] = []
  const { port } = await startGateway(t, {
    rateLimits: { countAddress, countCaller: () => [] },
    audit: { record: (event) => void recorded.push(event) },
  })
  const client = await connect(port)
  const Data = { Provider: 'Bearer', AccessToken: 'no.such.token' }
  const replies: unknown[] = []
  for (let id = 1; id <= 4; id++)
    replies.push((await client.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: id, Data })).Data)
  const limited = 'Limited rejected sign-ins'
  assert.deepEqual(replies, [{ Result: 'Reject' }, { Result: 'Reject' }, limited, limited])
  assert.equal(recorded.length, 2)
})

test('unknown close codes are counted together', async (t) => {
  const { port, gateway } = await startGateway(t)
  for (const code of [3000, 3001, 4999]) {
    const client = await connect(port)
    client.socket.close(code)
    await client.closed
  }
  await pause(20)
  assert.deepEqual([...gateway.counters.closes], [['other', 3]])
})

function fastest(work: () => void): number {
  const times = Array.from({ length: 3 }, () => {
    const started = performance.now()
    work()
    return performance.now() - started
  })
  return Math.min(...times)
}

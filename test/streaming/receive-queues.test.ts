/** What is held of incomplete messages and unanswered requests: bounded for each address and node. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'
import { createTestController } from '../support/controllers.ts'
import { frame, OPCODE, openRaw, type RawPeer } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const { text, continuation, close } = OPCODE
const MEBIBYTE = 1024 * 1024
const PATH = '/Platform?version=1.1'
const FILLER = ' '.repeat(700_000)
const QUESTION = '{"Topic":"QueryServerInfo","TransactionID":1}'
const WAIT = frame({ opcode: text, payload: '{"Controller":"Test","Topic":"Wait","TransactionID":1}' })

/** What one connection sends, and what completes it. */
const KINDS = {
  'fragments of an incomplete message': [
    frame({ opcode: text, payload: FILLER, fin: false }),
    frame({ opcode: continuation, payload: QUESTION }),
  ],
  'a part of one frame': [frame({ opcode: text, payload: `${FILLER}${QUESTION}` }).subarray(0, 700_000), undefined],
  'requests that wait for another': [
    Buffer.concat([WAIT, frame({ opcode: text, payload: `${FILLER}${QUESTION}` })]),
    undefined,
  ],
} as const

for (const [kind, [beginning, end]] of Object.entries(KINDS))
  for (const [limit, settings] of [
    ['address', { streamReceiveQueueBytesPerAddress: 2 * MEBIBYTE }],
    ['node', { streamReceiveQueueBytesPerNode: 2 * MEBIBYTE }],
  ] as const) {
    test(`${kind}: past the limit of the ${limit} one is closed with 1013, and the others are served`, async (t) => {
      const { port, gateway } = await startGateway(t, { controllers: [createTestController()], settings })
      const other = await connect(port)
      const peers: RawPeer[] = []
      for (let count = 0; count < 6; count++) {
        const peer = await openRaw(port, PATH)
        peers.push(peer)
        peer.write(beginning)
      }
      const closed = (): number => gateway.counters.floodCloses.get(limit) ?? 0
      await until('the limit is kept', 5_000, () => closed() >= 3)
      assert.equal((await other.request({ Topic: 'QueryServerInfo', TransactionID: 1 })).TransactionID, 1)
      const codes = await Promise.all(peers.map(firstCode))
      const open = codes.filter((code) => code === 'open').length
      assert.ok(open >= 1 && open <= 3, codes.join())
      assert.ok(
        codes.every((code) => code === 'open' || code === 1013),
        codes.join(),
      )
      if (end !== undefined) {
        const survivor = peers[codes.indexOf('open')]
        survivor?.write(end)
        assert.match((await survivor?.next())?.payload.toString() ?? '', /"TransactionID":1/)
      }
      assert.deepEqual([...gateway.counters.floodCloses.keys()], [limit])
      for (const { socket } of peers) socket.destroy()
    })
  }

/** The code with which the connection was closed, if it was. */
async function firstCode(peer: RawPeer): Promise<number | 'open'> {
  await new Promise((resolve) => setTimeout(resolve, 50))
  const found = peer.available().find(({ opcode }) => opcode === close)
  return found === undefined ? 'open' : found.payload.readUInt16BE()
}

test('input that has arrived counts while its connection is not read', async (t) => {
  const { port, gateway } = await startGateway(t, {
    controllers: [createTestController()],
    settings: { streamReceiveQueueBytes: 1000, streamReceiveQueueBytesPerNode: 250_000 },
  })
  const other = await connect(port)
  const question = frame({ opcode: text, payload: QUESTION.padEnd(1000) })
  const peers: RawPeer[] = []
  for (let count = 0; count < 6; count++) {
    const peer = await openRaw(port, PATH)
    peers.push(peer)
    peer.write(WAIT, ...Array<Buffer>(500).fill(question))
  }
  await until('the limit is kept', 5_000, () => (gateway.counters.floodCloses.get('node') ?? 0) >= 2)
  assert.equal((await other.request({ Topic: 'QueryServerInfo', TransactionID: 1 })).TransactionID, 1)
  for (const { socket } of peers) socket.destroy()
})

test('messages that have been answered no longer count', async (t) => {
  const { port, gateway } = await startGateway(t, {
    controllers: [createTestController()],
    settings: { streamReceiveQueueBytesPerNode: 2 * MEBIBYTE, streamMessageBurst: 1e6 },
  })
  const client = await connect(port)
  for (const topic of ['Echo', 'Later'])
    for (let id = 0; id < 6; id++) {
      const message = { Controller: 'Test', Topic: topic, TransactionID: id, Data: 'x'.repeat(700_000) }
      assert.equal((await client.request(message)).TransactionID, id)
    }
  assert.deepEqual([...gateway.counters.floodCloses], [])
})

test('a client that keeps sending after the close frame is disconnected', async (t) => {
  const { port, gateway } = await startGateway(t)
  const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
  t.after(() => socket.destroy())
  const headers = [
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Protocol: PlatformJson',
  ]
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
  socket.write(`GET ${PATH} HTTP/1.1\r\nHost: x\r\n${[...headers, key].join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  socket.write(frame({ opcode: text, payload: QUESTION, reserved: 7 }))
  assert.equal(gateway.connections().length, 1)
  // The clock stands still: no time limit ends it.
  await until('it is closed', 5_000, () => {
    if (socket.writable && socket.writableLength === 0) socket.write(Buffer.alloc(MEBIBYTE))
    return gateway.connections().length === 0
  })
})

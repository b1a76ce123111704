/** Connections that send more than is read at once are read in turns: others wait no longer because they are many. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frame, OPCODE, openRaw, type RawPeer } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'

const FLOOD = Buffer.concat(
  Array(20_000).fill(frame({ opcode: OPCODE.text, payload: '{"Topic":"QueryServerInfo","TransactionID":1}' })),
)
const REQUESTS = 30

test('a request waits for few messages of others, whether one or twenty connections send as fast as they can', async (t) => {
  const { port, gateway } = await startGateway(t, { settings: { streamMessageBurst: 1e9 } })
  const client = await connect(port)
  const medians: number[] = []
  for (const connections of [1, 20]) {
    const peers = await Promise.all(Array.from({ length: connections }, () => openRaw(port, '/Platform?version=1.1')))
    for (const peer of peers) flood(peer)
    const waits: number[] = []
    for (let id = 0; id < REQUESTS; id++) {
      const before = gateway.counters.messagesIn
      await client.request({ Topic: 'QueryServerInfo', TransactionID: id })
      waits.push(gateway.counters.messagesIn - before)
    }
    for (const { socket } of peers) socket.destroy()
    medians.push(waits.sort((a, b) => a - b)[REQUESTS / 2] ?? 0)
  }
  const [one = 0, many = 0] = medians
  t.diagnostic(`${one} messages of one connection, ${many} of twenty`)
  assert.ok(one > 1, 'the flood was read in the meantime')
  assert.ok(many < 6 * one, `${one} messages of one connection, ${many} of twenty`)
})

/** Never less than the server can read; the replies are dropped. */
function flood({ socket }: RawPeer): void {
  socket.removeAllListeners('data').resume()
  const write = (): void => {
    if (socket.writable && socket.write(FLOOD)) setImmediate(write)
  }
  socket.on('drain', write)
  write()
}

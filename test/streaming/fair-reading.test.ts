/** Connections that send more than is read, or answered, at once are served in turns: others wait no longer because they are many. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Controller } from '../../packages/server/src/streaming/topics/controller.ts'
import { createTestController } from '../support/controllers.ts'
import { frame, OPCODE, openRaw, type RawPeer } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const FLOOD = Buffer.concat(
  Array(20_000).fill(frame({ opcode: OPCODE.text, payload: '{"Topic":"QueryServerInfo","TransactionID":1}' })),
)
const REQUESTS = 30
const WAITING = 4000

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

for (const kind of ['at once', 'in a promise'] as const) {
  test(`thousands of requests that waited for another, and are answered ${kind}, let the event loop turn between them`, async (t) => {
    let answered = 0
    const controller: Controller = {
      ...createTestController(),
      name: 'Work',
      topics: {
        Do: {
          summary: 'Counts.',
          needs: 'nothing',
          publish: () => (kind === 'at once' ? ++answered : Promise.resolve().then(() => ++answered)),
        },
      },
    }
    const test = createTestController()
    const settings = { streamMessageBurst: 1e9, streamReceiveQueueBytes: 1e9 }
    const { port, gateway } = await startGateway(t, { controllers: [test, controller], settings })
    const peer = await openRaw(port, '/Platform?version=1.1')
    peer.socket.removeAllListeners('data').resume()
    const message = (payload: string): Buffer => frame({ opcode: OPCODE.text, payload })
    peer.write(message('{"Controller":"Test","Topic":"Wait","TransactionID":1}'))
    peer.write(...Array(WAITING).fill(message('{"Controller":"Work","Topic":"Do","TransactionID":2}')))
    await until('all have arrived', 10_000, () => gateway.counters.messagesIn === WAITING + 1)
    assert.equal(answered, 0)
    test.release()
    let most = 0
    for (let turns = 0, before = 0; answered < WAITING; turns++, before = answered) {
      await new Promise(setImmediate)
      most = Math.max(most, answered - before)
      assert.ok(turns < 100 * WAITING)
    }
    t.diagnostic(`at most ${most} in one turn`)
    assert.ok(most < WAITING / 4, `${most} in one turn`)
    peer.socket.destroy()
  })
}

/** Never less than the server can read; the replies are dropped. */
function flood({ socket }: RawPeer): void {
  socket.removeAllListeners('data').resume()
  const write = (): void => {
    if (socket.writable && socket.write(FLOOD)) setImmediate(write)
  }
  socket.on('drain', write)
  write()
}

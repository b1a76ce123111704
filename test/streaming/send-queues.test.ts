/** Send queues of clients that do not read: bounded for each connection, address and node. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  QueueBounds,
  type QueueLimit,
  type QueueOwner,
} from '../../packages/server/src/streaming/connection/queue-bounds.ts'
import { createTestController } from '../support/controllers.ts'
import { frame, OPCODE, openRaw } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const MEBIBYTE = 1024 * 1024

for (const [limit, settings] of [
  ['address', { streamSendQueueBytesPerAddress: 2 * MEBIBYTE }],
  ['node', { streamSendQueueBytesPerNode: 2 * MEBIBYTE }],
] as const) {
  test(`past the limit of the ${limit} the slowest connection is closed with 1013, and the others are served`, async (t) => {
    const controller = createTestController()
    const { port, gateway } = await startGateway(t, {
      controllers: [controller],
      settings: { streamSendQueueBytes: 64 * MEBIBYTE, ...settings },
    })
    const reader = await connect(port)
    const slow = await Promise.all(Array.from({ length: 4 }, () => openRaw(port, '/Platform?version=1.1')))
    const subscribe = '{"Controller":"Test","Topic":"Open","Action":"Sub"}'
    for (const { socket, write } of slow) {
      write(frame({ opcode: OPCODE.text, payload: subscribe }))
      socket.pause()
    }
    await reader.request({ Controller: 'Test', Topic: 'Open', Action: 'Sub', Confirm: true })
    await until('all are subscribed', 5_000, () => controller.subscribers('Open') === 5)
    const closed = () => gateway.counters.slowCloses.get(limit) ?? 0
    for (let published = 0; published < 400 && closed() < 3; published++) {
      controller.publish('Open', { id: published, filler: 'x'.repeat(100_000) })
      assert.equal(((await reader.next()).Data as { id: number }).id, published)
      const queued = gateway.connections().reduce((sum, { queuedBytes }) => sum + queuedBytes, 0)
      // What was already passed to the system when a connection was closed cannot be discarded.
      assert.ok(queued <= 2 * MEBIBYTE + 4 * 256 * 1024, `${queued} bytes are queued`)
    }
    assert.ok(closed() >= 3, `${closed()} connections were closed`)
    assert.deepEqual([...gateway.counters.slowCloses.keys()], [limit])
    const codes: (number | undefined)[] = []
    for (const peer of slow) {
      peer.socket.resume()
      // One of the four may have stayed open; its wait ends with the socket.
      void peer.closeCode().then((code) => codes.push(code))
    }
    await until('three have ended', 5_000, () => codes.length >= 3)
    assert.ok(codes.includes(1013), `${codes}`)
    for (const { socket } of slow) socket.destroy()
  })
}

test('a connection that is closed as slow gets the close frame next, not after its queue', async (t) => {
  const controller = createTestController()
  const { port, mint, gateway } = await startGateway(t, {
    controllers: [controller],
    settings: { streamSendQueueBytes: MEBIBYTE },
  })
  const token = await mint.issue({ scopes: ['Platform/Trading'] })
  const peer = await openRaw(port, '/Platform?version=1.1', { Authorization: `Bearer ${token}` })
  peer.write(frame({ opcode: OPCODE.text, payload: '{"Controller":"Test","Topic":"Trades","Action":"Sub"}' }))
  await until('it is subscribed', 5_000, () => controller.subscribers('Trades') === 1)
  peer.socket.pause()
  let published = 0
  for (; controller.subscribers('Trades') > 0 && published < 1_000; published++) {
    controller.publish('Trades', 'x'.repeat(50_000))
    await new Promise(setImmediate)
  }
  peer.socket.resume()
  assert.equal(await peer.closeCode(), 1013)
  assert.deepEqual([...gateway.counters.slowCloses], [['connection', 1]])
})

test('a queued frame counts with the objects that hold it, so that many short ones cannot take much more memory', async (t) => {
  const controller = createTestController()
  const { port, gateway } = await startGateway(t, {
    controllers: [controller],
    settings: { streamSendQueueBytes: 64 * MEBIBYTE },
  })
  const peer = await openRaw(port, '/Platform?version=1.1')
  peer.socket.pause()
  peer.write(frame({ opcode: OPCODE.text, payload: '{"Controller":"Test","Topic":"Open","Action":"Sub"}' }))
  await until('it is subscribed', 5_000, () => controller.subscribers('Open') === 1)
  const queued = (): number => gateway.connections()[0]?.queuedBytes ?? 0
  // When the queue stops changing, the system accepts no more data.
  let before = -1
  while (queued() === 0 || queued() !== before) {
    if (queued() < 4 * MEBIBYTE) controller.publish('Open', 'x'.repeat(200_000))
    before = queued()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const count = 5_000
  for (let published = 0; published < count; published++) controller.publish('Open', 1)
  const bytes = (queued() - before) / count
  const length = '{"Controller":"Test","Topic":"Open","Action":"Publish","Data":1}'.length + 2
  assert.ok(bytes >= length + 150 && bytes < length + 200, `${bytes} bytes for a frame of ${length}`)
  peer.socket.destroy()
})

const ECHO = frame({
  opcode: OPCODE.text,
  payload: `{"Controller":"Test","Topic":"Echo","TransactionID":1,"Data":"${'x'.repeat(10_000)}"}`,
})

test('requests of a client that does not read their replies wait, long before the send queue is full', async (t) => {
  const { port, gateway } = await startGateway(t, {
    controllers: [createTestController()],
    settings: { streamMessageBurst: 1e6 },
  })
  const peer = await openRaw(port, '/Platform?version=1.1')
  peer.socket.pause()
  const count = 2_000
  for (let sent = 0; sent < count; sent++) peer.write(ECHO)
  const queued = (): number => gateway.connections()[0]?.queuedBytes ?? 0
  let before = -1
  await until('the system takes nothing any more', 10_000, () => {
    const isStable = queued() > 0 && queued() === before
    before = queued()
    return isStable
  })
  assert.ok(queued() <= 192 * 1024, `${queued()} bytes`)
  peer.socket.resume()
  for (let received = 0; received < count; received++) assert.equal((await peer.next()).opcode, OPCODE.text)
})

test('a client that takes none of its replies for the idle timeout is closed, one that takes them slowly is not', async (t) => {
  const { port, gateway, clock } = await startGateway(t, {
    controllers: [createTestController()],
    settings: { streamMessageBurst: 1e6, streamIdleTimeout: 60_000, streamAuthenticationDeadline: 1e6 },
  })
  const open = async () => {
    const peer = await openRaw(port, '/Platform?version=1.1')
    // What it reads is dropped.
    peer.socket.removeAllListeners('data').pause()
    for (let sent = 0; sent < 2_000; sent++) peer.write(ECHO)
    return peer
  }
  const peers = [await open(), await open()]
  const waiting = () => gateway.connections().filter(({ queuedBytes }) => queuedBytes > 0).length
  await until('both have replies that wait', 10_000, () => waiting() === 2)
  const slow = peers[1]?.socket
  assert.ok(slow)
  for (let step = 0; step < 5; step++) {
    clock.advance(25_000)
    await take(slow, 3_000_000)
  }
  await until('the other one is closed', 5_000, () => (gateway.counters.slowCloses.get('connection') ?? 0) === 1)
  assert.equal(slow.destroyed, false)
  for (const { socket } of peers) socket.destroy()
})

/** Reads some bytes of a paused socket, hardly more. */
function take(socket: Socket, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    let taken = 0
    const onData = ({ byteLength }: Buffer): void => {
      taken += byteLength
      if (taken < bytes) return
      socket.off('data', onData).pause()
      resolve()
    }
    socket.on('data', onData).resume()
  })
}

test('the queue of a connection that has left does not count', async (t) => {
  const { port, gateway } = await startGateway(t, {
    controllers: [createTestController()],
    settings: { streamSendQueueBytesPerNode: MEBIBYTE, streamMessageBurst: 1e6 },
  })
  for (let round = 0; round < 5; round++) {
    const peer = await openRaw(port, '/Platform?version=1.1')
    peer.socket.pause()
    const echo = `{"Controller":"Test","Topic":"Echo","TransactionID":1,"Data":"${'x'.repeat(500_000)}"}`
    await until('its queue is full', 30_000, () => {
      peer.write(frame({ opcode: OPCODE.text, payload: echo }))
      return (gateway.connections()[0]?.queuedBytes ?? 0) > 400_000
    })
    peer.socket.destroy()
    await until('it has left', 30_000, () => gateway.connections().length === 0)
  }
  assert.deepEqual([...gateway.counters.slowCloses], [])
})

test('after every change the bounds hold, and those with the longest queues are the ones closed', () => {
  const PER_ADDRESS = 100
  const PER_NODE = 250
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(9), fc.nat(60)), { maxLength: 200 }), (changes) => {
      const queues = new QueueBounds({
        perAddress: PER_ADDRESS,
        perNode: PER_NODE,
        countBytes: ({ queuedBytes }: QueueOwner) => queuedBytes,
        close: (owner: QueueOwner, limit: QueueLimit) => owner.closeAsSlow(limit),
      })
      const owners = Array.from({ length: 10 }, (_, index) => ({
        address: `192.0.2.${index % 4}`,
        queuedBytes: 0,
        receivedBytes: 0,
        isClosing: false,
        closeAsFlooding: () => assert.fail(),
        closeAsSlow(_limit: QueueLimit): void {
          const ofAddress: { readonly queuedBytes: number }[] = owners.filter(
            ({ address, isClosing }) => address === this.address && !isClosing,
          )
          assert.equal(this.queuedBytes, Math.max(...ofAddress.map(({ queuedBytes }) => queuedBytes)))
          this.isClosing = true
          this.queuedBytes = 0
        },
      }))
      const sum = (some: typeof owners) => some.reduce((total, { queuedBytes }) => total + queuedBytes, 0)
      for (const [index, bytes] of changes) {
        const owner = owners[index]
        if (owner === undefined || owner.isClosing) continue
        owner.queuedBytes = bytes
        queues.update(owner)
        assert.ok(sum(owners) <= PER_NODE)
        assert.ok(sum(owners.filter(({ address }) => address === owner.address)) <= PER_ADDRESS)
      }
    }),
  )
})

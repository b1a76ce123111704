/** The echo endpoint has the limits of the gateway: connections, queues in both directions, idle time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frame, OPCODE, openRaw } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const { text, binary, ping } = OPCODE
const MEBIBYTE = 1024 * 1024

test('a client of the echo endpoint that sends nothing is closed with 1008', async (t) => {
  const { port, clock } = await startGateway(t, { settings: { streamEcho: true } })
  const peer = await openRaw(port, '/echo')
  clock.advance(50_000)
  peer.write(frame({ opcode: ping }))
  assert.equal((await peer.next()).opcode, OPCODE.pong)
  clock.advance(50_000)
  peer.write(frame({ opcode: text, payload: 'still here' }))
  assert.equal((await peer.next()).payload.toString(), 'still here')
  clock.advance(60_000)
  assert.equal(await peer.closeCode(), 1008)
})

test('a client of the echo endpoint that does not read is no longer read, and closed with 1013 after a minute', async (t) => {
  const { port, clock, gateway } = await startGateway(t, {
    settings: { streamEcho: true, streamSendQueueBytes: MEBIBYTE },
  })
  const peer = await openRaw(port, '/echo')
  peer.socket.pause()
  const message = frame({ opcode: binary, payload: Buffer.alloc(MEBIBYTE / 2) })
  // The system's buffers are full when a message is not taken any more.
  for (let taken = -1; taken !== peer.socket.bytesWritten - peer.socket.writableLength; ) {
    taken = peer.socket.bytesWritten - peer.socket.writableLength
    peer.write(message)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await until('it is closed', 5_000, () => {
    if (gateway.counters.slowCloses.get('connection') === 1) return true
    clock.advance(60_000)
    return false
  })
  peer.socket.resume()
  assert.equal(await peer.closeCode(), 1013)
  peer.socket.destroy()
})

test('the send queues of echo clients count towards the limit of their address', async (t) => {
  const { port, gateway } = await startGateway(t, {
    settings: {
      streamEcho: true,
      streamSendQueueBytesPerAddress: 2 * MEBIBYTE,
      streamSendQueueBytes: 64 * MEBIBYTE,
    },
  })
  const peers = await Promise.all(Array.from({ length: 3 }, () => openRaw(port, '/echo')))
  const message = frame({ opcode: binary, payload: Buffer.alloc(MEBIBYTE / 2) })
  for (const { socket } of peers) socket.pause()
  await until('one is closed', 5_000, () => {
    for (const { socket, write } of peers) if (socket.writableLength < MEBIBYTE) write(message)
    return gateway.counters.slowCloses.get('address') !== undefined
  })
  for (const { socket } of peers) socket.destroy()
})

test('the incomplete messages of echo clients count towards the limit of their address', async (t) => {
  const settings = { streamEcho: true, streamReceiveQueueBytesPerAddress: 2 * MEBIBYTE }
  const { port, gateway } = await startGateway(t, { settings })
  const peers = await Promise.all(Array.from({ length: 5 }, () => openRaw(port, '/echo')))
  for (const { write } of peers) write(frame({ opcode: text, payload: 'x'.repeat(MEBIBYTE / 2), fin: false }))
  assert.equal(await Promise.race(peers.map((peer) => peer.closeCode())), 1013)
  assert.deepEqual([...gateway.counters.floodCloses.keys()], ['address'])
  for (const { socket } of peers) socket.destroy()
})

test('connections of the echo endpoint count towards the limit of connections', async (t) => {
  const { port } = await startGateway(t, { settings: { streamEcho: true, streamMaxConnectionsPerAddress: 1 } })
  const first = await openRaw(port, '/echo')
  assert.match((await openRaw(port, '/echo')).reply, /^HTTP\/1.1 429 /)
  assert.match((await openRaw(port, '/Platform?version=1.1')).reply, /^HTTP\/1.1 429 /)
  first.socket.destroy()
  await until('it has left', 5_000, async () => (await openRaw(port, '/echo')).reply.startsWith('HTTP/1.1 101'))
})

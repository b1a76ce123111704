/** The echo endpoint bounds what it holds for a client, and its connections count like others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frame, OPCODE, openRaw } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const { binary } = OPCODE
const MEBIBYTE = 1024 * 1024

test('a client of the echo endpoint that does not read is not read until it does', async (t) => {
  const { port } = await startGateway(t, { settings: { streamEcho: true, streamSendQueueBytes: MEBIBYTE } })
  const peer = await openRaw(port, '/echo')
  const message = frame({ opcode: binary, payload: Buffer.alloc(MEBIBYTE / 2) })
  peer.socket.pause()
  let sent = 0
  // When a message is no longer accepted, the system buffers and the send queue are full.
  for (let taken = -1; taken !== peer.socket.bytesWritten - peer.socket.writableLength; sent++) {
    taken = peer.socket.bytesWritten - peer.socket.writableLength
    peer.write(message)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  peer.socket.resume()
  for (; sent > 0; sent--) assert.equal((await peer.next()).payload.length, MEBIBYTE / 2)
  peer.socket.destroy()
})

test('connections of the echo endpoint count towards the limit of connections', async (t) => {
  const { port } = await startGateway(t, { settings: { streamEcho: true, streamMaxConnectionsPerAddress: 1 } })
  const first = await openRaw(port, '/echo')
  assert.match((await openRaw(port, '/echo')).reply, /^HTTP\/1.1 429 /)
  assert.match((await openRaw(port, '/Platform?version=1.1')).reply, /^HTTP\/1.1 429 /)
  first.socket.destroy()
  await until('it has left', 5_000, async () => (await openRaw(port, '/echo')).reply.startsWith('HTTP/1.1 101'))
})

/** Compressed messages cost what their decompression takes, and replies still due are sent after the client's FIN. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { deflateRawSync } from 'node:zlib'
import { WebSocket } from 'ws'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

test('RFC 7692 §8: a compressed message counts for its compressed bytes, also when almost nothing comes out', async (t) => {
  const { port, clock } = await startGateway(t)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/Platform?version=1.1`, 'PlatformJson', {
    perMessageDeflate: { threshold: 1_000_000 },
  })
  await once(socket, 'open')
  const request = JSON.stringify({ Controller: 'Platform', Topic: 'QueryServerInfo', TransactionID: 1 })
  let replies = 0
  socket.on('message', () => replies++)
  sendCompressed(
    socket,
    Buffer.concat([emptyBlocks(900_000), deflateRawSync(request, { finishFlush: 2 }).subarray(0, -4)]),
  )
  socket.send(request)
  await until('the first request is answered', 5000, () => replies > 0)
  await sleep(200)
  assert.equal(replies, 1, 'the second is not read before the rate allows it')
  await until('the second request is answered', 5000, () => {
    clock.advance(1000)
    return replies === 2
  })
  socket.terminate()
})

test('requests before the client’s FIN are answered, and then the connection ends', async (t) => {
  const { port } = await startGateway(t)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/Platform?version=1.1`, 'PlatformJson')
  await once(socket, 'open')
  let replies = 0
  socket.on('message', () => replies++)
  for (let id = 1; id <= 50; id++)
    socket.send(JSON.stringify({ Controller: 'Platform', Topic: 'QueryServerInfo', TransactionID: id }))
  tcpOf(socket).end()
  await once(socket, 'close')
  assert.equal(replies, 50)
})

/** Stored blocks of length zero: work for the decompressor without a byte of output. */
function emptyBlocks(bytes: number): Buffer {
  const block = Buffer.from([0x00, 0x00, 0x00, 0xff, 0xff])
  return Buffer.alloc(Math.floor(bytes / block.length) * block.length, block)
}

/** One masked text frame with RSV1, as a client sends a compressed message. */
function sendCompressed(socket: WebSocket, payload: Buffer): void {
  const head = Buffer.alloc(14)
  head[0] = 0xc1
  head[1] = 0x80 | 127
  head.writeBigUInt64BE(BigInt(payload.length), 2)
  tcpOf(socket).write(Buffer.concat([head, payload]))
}

function tcpOf(socket: WebSocket): import('node:net').Socket {
  return Reflect.get(socket, '_socket')
}

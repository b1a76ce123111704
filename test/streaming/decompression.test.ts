/** Compressed messages cost what their decompression takes, and replies still due are sent after the client's FIN. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { WebSocket } from 'ws'
import { frame, OPCODE, openRaw } from '../support/frames.ts'
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

test('a message of empty blocks, each with its own codes, is not decompressed on the thread of the other connections', async (t) => {
  const { port } = await startGateway(t)
  const peer = await openRaw(port, '/Platform?version=1.1', { 'Sec-WebSocket-Extensions': 'permessage-deflate' })
  const request = JSON.stringify({ Topic: 'QueryServerInfo', TransactionID: 1 })
  const payload = Buffer.concat([emptyDynamicBlocks(900_000), deflateRawSync(request, FLUSH).subarray(0, -4)])
  const message = frame({ opcode: OPCODE.text, payload, reserved: 4 })
  // Processor time of this thread, which a busy machine does not change.
  const start = process.threadCpuUsage()
  assert.equal(inflateRawSync(payload, FLUSH).toString(), request)
  const baseline = process.threadCpuUsage(start).user
  const before = process.threadCpuUsage()
  peer.write(message)
  assert.match((await peer.next()).payload.toString(), /"TransactionID":1/)
  const used = process.threadCpuUsage(before).user
  assert.ok(used < baseline / 2, `${used} µs, and ${baseline} µs for the decompression alone`)
})

test('after a long message that cannot be decompressed the rest is read, and the connection ends', async (t) => {
  const { port, gateway } = await startGateway(t)
  const peer = await openRaw(port, '/Platform?version=1.1', { 'Sec-WebSocket-Extensions': 'permessage-deflate' })
  // Longer than what is decompressed on the thread of the other connections, and of a block type that does not exist.
  peer.write(frame({ opcode: OPCODE.text, payload: Buffer.alloc(20_000, 0xff), reserved: 4 }), Buffer.alloc(500_000))
  assert.equal(await peer.closeCode(), 1007)
  // The clock stands still: no time limit ends it.
  await until('the server has read the end', 2000, () => gateway.connections().length === 0)
})

test('requests before the client’s FIN are answered, and then the connection ends', async (t) => {
  const { port } = await startGateway(t)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/Platform?version=1.1`, 'PlatformJson')
  await once(socket, 'open')
  let replies = 0
  socket.on('message', () => replies++)
  for (let id = 1; id <= 50; id++)
    socket.send(JSON.stringify({ Controller: 'Platform', Topic: 'QueryServerInfo', TransactionID: id }))
  tcpTarget(socket).end()
  await once(socket, 'close')
  assert.equal(replies, 50)
})

const FLUSH = { finishFlush: constants.Z_SYNC_FLUSH }

/** Stored blocks of length zero: work for the decompressor without a byte of output. */
function emptyBlocks(bytes: number): Buffer {
  const block = Buffer.from([0x00, 0x00, 0x00, 0xff, 0xff])
  return Buffer.alloc(Math.floor(bytes / block.length) * block.length, block)
}

/** Blocks without content that declare Huffman codes: the decompressor builds tables for each, every 11 bytes. */
function emptyDynamicBlocks(bytes: number): Buffer {
  let bits = ''
  const put = (value: number, count: number): void => {
    bits += [...value.toString(2).padStart(count, '0')].reverse().join('')
  }
  // RFC 1951 §3.2.7: a block of type 2, 257 literal codes, 1 distance code, 18 code length codes.
  put(0b100, 3)
  put(0, 5)
  put(0, 5)
  put(14, 4)
  // Only the lengths 18 (a run of zeros) and 1 occur, with a code of one bit each.
  for (let index = 0; index < 18; index++) put(index === 2 || index === 17 ? 1 : 0, 3)
  // 138 and 118 zeros; the end of the block and the only distance have a code of one bit.
  for (const run of [138, 118]) {
    put(1, 1)
    put(run - 11, 7)
  }
  put(0, 3)
  const eight = bits.repeat(8)
  const block = Buffer.alloc(eight.length / 8)
  for (let index = 0; index < eight.length; index++)
    if (eight[index] === '1') block[index >> 3] = (block[index >> 3] ?? 0) | (1 << (index & 7))
  return Buffer.alloc(Math.floor(bytes / block.length) * block.length, block)
}

/** One masked text frame with RSV1, as a client sends a compressed message. */
function sendCompressed(socket: WebSocket, payload: Buffer): void {
  const head = Buffer.alloc(14)
  head[0] = 0xc1
  head[1] = 0x80 | 127
  head.writeBigUInt64BE(BigInt(payload.length), 2)
  tcpTarget(socket).write(Buffer.concat([head, payload]))
}

function tcpTarget(socket: WebSocket): import('node:net').Socket {
  return Reflect.get(socket, '_socket')
}

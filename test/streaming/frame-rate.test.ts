/** The rate of frames: pings, pongs, fragments and bytes count, before authentication too, and reading pauses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constants, deflateRawSync } from 'node:zlib'
import { closeFrame, type Frame, frame, OPCODE, openRaw, type RawPeer } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'

const { ping, pong, text, continuation } = OPCODE
/** Ten pings are allowed in a burst, and then ten in a second. */
const SLOW = { streamMessagesPerSecond: 10, streamMessageBurst: 40 }
const PATH = '/Platform?version=1.1'
const QUESTION = '{"Topic":"QueryServerInfo","TransactionID":1}'

/** Reads the frames that arrive until another connection has been answered twice. */
async function received(peer: RawPeer, port: number): Promise<Frame[]> {
  const frames: Frame[] = []
  const probe = await connect(port)
  for (let id = 0; id < 2; id++) {
    await probe.request({ Topic: 'QueryServerInfo', TransactionID: id })
    await probe.expectSilence()
    frames.push(...peer.available())
  }
  probe.socket.terminate()
  return frames
}

test('pings count towards the message rate: those over it are answered when the rate allows', async (t) => {
  const { port, clock } = await startGateway(t, { settings: SLOW })
  const peer = await openRaw(port, PATH)
  peer.write(...Array.from({ length: 100 }, (_, id) => frame({ opcode: ping, payload: String(id) })))
  // The one that exceeds the rate has been read, so it is answered.
  const first = await received(peer, port)
  assert.deepEqual(
    first.map(({ opcode, payload }) => [opcode, payload.toString()]),
    Array.from({ length: 11 }, (_, id) => [pong, String(id)]),
  )
  clock.advance(1_000)
  assert.ok((await peer.next()).payload.equals(Buffer.from('11')))
  const second = await received(peer, port)
  assert.ok(second.length >= 8 && second.length <= 10, `${second.length} pongs`)
})

for (const [what, flood, last] of [
  ['pongs', frame({ opcode: pong }), frame({ opcode: text, payload: QUESTION })],
  ['empty fragments', frame({ opcode: continuation, fin: false }), frame({ opcode: continuation, payload: QUESTION })],
] as const) {
  test(`${what} count: a message behind too many of them is answered when the rate allows`, async (t) => {
    const { port, clock } = await startGateway(t, { settings: SLOW })
    const peer = await openRaw(port, PATH)
    if (what === 'empty fragments') peer.write(frame({ opcode: text, fin: false }))
    // 320 fragments or 20 control frames are what two seconds allow.
    peer.write(...Array(what === 'pongs' ? 25 : 400).fill(flood), last)
    assert.deepEqual(await received(peer, port), [])
    let seconds = 0
    let answer: Frame | undefined
    for (; answer === undefined && seconds < 60; seconds++) {
      clock.advance(1_000)
      answer = (await received(peer, port))[0]
    }
    assert.match(answer?.payload.toString() ?? '', /"TransactionID":1/)
    assert.ok(seconds >= 1 && seconds <= 3, `${seconds} seconds`)
  })
}

test('the bytes of messages count as they are after decompression', async (t) => {
  const { port, clock } = await startGateway(t, { settings: SLOW })
  const peer = await openRaw(port, PATH, { 'Sec-WebSocket-Extensions': 'permessage-deflate' })
  const long = `${QUESTION}${' '.repeat(1_000_000)}`
  const payload = deflateRawSync(long, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
  assert.ok(payload.length < 2_000)
  peer.write(...Array(10).fill(frame({ opcode: text, payload, reserved: 4 })))
  assert.equal((await received(peer, port)).length, 1)
  clock.advance(60_000)
  await peer.next()
  assert.equal((await received(peer, port)).length, 0)
})

/** A thousand bytes when they are compressed, and hundreds of thousands of values to decode. */
const PACKED = Buffer.concat([
  Buffer.from([0x83, 0xa5, ...Buffer.from('Topic'), 0xaf, ...Buffer.from('QueryServerInfo')]),
  Buffer.from([0xad, ...Buffer.from('TransactionID'), 1, 0xa4, ...Buffer.from('Data'), 0xdd, 0, 0x0d, 0xbb, 0xa0]),
  Buffer.alloc(900_000, 0xc0),
])
for (const [subProtocol, content] of [
  ['PlatformMsgPack', PACKED],
  ['PlatformJson', Buffer.from(`${QUESTION.slice(0, -1)},"Data":[${'[],'.repeat(290_000)}0]}`)],
] as const) {
  test(`the values of a message count, not only its bytes: ${subProtocol}`, async (t) => {
    const { port, clock, gateway } = await startGateway(t, { settings: { streamMaxAnonymousMessageBytes: 1_000_000 } })
    const peer = await openRaw(port, PATH, {
      'Sec-WebSocket-Protocol': subProtocol,
      'Sec-WebSocket-Extensions': 'permessage-deflate',
    })
    const payload = deflateRawSync(content, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
    const opcode = subProtocol === 'PlatformJson' ? text : OPCODE.binary
    peer.write(...Array(10).fill(frame({ opcode, payload, reserved: 4 })))
    await peer.next()
    await received(peer, port)
    assert.equal(gateway.counters.messagesIn, 1 + 2, 'the first one, and two of another connection')
    clock.advance(60_000)
    await peer.next()
  })
}

test('Autobahn 9.3: a message in 16,384 fragments is answered, within the default rate', async (t) => {
  const { port } = await startGateway(t)
  const peer = await openRaw(port, PATH)
  const message = Buffer.from(`${QUESTION}${' '.repeat(1024 * 1024 - QUESTION.length)}`)
  const fragments = Array.from({ length: 16_384 }, (_, index) =>
    frame({
      opcode: index === 0 ? text : continuation,
      payload: message.subarray(index * 64, index * 64 + 64),
      fin: index === 16_383,
    }),
  )
  peer.write(...fragments)
  assert.match((await peer.next()).payload.toString(), /"TransactionID":1/)
})

test('a message in more than 65,536 fragments is closed with 1009 within seconds of the default rate', async (t) => {
  const { port, clock } = await startGateway(t)
  const peer = await openRaw(port, PATH)
  peer.write(frame({ opcode: text, fin: false }))
  peer.write(Buffer.concat(Array(100_000).fill(frame({ opcode: continuation, fin: false }))))
  let seconds = 0
  const closed = peer.closeCode()
  const isOpen = () =>
    Promise.race([closed.then(() => false), new Promise((resolve) => setTimeout(resolve, 100, true))])
  for (; seconds < 30 && (await isOpen()); seconds++) clock.advance(1_000)
  // Two, but a busy machine reads less while the clock is advanced.
  assert.ok(seconds <= 15, `${seconds} seconds`)
  assert.equal(await closed, 1009)
})

test('a client that floods instead of answering a close frame is not read for long', async (t) => {
  const { port, gateway } = await startGateway(t)
  const peer = await openRaw(port, PATH)
  const flood = Buffer.concat(Array(10_000).fill(frame({ opcode: pong })))
  peer.write(frame({ opcode: OPCODE.binary, payload: 'x' }))
  assert.equal(await peer.closeCode(), 1003)
  while (!peer.socket.destroyed && !peer.socket.readableEnded) {
    peer.write(flood)
    await new Promise(setImmediate)
  }
  peer.socket.destroy()
  assert.deepEqual(gateway.counters.messagesIn, 0)
})

test('RFC 6455 §5.5.1: messages behind a close frame are ignored', async (t) => {
  const { port, gateway } = await startGateway(t)
  const peer = await openRaw(port, PATH)
  peer.write(closeFrame(1000), ...Array(100).fill(frame({ opcode: text, payload: QUESTION })))
  assert.equal(await peer.closeCode(), 1000)
  assert.equal(gateway.counters.messagesIn, 0)
})

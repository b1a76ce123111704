/** Framing (RFC 6455) and compression (RFC 7692), byte by byte, against the echo endpoint: what the cases of Autobahn leave out. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { closeFrame, frame, OPCODE, openRaw, type RawPeer } from '../support/frames.ts'
import { openGateway, type TestGateway } from '../support/gateway.ts'

const { text, binary, continuation, ping } = OPCODE
const LIMIT = 1024 * 1024
let gate: TestGateway

before(async () => {
  gate = await openGateway({ settings: { streamEcho: true, streamMaxMessageBytes: LIMIT } })
})
after(() => gate.stop())

const open = (headers: Record<string, string> = {}): Promise<RawPeer> => openRaw(gate.port, '/echo', headers)

test('a message of the greatest length is echoed', async () => {
  const peer = await open()
  const payload = Buffer.alloc(LIMIT, 'a')
  peer.write(frame({ opcode: text, payload }))
  assert.ok((await peer.next()).payload.equals(payload))
})

for (const [violation, code, ...frames] of [
  ['§5.1: an unmasked frame', 1002, frame({ opcode: text, payload: 'x', masked: false })],
  ['§7.4.1: close code 1015', 1002, closeFrame(1015)],
  [
    '§8.1: an incomplete character at the end of a message',
    1007,
    frame({ opcode: text, payload: Buffer.from([0xe2, 0x82]), fin: false }),
    frame({ opcode: continuation, payload: '' }),
  ],
  ['§8.1: a first fragment that is not UTF-8', 1007, frame({ opcode: text, payload: Buffer.from([0xff]), fin: false })],
  [
    '§8.1: the part of a frame that has arrived and is not UTF-8',
    1007,
    frame({ opcode: text, payload: Buffer.from([0xed, 0xa0]), declaredLength: 100n }),
  ],
  ['a message over the limit', 1009, frame({ opcode: text, payload: Buffer.alloc(LIMIT + 1, 'a') })],
  ['§5.2: a declared length of 2^63 bytes', 1009, frame({ opcode: text, declaredLength: 2n ** 63n - 1n })],
  [
    'fragments that exceed the limit together',
    1009,
    frame({ opcode: text, payload: Buffer.alloc(LIMIT, 'a'), fin: false }),
    frame({ opcode: continuation, payload: 'a' }),
  ],
] as const) {
  test(`${violation} closes with ${code}`, async () => {
    const peer = await open()
    peer.write(...frames)
    assert.equal(await peer.closeCode(), code)
  })
}

const DEFLATE = { 'Sec-WebSocket-Extensions': 'permessage-deflate' }
const deflate = (content: Buffer | string): Buffer =>
  deflateRawSync(content, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)

const inflate = (payload: Buffer): Buffer =>
  inflateRawSync(Buffer.concat([payload, Buffer.from('0000ffff', 'hex')]), { finishFlush: constants.Z_SYNC_FLUSH })

test('RFC 7692 §7: compressed messages, whole and in fragments', async () => {
  const peer = await open(DEFLATE)
  assert.match(peer.reply, /sec-websocket-extensions: permessage-deflate/i)
  const compressed = deflate('hello')
  peer.write(frame({ opcode: text, payload: compressed, reserved: 4 }))
  assert.equal((await peer.next()).payload.toString(), 'hello')
  peer.write(
    frame({ opcode: text, payload: compressed.subarray(0, 3), reserved: 4, fin: false }),
    frame({ opcode: continuation, payload: compressed.subarray(3) }),
  )
  assert.equal((await peer.next()).payload.toString(), 'hello')
})

test('RFC 7692 §6.1: reserved bit 1 on a continuation or a control frame closes with 1002', async () => {
  const first = await open(DEFLATE)
  first.write(
    frame({ opcode: text, payload: deflate('x'), reserved: 4, fin: false }),
    frame({ opcode: continuation, payload: 'x', reserved: 4 }),
  )
  assert.equal(await first.closeCode(), 1002)
  const second = await open(DEFLATE)
  second.write(frame({ opcode: ping, reserved: 4 }))
  assert.equal(await second.closeCode(), 1002)
})

test('RFC 7692: invalid compressed data closes with 1007', async () => {
  const peer = await open(DEFLATE)
  peer.write(frame({ opcode: text, payload: Buffer.alloc(100, 0xff), reserved: 4 }))
  assert.equal(await peer.closeCode(), 1007)
})

/** A complete DEFLATE stream: its last block has BFINAL set. */
const final = (content: string): Buffer => deflateRawSync(content)
const LONG = 'abcdefgh'.repeat(8_000)
/** Fixed Huffman codes: a final block that repeats four bytes from five back, and one without content. */
const REPEAT_FOUR = Buffer.from('031100', 'hex')
const EMPTY_FINAL = Buffer.from('0300', 'hex')

for (const [what, payload, content] of [
  ['is followed by nothing but the empty block', Buffer.from('f348cdc9c9070000', 'hex'), 'Hello'],
  ['ends the message without the empty block', Buffer.from('f348cdc9c90700', 'hex'), 'Hello'],
  ['is followed by other blocks', Buffer.concat([final('one'), deflate('two')]), 'onetwo'],
  ['is followed by another final block', Buffer.concat([final('one'), final('two'), deflate('')]), 'onetwo'],
  ['is followed by a block that refers to it', Buffer.concat([final('Hello'), REPEAT_FOUR, deflate('')]), 'HelloHell'],
  ['is long', Buffer.concat([deflateRawSync(LONG, { level: 0 }), deflate('two')]), `${LONG}two`],
] as const) {
  test(`RFC 7692 §7.2.3.4: the message is complete when a block with BFINAL ${what}`, async () => {
    const peer = await open(DEFLATE)
    peer.write(frame({ opcode: text, payload, reserved: 4 }), frame({ opcode: ping }))
    const echoed = await peer.next()
    assert.equal((echoed.reserved === 4 ? inflate(echoed.payload) : echoed.payload).toString(), content)
  })
}

test('a message of thousands of final blocks closes with 1007', async () => {
  const peer = await open(DEFLATE)
  peer.write(frame({ opcode: text, payload: Buffer.alloc(8_000, EMPTY_FINAL), reserved: 4 }))
  assert.equal(await peer.closeCode(), 1007)
})

test('final blocks that decompress to more than the limit together close with 1009', async () => {
  const half = deflateRawSync(Buffer.alloc(LIMIT / 2 + 1, 'a'))
  const peer = await open(DEFLATE)
  peer.write(frame({ opcode: text, payload: Buffer.concat([half, half]), reserved: 4 }))
  assert.equal(await peer.closeCode(), 1009)
})

for (const options of [{ level: 0 }, { strategy: constants.Z_FIXED }])
  test(`an incompressible message of the maximum size may be longer compressed: ${JSON.stringify(options)}`, async () => {
    const peer = await open(DEFLATE)
    // Bytes from 144 on take nine bits in a block with fixed codes.
    const content = randomBytes(LIMIT).map((byte) => byte | 0x90)
    const payload = deflateRawSync(content, { ...options, finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
    assert.ok(payload.length > LIMIT)
    peer.write(frame({ opcode: binary, payload, reserved: 4 }))
    assert.ok(inflate((await peer.next()).payload).equals(content))
    const cut = LIMIT / 2
    peer.write(
      frame({ opcode: binary, payload: payload.subarray(0, cut), reserved: 4, fin: false }),
      frame({ opcode: continuation, payload: payload.subarray(cut) }),
    )
    assert.ok(inflate((await peer.next()).payload).equals(content))
  })

/** Deflate compresses zeros by a factor of about 1,000, so a bomb of n bytes inflates to about 1,000 n bytes. */
const zeros = (length: number): Buffer => deflateRawSync(Buffer.alloc(length), { finishFlush: constants.Z_SYNC_FLUSH })

for (const [size, blocks] of [
  ['two kilobytes that inflate to two megabytes', [zeros(2 * LIMIT)]],
  ['nearly the maximum size that inflates to a gigabyte', Array.from({ length: 15 }, () => zeros(64 * LIMIT))],
] as const) {
  test(`a decompression bomb of ${size} closes with 1009 without much time or memory`, async () => {
    const bomb = Buffer.concat(blocks)
    assert.ok(bomb.length < LIMIT)
    for (const path of ['/echo', '/Platform?version=1.1']) {
      const peer = await openRaw(gate.port, path, DEFLATE)
      const before = process.memoryUsage().rss
      const started = performance.now()
      peer.write(frame({ opcode: text, payload: bomb, reserved: 4 }))
      assert.equal(await peer.closeCode(), 1009)
      assert.ok(performance.now() - started < 2_000)
      assert.ok(process.memoryUsage().rss - before < 128 * 1024 * 1024)
    }
  })
}

test('the echo endpoint exists only if its setting is on', async (t) => {
  const plain = await openGateway()
  t.after(() => plain.stop())
  const peer = await openRaw(plain.port, '/echo')
  assert.match(peer.reply, /^HTTP\/1\.1 404/)
})

test('a peer that disconnects within a frame, within a message or after the upgrade leaves nothing behind', async () => {
  const partial = frame({ opcode: text, payload: 'x'.repeat(1000) }).subarray(0, 500)
  for (const bytes of [partial, frame({ opcode: text, payload: 'x', fin: false }), Buffer.alloc(0)]) {
    const peer = await openRaw(gate.port, '/Platform?version=1.1')
    peer.write(bytes)
    peer.socket.destroy()
  }
  const end = Date.now() + 2_000
  while (gate.gateway.connections().length > 0 && Date.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal(gate.gateway.connections().length, 0)
})

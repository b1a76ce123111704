/** The reader of frames: any frames, cut into pieces at any place, at a cost that follows their bytes. */
import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  FrameError,
  FrameReader,
  type ReceivedFrame,
} from '../../packages/server/src/streaming/websocket/frame-reader.ts'
import { frame, OPCODE } from '../support/frames.ts'

const OPTIONS = { allowsCompression: false }
const LIMIT = 1024 * 1024

function readAll(reader: FrameReader): ReceivedFrame[] {
  const frames: ReceivedFrame[] = []
  for (let next = reader.next(LIMIT); next !== undefined; next = reader.next(LIMIT)) frames.push(next)
  return frames
}

const message = fc.record({
  fragments: fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 5 }),
  pings: fc.array(fc.uint8Array({ maxLength: 125 }), { maxLength: 2 }),
})

test('RFC 6455 §5.4: fragments with pings between them, cut into pieces at any place, give the same messages', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 40 }), (messages, cuts) => {
      const bytes = Buffer.concat(
        messages.flatMap(({ fragments, pings }) =>
          fragments.flatMap((payload, index) => [
            frame({
              opcode: index === 0 ? OPCODE.binary : OPCODE.continuation,
              payload: Buffer.from(payload),
              fin: index === fragments.length - 1,
            }),
            ...pings.map((ping) => frame({ opcode: OPCODE.ping, payload: Buffer.from(ping) })),
          ]),
        ),
      )
      const ends = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
      const reader = new FrameReader(OPTIONS)
      const frames: ReceivedFrame[] = []
      let start = 0
      for (const end of ends) {
        // A copy, because payloads are unmasked in place.
        reader.push(Buffer.from(bytes.subarray(start, end)))
        frames.push(...readAll(reader).map(copied))
        start = end
      }
      const received = frames.flatMap((each) => (each.kind === 'message' ? [each.data.toString('hex')] : []))
      assert.deepEqual(
        received,
        messages.map(({ fragments }) => Buffer.concat(fragments).toString('hex')),
      )
      const pings = frames.flatMap((each) => (each.kind === 'ping' ? [each.data.toString('hex')] : []))
      const sent = messages.flatMap(({ fragments, pings: sentPings }) => fragments.flatMap(() => sentPings))
      assert.deepEqual(
        pings,
        sent.map((ping) => Buffer.from(ping).toString('hex')),
      )
    }),
    { numRuns: 300 },
  )
})

function copied(received: ReceivedFrame): ReceivedFrame {
  return 'data' in received ? { ...received, data: Buffer.from(received.data) } : received
}

test('a megabyte in fragments of 16 bytes takes little memory, and no time for each fragment before it', () => {
  const fragment = frame({ opcode: OPCODE.continuation, payload: 'x'.repeat(16), fin: false })
  const fragments = Buffer.concat(Array(10_000).fill(fragment))
  const reader = new FrameReader(OPTIONS)
  reader.push(frame({ opcode: OPCODE.binary, fin: false }))
  const before = process.memoryUsage()
  const started = performance.now()
  for (let sent = 0; sent < 60_000; sent += 10_000) {
    reader.push(Buffer.from(fragments))
    for (let next = reader.next(LIMIT); next !== undefined; next = reader.next(LIMIT))
      assert.equal(next.kind, 'fragment')
  }
  const after = process.memoryUsage()
  reader.push(frame({ opcode: OPCODE.continuation, payload: 'x' }))
  const last = reader.next(LIMIT)
  assert.ok(last?.kind === 'message' && last.data.length === 960_001)
  const kept = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
  assert.ok(kept < 64 * 1024 * 1024, `${kept} bytes`)
  assert.ok(performance.now() - started < 5_000)
})

test('a message has at most 65,536 fragments, also empty ones', () => {
  for (const payload of ['', 'x']) {
    const fragments = Buffer.concat(Array(65_535).fill(frame({ opcode: OPCODE.continuation, payload, fin: false })))
    const reader = new FrameReader(OPTIONS)
    reader.push(frame({ opcode: OPCODE.text, fin: false }))
    reader.push(fragments)
    for (let next = reader.next(LIMIT); next !== undefined; next = reader.next(LIMIT))
      assert.equal(next.kind, 'fragment')
    reader.push(frame({ opcode: OPCODE.continuation, payload }))
    assert.throws(() => reader.next(LIMIT), { close: 'tooBig', message: 'a message has at most 65536 fragments' })
  }
})

test('RFC 6455 §8.1: text that cannot become UTF-8 any more is refused with the piece that has it, and no valid text is', () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 4 }), { maxLength: 6 })
  const texts = fc.array(fc.constantFrom('a', 'é', '€', '😀', '\u{10ffff}', '\ud7ff').map((text) => Buffer.from(text)))
  fc.assert(
    fc.property(fc.oneof(pieces, texts), fc.integer({ min: 1, max: 9 }), fc.boolean(), (parts, step, isOneFrame) => {
      const whole = Buffer.concat(parts)
      const read = isOneFrame ? inOneFrame(whole, step) : inFragments(parts)
      assert.equal(read === 'message', isUtf8(whole))
    }),
    { numRuns: 300 },
  )
  assert.equal(inFragments([Buffer.from('ok'), Buffer.from([0xed, 0xa0]), Buffer.from('never read')]), 1)
  assert.equal(inOneFrame(Buffer.from('valid\xff never read', 'latin1'), 4), 1)
})

/** `message`, or the index of the piece that was refused. */
function inFragments(parts: readonly Uint8Array[]): 'message' | number {
  const frames = parts.map((payload, index) =>
    frame({ opcode: index === 0 ? OPCODE.text : OPCODE.continuation, payload: Buffer.from(payload), fin: false }),
  )
  return readPieces([...frames, frame({ opcode: parts.length === 0 ? OPCODE.text : OPCODE.continuation })])
}

function inOneFrame(whole: Buffer, step: number): 'message' | number {
  const bytes = frame({ opcode: OPCODE.text, payload: whole })
  const head = bytes.length - whole.length
  const starts = Array.from({ length: Math.ceil(whole.length / step) }, (_, index) => head + index * step)
  return readPieces([
    ...starts.map((at) => bytes.subarray(at === head ? 0 : at, at + step)),
    ...(whole.length === 0 ? [bytes] : []),
  ])
}

function readPieces(pieces: readonly Buffer[]): 'message' | number {
  const reader = new FrameReader(OPTIONS)
  for (const [index, piece] of pieces.entries()) {
    reader.push(Buffer.from(piece))
    try {
      if (reader.next(LIMIT)?.kind === 'message') return 'message'
    } catch (error) {
      assert.ok(error instanceof FrameError && error.close === 'invalidData')
      return index
    }
  }
  throw new Error('The message is incomplete')
}

test('a megabyte that arrives a few bytes at a time is not copied for each piece', () => {
  const bytes = frame({ opcode: OPCODE.binary, payload: Buffer.alloc(1024 * 1024, 'x') })
  const reader = new FrameReader(OPTIONS)
  const started = performance.now()
  for (let at = 0; at < bytes.length; at += 16) {
    reader.push(bytes.subarray(at, at + 16))
    const next = reader.next(LIMIT)
    assert.ok((next === undefined) === at + 16 < bytes.length)
  }
  // Copying half a megabyte 65,536 times takes many seconds.
  assert.ok(performance.now() - started < 2_000)
})

test('memory is taken as bytes arrive, not as a header declares them', () => {
  const reader = new FrameReader(OPTIONS)
  const before = process.memoryUsage().arrayBuffers
  reader.push(frame({ opcode: OPCODE.binary, payload: 'x', declaredLength: 2n ** 30n }))
  assert.equal(reader.next(2 ** 31), undefined)
  assert.ok(process.memoryUsage().arrayBuffers - before < 1024 * 1024)
})

/** The writer of frames: what does not fit or cannot be compressed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frameDeflated } from '../../packages/server/src/streaming/websocket/deflate.ts'
import { frameClose } from '../../packages/server/src/streaming/websocket/frame.ts'

test('RFC 6455 §5.5.1: a close reason is cut to 123 bytes, between two characters', () => {
  for (const [reason, kept] of [
    ['', ''],
    ['x'.repeat(123), 'x'.repeat(123)],
    ['x'.repeat(124), 'x'.repeat(123)],
    ['é'.repeat(100), 'é'.repeat(61)],
    [`x${'é'.repeat(100)}`, `x${'é'.repeat(61)}`],
    ['€'.repeat(100), '€'.repeat(41)],
    ['😀'.repeat(100), '😀'.repeat(30)],
  ] as const) {
    const bytes = frameClose(1008, reason)
    const length = 2 + Buffer.byteLength(kept)
    assert.deepEqual([bytes[0], bytes[1], bytes.length], [0x88, length, 2 + length])
    assert.equal(bytes.readUInt16BE(2), 1008)
    assert.equal(bytes.subarray(4).toString(), kept)
  }
})

test('a compression that fails after its connection has ended does not end the process', async (t) => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  // Windows of this size do not exist.
  const frame = frameDeflated('x'.repeat(100_000), 99, 0)
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(unhandled, [])
  await assert.rejects(async () => frame, /windowBits/)
})

/** Frames on the pipe between the server and a query process. */
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { decodePayload, encodeFrame, FRAME, PipeReader } from '../../packages/server/src/child-process/frames.ts'

test('frames arrive complete and in order, however the pipe splits them', async () => {
  const values = Array.from({ length: 200 }, (_item, at) => randomBytes(at % 10 === 0 ? randomInt(200_000) : at))
  const source = Readable.from(pieces(Buffer.concat(values.map((value) => encodeFrame(FRAME.chunk, value)))))
  const reader = new PipeReader(source)
  for (const value of values) {
    const frame = await reader.next()
    assert.equal(frame?.kind, FRAME.chunk)
    assert.ok(value.equals(toBytes(frame?.payload)))
  }
  assert.equal(await reader.next(), undefined)
})

test('the rest of the output of an ended process can still be read', async () => {
  const values = Array.from({ length: 20 }, () => randomBytes(50_000))
  const source = Readable.from(pieces(Buffer.concat(values.map((value) => encodeFrame(FRAME.chunk, value)))))
  const reader = new PipeReader(source)
  // Node does this with the pipes of a child process when it ends.
  source.on('pause', () => source.resume())
  source.resume()
  await new Promise((resolve) => source.once('end', resolve))
  for (const value of values) assert.ok(value.equals(toBytes((await reader.next())?.payload)))
})

test('an incomplete frame is not returned', async () => {
  const reader = new PipeReader(Readable.from([encodeFrame(FRAME.done, 'all of it').subarray(0, -1)]))
  assert.equal(await reader.next(), undefined)
})

test('a pipe is read no faster than frames are consumed', async () => {
  let given = 0
  const frame = encodeFrame(FRAME.chunk, randomBytes(65_536))
  const source = new Readable({
    read() {
      given++
      this.push(Buffer.from(frame))
    },
  })
  const reader = new PipeReader(source)
  for (let asked = 1; asked <= 20; asked++) {
    await reader.next()
    await new Promise(setImmediate)
    assert.ok(given <= asked + 3, `${given} were read when ${asked} were asked for`)
  }
  source.destroy()
})

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.byteLength; ) {
    const size = 1 + randomInt(randomInt(2) === 0 ? 20 : 100_000)
    // Each with separate memory, like data from a socket.
    const piece = Buffer.allocUnsafeSlow(Math.min(size, bytes.byteLength - from))
    from += bytes.copy(piece, 0, from)
    yield piece
  }
}

function toBytes(payload: Buffer | undefined): Uint8Array {
  const value = payload === undefined ? undefined : decodePayload(payload)
  return value instanceof Uint8Array ? value : new Uint8Array(0)
}

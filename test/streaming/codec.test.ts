/** Property tests of codecs and wire times: round trips, and no input makes them throw. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import { formatDateTime, formatTimeSpan, parseTimeSpan } from 'gatehouse-protocol'
import { CODECS, type Codec } from '../../packages/server/src/streaming/codec/codec.ts'
import { unpackMessage } from '../../packages/server/src/streaming/codec/message-pack.ts'

const { PlatformJson: json, PlatformMsgPack: packed } = CODECS
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n })
const message = (TransactionID: number | bigint, Data: unknown) =>
  ({ Controller: 'C', Topic: 'T', Action: 'Publish', TransactionID, Data }) as const

test('JSON: an id keeps its digits through decode and encode, at any position', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.jsonValue(), fc.boolean(), (id, data, first) => {
      const member = `"TransactionID":${id}`
      const rest = `"Data":${JSON.stringify(data)}`
      const text = first ? `{${member},${rest}}` : `{${rest},${member}}`
      const decoded = json.decode(Buffer.from(text))
      assert.ok(decoded !== undefined && (typeof decoded.id === 'bigint' || typeof decoded.id === 'number'))
      assert.equal(String(decoded.id), String(id))
      assert.match(String(json.encode(message(decoded.id, data))), new RegExp(`"TransactionID":${id},`))
    }),
  )
})

test('JSON: encode agrees with JSON.stringify', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.string(), fc.jsonValue(), (id, topic, data) => {
      const whole = { Controller: 'C', Topic: topic, Action: 'Publish', TransactionID: id, Data: data } as const
      assert.deepEqual(JSON.parse(String(json.encode(whole))), JSON.parse(JSON.stringify(whole)))
    }),
  )
})

test('JSON: data that JSON.stringify omits is omitted', () => {
  for (const data of [undefined, () => 1, Symbol('s'), { toJSON: () => undefined }])
    assert.equal('Data' in JSON.parse(String(json.encode(message(1, data)))), false)
})

test('MessagePack: the decoder agrees with another implementation', () => {
  fc.assert(
    fc.property(fc.jsonValue().filter(hasNoProto), (value) => {
      const bytes = Buffer.from(encode(value))
      assert.deepEqual(unpackMessage(bytes), decode(bytes))
    }),
  )
})

/** The other implementation refuses this key. */
function hasNoProto(value: unknown): boolean {
  return !JSON.stringify(value).includes('"__proto__"')
}

test('MessagePack: 64-bit ids keep their value through decode and encode', () => {
  // The library with which the test reads refuses this key.
  const readable = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('__proto__'))
  fc.assert(
    fc.property(int64, readable, (id, data) => {
      const decoded = packed.decode(Buffer.from(encode({ TransactionID: id, Data: data }, { useBigInt64: true })))
      assert.ok(decoded !== undefined && (typeof decoded.id === 'bigint' || typeof decoded.id === 'number'))
      const again = packed.encode(message(decoded.id, data))
      const read = decode(Buffer.from(again), { useBigInt64: true })
      assert.ok(typeof read === 'object' && read !== null && 'TransactionID' in read)
      assert.equal(BigInt(read.TransactionID as bigint), id)
    }),
  )
})

test('MessagePack: more than 64 levels of nesting are refused', () => {
  const nested = (depth: number) => Buffer.from([0x81, 0xa1, 0x78, ...Array(depth - 1).fill(0x91), 0xc0])
  assert.ok(packed.decode(nested(64)) !== undefined)
  assert.equal(packed.decode(nested(65)), undefined)
})

test('no input makes a codec throw', () => {
  const cut = fc.tuple(fc.jsonValue(), fc.nat()).map(([value, at]) => {
    const bytes = Buffer.from(encode({ Data: value }))
    return bytes.subarray(0, at % (bytes.length + 1))
  })
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), cut), (bytes) => {
      for (const codec of [json, packed]) {
        const decoded = codec.decode(Buffer.from(bytes))
        assert.ok(decoded === undefined || typeof decoded.members === 'object')
      }
    }),
    { numRuns: 2_000 },
  )
})

test('a false length allocates no memory; deep nesting is refused', () => {
  const before = process.memoryUsage().rss
  for (const head of [0xdd, 0xdf, 0xdb, 0xc6]) {
    const bytes = Buffer.from([head, 0x7f, 0xff, 0xff, 0xff])
    assert.equal(unpackMessage(bytes), undefined)
    assert.equal(unpackMessage(Buffer.concat(Array.from({ length: 1000 }, () => bytes))), undefined)
  }
  assert.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024)
  assert.equal(unpackMessage(Buffer.alloc(500_000, 0x91)), undefined)
  const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`
  for (const text of [deep, `{"TransactionID":12345678901234567890,"Data":${deep}}`]) {
    assert.doesNotThrow(() => json.decode(Buffer.from(text)))
  }
})

test('a member named __proto__ does not change the prototype', () => {
  for (const decoded of [
    json.decode(Buffer.from('{"__proto__":{"Topic":"X"}}')),
    packed.decode(
      Buffer.from([0x81, 0xa9, ...Buffer.from('__proto__'), 0x81, 0xa5, ...Buffer.from('Topic'), 0xa1, 0x58]),
    ),
  ]) {
    assert.ok(decoded !== undefined)
    assert.equal(decoded.members.Topic, undefined)
    assert.equal(Object.getPrototypeOf(decoded.members), Object.prototype)
  }
})

test('formatted time spans parse to the same value; invalid ones are refused', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1e11 }), (milliseconds) => {
      assert.equal(parseTimeSpan(formatTimeSpan(milliseconds)), milliseconds)
      assert.equal(parseTimeSpan(formatTimeSpan(milliseconds, 1)), milliseconds)
    }),
  )
  for (const [text, milliseconds] of [
    ['00:00:35', 35_000],
    ['1.02:03:04.5', 93_784_500],
    ['00:00:00.1234567', 123],
    ['24:00:00', undefined],
    ['0:0:1', undefined],
    ['00:00', undefined],
    ['-00:00:01', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(parseTimeSpan(text), milliseconds, text)
  }
  assert.equal(formatTimeSpan(3_600_000, 1), '01:00:00.0')
})

test('dates are ISO 8601 in UTC, with a fraction only if it is not zero', () => {
  for (const [at, text] of [
    [Date.UTC(2026, 10, 15, 0, 26), '2026-11-15T00:26:00Z'],
    [Date.UTC(2026, 10, 15, 0, 26, 0, 500), '2026-11-15T00:26:00.5Z'],
    [Date.UTC(2026, 10, 15, 0, 26, 0, 7), '2026-11-15T00:26:00.007Z'],
  ] as const) {
    assert.equal(formatDateTime(at), text)
    assert.equal(Date.parse(text), at)
  }
})

test('MessagePack: a float is not a TransactionID, whatever its value; it is valid elsewhere', () => {
  const float = Buffer.concat([Buffer.from([0x82, 0xad]), Buffer.from('TransactionID'), Buffer.from([0xcb])])
  const one = Buffer.alloc(8)
  one.writeDoubleBE(1)
  const data = Buffer.concat([Buffer.from([0xa4]), Buffer.from('Data'), Buffer.from([0xcb]), one])
  assert.deepEqual(packed.decode(Buffer.concat([float, one, data])), {
    members: { TransactionID: Number.NaN, Data: 1 },
    id: Number.NaN,
  })
  assert.deepEqual(packed.decode(Buffer.from(encode({ Data: { TransactionID: 1.5 } }))), {
    members: { Data: { TransactionID: 1.5 } },
    id: undefined,
  })
})

/** The shortest of several runs, in milliseconds. */
function decodeTime(codec: Codec, bytes: Buffer): number {
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now()
    assert.notEqual(codec.decode(bytes), undefined)
    return performance.now() - start
  })
  return Math.min(...times)
}

test('MessagePack of tiny values takes not much longer than JSON of the same length', (t) => {
  const length = 256 * 1024
  const plain = () => decodeTime(json, Buffer.from(`{"Data":[${'[],'.repeat(length / 3)}1]}`))
  const kinds = {
    nil: [0xc0],
    'empty arrays': [0x90],
    'empty texts': [0xa0],
    'empty binaries': [0xc4, 0],
    'nested arrays': [...Array(60).fill(0x91), 1],
    'bytes as integers': [0xcc, 200],
  }
  for (const [kind, item] of Object.entries(kinds)) {
    const count = Math.floor(length / item.length)
    const head = Buffer.from([0x81, 0xa4, ...Buffer.from('Data'), 0xdd, 0, 0, 0, 0])
    head.writeUInt32BE(count, head.length - 4)
    const bytes = Buffer.concat([head, ...Array(count).fill(Buffer.from(item))])
    const measure = () => decodeTime(packed, bytes) / plain()
    let ratio = measure()
    // Other processes may have had the processor during one of the two.
    for (let again = 0; again < 3 && ratio >= 6; again++) ratio = Math.min(ratio, measure())
    t.diagnostic(`${kind}: ${ratio.toFixed(1)} times`)
    assert.ok(ratio < 6, `${kind}: ${ratio} times`)
  }
})

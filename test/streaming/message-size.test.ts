/** The size of messages: small before the first sign-in, also in fragments, after decompression and behind a sign-in. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { constants, deflateRawSync } from 'node:zlib'
import { encode } from '@msgpack/msgpack'
import { createTestController } from '../support/controllers.ts'
import { frame, OPCODE, openRaw, type RawPeer } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'

const { text, binary, continuation } = OPCODE
const PATH = '/Platform?version=1.1'
const LIMIT = 64 * 1024

/** One frame or several of a message of this many bytes. */
type Write = (bytes: number) => Buffer[]

const json = (bytes: number): Buffer => Buffer.from('{"Topic":"QueryServerInfo","TransactionID":1}'.padEnd(bytes))
const deflated = (message: Buffer): Buffer =>
  deflateRawSync(message, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)

function pack(bytes: number): Buffer {
  const message = { Topic: 'QueryServerInfo', TransactionID: 1 }
  const padding = bytes - encode({ ...message, Data: 'x'.repeat(60_000) }).length + 60_000
  return Buffer.from(encode({ ...message, Data: 'x'.repeat(padding) }))
}

/** Barely compressible: decompressed on another thread. */
function noise(bytes: number): Buffer {
  const head = '{"Topic":"QueryServerInfo","TransactionID":1,"Data":"'
  let state = 1
  const next = (): string => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 4).toString(36).padStart(6, '0').slice(-6)
  }
  const filler = Array.from({ length: Math.ceil(bytes / 6) }, next).join('')
  return Buffer.from(`${head}${filler.slice(0, bytes - head.length - 2)}"}`)
}

const KINDS: Record<string, { readonly protocol: string; readonly write: Write }> = {
  'a text': { protocol: 'PlatformJson', write: (bytes) => [frame({ opcode: text, payload: json(bytes) })] },
  MessagePack: { protocol: 'PlatformMsgPack', write: (bytes) => [frame({ opcode: binary, payload: pack(bytes) })] },
  fragments: {
    protocol: 'PlatformJson',
    write(bytes) {
      const message = json(bytes)
      return [
        frame({ opcode: text, payload: message.subarray(0, 30_000), fin: false }),
        frame({ opcode: continuation, payload: message.subarray(30_000, 60_000), fin: false }),
        frame({ opcode: continuation, payload: message.subarray(60_000) }),
      ]
    },
  },
  'a compressed text': {
    protocol: 'PlatformJson',
    write: (bytes) => [frame({ opcode: text, payload: deflated(json(bytes)), reserved: 4 })],
  },
  'a long compressed text': {
    protocol: 'PlatformJson',
    write: (bytes) => [frame({ opcode: text, payload: deflated(noise(bytes)), reserved: 4 })],
  },
}

async function start(t: TestContext, protocol: string) {
  const gate = await startGateway(t, {
    controllers: [createTestController()],
    settings: { streamMaxAnonymousMessageBytes: LIMIT },
  })
  const open = (headers: Record<string, string> = {}): Promise<RawPeer> =>
    openRaw(gate.port, PATH, {
      'Sec-WebSocket-Protocol': protocol,
      'Sec-WebSocket-Extensions': 'permessage-deflate',
      ...headers,
    })
  const signIn = async (): Promise<Buffer> => {
    const Data = { Provider: 'Bearer', AccessToken: await gate.mint.issue() }
    const message = { Controller: 'Auth', Topic: 'AuthToken', TransactionID: 7, Data }
    return protocol === 'PlatformJson'
      ? frame({ opcode: text, payload: JSON.stringify(message) })
      : frame({ opcode: binary, payload: Buffer.from(encode(message)) })
  }
  return { ...gate, open, signIn }
}

for (const [kind, { protocol, write }] of Object.entries(KINDS)) {
  test(`${kind}: before the first sign-in 64 KiB are read, and a byte more closes with 1009`, async (t) => {
    const { open, gateway } = await start(t, protocol)
    const peer = await open()
    peer.write(...write(LIMIT))
    assert.notEqual((await peer.next()).opcode, OPCODE.close)
    peer.write(...write(LIMIT + 1))
    assert.equal(await peer.closeCode(), 1009)
    assert.equal(gateway.counters.messagesIn, 1)
    peer.socket.destroy()
  })

  test(`${kind}: behind a sign-in a longer one waits for its result`, async (t) => {
    const { open, signIn } = await start(t, protocol)
    const peer = await open()
    peer.write(await signIn(), ...write(4 * LIMIT), ...write(4 * LIMIT))
    for (let replies = 0; replies < 3; replies++) assert.notEqual((await peer.next()).opcode, OPCODE.close)
    peer.socket.destroy()
  })

  test(`${kind}: with a token in the upgrade a longer one is read`, async (t) => {
    const { open, mint } = await start(t, protocol)
    const peer = await open({ Authorization: `Bearer ${await mint.issue()}` })
    peer.write(...write(4 * LIMIT))
    assert.notEqual((await peer.next()).opcode, OPCODE.close)
    peer.socket.destroy()
  })
}

test('a message that is too long behind a rejected sign-in, or another request, closes with 1009 after the reply', async (t) => {
  const { open } = await start(t, 'PlatformJson')
  const long = frame({ opcode: text, payload: json(LIMIT + 1) })
  for (const request of [
    '{"Controller":"Auth","Topic":"AuthToken","TransactionID":1,"Data":{"Provider":"Bearer","AccessToken":"x"}}',
    '{"Controller":"Test","Topic":"Later","TransactionID":1}',
  ]) {
    const peer = await open()
    peer.write(frame({ opcode: text, payload: request }), long)
    assert.match((await peer.next()).payload.toString(), /"TransactionID":1/)
    assert.equal(await peer.closeCode(), 1009)
    peer.socket.destroy()
  }
})

test('MessagePack: 65,536 texts, arrays, maps and binary values are read, and one more closes with 1009', async (t) => {
  const { open, mint } = await start(t, 'PlatformMsgPack')
  // The message itself, the names of its members, its topic and the array in Data. Numbers do not count.
  const others = 1 + 3 + 1 + 1
  const numbers = Array(500_000).fill(0)
  for (const [count, isRead] of [
    [65_536 - others, true],
    [65_537 - others, false],
  ] as const) {
    const peer = await open({ Authorization: `Bearer ${await mint.issue()}` })
    const values = Array.from({ length: count }, (_, index) => [[], {}, '', new Uint8Array()][index % 4])
    const message = { Topic: 'QueryServerInfo', TransactionID: 1, Data: [...values, ...numbers] }
    peer.write(frame({ opcode: binary, payload: deflated(Buffer.from(encode(message))), reserved: 4 }))
    if (isRead) assert.notEqual((await peer.next()).opcode, OPCODE.close)
    else assert.equal(await peer.closeCode(), 1009)
    peer.socket.destroy()
  }
})

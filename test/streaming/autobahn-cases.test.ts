/**
 * The cases of the Autobahn test suite, by their numbers, against the echo endpoint: what a client sends, and the frames or
 * the close code that it must receive. Sizes and counts of the families 9, 12 and 13 are scaled down.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { closeFrame, type Frame, frame, OPCODE, openRaw } from '../support/frames.ts'
import { openGateway, type TestGateway } from '../support/gateway.ts'

const { text, binary, continuation, ping, pong, close } = OPCODE
let gate: TestGateway

before(async () => {
  gate = await openGateway({ settings: { streamEcho: true, streamMaxMessageBytes: 1024 * 1024 } })
})
after(() => gate.stop())

interface Case {
  readonly send: readonly Buffer[]
  /** Written in pieces of this number of bytes. */
  readonly chop?: number
  /** The frames expected before the close, as opcode and content. */
  readonly echo?: readonly (readonly [number, Buffer | string])[]
  /** The code of the close; without one the client closes with 1000, and the server answers with it. */
  readonly code?: number
}

const data = (opcode: number, payload: Buffer | string = ''): Buffer => frame({ opcode, payload })
const part = (opcode: number, payload: Buffer | string, fin = false): Buffer => frame({ opcode, payload, fin })
const hex = (digits: string): Buffer => Buffer.from(digits.replaceAll(' ', ''), 'hex')
const CASES: [string, Case][] = []

// 1: framing.
for (const [family, opcode, fill] of [
  [1, text, '*'],
  [2, binary, Buffer.from([0xfe])],
] as const)
  for (const [index, length] of [0, 125, 126, 127, 128, 65535, 65536, 65536].entries()) {
    const payload = Buffer.alloc(length, fill)
    const chop = index === 7 ? 997 : undefined
    CASES.push([
      `1.${family}.${index + 1}`,
      { send: [data(opcode, payload)], echo: [[opcode, payload]], ...(chop && { chop }) },
    ])
  }

// 2: pings and pongs.
const hello: readonly [number, string] = [text, 'Hello']
CASES.push(
  ['2.1', { send: [data(ping)], echo: [[pong, '']] }],
  ['2.2', { send: [data(ping, 'Hello')], echo: [[pong, 'Hello']] }],
  ['2.3', { send: [data(ping, hex('00fffefdfcfb00ff'))], echo: [[pong, hex('00fffefdfcfb00ff')]] }],
  ['2.4', { send: [data(ping, Buffer.alloc(125, 0xfe))], echo: [[pong, Buffer.alloc(125, 0xfe)]] }],
  ['2.5', { send: [data(ping, Buffer.alloc(126, 0xfe))], code: 1002 }],
  ['2.6', { send: [data(ping, Buffer.alloc(125, 0xfe))], chop: 1, echo: [[pong, Buffer.alloc(125, 0xfe)]] }],
  ['2.7', { send: [data(pong)] }],
  ['2.8', { send: [data(pong, 'unsolicited')] }],
  ['2.9', { send: [data(pong, 'unsolicited'), data(ping, 'asked')], echo: [[pong, 'asked']] }],
)
for (const [number, chop] of [
  ['2.10', undefined],
  ['2.11', 1],
] as const) {
  const contents = Array.from({ length: 10 }, (_, index) => `payload-${index}`)
  CASES.push([
    number,
    {
      send: contents.map((content) => data(ping, content)),
      echo: contents.map((content) => [pong, content]),
      ...(chop && { chop }),
    },
  ])
}

// 3: reserved bits. What precedes the invalid frame is echoed.
for (const [index, [opcode, reserved, chop]] of (
  [
    [text, 1, undefined],
    [text, 2, undefined],
    [text, 3, undefined],
    [text, 4, 1],
    [binary, 5, undefined],
    [ping, 6, undefined],
    [close, 7, undefined],
  ] as const
).entries()) {
  const isFirst = index === 0 || index > 3
  CASES.push([
    `3.${index + 1}`,
    {
      send: [...(isFirst ? [] : [data(text, 'Hello')]), frame({ opcode, reserved, payload: 'x' }), data(ping)],
      ...(isFirst ? {} : { echo: [hello] }),
      ...(chop && { chop }),
      code: 1002,
    },
  ])
}

// 4: reserved opcodes.
for (const [family, opcodes] of [
  [1, [3, 4, 5, 6, 7]],
  [2, [11, 12, 13, 14, 15]],
] as const)
  for (const [index, opcode] of opcodes.entries()) {
    const payload = index === 1 ? 'reserved' : ''
    const isFirst = index < 2
    CASES.push([
      `4.${family}.${index + 1}`,
      {
        send: [...(isFirst ? [] : [data(text, 'Hello')]), data(opcode, payload), data(ping)],
        ...(isFirst ? {} : { echo: [hello] }),
        ...(index === 3 && { chop: 1 }),
        code: 1002,
      },
    ])
  }

// 5: fragmentation.
const whole: readonly [number, string] = [text, 'fragment1fragment2']
const first = part(text, 'fragment1')
const last = part(continuation, 'fragment2', true)
const lone = part(continuation, 'lone')
CASES.push(
  ['5.1', { send: [part(ping, 'fragment1'), last], code: 1002 }],
  ['5.2', { send: [part(pong, 'fragment1'), last], code: 1002 }],
  ['5.3', { send: [first, last], echo: [whole] }],
  ['5.5', { send: [first, last], chop: 1, echo: [whole] }],
  ['5.6', { send: [first, data(ping, 'between'), last], echo: [[pong, 'between'], whole] }],
  ['5.8', { send: [first, data(ping, 'between'), last], chop: 1, echo: [[pong, 'between'], whole] }],
  ['5.9', { send: [part(continuation, 'x', true), data(text, 'Hello')], code: 1002 }],
  ['5.11', { send: [part(continuation, 'x', true), data(text, 'Hello')], chop: 1, code: 1002 }],
  ['5.12', { send: [lone, data(text, 'Hello')], code: 1002 }],
  ['5.14', { send: [lone, data(text, 'Hello')], chop: 1, code: 1002 }],
  ['5.15', { send: [first, last, lone, data(text, 'Hello')], echo: [whole], code: 1002 }],
  ['5.16', { send: [lone, first, last], code: 1002 }],
  ['5.17', { send: [part(continuation, 'x', true), first, last], code: 1002 }],
  ['5.18', { send: [first, data(text, 'fragment2')], code: 1002 }],
)
for (const [number, chop] of [
  ['5.19', undefined],
  ['5.20', 1],
] as const) {
  const send = ['1', '2', '3', '4', '5'].map((digit, index) =>
    part(index === 0 ? text : continuation, `fragment${digit}`, index === 4),
  )
  send.splice(2, 0, data(ping, 'one'))
  send.splice(5, 0, data(ping, 'two'))
  const content = 'fragment1fragment2fragment3fragment4fragment5'
  const echo = [[pong, 'one'] as const, [pong, 'two'] as const, [text, content] as const]
  CASES.push([number, { send, echo, ...(chop && { chop }) }])
}

// 6: UTF-8.
const kosme = hex('ceba e1bdb9 cf83 cebc ceb5')
const bytes = (payload: Buffer): Buffer[] =>
  Array.from(payload, (byte, index) =>
    part(index === 0 ? text : continuation, Buffer.from([byte]), index === payload.length - 1),
  )
CASES.push(
  ['6.1.1', { send: [data(text)], echo: [[text, '']] }],
  ['6.1.2', { send: [part(text, ''), part(continuation, ''), part(continuation, '', true)], echo: [[text, '']] }],
  [
    '6.1.3',
    { send: [part(text, ''), part(continuation, 'middle'), part(continuation, '', true)], echo: [[text, 'middle']] },
  ],
  ['6.2.1', { send: [data(text, 'Hello-µ@ßöäüàá-UTF-8!!')], echo: [[text, 'Hello-µ@ßöäüàá-UTF-8!!']] }],
  ['6.2.3', { send: bytes(Buffer.from('Hello-µ@ßöäüàá-UTF-8!!')), echo: [[text, 'Hello-µ@ßöäüàá-UTF-8!!']] }],
  ['6.2.4', { send: bytes(kosme), echo: [[text, kosme]] }],
  ['6.3.1', { send: [data(text, hex('cebae1bdb9cf83cebcceb5eda080656469746564'))], code: 1007 }],
  ['6.3.2', { send: bytes(hex('cebae1bdb9cf83cebcceb5eda080656469746564')), code: 1007 }],
)
/** The family, then each text in hexadecimal and whether it is valid; those of a family are numbered from 1. */
const UTF8: readonly (readonly [number, boolean, ...string[]])[] = [
  [5, true, 'ceba e1bdb9 cf83 cebc ceb5'],
  [6, true, '00', 'c280', 'e0a080', 'f0908080'],
  [7, true, '7f', 'dfbf', 'efbfbf', 'f48fbfbf'],
  [8, false, 'f888808080', 'fc8480808080'],
  [9, false, 'f7bfbfbf', 'fbbfbfbfbf', 'fdbfbfbfbfbf', 'f4908080'],
  [11, true, 'ed9fbf', 'ee8080', 'efbfbd', 'f48fbfbf'],
  [12, false, '80', 'bf', '80bf', '80bf80', '80bf80bf', '80bf80bf80', '80bf80bf80bf'],
  [13, false, 'c020c120', 'e020e120', 'f020f120', 'f820f920', 'fc20'],
  [14, false, 'c0', 'e080', 'f08080', 'f8808080', 'fc80808080', 'df', 'efbf', 'f7bfbf', 'fbbfbfbf', 'fdbfbfbfbf'],
  [15, false, 'c0e080f08080f8808080fc80808080'],
  [16, false, 'fe', 'ff', 'fefeffff'],
  [17, false, 'c0af', 'e080af', 'f08080af', 'f8808080af', 'fc80808080af'],
  [18, false, 'c1bf', 'e09fbf', 'f08fbfbf', 'f887bfbfbf', 'fc83bfbfbfbf'],
  [19, false, 'c080', 'e08080', 'f0808080', 'f880808080', 'fc8080808080'],
  [20, false, 'eda080', 'edadbf', 'edae80', 'edafbf', 'edb080', 'edbe80', 'edbfbf'],
  [21, false, 'eda080edb080', 'edadbfedbfbf', 'edafbfedb080', 'edafbfedbfbf'],
  [22, true, 'efbfbe', 'efbfbf', 'f09fbfbe', 'f09fbfbf', 'f0afbfbe', 'f48fbfbf'],
  [23, true, 'efbfb9', 'efbfba', 'efbfbc', 'efbfbd'],
]
for (const [family, isValid, ...texts] of UTF8)
  for (const [index, digits] of texts.entries()) {
    const payload = hex(digits)
    CASES.push([
      `6.${family}.${index + 1}`,
      isValid ? { send: [data(text, payload)], echo: [[text, payload]] } : { send: [data(text, payload)], code: 1007 },
    ])
  }

// 7: the closing handshake.
const bye = closeFrame(1000)
CASES.push(
  ['7.1.1', { send: [data(text, 'Hello')], echo: [hello] }],
  ['7.1.2', { send: [bye, bye], code: 1000 }],
  ['7.1.3', { send: [bye, data(ping)], code: 1000 }],
  ['7.1.4', { send: [bye, data(text, 'late')], code: 1000 }],
  ['7.1.5', { send: [first, bye, last], code: 1000 }],
  ['7.3.1', { send: [data(close)], code: 1005 }],
  ['7.3.2', { send: [data(close, 'x')], code: 1002 }],
  ['7.3.3', { send: [bye], code: 1000 }],
  ['7.3.4', { send: [closeFrame(1000, 'Hello')], code: 1000 }],
  ['7.3.5', { send: [closeFrame(1000, '*'.repeat(123))], code: 1000 }],
  ['7.3.6', { send: [closeFrame(1000, '*'.repeat(124))], code: 1002 }],
  ['7.5.1', { send: [closeFrame(1000, hex('cebae1bdb9cf83cebcceb5eda080656469746564'))], code: 1007 }],
)
for (const [index, code] of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].entries())
  CASES.push([`7.7.${index + 1}`, { send: [closeFrame(code)], code }])
for (const [index, code] of [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999].entries())
  CASES.push([`7.9.${index + 1}`, { send: [closeFrame(code)], code: 1002 }])
CASES.push(['7.13.1', { send: [closeFrame(5000)], code: 1002 }], ['7.13.2', { send: [closeFrame(65535)], code: 1002 }])

// 9: limits, with messages up to 256 KiB.
for (const [family, opcode] of [
  [1, text],
  [2, binary],
] as const) {
  const payload = Buffer.alloc(256 * 1024, '*')
  CASES.push([`9.${family}.1`, { send: [data(opcode, payload)], echo: [[opcode, payload]] }])
  for (const [index, size] of [64, 4096, 65536].entries()) {
    const send = Array.from({ length: payload.length / size }, (_, at) =>
      part(at === 0 ? opcode : continuation, payload.subarray(0, size), (at + 1) * size === payload.length),
    )
    CASES.push([`9.${family + 2}.${index + 1}`, { send, echo: [[opcode, payload]] }])
    CASES.push([
      `9.${family + 4}.${index + 1}`,
      { send: [data(opcode, payload)], chop: Math.max(size, 512), echo: [[opcode, payload]] },
    ])
  }
  for (const [index, size] of [0, 16, 64, 256, 1024, 4096].entries()) {
    const content = Buffer.alloc(size, '*')
    const send = Array<Buffer>(100).fill(data(opcode, content))
    CASES.push([`9.${family + 6}.${index + 1}`, { send, echo: Array(100).fill([opcode, content]) }])
  }
}

for (const [number, { send, echo = [], chop, code }] of CASES)
  test(`Autobahn ${number}`, async () => {
    const peer = await openRaw(gate.port, '/echo')
    const input = Buffer.concat([...send, ...(code === undefined ? [bye] : [])])
    if (chop === undefined) peer.write(input)
    else
      for (let at = 0; at < input.length; at += chop) {
        peer.write(input.subarray(at, at + chop))
        await new Promise(setImmediate)
      }
    for (const [opcode, content] of echo) expectFrame(await peer.next(), opcode, Buffer.from(content))
    assert.equal(await peer.closeCode(), code ?? 1000)
    peer.socket.destroy()
  })

// 12 and 13: compression of messages of each size, with each offer.
const OFFERS = [
  'permessage-deflate',
  'permessage-deflate; client_max_window_bits',
  'permessage-deflate; client_no_context_takeover; server_no_context_takeover',
  'permessage-deflate; server_max_window_bits=9; client_max_window_bits=9',
  'permessage-deflate; server_max_window_bits=15; client_max_window_bits=15',
  'permessage-deflate; server_max_window_bits=9, permessage-deflate',
  'permessage-deflate; unknown, permessage-deflate; server_no_context_takeover',
]
const SIZES = [16, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536, 131072]
const WORDS = Buffer.from(Array.from({ length: 16_384 }, (_, index) => `{"n":${index * 7919}}`).join())

for (const [index, offer] of OFFERS.entries())
  test(`Autobahn 13.${index + 1} (12.1 to 12.5): messages of ${SIZES.length} sizes, whole and in fragments, with ${offer}`, async () => {
    const peer = await openRaw(gate.port, '/echo', { 'Sec-WebSocket-Extensions': offer })
    const agreed = /permessage-deflate[^\r\n]*/.exec(peer.reply)?.[0] ?? ''
    assert.match(agreed, /server_no_context_takeover; client_no_context_takeover/)
    const windowBits = Number(/client_max_window_bits=(\d+)/.exec(agreed)?.[1] ?? 15)
    for (const size of SIZES)
      for (const opcode of [text, binary]) {
        const content = WORDS.subarray(0, size)
        const deflated = deflateRawSync(content, { windowBits, finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
        const cut = deflated.length >> 1
        peer.write(
          frame({ opcode, payload: deflated, reserved: 4 }),
          frame({ opcode, payload: deflated.subarray(0, cut), reserved: 4, fin: false }),
          frame({ opcode: continuation, payload: deflated.subarray(cut) }),
        )
        for (let count = 0; count < 2; count++) expectFrame(inflated(await peer.next()), opcode, content)
      }
    peer.write(bye)
    assert.equal(await peer.closeCode(), 1000)
  })

function expectFrame(received: Frame, opcode: number, content: Buffer): void {
  assert.deepEqual([received.opcode, received.fin, received.reserved], [opcode, true, 0])
  assert.ok(received.payload.equals(content), `${received.payload.length} bytes instead of ${content.length}`)
}

function inflated(received: Frame): Frame {
  if (received.reserved !== 4) return received
  const deflated = Buffer.concat([received.payload, hex('0000ffff')])
  return { ...received, reserved: 0, payload: inflateRawSync(deflated, { finishFlush: constants.Z_SYNC_FLUSH }) }
}

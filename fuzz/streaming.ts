/** Fuzzes the streaming gateway: `node fuzz/streaming.ts [messages] [seed]`. Nothing may crash, leak or block a connection. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { WebSocket } from 'ws'
import { frames, payloads } from '../test/streaming/hostile-input.ts'
import { createTestController } from '../test/support/controllers.ts'
import { openRaw } from '../test/support/frames.ts'
import { openGateway } from '../test/support/gateway.ts'

export interface FuzzReport {
  readonly messages: number
  readonly frames: number
  readonly connections: number
  /** Growth of the live heap from the first tenth of the input to the end. */
  readonly grownBytes: number
}

const BATCH = 200
/** Allows for what V8 keeps about the code; leaking one object per message would exceed it. */
const MAX_GROWTH = 16 * 2 ** 20
const PROBE = '{"Topic":"QueryServerInfo","TransactionID":918273645546372819}'

/** Half of the input is messages in valid frames, half is mostly invalid frames. */
export async function fuzzGateway(total: number, seed: number): Promise<FuzzReport> {
  const gate = await openGateway({
    controllers: [createTestController()],
    keepsLine: (line) => line.includes('"level":"error"') && !line.includes('a secret detail'),
    settings: {
      streamMessagesPerSecond: 1e9,
      streamMessageBurst: 1e9,
      streamMaxUnreadable: 1e9,
      streamMaxSubscriptions: 50,
    },
  })
  const report = { messages: 0, frames: 0, connections: 0 }
  let early: number | undefined
  try {
    while (report.messages + report.frames < total) {
      const round = seed + report.connections
      if (report.messages <= report.frames) report.messages += await sendMessages(gate.port, round)
      else report.frames += await sendFrames(gate.port, round)
      report.connections++
      if (early === undefined && report.messages + report.frames >= total / 10) early = liveHeapBytes()
    }
    for (let wait = 0; gate.gateway.connections().length > 0 && wait < 200; wait++) await pause(10)
    assert.equal(gate.gateway.connections().length, 0, 'a connection was left behind')
    assert.deepEqual(gate.log, [], 'the gateway failed')
    const grownBytes = liveHeapBytes() - (early ?? 0)
    assert.ok(grownBytes < MAX_GROWTH, `the heap grew by ${grownBytes} bytes`)
    return { ...report, grownBytes }
  } finally {
    await gate.stop()
  }
}

/** The heap after a garbage collection. */
function liveHeapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

/** The connection must answer a valid request after any input. */
async function sendMessages(port: number, seed: number): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/Platform?version=${(seed % 2) + 1}.0`, ['PlatformJson'])
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const answered = new Promise<void>((resolve, reject) => {
    socket.on('message', (data) => {
      if (data.toString().includes('918273645546372819')) resolve()
    })
    socket.once('close', (code) => reject(new Error(`closed with ${code}, seed ${seed}`)))
  })
  const texts = fc.sample(payloads, { seed, numRuns: BATCH })
  for (const text of texts) socket.send(text)
  socket.send(PROBE)
  await within(answered, `the connection is blocked, seed ${seed}`)
  socket.terminate()
  return texts.length
}

/** The connection must answer or close; it must not hang. */
async function sendFrames(port: number, seed: number): Promise<number> {
  const deflate = seed % 3 === 0 ? { 'Sec-WebSocket-Extensions': 'permessage-deflate' } : {}
  const peer = await openRaw(port, '/Platform?version=1.1', deflate)
  const written = fc.sample(frames, { seed, numRuns: BATCH / 10 })
  peer.write(...written)
  peer.socket.end()
  await within(new Promise((resolve) => peer.socket.once('close', resolve)), `the socket hangs, seed ${seed}`)
  return written.length
}

async function within(event: Promise<unknown>, complaint: string): Promise<void> {
  const abort = new AbortController()
  const late = pause(10_000, undefined, { signal: abort.signal }).then(
    () => Promise.reject(new Error(complaint)),
    () => {},
  )
  await Promise.race([event, late])
  abort.abort()
}

if (import.meta.main) {
  const total = Number(process.argv[2] ?? 1_000_000)
  const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31)
  console.log(`fuzzing with ${total} messages and frames, seed ${seed}`)
  console.log(await fuzzGateway(total, seed), 'no failures')
}

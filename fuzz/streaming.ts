/** Fuzzes the gateway: `node fuzz/streaming.ts [messages] [seed]`. Nothing may crash, leak or wedge a connection. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { WebSocket } from 'ws'
import { frames, payloads } from '../test/streaming/hostility.ts'
import { createTestController } from '../test/support/controllers.ts'
import { openRaw } from '../test/support/frames.ts'
import { openGateway } from '../test/support/gateway.ts'

export interface FuzzReport {
  readonly messages: number
  readonly frames: number
  readonly connections: number
  /** What is alive on the heap at the end more than after the first tenth. */
  readonly grownBytes: number
}

const BATCH = 200
/** What V8 learns about the code on its way; a leak of a byte for each message of a million would be less, one of an object more. */
const MOST_GROWTH = 16 * 2 ** 20
const PROBE = '{"Topic":"QueryServerInfo","TransactionID":918273645546372819}'

/** Half of the input is messages over good frames, half is frames that are mostly bad. */
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
      if (early === undefined && report.messages + report.frames >= total / 10) early = aliveBytes()
    }
    for (let wait = 0; gate.gateway.liveSessions().length > 0 && wait < 200; wait++) await pause(10)
    assert.equal(gate.gateway.liveSessions().length, 0, 'a connection was left behind')
    assert.deepEqual(gate.log, [], 'the gateway failed')
    const grownBytes = aliveBytes() - (early ?? 0)
    assert.ok(grownBytes < MOST_GROWTH, `the heap grew by ${grownBytes} bytes`)
    return { ...report, grownBytes }
  } finally {
    await gate.stop()
  }
}

/** After a collection of garbage: what is left is held by somebody. */
function aliveBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

/** The connection must answer a plain request after whatever came before it. */
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
  await within(answered, `the connection is wedged, seed ${seed}`)
  socket.terminate()
  return texts.length
}

/** The connection must end, or answer; it must not hang. */
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
  console.log(await fuzzGateway(total, seed), 'nothing found')
}

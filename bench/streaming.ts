/** Streaming beside a bare `ws` server and Socket.IO: requests, sign-ins, memory at rest, fan-out. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { useOfTree } from './support/process-tree.ts'
import {
  bareWsPeer,
  gatehousePeer,
  type Line,
  makeKeys,
  type StreamPeer,
  type StreamServer,
  socketIoPeer,
} from './support/stream-peers.ts'

const PORT = 15_490
const LINES = 64
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000)
/** A server has many sign-ins behind it before they are counted: after half as many all three still compile their code. */
const WARM_SIGN_INS = 20_000
const SIGN_INS = 8_000
const TARGETS = [
  { column: 'rate', to: 'bare ws', least: 0.75 },
  { column: 'rate', to: 'Socket.IO', least: 1 },
]

export const streamRequests: Measurement = {
  name: 'stream-requests',
  about: 'requests and replies on 64 connections, one at a time on each',
  columns: { rate: '1/s', cpu: 'ms per 1000' },
  ratios: TARGETS,
  contenders: () => threeServers((server) => onLines(server, (line) => line.request())),
}

export const streamSignIns: Measurement = {
  name: 'stream-signins',
  about: 'tokens that are new to the server, checked on 64 open connections',
  columns: { rate: '1/s', cpu: 'ms per 1000' },
  ratios: TARGETS,
  contenders: () => threeServers(signIns, WARM_SIGN_INS + SIGN_INS),
}

export const streamFanOut: Measurement = {
  name: 'stream-fanout',
  about: 'messages delivered when one connection publishes to 1,000 subscribers',
  columns: { rate: '1/s', cpu: 'ms per 1000' },
  ratios: [{ column: 'rate', to: 'Socket.IO', least: 1 }],
  contenders: () => threeServers(fanOut),
}

const IDLE = 10_000

export const streamMemory: Measurement = {
  name: 'stream-memory',
  about: `resident memory of the server for each of ${IDLE.toLocaleString('en')} idle connections, ours authenticated`,
  columns: { each: 'KiB' },
  targets: { each: { most: 14 } },
  async contenders() {
    const [ours, keys] = [await gatehousePeer(PORT), await makeKeys()]
    return [
      contender('gatehouse', ours, (server) => atRest(server, false)),
      contender('gatehouse, deflate offered', ours, (server) => atRest(server, true)),
      contender('bare ws', bareWsPeer(PORT, keys), (server) => atRest(server, false)),
      contender('bare ws, deflate offered', bareWsPeer(PORT, keys, true), (server) => atRest(server, true)),
      contender('Socket.IO', socketIoPeer(PORT, keys), (server) => atRest(server, false)),
    ]
  },
}

async function threeServers(measure: Measure, tokens = 0): Promise<Contender[]> {
  const keys = await makeKeys()
  return [
    contender('gatehouse', await gatehousePeer(PORT), measure, tokens),
    contender('bare ws', bareWsPeer(PORT, keys), measure, tokens),
    contender('Socket.IO', socketIoPeer(PORT, keys), measure, tokens),
  ]
}

type Measure = (server: StreamServer, peer: StreamPeer) => Promise<Figures>

/**
 * Each round has a server of its own: nothing of one round is left in the next. The tokens are made before it starts, or
 * the first would have the work of issuing them behind it.
 */
function contender(name: string, peer: StreamPeer, measure: Measure, tokens = 0): Contender {
  return {
    name,
    async measure() {
      await peer.tokens(tokens)
      const server = await peer.start()
      try {
        return await measure(server, peer)
      } finally {
        await server.stop()
      }
    },
    close: () => peer.close(),
  }
}

async function onLines(server: StreamServer, work: (line: Line) => Promise<void>): Promise<Figures> {
  const lines = await Promise.all(Array.from({ length: LINES }, () => server.connect()))
  await repeat(lines, work, ROUND_MS / 4)
  const figures = await measured(server, () => repeat(lines, work, ROUND_MS))
  for (const line of lines) line.end()
  return figures
}

/** Every line works, one thing after another, until the time is up; returns how many things were done. */
async function repeat(lines: readonly Line[], work: (line: Line) => Promise<void>, ms: number): Promise<number> {
  const end = performance.now() + ms
  let done = 0
  await Promise.all(
    lines.map(async (line) => {
      while (performance.now() < end) {
        await work(line)
        done++
      }
    }),
  )
  return done
}

/** Warmed up like the requests. */
async function signIns(server: StreamServer, peer: StreamPeer): Promise<Figures> {
  const tokens = [...(await peer.tokens(WARM_SIGN_INS + SIGN_INS))]
  const lines = await Promise.all(Array.from({ length: LINES }, () => server.connect()))
  await signInAll(lines, tokens.splice(0, WARM_SIGN_INS))
  const figures = await measured(server, () => signInAll(lines, tokens))
  for (const line of lines) line.end()
  return figures
}

async function signInAll(lines: readonly Line[], tokens: string[]): Promise<number> {
  const count = tokens.length
  await Promise.all(
    lines.map(async (line) => {
      for (let token = tokens.pop(); token !== undefined; token = tokens.pop()) await line.signIn(token)
    }),
  )
  return count
}

async function fanOut(server: StreamServer): Promise<Figures> {
  const subscribers: Line[] = []
  let delivered = 0
  while (subscribers.length < 1_000) {
    const line = await server.connect()
    await line.subscribe(() => delivered++)
    subscribers.push(line)
  }
  const publisher = await server.connect()
  const figures = await measured(server, async () => {
    delivered = 0
    const end = performance.now() + ROUND_MS
    let published = 0
    while (performance.now() < end) {
      await publisher.publish()
      published++
      // The publisher may be at most a few messages ahead of its subscribers.
      while (delivered < (published - 3) * subscribers.length) await sleep(1)
    }
    return delivered
  })
  for (const line of [publisher, ...subscribers]) line.end()
  return figures
}

async function measured(server: StreamServer, work: () => Promise<number>): Promise<Figures> {
  const before = useOfTree(server.pid).cpuMs
  const began = performance.now()
  const done = await work()
  const seconds = (performance.now() - began) / 1000
  return { rate: done / seconds, cpu: ((useOfTree(server.pid).cpuMs - before) / done) * 1000 }
}

async function atRest(server: StreamServer, deflate: boolean): Promise<Figures> {
  const warm = await Promise.all(Array.from({ length: 200 }, () => server.connect({ deflate })))
  for (const line of warm) await line.request()
  await sleep(500)
  const before = useOfTree(server.pid).residentMiB
  const lines: Line[] = []
  while (lines.length < IDLE)
    lines.push(...(await Promise.all(Array.from({ length: 100 }, () => server.connect({ deflate })))))
  await sleep(3_000)
  const each = ((useOfTree(server.pid).residentMiB - before) * 1024) / IDLE
  for (const line of [...warm, ...lines]) line.end()
  await sleep(500)
  return { each }
}

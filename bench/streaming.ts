/** Streaming beside a bare `ws` server and Socket.IO: requests, sign-ins, memory at rest, fan-out. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { useOfTree } from './support/process-tree.ts'
import { type Line, type StreamServer, startBareWs, startGatehouse, startSocketIo } from './support/stream-peers.ts'

const PORT = 15_490
const LINES = 64
const SECONDS = 4
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
  contenders: () => threeServers(signIns),
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
    return [
      contender(
        'gatehouse',
        () => startGatehouse(PORT),
        (server) => atRest(server, false),
      ),
      contender(
        'gatehouse, deflate offered',
        () => startGatehouse(PORT),
        (server) => atRest(server, true),
      ),
      contender(
        'bare ws',
        () => startBareWs(PORT),
        (server) => atRest(server, false),
      ),
      contender(
        'bare ws, deflate offered',
        () => startBareWs(PORT, true),
        (server) => atRest(server, true),
      ),
      contender(
        'Socket.IO',
        () => startSocketIo(PORT),
        (server) => atRest(server, false),
      ),
    ]
  },
}

async function threeServers(measure: (server: StreamServer) => Promise<Figures>): Promise<Contender[]> {
  return [
    contender('gatehouse', () => startGatehouse(PORT), measure),
    contender('bare ws', () => startBareWs(PORT), measure),
    contender('Socket.IO', () => startSocketIo(PORT), measure),
  ]
}

/** Each round has a server of its own: nothing of one round is left in the next. */
function contender(
  name: string,
  start: () => Promise<StreamServer>,
  measure: (server: StreamServer) => Promise<Figures>,
): Contender {
  return {
    name,
    async measure() {
      const server = await start()
      try {
        return await measure(server)
      } finally {
        await server.stop()
      }
    },
  }
}

async function onLines(server: StreamServer, work: (line: Line) => Promise<void>): Promise<Figures> {
  const lines = await Promise.all(Array.from({ length: LINES }, () => server.connect()))
  await repeat(lines, work, 1)
  const figures = await measured(server, () => repeat(lines, work, SECONDS))
  for (const line of lines) line.end()
  return figures
}

/** Every line works, one thing after another, until the time is up; returns how many things were done. */
async function repeat(lines: readonly Line[], work: (line: Line) => Promise<void>, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000
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

/** Warmed up like the requests; ours has issued the tokens itself, so it is given a moment to finish that work. */
async function signIns(server: StreamServer): Promise<Figures> {
  const [first, tokens] = [await server.tokens(2_000), await server.tokens(5_000)]
  const lines = await Promise.all(Array.from({ length: LINES }, () => server.connect()))
  await signInAll(lines, first)
  await sleep(500)
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
    const end = performance.now() + SECONDS * 1000
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

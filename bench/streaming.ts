/** Streaming, compared with a bare `ws` server and Socket.IO: requests, sign-ins, connections, memory, fan-out. Fan-out also with NATS and Centrifugo. */
import { setTimeout as sleep } from 'node:timers/promises'
import { centrifugoPeer } from './support/centrifugo-peer.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { natsPeer } from './support/nats-peer.ts'
import {
  bareWsPeer,
  type Connection,
  gatehousePeer,
  makeKeys,
  type StreamPeer,
  type StreamServer,
  socketIoPeer,
  type TopicConnection,
  type TopicServer,
} from './support/stream-peers.ts'

/** The only one: a round starts and stops its own server. */
export const PORT = 15_490
const CONNECTIONS = 64
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000)
/** After half as many sign-ins all three servers are still compiling their code. */
const WARM_SIGN_INS = 20_000
const SIGN_INS = 8_000
/** A short warm-up: a user would connect soon after the start. */
const WARM_CONNECTS = 2_000
const CONNECTS = Number(process.env.BENCH_CONNECTS ?? 6_000)
/** A short rush: V8 has not compiled most of the code yet. */
const ARRIVALS = Number(process.env.BENCH_ARRIVALS ?? 3_000)
const ARRIVING_AT_ONCE = 50
const IDLE = Number(process.env.BENCH_IDLE ?? 10_000)
/** A reply of this size is compressed with the default settings. */
const COMPRESSED_BYTES = 2_000
const RATES = { rate: '1/s', cpu: 'ms per 1000' }
const AHEAD_OF_SOCKET_IO = { column: 'rate', to: 'Socket.IO', least: 1 }

export const streamRequests: Measurement = {
  name: 'stream-requests',
  about: 'requests and replies on 64 connections, one at a time on each',
  columns: RATES,
  ratios: [{ column: 'rate', to: 'bare ws', least: 0.85 }, AHEAD_OF_SOCKET_IO],
  ...withAllServers(requests),
}

export const streamSignIns: Measurement = {
  name: 'stream-signins',
  about: 'tokens that are new to the server, checked on 64 open connections',
  columns: RATES,
  ratios: [{ column: 'rate', to: 'bare ws', least: 0.75 }, AHEAD_OF_SOCKET_IO],
  ...withAllServers(signIns, WARM_SIGN_INS + SIGN_INS),
}

export const streamConnects: Measurement = {
  name: 'stream-connects',
  about: 'connections that each sign in with a token new to the server and close, 64 at a time',
  columns: RATES,
  ratios: [{ column: 'rate', to: 'bare ws', least: 0.75 }, AHEAD_OF_SOCKET_IO],
  ...withAllServers(connects, WARM_CONNECTS + CONNECTS),
}

export const streamArrivals: Measurement = {
  name: 'stream-arrivals',
  about: 'the same on a server that has just started and logs as it does by default, 50 at a time',
  columns: RATES,
  ratios: [{ column: 'rate', to: 'bare ws', least: 0.75 }, AHEAD_OF_SOCKET_IO],
  ...withAllServers(arrivals, ARRIVALS, { '--log-level': 'info', '--log-format': 'json' }),
}

export const streamFanOut: Measurement = {
  name: 'stream-fanout',
  about: 'messages delivered when one connection publishes to 1,000 subscribers',
  columns: RATES,
  ratios: [AHEAD_OF_SOCKET_IO],
  subject: async (checkout) => contender('gatehouse', await gatehousePeer(PORT, checkout), fanOut),
  async *references() {
    const keys = await makeKeys()
    yield contender('bare ws', bareWsPeer(PORT, keys), fanOut)
    yield contender('Socket.IO', socketIoPeer(PORT, keys), fanOut)
    const centrifugo = await centrifugoPeer(keys)
    if (centrifugo !== undefined) yield contender('Centrifugo', centrifugo, fanOut)
    const nats = await natsPeer()
    if (nats !== undefined) yield contender('NATS', nats, fanOut)
  },
}

export const streamMemory: Measurement = {
  name: 'stream-memory',
  about: `resident memory of the server for each of ${IDLE.toLocaleString('en')} idle connections, ours authenticated`,
  columns: { each: 'KiB' },
  targets: { each: { most: 12 } },
  subject: async (checkout) => contender('gatehouse', await gatehousePeer(PORT, checkout), atRest),
  async *references() {
    const keys = await makeKeys()
    yield contender('bare ws', bareWsPeer(PORT, keys), atRest)
    yield contender('Socket.IO', socketIoPeer(PORT, keys), atRest)
  },
}

export const streamMemoryDeflate: Measurement = {
  name: 'stream-memory-deflate',
  about: 'the same when each connection has agreed on compression and has been sent a compressed reply',
  columns: { each: 'KiB' },
  targets: { each: { most: 20 } },
  subject: async (checkout) => contender('gatehouse', await gatehousePeer(PORT, checkout), atRestCompressed),
  async *references() {
    yield contender('bare ws', bareWsPeer(PORT, await makeKeys(), true), atRestCompressed)
  },
}

function withAllServers(
  measure: Measure,
  tokens = 0,
  flags: Readonly<Record<string, string>> = {},
): Pick<Measurement, 'subject' | 'references'> {
  return {
    subject: async (checkout) => contender('gatehouse', await gatehousePeer(PORT, checkout, flags), measure, tokens),
    async *references() {
      const keys = await makeKeys()
      yield contender('bare ws', bareWsPeer(PORT, keys), measure, tokens)
      yield contender('Socket.IO', socketIoPeer(PORT, keys), measure, tokens)
    },
  }
}

export function requests(server: StreamServer): Promise<Figures> {
  return onConnections(server, (connection) => connection.request())
}

type Measure<Server = StreamServer> = (server: Server, peer: StreamPeer<Server>) => Promise<Figures>

/** Each round has its own server, so that rounds are independent. The tokens are issued before it starts. */
export function contender<Server extends TopicServer>(
  name: string,
  peer: StreamPeer<Server>,
  measure: Measure<Server>,
  tokens = 0,
): Contender {
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

async function onConnections(server: StreamServer, work: (connection: Connection) => Promise<void>): Promise<Figures> {
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => server.connect()))
  await repeat(connections, work, ROUND_MS / 4)
  const figures = await measured(server, () => repeat(connections, work, ROUND_MS))
  for (const connection of connections) connection.end()
  return figures
}

/** Repeats the work on every connection until the time is up; returns how often it was done. */
async function repeat(
  connections: readonly Connection[],
  work: (connection: Connection) => Promise<void>,
  ms: number,
): Promise<number> {
  const end = performance.now() + ms
  let done = 0
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < end) {
        await work(connection)
        done++
      }
    }),
  )
  return done
}

async function signIns(server: StreamServer, peer: StreamPeer): Promise<Figures> {
  const tokens = [...(await peer.tokens(WARM_SIGN_INS + SIGN_INS))]
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => server.connect()))
  await signInAll(connections, tokens.splice(0, WARM_SIGN_INS))
  const figures = await measured(server, () => signInAll(connections, tokens))
  for (const connection of connections) connection.end()
  return figures
}

async function signInAll(connections: readonly Connection[], tokens: string[]): Promise<number> {
  const count = tokens.length
  await Promise.all(
    connections.map(async (connection) => {
      for (let token = tokens.pop(); token !== undefined; token = tokens.pop()) await connection.signIn(token)
    }),
  )
  return count
}

async function connects(server: StreamServer, peer: StreamPeer): Promise<Figures> {
  const tokens = [...(await peer.tokens(WARM_CONNECTS + CONNECTS))]
  await connectAll(server, tokens.splice(0, WARM_CONNECTS))
  return measured(server, () => connectAll(server, tokens))
}

async function arrivals(server: StreamServer, peer: StreamPeer): Promise<Figures> {
  const tokens = [...(await peer.tokens(ARRIVALS))]
  return measured(server, () => connectAll(server, tokens, ARRIVING_AT_ONCE))
}

async function connectAll(server: StreamServer, tokens: string[], atOnce = CONNECTIONS): Promise<number> {
  const count = tokens.length
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let token = tokens.pop(); token !== undefined; token = tokens.pop()) await server.signInOnce(token)
    }),
  )
  return count
}

async function fanOut(server: TopicServer): Promise<Figures> {
  const subscribers: TopicConnection[] = []
  let delivered = 0
  while (subscribers.length < 1_000) {
    const subscriber = await server.connect()
    await subscriber.subscribe(() => delivered++)
    subscribers.push(subscriber)
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
  for (const connection of [publisher, ...subscribers]) connection.end()
  return figures
}

async function measured(server: TopicServer, work: () => Promise<number>): Promise<Figures> {
  const before = server.use().cpuMs
  const started = performance.now()
  const done = await work()
  const seconds = (performance.now() - started) / 1000
  return { rate: done / seconds, cpu: ((server.use().cpuMs - before) / done) * 1000 }
}

function atRest(server: StreamServer): Promise<Figures> {
  return memoryOfEach(server, false)
}

function atRestCompressed(server: StreamServer): Promise<Figures> {
  return memoryOfEach(server, true)
}

async function memoryOfEach(server: StreamServer, deflate: boolean): Promise<Figures> {
  const connect = async (): Promise<Connection> => {
    const connection = await server.connect({ deflate })
    if (deflate) await connection.request(COMPRESSED_BYTES)
    return connection
  }
  const warm = await Promise.all(Array.from({ length: 200 }, connect))
  for (const connection of warm) await connection.request()
  await sleep(500)
  const before = server.use().residentMiB
  const connections: Connection[] = []
  while (connections.length < IDLE) connections.push(...(await Promise.all(Array.from({ length: 100 }, connect))))
  await sleep(3_000)
  const each = ((server.use().residentMiB - before) * 1024) / IDLE
  for (const connection of [...warm, ...connections]) connection.end()
  await sleep(500)
  return { each }
}

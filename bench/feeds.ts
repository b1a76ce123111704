/** Feeds: fan-out and publishing, compared with Centrifugo and NATS; publishers and subscribers beside others; two nodes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Checkout, HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { twoNodes } from './support/feed-nodes.ts'
import {
  CENTRIFUGO_KEY,
  centrifugoFeeds,
  FEED_OF,
  type FeedConnection,
  type FeedPeer,
  type FeedPeerServer,
  type FeedServer,
  gatehouseFeeds,
  type Kept,
  natsFeeds,
} from './support/feed-peers.ts'
import { load, requestBytes } from './support/http-load.ts'
import { countMarks, markedData } from './support/marked-messages.ts'
import { paced, percentiles } from './support/percentiles.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000)
const RATES = { rate: '1/s', cpu: 'ms per 1000' }
/** Deliveries a second where latency is measured: every server manages this rate. */
const PACED_DELIVERIES = 10_000
/** The number of subscribers that look at the time of each message: evenly spread, since a server may send in the order of subscription. */
const TIMED = 200
const BATCH = 1_000
const TOPICS = 100
const SENDERS = 4
const CONNECTIONS = 64

const KINDS: readonly (readonly [kept: Kept, suffix: string, about: string])[] = [
  ['nothing', '', 'that keeps nothing'],
  ['latest', '-latest', 'with keep latest'],
  ['history', '-history', 'with keep all and history'],
]

const fanOuts: readonly Measurement[] = [1_000, 10_000].flatMap((subscribers) =>
  KINDS.map(([kept, suffix, about]) => ({
    name: `feed-fanout${suffix}${subscribers === 1_000 ? '' : '-10k'}`,
    about: `one publisher to ${subscribers.toLocaleString('en')} subscribers of a feed ${about}`,
    columns: { ...RATES, p50: 'ms', p99: 'ms' },
    ratios: ['Centrifugo', 'NATS'].flatMap((to) => [
      { column: 'rate', to, least: 1 },
      { column: 'p99', to, most: 1 },
    ]),
    subject: async (checkout: Checkout) =>
      contender('gatehouse', await gatehouseFeeds(checkout, kept), (server) => fanOut(server, subscribers)),
    async *references() {
      for (const [name, peer] of [
        ['Centrifugo', await centrifugoFeeds(kept)],
        ['NATS', await natsFeeds()],
      ] as const)
        if (peer !== undefined) yield contender(name, peer, (server) => fanOut(server, subscribers))
    },
  })),
)

/** As fast as possible, at most a few messages ahead of the subscribers; then at an even rate, for the latency. */
export async function fanOut(server: FeedPeerServer, count: number): Promise<Figures> {
  let delivered = 0
  const latencies: number[] = []
  let isTimed = false
  const onMessage = (): void => {
    delivered++
  }
  const onLatency = (milliseconds: number): void => {
    if (isTimed) latencies.push(milliseconds)
  }
  const subscribers: FeedConnection[] = []
  while (subscribers.length < count) {
    const opened = await Promise.all(Array.from({ length: 50 }, () => server.connect()))
    await Promise.all(opened.map((each) => each.subscribe()))
    for (const connection of opened) {
      const index = subscribers.push(connection) - 1
      countMarks(connection.socket, onMessage, index % (count / TIMED) === 0 ? onLatency : undefined)
    }
  }
  const publisher = await server.connect()
  const flood = async (milliseconds: number): Promise<number> => {
    const [end, before] = [performance.now() + milliseconds, delivered]
    for (let published = 1; performance.now() < end; published++) {
      await publisher.publish(markedData())
      while (delivered - before < (published - 3) * count) await sleep(1)
    }
    return delivered - before
  }
  await flood(ROUND_MS / 2)
  const figures = await measured(server, () => flood(ROUND_MS))
  await sleep(500)
  isTimed = true
  await paced(PACED_DELIVERIES / count, ROUND_MS, () => publisher.publish(markedData()))
  await sleep(500)
  for (const { socket } of [publisher, ...subscribers]) socket.terminate()
  return { ...figures, ...percentiles(latencies) }
}

const publishing: Measurement = {
  name: 'feed-publish',
  about: `requests over HTTP with ${BATCH.toLocaleString('en')} messages each, to 100 topics with history; 4 at a time`,
  columns: RATES,
  ratios: [{ column: 'rate', to: 'Centrifugo', least: 1 }],
  subject: async (checkout) =>
    contender('gatehouse', await gatehouseFeeds(checkout, 'history'), (server) =>
      post(
        server,
        `/feeds/${FEED_OF.history}`,
        { authorization: `Bearer ${server.tokens[0]}` },
        batch(gatehouseMessage, ',', '[', ']'),
      ),
    ),
  async *references() {
    const peer = await centrifugoFeeds('history')
    if (peer === undefined) return
    const body = batch(centrifugoCommand, ',', '{"commands":[', ']}')
    yield contender('Centrifugo', peer, (server) => post(server, '/api/batch', { 'x-api-key': CENTRIFUGO_KEY }, body))
  },
}

function gatehouseMessage(topic: string, data: string): string {
  return `{"Topic":"${topic}","Data":${data}}`
}

function centrifugoCommand(channel: string, data: string): string {
  return `{"publish":{"channel":"${channel}","data":${data}}}`
}

function batch(
  write: (topic: string, data: string) => string,
  separator: string,
  before: string,
  after: string,
  length = BATCH,
): string {
  const messages = Array.from({ length }, (_, index) => write(`topic/${index % TOPICS}`, markedData()))
  return `${before}${messages.join(separator)}${after}`
}

async function post(
  server: FeedPeerServer,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Figures> {
  const request = requestBytes('POST', path, headers, body, 'application/json')
  const senders = Array.from({ length: SENDERS }, () => ({ next: () => request }))
  await load(server.port, senders, ROUND_MS / 2)
  return measured(server, async () => (await load(server.port, senders, ROUND_MS)).responses * BATCH)
}

const onStreams: Measurement = {
  name: 'feed-publish-stream',
  about:
    'single messages on 64 streaming connections to a feed with history, one at a time on each; requests on the same',
  columns: RATES,
  ratios: [{ column: 'rate', to: 'requests', least: 0.5 }],
  subject: async (checkout) => contender('gatehouse', await gatehouseFeeds(checkout, 'history'), singles),
  async *references() {
    yield contender('requests', await gatehouseFeeds(HERE, 'history'), echoes)
    yield contender('to a feed that keeps nothing', await gatehouseFeeds(HERE, 'nothing'), singles)
  },
}

function singles(server: FeedServer): Promise<Figures> {
  return onConnections(server, (connection) => connection.publish(markedData()))
}

function echoes(server: FeedServer): Promise<Figures> {
  return onConnections(server, (connection) => connection.echo())
}

async function onConnections(
  server: FeedServer,
  work: (connection: Awaited<ReturnType<FeedServer['connect']>>) => Promise<void>,
): Promise<Figures> {
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => server.connect()))
  const repeat = async (milliseconds: number): Promise<number> => {
    const end = performance.now() + milliseconds
    const counts = connections.map(async (connection) => {
      let count = 0
      for (; performance.now() < end; count++) await work(connection)
      return count
    })
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }
  await repeat(ROUND_MS / 2)
  const figures = await measured(server, () => repeat(ROUND_MS))
  for (const { socket } of connections) socket.terminate()
  return figures
}

/** How another publisher floods: its connections, and the messages of each request. */
const FLOODS = [
  ['', 1, BATCH],
  ['-many', 32, 100],
] as const

const beside: readonly Measurement[] = FLOODS.map(([suffix, connections, messages]) => ({
  name: `feed-beside${suffix}`,
  about: `from a publish to its delivery at 100 messages/s, beside a publisher that floods other topics of the feed (${connections} at a time, requests of ${messages} messages), and beside a subscriber that does not read`,
  columns: { p50: 'ms', p99: 'ms' },
  ratios: [{ column: 'p99', to: 'alone', most: 2 }],
  subject: async (checkout: Checkout) =>
    contender('gatehouse', await gatehouseFeeds(checkout, 'history'), (server) =>
      delivery(server, (flooded) => flooding(flooded, connections, messages)),
    ),
  async *references() {
    yield contender('alone', await gatehouseFeeds(HERE, 'history'), (server) => delivery(server, nothingElse))
    yield contender('slow subscriber', await gatehouseFeeds(HERE, 'history'), (server) => delivery(server, notReading))
  },
}))

/** Starts what disturbs; returns what ends it. */
type Disturb = (server: FeedServer) => Promise<() => Promise<void>>

async function delivery(server: FeedServer, disturb: Disturb): Promise<Figures> {
  // A connection executes one request at a time: on a single one, messages would wait for each other.
  const publishers = await Promise.all(Array.from({ length: 16 }, () => server.connect()))
  const subscriber = await server.connect()
  await subscriber.subscribe()
  const latencies: number[] = []
  let isTimed = false
  let published = 0
  countMarks(
    subscriber.socket,
    () => {},
    (milliseconds) => isTimed && latencies.push(milliseconds),
  )
  const end = await disturb(server)
  const publish = async (): Promise<void> => publishers[published++ % publishers.length]?.publish(markedData())
  await paced(100, ROUND_MS / 2, publish)
  isTimed = true
  await paced(100, ROUND_MS, publish)
  await sleep(300)
  await end()
  for (const { socket } of [...publishers, subscriber]) socket.terminate()
  return percentiles(latencies)
}

async function nothingElse(): Promise<() => Promise<void>> {
  return async () => {}
}

/** Another publisher; one request at a time on each of its connections. */
async function flooding(server: FeedServer, connections: number, messages: number): Promise<() => Promise<void>> {
  const stop = new AbortController()
  const body = batch(gatehouseMessage, ',', '[', ']', messages)
  const headers = { authorization: `Bearer ${server.tokens[1]}` }
  const request = requestBytes('POST', `/feeds/${FEED_OF.history}`, headers, body, 'application/json')
  const loading = load(
    server.port,
    Array.from({ length: connections }, () => ({ next: () => request })),
    10 * ROUND_MS,
    stop.signal,
  )
  return async () => {
    stop.abort()
    await loading
  }
}

async function notReading(server: FeedServer): Promise<() => Promise<void>> {
  const slow = await server.connect()
  await slow.subscribe()
  slow.socket.pause()
  return async () => slow.socket.terminate()
}

export function contender<Server extends FeedPeerServer>(
  name: string,
  peer: Omit<FeedPeer, 'start'> & { start(): Promise<Server> },
  measure: (server: Server) => Promise<Figures>,
): Contender {
  return {
    name,
    async measure() {
      const server = await peer.start()
      try {
        return await measure(server)
      } finally {
        await server.stop()
      }
    },
    close: () => peer.close(),
  }
}

async function measured(server: FeedPeerServer, work: () => Promise<number>): Promise<Figures> {
  const before = server.use().cpuMs
  const started = performance.now()
  const done = await work()
  const seconds = (performance.now() - started) / 1000
  return { rate: done / seconds, cpu: ((server.use().cpuMs - before) / done) * 1000 }
}

const nodes: readonly Measurement[] = (
  [
    ['postgres', 'PostgreSQL', 20],
    ['nats', 'NATS', 5],
  ] as const
).map(([engine, name, most]) => ({
  name: `feed-nodes-${engine}`,
  about: `from a publish on one node to its delivery on another, at 50 messages/s, with ${name} between them`,
  columns: { p50: 'ms', p99: 'ms' },
  targets: { p99: { most } },
  subject: (checkout: Checkout) => twoNodes('gatehouse', engine, checkout, ROUND_MS),
  async *references() {},
}))

export const feeds: readonly Measurement[] = [...fanOuts, publishing, onStreams, ...beside, ...nodes]

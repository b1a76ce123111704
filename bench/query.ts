/** Queries, compared with rqlite, soul-cli, Express with pg and a bare server; and long queries running at the same time as short ones. */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, CROSS_JOIN } from './overload.ts'
import { HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { type Caller, load } from './support/http-load.ts'
import { paced } from './support/paced.ts'
import { pinThisProcess } from './support/processors.ts'
import { benchPath } from './support/program.ts'
import {
  buildSymbol,
  type GatehousePeer,
  type QueryPeer,
  ROWS,
  ROWS_PER_SYMBOL,
  startBare,
  startGatehouse,
  startOnPostgres,
  startRqlite,
  startSoul,
  TIMES,
} from './support/query-peers.ts'
import { warm } from './support/warm.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 3000)
/** Requests are built beforehand, so that building them costs no contender. */
const PREPARED_REQUESTS = 2_000
/** Until the first long result is under way. */
const BEGIN_MS = 1000
const BARE = 'bare http + better-sqlite3'
const SERVER = { processor: 0 }
const CLIENT_PROCESSOR = 1
export const RATES = { rate: '1/s', cpu: 'ms each' }

/** How a peer is measured; undefined if it cannot do the work. */
export type Work = (peer: QueryPeer) => (() => Promise<Figures>) | undefined

export const byKey: Work = (peer) => reading(peer, () => peer.byKey(anyId()))

export const inserting: Work = (peer) => {
  let nextId = ROWS
  return warmed(peer, 64, () => peer.insert(nextId++))
}

/** More than any cache of texts holds. */
const DIFFERENT_TEXTS = 50_000

export const query: readonly Measurement[] = [
  {
    name: 'query-key',
    about: 'one row by its key, authenticated',
    columns: RATES,
    ratios: [
      { column: 'rate', to: 'rqlite', least: 1 },
      { column: 'cpu', to: 'rqlite', most: 0.65 },
    ],
    ...withAllPeers(byKey),
  },
  {
    name: 'query-key-pinned',
    about: 'the same, with each server on one processor and the client on another',
    columns: { ...RATES, client: 'of its processor' },
    ratios: [{ column: 'rate', to: 'rqlite', least: 1.5 }],
    setup: () => pinThisProcess(CLIENT_PROCESSOR),
    subject: async (checkout) => contender(await startGatehouse(checkout, SERVER), byKey),
    async *references() {
      for (const start of [startBare, startRqlite]) yield contender(await start(SERVER), byKey)
    },
  },
  {
    name: 'query-key-literals',
    about: 'one row by its key as IQL with the key in the text, as a Select and as IQL with a parameter',
    columns: RATES,
    ratios: [
      { column: 'rate', to: 'rqlite', least: 1 },
      { column: 'rate', to: 'as a Select', least: 0.9 },
    ],
    subject: async (checkout) => {
      const peer = await startGatehouse(checkout)
      return named('as IQL with literals', peer, () => peer.byKeyLiteral(anyId()), DIFFERENT_TEXTS)
    },
    async *references() {
      const select = await startGatehouse(HERE)
      yield named('as a Select', select, () => select.byKeySelect(anyId()))
      const parameter = await startGatehouse(HERE)
      yield named('as IQL with a parameter', parameter, () => parameter.byKey(anyId()))
      for (const start of [startBare, startRqlite]) yield contender(await start(), byKey)
    },
  },
  {
    name: 'query-100',
    about: `${ROWS_PER_SYMBOL} rows out of ${ROWS.toLocaleString('en')}`,
    columns: RATES,
    ratios: [
      { column: 'rate', to: 'rqlite', least: 1.5 },
      { column: 'rate', to: 'soul-cli', least: 1.5 },
    ],
    ...withAllPeers((peer) => reading(peer, () => peer.bySymbol(buildSymbol(anyId())))),
  },
  {
    name: 'query-insert',
    about: 'durable inserts of one row, 64 at once',
    columns: RATES,
    ratios: [{ column: 'rate', to: 'rqlite', least: 2 }],
    ...withAllPeers(inserting),
  },
  {
    name: 'query-aggregate',
    about: `sums of ${(ROWS / ROWS_PER_SYMBOL).toLocaleString('en')} groups`,
    columns: RATES,
    ...withAllPeers((peer) => {
      const { aggregate } = peer
      return aggregate && (() => loaded(peer, 4, aggregate))
    }),
  },
  {
    name: 'query-stream',
    about: `a result of ${(ROWS * TIMES).toLocaleString('en')} rows, and how much the program grows`,
    columns: { time: 's', cpu: 'ms', growth: 'MiB' },
    targets: { growth: { most: 64 } },
    ratios: [{ column: 'time', to: BARE, most: 1.3 }],
    subject: async (checkout) => contender(await startGatehouse(checkout), streaming),
    async *references() {
      for (const start of [startBare, startRqlite]) yield contender(await start(), streaming)
    },
  },
  {
    name: 'query-arrow',
    about: `a result of ${(ROWS * TIMES).toLocaleString('en')} rows as Arrow, and as CSV`,
    columns: { time: 's', cpu: 'ms' },
    ratios: [{ column: 'time', to: 'as CSV', most: 1 }],
    subject: async (checkout) =>
      inFormat('as Arrow', 'application/vnd.apache.arrow.stream', await startGatehouse(checkout)),
    async *references() {
      yield inFormat('as CSV', 'text/csv', await startGatehouse(HERE))
    },
  },
  {
    name: 'query-parquet',
    about: `a result of ${(ROWS * TIMES).toLocaleString('en')} rows as Parquet and as Arrow, and how much the program grows`,
    columns: { time: 's', cpu: 'ms', growth: 'MiB' },
    targets: { growth: { most: 64 } },
    ratios: [{ column: 'time', to: 'as Arrow', most: 2 }],
    subject: async (checkout) =>
      inFormat('as Parquet', 'application/vnd.apache.parquet', await startGatehouse(checkout)),
    async *references() {
      yield inFormat('as Arrow', 'application/vnd.apache.arrow.stream', await startGatehouse(HERE))
    },
  },
  {
    name: 'query-beside',
    about: 'key lookups at 500/s beside a long query, beside results of millions of rows, and alone',
    columns: { p50: 'ms', p99: 'ms' },
    ratios: [{ column: 'p99', to: 'alone', most: 2 }],
    subject: async (checkout) => beside('beside a long query', await startGatehouse(checkout), besideLongQuery),
    async *references() {
      yield beside('beside long results', await startGatehouse(HERE), besideLongResults)
      yield beside('alone', await startGatehouse(HERE), (peer) => paced(peer, ROUND_MS))
    },
  },
]

function withAllPeers(work: Work): Pick<Measurement, 'subject' | 'references'> {
  return {
    subject: async (checkout) => contender(await startGatehouse(checkout), work),
    async *references() {
      for (const start of [startBare, startRqlite, startSoul]) {
        const peer = await start()
        const measure = work(peer)
        if (measure === undefined) await peer.stop()
        else yield { name: peer.name, measure, close: peer.stop }
      }
      for (const peer of await startOnPostgres()) yield contender(peer, work)
    },
  }
}

export function contender<Peer extends Pick<QueryPeer, 'name' | 'stop'>>(
  peer: Peer,
  work: (peer: Peer) => (() => Promise<Figures>) | undefined,
): Contender {
  const measure = work(peer)
  if (measure === undefined) throw new Error(`${peer.name} cannot do this`)
  return { name: peer.name, measure, close: peer.stop }
}

function named(name: string, peer: QueryPeer, build: () => Buffer, requests?: number): Contender {
  return { name, measure: reading(peer, build, requests), close: peer.stop }
}

/** Warmed up first, or "alone" would be slow because the program is still being compiled. */
async function beside(
  name: string,
  peer: GatehousePeer,
  measure: (peer: GatehousePeer) => Promise<Figures>,
): Promise<Contender> {
  await warm(peer.port, () => peer.byKey(anyId()))
  return { name, measure: () => measure(peer), close: peer.stop }
}

function anyId(): number {
  return Math.floor(Math.random() * ROWS)
}

function reading(peer: QueryPeer, build: () => Buffer, count = PREPARED_REQUESTS): () => Promise<Figures> {
  const requests = Array.from({ length: count }, build)
  return warmed(peer, 32, () => requests[Math.floor(Math.random() * count)] ?? build())
}

function warmed(peer: QueryPeer, connections: number, next: () => Buffer): () => Promise<Figures> {
  let isWarm = false
  return async () => {
    if (!isWarm) await warm(peer.port, next)
    isWarm = true
    return loaded(peer, connections, next)
  }
}

async function loaded(peer: QueryPeer, connections: number, next: () => Buffer): Promise<Figures> {
  const callers = Array.from({ length: connections }, (): Caller => ({ next }))
  await load(peer.port, callers, ROUND_MS / 3)
  const before = peer.use().cpuMs
  const clientBefore = process.cpuUsage()
  const { responses, seconds } = await load(peer.port, callers, ROUND_MS)
  const { user, system } = process.cpuUsage(clientBefore)
  return {
    rate: responses / seconds,
    cpu: (peer.use().cpuMs - before) / responses,
    client: (user + system) / 1e6 / seconds,
  }
}

export function streaming(peer: Pick<QueryPeer, 'port' | 'use' | 'everything'>): (() => Promise<Figures>) | undefined {
  const { everything } = peer
  return everything && (() => streamed(peer, everything()))
}

async function streamed(peer: Pick<QueryPeer, 'port' | 'use'>, request: Buffer): Promise<Figures> {
  const before = peer.use()
  let most = before.proportionalMiB
  const sampler = setInterval(() => {
    most = Math.max(most, peer.use().proportionalMiB)
  }, 100)
  const started = performance.now()
  await load(peer.port, [{ next: () => request }], 0)
  clearInterval(sampler)
  const time = (performance.now() - started) / 1000
  return { time, cpu: peer.use().cpuMs - before.cpuMs, growth: most - before.proportionalMiB }
}

function inFormat(name: string, mediaType: string, peer: GatehousePeer): Contender {
  return { name, measure: () => streamed(peer, peer.everything(mediaType)), close: peer.stop }
}

async function besideLongQuery(peer: GatehousePeer): Promise<Figures> {
  const socket = ask(peer.port, peer.statement(CROSS_JOIN))
  await sleep(BEGIN_MS)
  const figures = await paced(peer, ROUND_MS)
  socket.destroy()
  return figures
}

/** Another process reads the long results: in this one they would delay the requests that are timed. */
async function besideLongResults(peer: GatehousePeer): Promise<Figures> {
  const args = [benchPath('support/discard-responses.js'), String(peer.port)]
  const reader = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] })
  reader.stdin.end(peer.everything())
  await sleep(BEGIN_MS)
  const figures = await paced(peer, ROUND_MS)
  const exited = new Promise((resolve) => reader.once('exit', resolve))
  reader.kill()
  await exited
  return figures
}

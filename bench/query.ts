/** Queries beside rqlite, soul-cli, Express with pg, and the bare ceiling; and a long query beside short ones. */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ask, CROSS_JOIN } from './overload.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { type Caller, load } from './support/http-load.ts'
import { paced } from './support/paced.ts'
import { pinThisProcess } from './support/processors.ts'
import {
  type QueryPeer,
  ROWS,
  ROWS_OF_A_SYMBOL,
  removeFolders,
  startBare,
  startGatehouse,
  startOnPostgres,
  startRqlite,
  startSoul,
  symbolOf,
  TIMES,
} from './support/query-peers.ts'
import { warm } from './support/warm.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 3000)
/** Requests that are made beforehand, so that making them costs no contender. */
const MADE = 2_000
/** Until the first long result is under way. */
const BEGIN_MS = 1000
const BARE = 'bare http + better-sqlite3'
const SERVER_PROCESSOR = 0
const CLIENT_PROCESSOR = 1
const RATES = { rate: '1/s', cpu: 'ms each' }

export const query: readonly Measurement[] = [
  {
    name: 'query-key',
    about: 'one row by its key, authenticated',
    columns: RATES,
    ratios: [{ column: 'cpu', to: 'rqlite', most: 0.7 }],
    contenders: () => everybody((peer) => reading(peer, () => peer.byKey(anyId()))),
  },
  {
    name: 'query-key-pinned',
    about: 'the same of servers that have one processor each, asked from another',
    columns: { ...RATES, client: 'of its processor' },
    ratios: [{ column: 'rate', to: 'rqlite', least: 1.5 }],
    contenders: () => pinned((peer) => reading(peer, () => peer.byKey(anyId()))),
  },
  {
    name: 'query-100',
    about: `${ROWS_OF_A_SYMBOL} rows out of ${ROWS.toLocaleString('en')}`,
    columns: RATES,
    ratios: [
      { column: 'rate', to: 'rqlite', least: 1.5 },
      { column: 'rate', to: 'soul-cli', least: 1.5 },
    ],
    contenders: () => everybody((peer) => reading(peer, () => peer.bySymbol(symbolOf(anyId())))),
  },
  {
    name: 'query-insert',
    about: 'durable inserts of one row, 64 at once',
    columns: RATES,
    ratios: [{ column: 'rate', to: 'rqlite', least: 1.5 }],
    contenders: () => {
      let next = ROWS
      return everybody((peer) => warmed(peer, 64, () => peer.insert(next++)))
    },
  },
  {
    name: 'query-aggregate',
    about: `sums of ${(ROWS / ROWS_OF_A_SYMBOL).toLocaleString('en')} groups`,
    columns: RATES,
    contenders: () =>
      everybody((peer) => {
        const { aggregate } = peer
        return aggregate && (() => loaded(peer, 4, aggregate))
      }),
  },
  {
    name: 'query-stream',
    about: `a result of ${(ROWS * TIMES).toLocaleString('en')} rows, and how much the program grows`,
    columns: { time: 's', cpu: 'ms', growth: 'MiB' },
    targets: { growth: { most: 64 } },
    ratios: [{ column: 'time', to: BARE, most: 2 }],
    contenders: () =>
      everybody((peer) => {
        const { everything } = peer
        return everything && (() => streamed(peer, everything()))
      }, false),
  },
  {
    name: 'query-beside',
    about:
      'key lookups at 500/s alone, beside a query that works for long, and beside one result of millions of rows after another',
    columns: { p50: 'ms', p99: 'ms' },
    ratios: [{ column: 'p99', to: 'alone', most: 2 }],
    async contenders() {
      const peer = await startGatehouse()
      // Else "alone" is slow while the program still compiles itself, and anything is near it.
      await warm(peer.port, () => peer.byKey(anyId()))
      return [
        { name: 'beside a long query', measure: () => besideLongQuery(peer), close: () => leave([peer]) },
        { name: 'beside long results', measure: () => besideLongResults(peer) },
        { name: 'alone', measure: () => paced(peer, ROUND_MS) },
      ]
    },
  },
]

function anyId(): number {
  return Math.floor(Math.random() * ROWS)
}

/** Programs that cannot do the work are left out. */
async function everybody(
  workOf: (peer: QueryPeer) => (() => Promise<Figures>) | undefined,
  withAll = true,
): Promise<readonly Contender[]> {
  const peers = [await startGatehouse(), await startBare(), await startRqlite()]
  if (withAll) peers.push(await startSoul(), ...(await startOnPostgres()))
  return peers.flatMap((peer, index) => {
    const measure = workOf(peer)
    const close = index === 0 ? { close: () => leave(peers) } : {}
    return measure === undefined ? [] : [{ name: peer.name, measure, ...close }]
  })
}

/** Those whom the target names, and the ceiling; the client, which is this process, has the other processor. */
async function pinned(workOf: (peer: QueryPeer) => () => Promise<Figures>): Promise<readonly Contender[]> {
  const place = { processor: SERVER_PROCESSOR }
  const peers = [await startGatehouse(place), await startBare(place), await startRqlite(place)]
  const unpin = pinThisProcess(CLIENT_PROCESSOR)
  const close = async (): Promise<void> => {
    unpin()
    await leave(peers)
  }
  return peers.map((peer, index) => ({
    name: peer.name,
    measure: workOf(peer),
    ...(index === 0 ? { close } : {}),
  }))
}

async function leave(peers: readonly QueryPeer[]): Promise<void> {
  // PostgreSQL ends with the last of them.
  for (const peer of peers) await peer.stop()
  await removeFolders()
}

function reading(peer: QueryPeer, make: () => Buffer): () => Promise<Figures> {
  const made = Array.from({ length: MADE }, make)
  return warmed(peer, 32, () => made[Math.floor(Math.random() * MADE)] ?? make())
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
  const { answers, seconds } = await load(peer.port, callers, ROUND_MS)
  const { user, system } = process.cpuUsage(clientBefore)
  return {
    rate: answers / seconds,
    cpu: (peer.use().cpuMs - before) / answers,
    client: (user + system) / 1e6 / seconds,
  }
}

async function streamed(peer: QueryPeer, request: Buffer): Promise<Figures> {
  const before = peer.use()
  let most = before.proportionalMiB
  const watch = setInterval(() => {
    most = Math.max(most, peer.use().proportionalMiB)
  }, 100)
  const began = performance.now()
  await load(peer.port, [{ next: () => request }], 0)
  clearInterval(watch)
  const time = (performance.now() - began) / 1000
  return { time, cpu: peer.use().cpuMs - before.cpuMs, growth: most - before.proportionalMiB }
}

async function besideLongQuery(peer: QueryPeer): Promise<Figures> {
  const { statement = () => Buffer.alloc(0) } = peer
  const socket = ask(peer, statement(CROSS_JOIN))
  await sleep(BEGIN_MS)
  const figures = await paced(peer, ROUND_MS)
  socket.destroy()
  return figures
}

/** The long results are read by a process of their own: in this one they would hold up those who are timed. */
async function besideLongResults(peer: QueryPeer): Promise<Figures> {
  const long = peer.everything?.() ?? Buffer.alloc(0)
  const script = fileURLToPath(new URL('support/devour.js', import.meta.url))
  const reader = spawn(process.execPath, [script, String(peer.port)], { stdio: ['pipe', 'ignore', 'inherit'] })
  reader.stdin.end(long)
  await sleep(BEGIN_MS)
  const figures = await paced(peer, ROUND_MS)
  const ended = new Promise((resolve) => reader.once('exit', resolve))
  reader.kill()
  await ended
  return figures
}

/** Latency of 500 clients while expensive queries and a stalled reader run, memory growth, and CPU use afterwards. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { connectPaced } from './support/paced.ts'
import { type GatehousePeer, ROWS, startGatehouse } from './support/query-peers.ts'
import { warm } from './support/warm.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 10_000)
const CLIENTS = 500
const WARM_INSERTS = 10_000

/** Over 100,000 rows this visits 10^12 combinations: it never ends. */
export const CROSS_JOIN =
  'SELECT count(*) AS n FROM trades2 a CROSS JOIN trades2 b CROSS JOIN ten c CROSS JOIN ten d WHERE a.qty + b.qty + c.n + d.n < 0'
/** The endless query over fewer rows: several seconds of work. */
const LONG_JOIN = 'SELECT count(*) AS n FROM trades2 a CROSS JOIN trades2 b WHERE a.id < 1000 AND a.qty * b.qty < 0'

export const overload: Measurement = {
  name: 'query-overload',
  about: `key lookups of ${CLIENTS} clients at 500/s and inserts at 50/s, beside endless queries and a stalled reader`,
  columns: { p50: 'ms', p99: 'ms', write: 'p99 ms', growth: 'MiB', after: 'ms cpu' },
  ratios: [
    { column: 'p99', to: 'alone', most: 2 },
    { column: 'write', to: 'alone', most: 2 },
  ],
  targets: { growth: { most: 64 }, after: { most: 100 } },
  subject: async (checkout) => contender('beside', await startGatehouse(checkout), besideHostileClients),
  async *references() {
    yield contender('alone', await startGatehouse(HERE), (_peer, clients) => clients())
  },
}

async function contender(
  name: string,
  peer: GatehousePeer,
  measure: (peer: GatehousePeer, clients: () => Promise<Figures>) => Promise<Figures>,
): Promise<Contender> {
  let nextId = ROWS
  await warm(peer.port, () => peer.byKey(nextId % ROWS))
  await warm(peer.port, () => peer.insert(nextId++), WARM_INSERTS)
  return { name, measure: () => measure(peer, () => measureClients(peer, () => nextId++)), close: peer.stop }
}

async function besideHostileClients(peer: GatehousePeer, clients: () => Promise<Figures>): Promise<Figures> {
  const sockets = [
    ask(peer.port, peer.statement(CROSS_JOIN)),
    ask(peer.port, peer.statement(LONG_JOIN)),
    stalledReader(peer),
  ]
  // Reader processes start and the buffers of the stalled reader fill before the measurement.
  await sleep(2000)
  const figures = await clients()
  for (const socket of sockets) socket.destroy()
  await sleep(500)
  const before = peer.use().cpuMs
  await sleep(1000)
  return { ...figures, after: peer.use().cpuMs - before }
}

async function measureClients(peer: GatehousePeer, newId: () => number): Promise<Figures> {
  const before = peer.use().proportionalMiB
  const write = await connectPaced(peer, { perSecond: 50, next: () => peer.insert(newId()) })
  const look = await connectPaced(peer, { connections: CLIENTS })
  const [lookups, writes] = await Promise.all([look(ROUND_MS), write(ROUND_MS)])
  return { ...lookups, write: writes.p99, growth: peer.use().proportionalMiB - before, after: 0 }
}

export function ask(port: number, request: Buffer): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.write(request)
  return socket.resume()
}

/** Reads the first bytes of a million rows and no more. */
function stalledReader(peer: GatehousePeer): Socket {
  const socket = connect(peer.port, '127.0.0.1')
  socket.write(peer.everything())
  return socket.once('data', () => socket.pause())
}

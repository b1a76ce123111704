/** 500 clients beside all that a hostile one can ask for: what they notice, what the program grows by, and what is left when it goes. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figures, Measurement } from './support/compare.ts'
import { connectPaced } from './support/paced.ts'
import { type QueryPeer, ROWS, removeFolders, startGatehouse } from './support/query-peers.ts'
import { warm } from './support/warm.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 10_000)
const CLIENTS = 500
const WARM_INSERTS = 10_000

/** With 100,000 rows this goes through 10^12 of them: nobody waits for it. */
export const CROSS_JOIN =
  'SELECT count(*) AS n FROM trades2 a CROSS JOIN trades2 b CROSS JOIN ten c CROSS JOIN ten d WHERE a.qty + b.qty + c.n + d.n < 0'
/** The same over fewer rows, several seconds of work. */
const LONG = 'SELECT count(*) AS n FROM trades2 a CROSS JOIN trades2 b WHERE a.id < 1000 AND a.qty * b.qty < 0'

export const overload: Measurement = {
  name: 'query-overload',
  about: `key lookups of ${CLIENTS} clients at 500/s and inserts at 50/s, beside endless queries and a stalled reader`,
  columns: { p50: 'ms', p99: 'ms', write: 'p99 ms', growth: 'MiB', after: 'ms cpu' },
  ratios: [
    { column: 'p99', to: 'alone', most: 2 },
    { column: 'write', to: 'alone', most: 2 },
  ],
  targets: { growth: { most: 64 }, after: { most: 100 } },
  async contenders() {
    const peer = await startGatehouse()
    let next = ROWS
    const clients = () => measured(peer, () => next++)
    await warm(peer.port, () => peer.byKey(next % ROWS))
    await warm(peer.port, () => peer.insert(next++), WARM_INSERTS)
    return [
      {
        name: 'beside',
        measure: () => beside(peer, clients),
        async close() {
          await peer.stop()
          await removeFolders()
        },
      },
      { name: 'alone', measure: clients },
    ]
  },
}

async function beside(peer: QueryPeer, clients: () => Promise<Figures>): Promise<Figures> {
  const { statement = () => Buffer.alloc(0) } = peer
  const sockets = [ask(peer, statement(CROSS_JOIN)), ask(peer, statement(LONG)), stalled(peer)]
  // Processes start, and the stalled reader fills what lies between: that is not the state to compare with.
  await sleep(2000)
  const figures = await clients()
  for (const socket of sockets) socket.destroy()
  await sleep(500)
  const before = peer.use().cpuMs
  await sleep(1000)
  return { ...figures, after: peer.use().cpuMs - before }
}

async function measured(peer: QueryPeer, newId: () => number): Promise<Figures> {
  const before = peer.use().proportionalMiB
  const write = await connectPaced(peer, { perSecond: 50, next: () => peer.insert(newId()) })
  const look = await connectPaced(peer, { connections: CLIENTS })
  const [lookups, writes] = await Promise.all([look(ROUND_MS), write(ROUND_MS)])
  return { ...lookups, write: writes.p99, growth: peer.use().proportionalMiB - before, after: 0 }
}

export function ask(peer: QueryPeer, request: Buffer): Socket {
  const socket = connect(peer.port, '127.0.0.1')
  socket.write(request)
  return socket.resume()
}

/** Reads the first bytes of a million rows, and no more. */
function stalled(peer: QueryPeer): Socket {
  const socket = connect(peer.port, '127.0.0.1')
  socket.write(peer.everything?.() ?? Buffer.alloc(0))
  return socket.once('data', () => socket.pause())
}

/** Sends requests at a fixed rate, whether or not earlier ones are answered, so that queueing counts as latency. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type QueryPeer, ROWS } from './query-peers.ts'

const PER_SECOND = 500

export interface Pace {
  readonly connections?: number
  readonly perSecond?: number
  readonly next?: (sent: number) => Buffer
}

/** Milliseconds from when a request was due. */
export type Latencies = Readonly<Record<'p50' | 'p99', number>>

export async function paced(peer: QueryPeer, milliseconds: number, pace: Pace = {}): Promise<Latencies> {
  return (await connectPaced(peer, pace))(milliseconds)
}

/**
 * Connects and sends one request on every connection; returns a function that sends at the rate. Accepting hundreds of
 * connections takes a server tens of milliseconds, which would dominate the 99th percentile.
 */
export async function connectPaced(
  peer: Pick<QueryPeer, 'port' | 'byKey'>,
  { connections = 16, perSecond = PER_SECOND, next = (sent) => peer.byKey(sent % ROWS) }: Pace = {},
): Promise<(milliseconds: number) => Promise<Latencies>> {
  const sockets = Array.from({ length: connections }, () => connect(peer.port, '127.0.0.1').setNoDelay(true))
  await Promise.all(sockets.map((socket) => firstResponse(socket, peer.byKey(0))))
  return (milliseconds) => send(sockets, perSecond, (milliseconds / 1000) * perSecond, next)
}

function firstResponse(socket: Socket, request: Buffer): Promise<unknown> {
  socket.once('connect', () => socket.write(request))
  return new Promise((resolve) => socket.once('data', resolve))
}

async function send(
  sockets: readonly Socket[],
  perSecond: number,
  all: number,
  next: (sent: number) => Buffer,
): Promise<Latencies> {
  const waiting = sockets.map((): number[] => [])
  const times: number[] = []
  for (const [index, socket] of sockets.entries()) {
    socket.on('data', (bytes) => {
      const responses = bytes.toString('latin1').split('HTTP/1.1 200').length - 1
      for (const sent of waiting[index]?.splice(0, responses) ?? []) times.push(performance.now() - sent)
    })
  }
  const started = performance.now()
  for (let sent = 0; sent < all; sent++) {
    const due = started + (sent * 1000) / perSecond
    if (due > performance.now() + 1) await sleep(due - performance.now())
    // A request that is sent a little early counts from then.
    waiting[sent % sockets.length]?.push(Math.min(due, performance.now()))
    sockets[sent % sockets.length]?.write(next(sent))
  }
  for (let tries = 0; times.length < all && tries < 100; tries++) await sleep(100)
  for (const socket of sockets) socket.destroy()
  // Unanswered requests count as infinitely slow.
  while (times.length < all) times.push(Number.POSITIVE_INFINITY)
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

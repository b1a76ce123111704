/** Upgrade requests: opens a connection for accepted requests, and records refused ones. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Audit, type Principal, Refusal } from 'gatehouse-protocol'
import type { GateEvent } from '../../events/bus.ts'
import { survives } from '../../events/token-effect.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { outageRefusal } from '../../http/problem.ts'
import { type Credentials, readProof } from '../../http/request/authentication.ts'
import { increment } from '../../lib/counts.ts'
import type { Logger } from '../../telemetry/log.ts'
import { readTraceParent } from '../../telemetry/trace.ts'
import { codecFor } from '../codec/codec.ts'
import { mayStream, UPGRADE } from '../connection/authentication.ts'
import { Peer } from '../connection/peer.ts'
import type { Queues } from '../connection/queue-bounds.ts'
import type { ConnectionEnv } from '../connection/types.ts'
import { ServerSocket } from '../websocket/server-socket.ts'
import { acceptUpgrade, type Handshake, invalidToken, readHandshake } from './handshake.ts'
import { RETRY_LATER, type StreamLimits } from './stream-limits.ts'

export interface UpgradesOptions {
  readonly env: ConnectionEnv
  readonly limits: StreamLimits
  readonly queues: Queues
  readonly logger: Logger
  readonly audit: Audit
  readonly rateLimits?: Pick<RateLimits, 'countCaller'> | undefined
}

/** An upgrade request that has been read. */
interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly head: Buffer
  readonly address: string
  readonly handshake: Handshake
}

export class Upgrades {
  readonly #options: UpgradesOptions
  readonly #peers = new Set<Peer>()
  /** For each upgrade whose token is being checked: the events since then, which the check may not have seen. */
  readonly #eventsDuringChecks = new Set<GateEvent[]>()

  constructor(options: UpgradesOptions) {
    this.#options = options
  }

  /** The open connections. */
  get peers(): ReadonlySet<Peer> {
    return this.#peers
  }

  async accept(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): Promise<void> {
    const { limits, env } = this.#options
    try {
      const tcp = asTcpSocket(socket)
      limits.checkOpen()
      const handshake = readHandshake(request, env.settings)
      tcp.on('close', limits.acquire(address))
      const upgrade = { request, socket: tcp, head, address, handshake }
      if (handshake.credentials === undefined) this.#open(upgrade)
      else await this.#acceptWithToken(upgrade, handshake.credentials)
    } catch (error) {
      throw this.#recordRefusal(error, address)
    }
  }

  onEvent(event: GateEvent): void {
    for (const events of this.#eventsDuringChecks) events.push(event)
  }

  async #acceptWithToken(upgrade: Upgrade, { token, isProven }: Credentials): Promise<void> {
    const { env, limits } = this.#options
    const events: GateEvent[] = []
    this.#eventsDuringChecks.add(events)
    try {
      const principal = await env.authenticate(token)
      const isBound = principal?.boundKey !== undefined
      if (principal === undefined || !mayStream(principal, env.clock()) || isBound !== isProven) {
        env.counters.signInsRejected++
        throw invalidToken(isBound || isProven)
      }
      const nonce = isProven ? await this.#checkProof(upgrade, token, principal) : undefined
      limits.checkOpen()
      this.#checkCaller(principal, upgrade.address, events)
      const peer = this.#open(upgrade, nonce)
      peer?.connection.auth.signInAs(principal, token)
      for (const event of events) peer?.onEvent(event)
    } finally {
      // Only now: from here on the peer receives events itself.
      this.#eventsDuringChecks.delete(events)
    }
  }

  /** RFC 9449 §7.1: returns a new nonce for the client, if there is one. */
  async #checkProof({ request, address }: Upgrade, accessToken: string, principal: Principal) {
    const { env } = this.#options
    if (env.checkProof === undefined) throw invalidToken(true)
    const requestId = String(request.headers['request-id'] ?? '')
    try {
      return await env.checkProof({ proof: readProof(request), accessToken, principal, address, requestId, ...UPGRADE })
    } catch (error) {
      if (!isNonceDemand(error)) env.counters.signInsRejected++
      throw error
    }
  }

  #checkCaller(principal: Principal, address: string, events: readonly GateEvent[]): void {
    const { rateLimits, env } = this.#options
    if (!survives(principal, events)) throw invalidToken()
    const { clientId: client, subject: user } = principal
    rateLimits?.countCaller('stream', address, { client, user })
    if (env.sessions.isFull(user))
      throw new Refusal('stream.user_full', 429, 'This user has too many connections', { headers: RETRY_LATER })
  }

  /** Undefined if the client has left in the meantime. */
  #open({ request, socket: tcp, head, address, handshake }: Upgrade, nonce?: string): Peer | undefined {
    if (!tcp.readable || !tcp.writable) {
      tcp.destroy()
      return undefined
    }
    const { env, queues } = this.#options
    const { profile, subProtocol, windows } = handshake
    acceptUpgrade(tcp, request, handshake, subProtocol, nonce)
    env.counters.connectionsOpened++
    const identity = { connectionId: randomUUID(), address, profile, traceParent: readTraceParentHeader(request) }
    const codec = codecFor(subProtocol, profile.writesDefaultAction)
    const socket = new ServerSocket(tcp, { windows })
    const onClosed = (closed: Peer): void => void this.#peers.delete(closed)
    const peer = new Peer(socket, { identity, codec, env, queues, onClosed })
    socket.open(peer, head)
    this.#peers.add(peer)
    return peer
  }

  /** Counts and records a refused upgrade. An error that is not a Refusal is logged and becomes a bare 500. */
  #recordRefusal(error: unknown, address: string): Refusal {
    const { logger, audit, env } = this.#options
    const known = error instanceof Refusal ? error : outageRefusal(error)
    if (known === undefined) logger.error({ err: error }, 'an upgrade failed')
    const refusal = known ?? new Refusal('stream.failure', 500, 'The server failed')
    if (refusal.status === 401 && !isNonceDemand(refusal))
      audit.record({ event: 'stream.refused', address, details: { reason: refusal.code } })
    increment(env.counters.refusals, refusal.code)
    return refusal
  }
}

/** The client repeats the request with a nonce: nothing was wrong. */
function isNonceDemand(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'access.use_dpop_nonce'
}

/** Written again, since a client could append anything to it. */
function readTraceParentHeader({ headers }: IncomingMessage): string | undefined {
  const read = headers.traceparent === undefined ? undefined : readTraceParent(headers.traceparent)
  return read && `00-${read.traceId}-${read.spanId}-${read.sampled ? '01' : '00'}`
}

/** The socket that Node hands over with an upgrade request. */
export function asTcpSocket(socket: Duplex): Socket {
  if (socket instanceof Socket) return socket
  throw new Error('Streaming needs the socket of an HTTP/1.1 server')
}

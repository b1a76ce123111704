/** The gateway: accepts WebSocket upgrades, keeps the connections, forwards bus events and timer ticks, and drains. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  type Audit,
  type Authenticate,
  type Clock,
  type MonotonicClock,
  monotonicClock,
  noAudit,
  type Principal,
  Refusal,
} from 'gatehouse-protocol'
import type { Bus, GateEvent } from '../../events/bus.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { outageOf } from '../../http/problem.ts'
import type { Logger } from '../../telemetry/log.ts'
import { codecFor } from '../codec/codec.ts'
import { isBearer, mayStream } from '../connection/authentication.ts'
import { activeAuthority, survives } from '../connection/authority.ts'
import { Peer } from '../connection/peer.ts'
import { createQueues } from '../connection/queue-bounds.ts'
import { Sessions } from '../connection/sessions.ts'
import type { ConnectionEnv } from '../connection/types.ts'
import { authController } from '../controllers/auth.ts'
import { createPlatformController, type ServerInfo } from '../controllers/platform.ts'
import { Controllers, type UsableController } from '../controllers/registry.ts'
import type { StartedControllers } from '../controllers/start.ts'
import { increment, StreamCounters } from '../metrics.ts'
import type { StreamSettings } from '../settings.ts'
import { type Controller, refuse } from '../topics/controller.ts'
import { ServerSocket } from '../websocket/server-socket.ts'
import { ConnectionLimits, RETRY_LATER } from './connection-limits.ts'
import { createEcho } from './echo.ts'
import { EventDelivery } from './event-delivery.ts'
import {
  acceptUpgrade,
  type Handshake,
  invalidToken,
  offeredSubProtocol,
  readHandshake,
  readWebSocketHandshake,
} from './handshake.ts'

export interface GatewayOptions {
  readonly authenticate: Authenticate
  /** The current name of a user, for connections that are open while it changes. */
  readonly usernameOf?: ConnectionEnv['usernameOf']
  readonly bus: Bus
  readonly clock: Clock
  readonly monotonic?: MonotonicClock
  readonly logger: Logger
  readonly settings: StreamSettings
  readonly server: ServerInfo
  /** Controllers besides `Auth` and `Platform`. */
  readonly controllers: StartedControllers
  /** The controller `Query`, if the query service runs here. It is built in, hence no feed. */
  readonly queryController?: Controller | undefined
  readonly audit?: Audit
  /** Throws when an address, client or user exceeds its rate. */
  readonly rateLimits?: Pick<RateLimits, 'countAddress' | 'countCaller'>
}

/** User, client and expiry are undefined while the connection has no active authority. */
export interface OpenConnection {
  readonly connectionId: string
  readonly subject: string | undefined
  readonly username: string | undefined
  readonly clientId: string | undefined
  readonly expiresAt: number | undefined
  readonly address: string
  readonly openedAt: number
  readonly protocol: string
  readonly version: string
  readonly subscriptions: number
  readonly queuedBytes: number
}

export interface Gateway {
  /**
   * Opens a connection for an upgrade request from `address`, which the caller has counted against its rate limit.
   * Rejects with a Refusal, and with nothing else, before anything is written; then the caller must reply and close.
   * The caller handles errors of the socket.
   */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): Promise<void>
  /** Throws the Refusal with which an upgrade from this address would be answered now, if the node is full or stopping. */
  checkRoom(address: string): void
  /** A WebSocket that returns each message, for protocol test suites. */
  echo(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): void
  connections(): OpenConnection[]
  /** The topics that a caller with these scopes may use. */
  topicsFor(scopes: ReadonlySet<string>): readonly UsableController[]
  /** Closes one connection, or all connections of a user, on whichever node they are. */
  kick(target: { readonly connectionId: string } | { readonly subject: string }): Promise<void>
  /** Refuses new connections, lets requests in progress finish, and spreads the closes over the drain time. */
  drain(): Promise<void>
  /** For new connections and, where they are read at each use, open ones. */
  setSettings(next: StreamSettings): void
  readonly counters: StreamCounters
}

/** An upgrade request that has been read. */
interface PeerUpgrade {
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly head: Buffer
  readonly address: string
  readonly handshake: Handshake
}

export function createGateway(options: GatewayOptions): Gateway {
  const { authenticate, bus, clock, monotonic = monotonicClock, logger, audit = noAudit } = options
  const settings = { ...options.settings }
  const counters = new StreamCounters()
  const { controllers: started } = options
  const { hub } = started
  const peers = new Set<Peer>()
  const queues = createQueues(settings)
  const echo = createEcho({ settings, monotonic, queues, counters })
  const limits = new ConnectionLimits(settings)
  const controllers = new Controllers([
    authController,
    createPlatformController(options.server, started.feeds),
    ...(options.queryController === undefined ? [] : [options.queryController]),
    ...started.controllers,
  ])
  const env: ConnectionEnv = {
    clock,
    monotonic,
    settings,
    authenticate,
    usernameOf: options.usernameOf ?? (async () => undefined),
    counters,
    hub,
    controllers,
    sessions: new Sessions(settings, () => counters.sessionsDisplaced++),
    // The access token itself, which is ASCII: it grants nothing that its holder does not already have.
    restoreToken: (accessToken) => (settings.streamRestoreTokens ? btoa(accessToken) : undefined),
    onFault: (error, connectionId) => {
      if (outageOf(error) === undefined) logger.error({ err: error, connectionId }, 'a streaming operation failed')
    },
    onSignInRejected: ({ address, subject, provider }) => {
      countRejectedSignIn(address)
      // An unknown provider is not recorded: it may be long, or a token in the wrong member.
      const details = { reason: 'rejected', provider: isBearer(provider) ? 'Bearer' : 'unknown' }
      audit.record({ event: 'stream.refused', address, actor: subject, details })
    },
  }
  let draining = false

  /** For each upgrade whose token is being checked: the events since then, which the check may not have seen. */
  const eventsDuringChecks = new Set<GateEvent[]>()
  const deliveries = new EventDelivery<GateEvent>(peers, (error) =>
    logger.error({ err: error }, 'a connection failed to handle an event'),
  )
  const unsubscribe = bus.subscribe((event: GateEvent) => {
    for (const events of eventsDuringChecks) events.push(event)
    deliveries.deliver(event)
  })
  const sweep = setInterval(() => {
    const now = { time: clock(), monotonic: monotonic() }
    for (const peer of peers) peer.tick(now)
    echo.tick(now.monotonic)
  }, settings.streamSweepInterval)
  sweep.unref()

  async function accept(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): Promise<void> {
    try {
      if (!(socket instanceof Socket)) throw new Error('Streaming needs the socket of an HTTP/1.1 server')
      if (draining) throw stopping()
      const handshake = readHandshake(request, settings)
      socket.on('close', limits.acquire(address))
      const upgrade = { request, socket, head, address, handshake }
      if (handshake.accessToken === undefined) openPeer(upgrade)
      else await acceptWithToken(upgrade, handshake.accessToken)
    } catch (error) {
      throw recordRefusal(error, address)
    }
  }

  async function acceptWithToken(upgrade: PeerUpgrade, accessToken: string): Promise<void> {
    const events: GateEvent[] = []
    eventsDuringChecks.add(events)
    try {
      const principal = await authenticate(accessToken)
      if (principal === undefined || !mayStream(principal, clock())) {
        counters.signInsRejected++
        throw invalidToken()
      }
      if (draining) throw stopping()
      checkCaller(principal, upgrade.address, events)
      const peer = openPeer(upgrade)
      peer?.connection.auth.signInAs(principal, accessToken)
      for (const event of events) peer?.onEvent(event)
    } finally {
      // Only now: from here on the peer receives events itself.
      eventsDuringChecks.delete(events)
    }
  }

  function checkCaller(principal: Principal, address: string, events: readonly GateEvent[]): void {
    if (!survives(principal, events)) throw invalidToken()
    const { clientId: client, subject: user } = principal
    options.rateLimits?.countCaller('stream', address, { client, user })
    if (env.sessions.isFull(principal.subject))
      throw new Refusal('stream.user_full', 429, 'This user has too many connections', { headers: RETRY_LATER })
  }

  /** Counts like a refused upgrade, so that attempts on one connection cannot fill the audit log. */
  function countRejectedSignIn(address: string): void {
    try {
      options.rateLimits?.countAddress('stream', address)
    } catch (error) {
      throw error instanceof Refusal ? refuse('Limited', 'rejected sign-ins', error) : error
    }
  }

  /** Undefined if the client has left in the meantime. */
  function openPeer({ request, socket: tcpSocket, head, address, handshake }: PeerUpgrade): Peer | undefined {
    if (!tcpSocket.readable || !tcpSocket.writable) {
      tcpSocket.destroy()
      return undefined
    }
    const { profile, subProtocol, windows } = handshake
    acceptUpgrade(tcpSocket, request, handshake, subProtocol)
    counters.connectionsOpened++
    const identity = { connectionId: randomUUID(), address, profile }
    const codec = codecFor(subProtocol, profile.writesDefaultAction)
    const socket = new ServerSocket(tcpSocket, { maxMessageBytes: settings.streamMaxMessageBytes, windows })
    const peer = new Peer(socket, { identity, codec, env, queues, onClosed })
    socket.open(peer, head)
    peers.add(peer)
    return peer
  }

  function onClosed(peer: Peer): void {
    peers.delete(peer)
  }

  /** Counts and records a refused upgrade. An error that is not a Refusal is logged and becomes a bare 500. */
  function recordRefusal(error: unknown, address: string): Refusal {
    const known = error instanceof Refusal ? error : outageOf(error)
    if (known === undefined) logger.error({ err: error }, 'an upgrade failed')
    const refusal = known ?? new Refusal('stream.failure', 500, 'The server failed')
    if (refusal.status === 401) audit.record({ event: 'stream.refused', address, details: { reason: refusal.code } })
    increment(counters.refusals, refusal.code)
    return refusal
  }

  return {
    counters,
    accept,
    checkRoom(address) {
      if (draining) throw stopping()
      limits.check(address)
    },
    echo(request, socket, head, address) {
      if (!(socket instanceof Socket)) throw new Error('Streaming needs the socket of an HTTP/1.1 server')
      if (draining) throw stopping()
      const handshake = readWebSocketHandshake(request, settings)
      socket.on('close', limits.acquire(address))
      acceptUpgrade(socket, request, handshake, offeredSubProtocol(request))
      echo.open(socket, head, handshake.windows, address)
    },
    connections() {
      const now = clock()
      return [...peers].map((peer) => describeSession(peer, now))
    },
    topicsFor: (scopes) => controllers.usableBy(scopes),
    kick: (target) => bus.publish({ kind: 'stream-kick', ...target }),
    setSettings: (next) => void Object.assign(settings, next),
    async drain() {
      if (draining) return
      draining = true
      started.stop()
      echo.stop()
      await closeAll(peers, settings.streamDrainTime)
      clearInterval(sweep)
      unsubscribe()
    },
  }
}

function describeSession({ connection, openedAt, codec, queuedBytes }: Peer, now: number): OpenConnection {
  const { connectionId, address, profile } = connection.caller.identity
  const active = activeAuthority(connection.auth.authority, now)
  return {
    connectionId,
    subject: active?.principal.subject,
    username: active?.principal.username,
    clientId: active?.principal.clientId,
    expiresAt: active?.expiresAt,
    address,
    openedAt,
    protocol: codec.subProtocol,
    version: profile.version,
    subscriptions: connection.subscriptions.size,
    queuedBytes,
  }
}

const DRAIN_STEP = 20
/** How much longer than the drain time requests in progress and closing handshakes may take. */
const DRAIN_GRACE = 2_000

/** Spreads the closes over the drain time, so that the clients do not all reconnect to another node at once. */
async function closeAll(peers: ReadonlySet<Peer>, drainTime: number): Promise<void> {
  const waiting = [...peers]
  const started = performance.now()
  const total = waiting.length
  while (waiting.length > 0) {
    const share = Math.min(1, (performance.now() - started + DRAIN_STEP) / drainTime)
    while (waiting.length > total * (1 - share)) waiting.pop()?.connection.finish()
    if (waiting.length > 0) await pause(DRAIN_STEP)
  }
  const end = started + drainTime + DRAIN_GRACE
  while (peers.size > 0 && performance.now() < end) await pause(DRAIN_STEP)
  for (const peer of peers) peer.terminate()
}

function stopping(): Refusal {
  return new Refusal('stream.stopping', 503, 'The server is stopping', { headers: { 'retry-after': '1' } })
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

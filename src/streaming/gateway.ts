/** The gateway: takes upgrades, keeps the connections, feels the bus, sweeps for what is due, drains. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Bus, GateEvent } from '../events/bus.ts'
import type { Doors } from '../http/doors.ts'
import type { Logger } from '../http/log.ts'
import { type Audit, noAudit } from '../protocol/audit-events.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'
import { inForce, outlives } from './authority.ts'
import { CODECS } from './codec.ts'
import type { Connection } from './connection.ts'
import { type Controller, refuse } from './controller.ts'
import { authController } from './controllers/auth.ts'
import { Controllers } from './controllers/catalogue.ts'
import { createPlatformController, type ServerInfo } from './controllers/platform.ts'
import { increment, StreamCounters } from './counters.ts'
import { type Handshake, invalidToken, readHandshake, replyWithRefusal, splitTarget } from './handshake.ts'
import { Hub, topicKey } from './hub.ts'
import { Peer } from './peer.ts'
import { Places, RETRY_LATER } from './places.ts'
import { Sessions } from './sessions.ts'
import type { StreamSettings } from './settings.ts'
import { createSocketServers, type PeerSocket } from './sockets.ts'
import { isBearer, mayStream } from './standing.ts'
import type { ConnectionEnv } from './surroundings.ts'

export interface GatewayOptions {
  readonly authenticate: Authenticate
  readonly bus: Bus
  readonly clock: Clock
  readonly logger: Logger
  readonly settings: StreamSettings
  readonly server: ServerInfo
  /** Controllers beside `Auth` and `Platform`. */
  readonly controllers?: readonly Controller[]
  readonly audit?: Audit
  /** The client's address, as far as proxies are trusted; the socket's by default. */
  readonly addressOf?: (request: IncomingMessage) => string
  /** Throws when the address, client or user comes too often. */
  readonly doors?: Pick<Doors, 'enter' | 'admit'>
}

/** Who it acts for and until when is undefined while the connection has no authority in force. */
export interface LiveSession {
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
  /** To be called for every `upgrade` event of the HTTP server. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  liveSessions(): LiveSession[]
  /** Closes one connection, or all of a user's, on whichever node they are. */
  kick(whom: { readonly connectionId: string } | { readonly subject: string }): Promise<void>
  /** Takes no more connections, lets what is in flight finish, closes all over the drain time. */
  drain(): Promise<void>
  readonly counters: StreamCounters
}

export function createGateway(options: GatewayOptions): Gateway {
  const { authenticate, bus, clock, logger, settings, audit = noAudit, addressOf = addressOfSocket } = options
  const counters = new StreamCounters()
  const hub = new Hub()
  const peers = new Set<Peer>()
  const echoes = new Set<PeerSocket>()
  const places = new Places(settings)
  const socketsFor = createSocketServers(settings)
  const controllers = new Controllers([
    authController,
    createPlatformController(options.server, () =>
      (options.controllers ?? []).map(({ name }) => ({ Name: name, Class: 'Controller', Status: 'Up' })),
    ),
    ...(options.controllers ?? []),
  ])
  const env: ConnectionEnv = {
    clock,
    settings,
    authenticate,
    counters,
    hub,
    controllers,
    sessions: new Sessions<Connection>(settings, () => counters.sessionsDisplaced++),
    // The token that restores a connection is the access token itself: it opens nothing that its holder could not open before.
    restoreToken: (_principal, accessToken) =>
      settings.streamRestoreTokens ? Buffer.from(accessToken).toString('base64') : undefined,
    onFault: (error, connectionId) => logger.error({ err: error, connectionId }, 'a streaming operation failed'),
    onSignInRefused: ({ address, subject }, provider) => {
      countRefused(address)
      // What stands there instead of Bearer is not recorded: it is long, or a token in the wrong place.
      const details = { reason: 'rejected', provider: isBearer(provider) ? 'Bearer' : 'unknown' }
      audit.record({ event: 'stream.refused', address, actor: subject, details })
    },
  }
  let draining = false

  /** For each upgrade whose token is being checked: the events that the check may have missed. */
  const missed = new Set<GateEvent[]>()
  const unsubscribe = bus.subscribe((event: GateEvent) => {
    for (const events of missed) events.push(event)
    for (const peer of peers) peer.feel(event)
  })
  const sweep = setInterval(() => {
    const now = clock()
    for (const peer of peers) peer.tick(now)
  }, settings.streamSweepInterval)
  sweep.unref()
  const stops = controllers.all().map((controller) =>
    controller.start?.({
      clock,
      publish: (topic, data) => hub.publish(controller.name, topic, data, clock()),
      subscribers: (topic) => hub.count(topicKey(controller.name, topic)),
    }),
  )

  async function accept(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    if (draining) throw stopping()
    if (settings.streamEcho && splitTarget(request).path === '/echo') {
      echo(request, socket, head)
      return
    }
    const address = addressOf(request)
    options.doors?.enter('stream', address)
    const handshake = readHandshake(request, settings.streamOrigins)
    socket.once('close', places.take(address))
    const events: GateEvent[] = []
    missed.add(events)
    try {
      const principal = await identify(handshake)
      if (draining) throw stopping()
      if (principal !== undefined) admit(principal, address, events)
      socketsFor(request.headers['sec-websocket-extensions']).handleUpgrade(request, socket, head, (upgraded) => {
        const peer = welcome(upgraded, socket, handshake, address, principal)
        for (const event of events) peer.feel(event)
      })
    } finally {
      // Not sooner: from here on the peer itself feels what happens.
      missed.delete(events)
    }
  }

  async function identify({ accessToken }: Handshake): Promise<Principal | undefined> {
    if (accessToken === undefined) return undefined
    const principal = await authenticate(accessToken)
    if (principal !== undefined && mayStream(principal, clock())) return principal
    counters.signInsRejected++
    throw invalidToken()
  }

  function admit(principal: Principal, address: string, events: readonly GateEvent[]): void {
    if (!outlives(principal, events)) throw invalidToken()
    const { clientId: client, subject: user } = principal
    options.doors?.admit('stream', address, { client, user })
    if (env.sessions.isFull(principal.subject))
      throw new Refusal('stream.user_full', 429, 'This user has too many connections', { headers: RETRY_LATER })
  }

  /** As a refused upgrade counts at the door, so that one connection cannot fill the audit log instead of many. */
  function countRefused(address: string): void {
    try {
      options.doors?.enter('stream', address)
    } catch (error) {
      throw error instanceof Refusal ? refuse('Limited', 'rejected sign-ins', error) : error
    }
  }

  function welcome(
    socket: PeerSocket,
    wire: Socket,
    { profile, subProtocol, accessToken }: Handshake,
    address: string,
    principal: Principal | undefined,
  ): Peer {
    counters.connectionsOpened++
    const identity = { connectionId: randomUUID(), address, profile }
    const peer = new Peer(socket, wire, { identity, codec: CODECS[subProtocol], env, onGone })
    peers.add(peer)
    if (principal !== undefined && accessToken !== undefined) peer.begin(principal, accessToken)
    return peer
  }

  function onGone(peer: Peer): void {
    peers.delete(peer)
  }

  function echo(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socketsFor(request.headers['sec-websocket-extensions']).handleUpgrade(request, socket, head, (upgraded) => {
      echoes.add(upgraded)
      upgraded.on('close', () => echoes.delete(upgraded))
      upgraded.on('error', () => {})
      upgraded.on('message', (data, isBinary) => upgraded.send(data, { binary: isBinary }))
    })
  }

  return {
    counters,
    upgrade(request, socket, head) {
      if (!(socket instanceof Socket)) throw new Error('Streaming needs the socket of an HTTP/1.1 server')
      socket.on('error', ignore)
      accept(request, socket, head).catch((error: unknown) => {
        const refusal = error instanceof Refusal ? error : failure()
        if (!(error instanceof Refusal)) logger.error({ err: error }, 'an upgrade failed')
        if (refusal.status === 401)
          audit.record({ event: 'stream.refused', address: addressOf(request), details: { reason: refusal.code } })
        increment(counters.refusals, refusal.code)
        replyWithRefusal(socket, refusal)
      })
    },
    liveSessions() {
      const now = clock()
      return [...peers].map((peer) => describeSession(peer, now))
    },
    kick: (whom) => bus.publish({ kind: 'stream-kick', ...whom }),
    async drain() {
      if (draining) return
      draining = true
      for (const stop of stops) stop?.()
      for (const echoing of echoes) echoing.terminate()
      await closeAll(peers, settings.streamDrainTime)
      clearInterval(sweep)
      unsubscribe()
    },
  }
}

function describeSession(peer: Peer, now: number): LiveSession {
  const { connection } = peer
  const held = inForce(connection.authority, now)
  return {
    connectionId: connection.connectionId,
    subject: held?.principal.subject,
    username: held?.principal.username,
    clientId: held?.principal.clientId,
    expiresAt: held?.expiresAt,
    address: connection.address,
    openedAt: peer.openedAt,
    protocol: peer.codec.subProtocol,
    version: connection.profile.version,
    subscriptions: connection.subscriptionCount,
    queuedBytes: peer.queuedBytes,
  }
}

/** Spread over the time, so that the clients do not all come back to another node at once. */
async function closeAll(peers: ReadonlySet<Peer>, drainTime: number): Promise<void> {
  const waiting = [...peers]
  const started = performance.now()
  const total = waiting.length
  while (waiting.length > 0) {
    const share = Math.min(1, (performance.now() - started + DRAIN_STEP) / drainTime)
    while (waiting.length > total * (1 - share)) waiting.pop()?.connection.finish()
    if (waiting.length > 0) await pause(DRAIN_STEP)
  }
  const end = started + drainTime + DRAIN_PATIENCE
  while (peers.size > 0 && performance.now() < end) await pause(DRAIN_STEP)
  for (const peer of peers) peer.cut()
}

/** Made here, not where it is used: a closure there would keep the whole request as long as its socket. */
function ignore(): void {}

const DRAIN_STEP = 20
/** What is in flight at the end of the drain time, and the closing handshakes, get this much longer. */
const DRAIN_PATIENCE = 2_000

function stopping(): Refusal {
  return new Refusal('stream.stopping', 503, 'The server is stopping', { headers: { 'retry-after': '1' } })
}

function failure(): Refusal {
  return new Refusal('stream.failure', 500, 'The server failed')
}

function addressOfSocket(request: IncomingMessage): string {
  return request.socket.remoteAddress ?? ''
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

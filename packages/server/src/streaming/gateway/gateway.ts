/** The gateway: puts the parts of the streaming service together, forwards bus events and timer ticks to the connections, and drains. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  type Audit,
  type Authenticate,
  type Clock,
  type MonotonicClock,
  monotonicClock,
  noAudit,
  Refusal,
} from 'gatehouse-protocol'
import type { Bus, GateEvent } from '../../events/bus.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { outageRefusal } from '../../http/problem.ts'
import { createStepUp, type StepUp } from '../../step-up/step-up.ts'
import type { Logger } from '../../telemetry/log.ts'
import { createQueues } from '../connection/queue-bounds.ts'
import type { ConnectionEnv } from '../connection/types.ts'
import { UserSessions } from '../connection/user-sessions.ts'
import { authController, isBearer, isDpop } from '../controllers/auth.ts'
import { createPlatformController, PLATFORM, type ServerInfo } from '../controllers/platform.ts'
import { Controllers, type UsableController } from '../controllers/registry.ts'
import type { StartedControllers } from '../controllers/start.ts'
import { StreamCounters } from '../metrics.ts'
import type { StreamSettings } from '../settings.ts'
import { type Controller, refuse } from '../topics/controller.ts'
import { drain } from './drain.ts'
import { Echo } from './echo.ts'
import { EventDelivery } from './event-delivery.ts'
import { acceptUpgrade, offeredSubProtocol, readWebSocketHandshake } from './handshake.ts'
import { describeConnection, type OpenConnection } from './open-connection.ts'
import { StreamLimits } from './stream-limits.ts'
import { asTcpSocket, Upgrades } from './upgrades.ts'

export interface GatewayOptions {
  readonly authenticate: Authenticate
  /** Undefined where no token is bound to a key. */
  readonly checkProof?: ConnectionEnv['checkProof']
  readonly stepUp?: StepUp
  readonly licences?: ConnectionEnv['licences']
  /** The current name of a user, for connections that are open while it changes. */
  readonly findUsername?: ConnectionEnv['findUsername']
  readonly bus: Bus
  readonly clock: Clock
  readonly monotonic?: MonotonicClock
  readonly logger: Logger
  readonly settings: StreamSettings
  readonly server: ServerInfo
  /** Controllers besides `Auth` and `Platform`. */
  readonly controllers: StartedControllers
  /** The controller `Query`, if the query service runs here. It is built in, so it is not a feed. */
  readonly queryController?: Controller | undefined
  readonly audit?: Audit
  /** Throws when an address, client or user exceeds its rate. */
  readonly rateLimits?: Pick<RateLimits, 'countAddress' | 'countCaller'>
}

/** Controllers that operators declare: feeds, and programs elsewhere. */
export type DeclaredKind = 'feeds' | 'remote'

export class Gateway {
  readonly counters = new StreamCounters()
  readonly #bus: Bus
  readonly #started: StartedControllers
  readonly #settings: StreamSettings
  readonly #env: ConnectionEnv
  readonly #limits: StreamLimits
  readonly #upgrades: Upgrades
  readonly #echo: Echo
  readonly #unsubscribe: () => void
  readonly #sweep: NodeJS.Timeout
  readonly #declared = new Map<DeclaredKind, readonly Controller[]>()

  constructor(options: GatewayOptions) {
    const { bus, logger, rateLimits, audit = noAudit, settings: given } = options
    const settings = { ...given }
    this.#settings = settings
    this.#bus = bus
    this.#started = options.controllers
    this.#env = connectionEnv(options, settings, this.counters)
    this.#limits = new StreamLimits(settings)
    const queues = createQueues(settings)
    this.#upgrades = new Upgrades({ env: this.#env, limits: this.#limits, queues, logger, audit, rateLimits })
    this.#echo = new Echo(settings)
    this.#unsubscribe = this.#forwardEvents(logger)
    this.#sweep = setInterval(() => this.#tick(), settings.streamSweepInterval)
    this.#sweep.unref()
  }

  /**
   * Opens a connection for an upgrade request from `address`, which the caller has counted against its rate limit.
   * Rejects with a Refusal, and with nothing else, before anything is written; then the caller must reply and close.
   * The caller handles errors of the socket.
   */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): Promise<void> {
    return this.#upgrades.accept(request, socket, head, address)
  }

  /** Throws the Refusal with which an upgrade from this address would be answered now, if the node is full or stopping. */
  checkRoom(address: string): void {
    this.#limits.check(address)
  }

  /** A WebSocket that returns each message, for protocol test suites. */
  echo(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): void {
    const tcp = asTcpSocket(socket)
    this.#limits.checkOpen()
    const handshake = readWebSocketHandshake(request, this.#settings)
    tcp.on('close', this.#limits.acquire(address))
    acceptUpgrade(tcp, request, handshake, offeredSubProtocol(request))
    this.#echo.open(tcp, head, handshake.windows)
  }

  connections(): OpenConnection[] {
    const now = this.#env.clock()
    return [...this.#upgrades.peers].map((peer) => describeConnection(peer, now))
  }

  /** The topics that a caller with these scopes may use. */
  topicsFor(scopes: ReadonlySet<string>): readonly UsableController[] {
    return this.#env.controllers.usableBy(scopes)
  }

  /**
   * The controllers that are declared of this kind, in place of those before: requests that arrive from now on use them. Returns the names that built-in
   * or loaded controllers have already, which stay in use.
   */
  setDeclared(kind: DeclaredKind, declared: readonly Controller[]): string[] {
    const { hub, feeds } = this.#started
    this.#declared.set(kind, declared)
    const controllers = [...this.#declared.values()].flat()
    const taken = this.#env.controllers.setDeclared(controllers)
    feeds.setDeclared(controllers)
    hub.publishByProfile(PLATFORM, 'Feeds', (profile) => feeds.describe(profile), this.#env.clock())
    return taken
  }

  /** Closes one connection, or all connections of a user, on any node. */
  kick(target: { readonly connectionId: string } | { readonly subject: string }): Promise<void> {
    return this.#bus.publish({ kind: 'stream-kick', ...target })
  }

  /** The longest message that clients may send. */
  get maxMessageBytes(): number {
    return this.#settings.streamMaxMessageBytes
  }

  /** For new connections and, where they are read at each use, open ones. */
  setSettings(next: StreamSettings): void {
    Object.assign(this.#settings, next)
  }

  /** Products cover other controllers now. */
  licencesChanged(): void {
    for (const peer of this.#upgrades.peers) peer.connection.subscriptions.cover()
  }

  /** Refuses new connections, lets requests in progress finish, and spreads the closes over the drain time. */
  async drain(): Promise<void> {
    if (this.#limits.isStopping) return
    this.#limits.stop()
    this.#started.stop()
    this.#echo.stop()
    await drain(this.#upgrades.peers, this.#settings.streamDrainTime)
    clearInterval(this.#sweep)
    this.#unsubscribe()
  }

  #forwardEvents(logger: Logger): () => void {
    const deliveries = new EventDelivery<GateEvent>(this.#upgrades.peers, (error) =>
      logger.error({ err: error }, 'a connection failed to handle an event'),
    )
    return this.#bus.subscribe((event) => {
      this.#upgrades.onEvent(event)
      deliveries.deliver(event)
    })
  }

  #tick(): void {
    const now = { time: this.#env.clock(), monotonic: this.#env.monotonic() }
    for (const peer of this.#upgrades.peers) peer.tick(now)
  }
}

/** What all connections share. */
function connectionEnv(options: GatewayOptions, settings: StreamSettings, counters: StreamCounters): ConnectionEnv {
  const { authenticate, clock, monotonic = monotonicClock, logger, audit = noAudit, controllers: started } = options
  return {
    clock,
    monotonic,
    settings,
    authenticate,
    checkProof: options.checkProof,
    stepUp: options.stepUp ?? createStepUp({ clock, audit }),
    licences: options.licences,
    findUsername: options.findUsername ?? (async () => undefined),
    counters,
    hub: started.hub,
    controllers: new Controllers([
      authController,
      createPlatformController(options.server, started.feeds),
      ...(options.queryController === undefined ? [] : [options.queryController]),
      ...started.controllers,
    ]),
    sessions: new UserSessions(settings, () => counters.sessionsDisplaced++),
    // The access token itself, which is ASCII: it grants nothing that its holder does not already have.
    restoreToken: (accessToken) => (settings.streamRestoreTokens ? btoa(accessToken) : undefined),
    onFault: (error, connectionId) => {
      if (outageRefusal(error) === undefined) logger.error({ err: error, connectionId }, 'a streaming operation failed')
    },
    onSignInRejected: ({ address, subject, provider }) => {
      countRejectedSignIn(options.rateLimits, address)
      // An unknown provider is not recorded: it may be long, or a token in the wrong member.
      const known = isBearer(provider) ? 'Bearer' : isDpop(provider) ? 'DPoP' : 'unknown'
      const details = { reason: 'rejected', provider: known }
      audit.record({ event: 'stream.refused', address, actor: subject, details })
    },
  }
}

/** Counts like a refused upgrade, so that attempts on one connection cannot fill the audit log. */
function countRejectedSignIn(rateLimits: Pick<RateLimits, 'countAddress'> | undefined, address: string): void {
  try {
    rateLimits?.countAddress('stream', address)
  } catch (error) {
    throw error instanceof Refusal ? refuse('Limited', 'rejected sign-ins', error) : error
  }
}

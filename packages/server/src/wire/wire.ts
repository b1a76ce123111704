/** The server of PostgreSQL's protocol, the entry of this folder: accepts connections, signs them in, and keeps track of the open ones. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { type Audit, type Clock, type GateEvent, isLoopback } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import { survives } from '../events/token-effect.ts'
import { countedNetworks, type RateLimits } from '../http/limits/rate-limits.ts'
import type { Certificate } from '../http/listener.ts'
import { bareAddress } from '../http/request/request-head.ts'
import { addressNetwork } from '../lib/network.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type CancelEnv, CancelKeys } from './cancel.ts'
import { type CloseReason, type ConnectionEnv, WireConnection } from './connection.ts'
import { Admission } from './listener/admission.ts'
import { Negotiation, type NegotiationEnv, type StartUp } from './listener/negotiation.ts'
import type { WirePort } from './listener/port.ts'
import { TlsUpgrades } from './listener/tls.ts'
import { MessageTurns } from './message-turns.ts'
import { ConnectionMemory, SharedMemory } from './protocol/connection-memory.ts'
import { MessageReader } from './protocol/reader.ts'
import { AUTHENTICATION_OK, backendKeyData, type ErrorFields, errorResponse } from './protocol/replies.ts'
import type { OpenSession } from './session/contract.ts'
import type { Sessions, SessionsOptions } from './session/sessions.ts'
import { ConnectionGone, SignInChannel } from './sign-in/channel.ts'
import { Limited, NotAccepted, TOO_MANY, toSignInRefusal } from './sign-in/refusal.ts'
import { mayUsePlatform, type SignInEnv, type SignInResult, signIn } from './sign-in/sign-in.ts'
import { negotiateVersion, readStartUp, StartUpRefused } from './sign-in/start-up.ts'

export type { Sessions } from './session/sessions.ts'

export interface WireSettings {
  readonly statementBytes: number
  readonly bindBytes: number
  /** What all connections together may keep between messages. */
  readonly keptBytes: number
  /** Signed in, on this node. */
  readonly connections: number
  readonly idleMs: number
  /** Addresses and networks to which the limits per address do not apply. */
  readonly exempt: readonly string[]
}

export interface WireEnv extends SignInEnv, Pick<ConnectionEnv, 'findUsername'> {
  /** Called by each sign-in that is accepted. */
  readonly loadSessions: () => Promise<OpenSession>
  readonly settings: WireSettings
  readonly certificate: Certificate | undefined
  readonly bus: Pick<Bus, 'subscribe'>
  readonly clock: Clock
  readonly rateLimits: Pick<RateLimits, 'countAddress'>
  readonly audit: Audit
  readonly metrics: Metrics
  readonly logger: Logger
  readonly passCancelOn: CancelEnv['passOn']
  readonly passOwnCancelOn: CancelEnv['passOwnOn']
}

/** Loads what runs statements, half of this folder. */
export async function openSessions(options: SessionsOptions): Promise<Sessions> {
  const sessions = await import('./session/sessions.ts')
  return sessions.openSessions(options)
}

/** For the administration. */
interface OpenWireConnection {
  readonly connectionId: string
  readonly subject: string
  readonly username: string | undefined
  readonly clientId: string
  readonly address: string
  readonly openedAt: number
  readonly expiresAt: number
  readonly application: string
  readonly isIdle: boolean
}

const SIGN_IN_MS = 10_000
const SWEEP_MS = 250
const PER_USER = 20
const WAITING = 500
const WAITING_PER_ADDRESS = 50
const LONGEST_NAME = 63
/** How long statements may go on when the node stops. */
const STOP_MS = 800

export class Wire {
  readonly #env: WireEnv
  readonly #port: WirePort
  readonly #tls: TlsUpgrades | undefined
  readonly #admission: Admission
  readonly #cancelKeys: CancelKeys
  readonly #memory: SharedMemory
  readonly #turns = new MessageTurns(monotonic)
  readonly #open = new Map<string, WireConnection>()
  /** For each sign-in in progress, the events since it began: its check may not have seen them. */
  readonly #signingIn = new Set<GateEvent[]>()
  readonly #unsubscribe: () => void
  readonly #sweep: NodeJS.Timeout
  #isStopping = false
  #refusing = 0

  constructor(env: WireEnv, port: WirePort) {
    const { settings, certificate, bus, metrics } = env
    this.#env = env
    this.#port = port
    this.#tls = certificate && new TlsUpgrades(certificate, SIGN_IN_MS)
    this.#admission = new Admission(
      {
        connections: settings.connections,
        perUser: PER_USER,
        waiting: WAITING,
        waitingPerAddress: WAITING_PER_ADDRESS,
      },
      countedNetworks(settings.exempt),
    )
    this.#memory = new SharedMemory(settings.keptBytes)
    this.#cancelKeys = new CancelKeys({
      passOn: env.passCancelOn,
      passOwnOn: env.passOwnCancelOn,
      addressNetwork: (address) => addressNetwork(bareAddress(address)),
      monotonic,
    })
    this.#unsubscribe = bus.subscribe((event) => this.#onEvent(event))
    this.#sweep = setInterval(() => this.#tick(), SWEEP_MS)
    this.#sweep.unref()
    metrics.watch('gatehouse_wire_connections', () => [
      [{ state: 'open' }, this.#open.size],
      [{ state: 'signing in' }, this.#admission.waiting],
    ])
  }

  get port(): number {
    return this.#port.port
  }

  /** From now on connections are served. */
  serve(): void {
    this.#port.serveWith((socket) => this.#accept(socket))
  }

  setCertificate(certificate: Certificate): void {
    this.#tls?.setCertificate(certificate)
  }

  *connections(): Generator<OpenWireConnection> {
    for (const connection of this.#open.values()) {
      const { id, principal, address, openedAt, expiresAt, isIdle } = connection
      yield {
        connectionId: id,
        subject: principal.subject,
        username: principal.username,
        clientId: principal.clientId,
        application: applicationName(connection.startup) ?? '',
        ...{ address, openedAt, expiresAt, isIdle },
      }
    }
  }

  /** A CancelRequest that another node passes on. */
  cancel(processId: number, digest: string): boolean {
    return this.#cancelKeys.requestPassedOn(processId, digest)
  }

  /** A pg_cancel_backend that another node passes on. */
  cancelOwn(processId: number, subject: string): boolean {
    return this.#cancelKeys.cancelOwnHere(processId, subject)
  }

  /** Accepts no further connections, and ends the open ones: idle ones at once, the others within a second. */
  async drain(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#port.close()
    for (const socket of [...this.#admission.all()]) this.#refuse(socket, SHUTTING_DOWN)
    const until = monotonic() + STOP_MS
    for (;;) {
      const isOver = monotonic() >= until
      for (const connection of [...this.#open.values()])
        if (isOver || connection.isIdle) connection.terminate('stopping')
      if (this.#open.size === 0) return
      await sleep(20)
    }
  }

  close(): void {
    this.#isStopping = true
    this.#port.close()
    this.#unsubscribe()
    clearInterval(this.#sweep)
    for (const socket of [...this.#admission.all()]) socket.destroy()
    for (const connection of [...this.#open.values()]) connection.terminate('stopping')
  }

  #accept(socket: Socket): void {
    const limit = this.#isStopping ? undefined : this.#admission.admit(socket, monotonic() + SIGN_IN_MS)
    if (limit !== undefined || this.#isStopping) {
      if (limit !== undefined) this.#env.metrics.count('gatehouse_wire_refused_total', { reason: limit })
      this.#refuse(socket, limit === undefined ? SHUTTING_DOWN : TOO_MANY)
      return
    }
    socket.once('close', () => this.#admission.leave(socket))
    new Negotiation(socket, this.#createNegotiation(socket))
  }

  /** `accepted` is the socket that is counted; under TLS, messages come on another one. */
  #createNegotiation(accepted: Socket): NegotiationEnv {
    const fail = (socket: Socket, fields: Omit<ErrorFields, 'severity'>): void => {
      this.#env.metrics.count('gatehouse_wire_refused_total', { reason: 'protocol' })
      this.#refuse(socket, fields)
    }
    return {
      tls: this.#tls,
      onStartUp: (socket, startUp, rest) => {
        this.#signIn(accepted, socket, startUp, rest).catch((error) => {
          if (!(error instanceof ConnectionGone)) this.#env.logger.error({ err: error }, 'wire error')
          socket.destroy()
        })
      },
      onCancel: (socket, { processId, key }) => {
        this.#env.metrics.count('gatehouse_wire_cancels_total', {})
        this.#cancelKeys
          .request(processId, Buffer.from(key), socket.remoteAddress ?? '')
          .catch((error) => this.#env.logger.warn({ err: error }, 'a cancel request could not be passed on'))
        socket.end()
      },
      onOtherVersion: (socket, version) =>
        fail(socket, { sqlstate: '0A000', message: `Protocol ${version} is not supported: use 3.0 or 3.2` }),
      onViolation: (socket, message) => fail(socket, { sqlstate: '08P01', message }),
    }
  }

  async #signIn(accepted: Socket, socket: Socket, { version, parameters }: StartUp, rest: Buffer): Promise<void> {
    const { settings, rateLimits, metrics, audit, clock } = this.#env
    const address = bareAddress(socket.remoteAddress ?? '')
    const connectionId = randomUUID()
    const reader = new MessageReader(settings)
    const events: GateEvent[] = []
    this.#signingIn.add(events)
    let signedIn: SignInResult | undefined
    try {
      requireSecure(socket, address)
      const minor = negotiateVersion(version.minor, parameters, (reply) => socket.write(reply))
      const { user, database, startup } = readStartUp(parameters)
      if (this.#admission.isFull) throw new Limited('node')
      rateLimits.countAddress('token', address)
      const channel = new SignInChannel(socket, reader, rest)
      const result = await signIn({ user, address, connectionId }, channel, this.#env)
      signedIn = result
      const { principal, method } = requireGood(result)
      const openSession = await this.#env.loadSessions()
      channel.release()
      // The time for the sign-in may be over.
      if (socket.destroyed) throw new ConnectionGone()
      if (!survives(principal, events)) throw new NotAccepted({ outcome: 'wrong', reason: 'revoked meanwhile' })
      const limit = this.#admission.signIn(principal.subject)
      if (limit !== undefined) throw new Limited(limit)
      this.#admission.leave(accepted)
      const { subject } = principal
      const { processId, key } = this.#cancelKeys.add(minor, subject, () => this.#open.get(connectionId)?.cancel())
      const cancelBackend = (backend: number) => this.#cancelKeys.cancelOwn(backend, subject)
      const memory = new ConnectionMemory(this.#memory, principal.subject)
      const connection = new WireConnection(
        {
          id: connectionId,
          openedAt: clock(),
          caller: { user, address, database, startup, processId, cancelBackend, memory },
          ...{ socket, reader, principal },
        },
        {
          openSession,
          findUsername: this.#env.findUsername,
          monotonic,
          turns: this.#turns,
          onClosed: (closed, reason) => {
            this.#onClosed(closed, reason)
            this.#release(result)
          },
          onError: (error) => this.#env.logger.error({ err: error, connection: connectionId }, 'wire session error'),
        },
      )
      this.#open.set(connectionId, connection)
      metrics.count('gatehouse_wire_signins_total', { method })
      audit.record({
        event: 'wire.opened',
        ...auditCaller(principal),
        ...{ address, requestId: connectionId },
        details: { method, application: applicationName(startup) },
      })
      connection.begin(Buffer.concat([AUTHENTICATION_OK, backendKeyData(processId, key)]))
      for (const event of events) connection.onEvent(event)
      if (this.#isStopping) connection.terminate('stopping')
    } catch (error) {
      if (signedIn !== undefined) this.#release(signedIn)
      this.#onRefused(error, socket, address, connectionId)
    } finally {
      this.#signingIn.delete(events)
    }
  }

  #onRefused(error: unknown, socket: Socket, address: string, requestId: string): void {
    const refusal = toSignInRefusal(error)
    if (refusal === undefined) throw error
    const { fields, reason, detail } = refusal
    this.#env.metrics.count('gatehouse_wire_refused_total', { reason })
    if (AUDITED.has(reason))
      this.#env.audit.record({ event: 'wire.refused', address, requestId, details: { reason: detail } })
    this.#refuse(socket, fields)
  }

  #refuse(socket: Socket, fields: Omit<ErrorFields, 'severity'>): void {
    // A socket that is closed already has no further 'close'.
    if (this.#refusing >= MOST_REFUSED || socket.destroyed) {
      socket.destroy()
      return
    }
    this.#refusing += 1
    socket.on('error', () => {})
    socket.end(errorResponse({ severity: 'FATAL', ...fields }))
    // What was sent already is dropped: with unread bytes the kernel would reset the connection, and the reply with it.
    socket.resume()
    const cut = setTimeout(() => socket.destroy(), REFUSED_MS)
    cut.unref()
    socket.once('close', () => {
      clearTimeout(cut)
      this.#refusing -= 1
    })
  }

  #release(result: SignInResult): void {
    if (result.outcome !== 'good') return
    result.release?.().catch((error) => this.#env.logger.warn({ err: error }, 'a grant could not be ended'))
  }

  #onClosed(connection: WireConnection, reason: CloseReason): void {
    const { id, principal, address, processId } = connection
    if (!this.#open.delete(id)) return
    this.#cancelKeys.remove(processId)
    this.#admission.signOut(principal.subject)
    this.#env.metrics.count('gatehouse_wire_closes_total', { reason })
    this.#env.audit.record({
      event: 'wire.closed',
      ...auditCaller(principal),
      ...{ address, requestId: id },
      details: { reason },
    })
  }

  #onEvent(event: GateEvent): void {
    for (const events of this.#signingIn) events.push(event)
    for (const connection of [...this.#open.values()]) connection.onEvent(event)
  }

  #tick(): void {
    const now = monotonic()
    for (const socket of [...this.#admission.overdue(now)]) {
      this.#env.metrics.count('gatehouse_wire_refused_total', { reason: 'deadline' })
      socket.destroy()
    }
    const time = this.#env.clock()
    for (const connection of [...this.#open.values()]) connection.tick(time, now, this.#env.settings.idleMs)
  }
}

const REFUSED_MS = 500
/** How many refused connections may be open while their error is sent. In a flood, further ones are closed without an error. */
const MOST_REFUSED = 200
/** The other refusals are counted only: nothing bounds how many a hostile client causes. */
const AUDITED: ReadonlySet<string> = new Set(['signin', 'user'])
const SHUTTING_DOWN = { sqlstate: '57P03', message: 'The server is stopping: connect again' }

/** Before anything is loaded for the connection. */
function requireGood(result: SignInResult): Extract<SignInResult, { outcome: 'good' }> {
  if (result.outcome !== 'good') throw new NotAccepted(result)
  if (!mayUsePlatform(result.principal))
    throw new NotAccepted({ outcome: 'wrong', reason: 'no rights on the platform' })
  return result
}

/** Passwords and tokens do not cross a network in clear text. */
function requireSecure(socket: Socket, address: string): void {
  if (socket instanceof TLSSocket || isLoopback(address.replace(/^::ffff:/i, ''))) return
  throw new StartUpRefused('28000', 'The connection is not encrypted', 'Connect with TLS: sslmode=require or stricter')
}

/** As PostgreSQL shows it: what clients call themselves can be long. */
function applicationName(startup: ReadonlyMap<string, string>): string | undefined {
  return startup.get('application_name')?.slice(0, LONGEST_NAME)
}

function auditCaller({ kind, subject, clientId }: WireConnection['principal']) {
  return { ...(kind === 'user' && { actor: subject }), client: clientId }
}

function monotonic(): number {
  return performance.now()
}

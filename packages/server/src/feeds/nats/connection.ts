/** The connection to NATS: its state, requests to JetStream, and errors in the words of the server. */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { ConnectionOptions, Msg, MsgHdrs, NatsConnection, Payload } from '@nats-io/transport-node'

export interface NatsOptions {
  /** `nats://` or `tls://`, several separated by commas. A user and password, or a token, may be part of it. */
  readonly url: string
  /** A file with credentials (a JWT and its seed), as `nsc` writes it. */
  readonly credentials?: string | undefined
  /** A file with the certificates of authorities that the servers' certificates are checked against. */
  readonly tlsCa?: string | undefined
  readonly onState?: (state: ConnectionState) => void
}

export type ConnectionState =
  | { readonly kind: 'connected'; readonly server: string }
  | { readonly kind: 'disconnected' }
  | { readonly kind: 'error'; readonly error: Error }

/** A caller may retry. The code is in the table of outages. */
export class NatsUnavailable extends Error {
  override name = 'NatsUnavailable'
  readonly code = 'GATEHOUSE_NATS_UNREACHABLE'
}

/** NATS is there, but an operator has to change something in it. */
export class UnfitNats extends Error {
  override name = 'UnfitNats'
}

const CONNECT_MS = 5_000
export const REQUEST_MS = 5_000
const CHECK_MS = 2_000
const RECONNECT_MS = 250
const PING_MS = 10_000

/** Errors of JetStream that pass: no leader, resources that are short, a server that is starting. */
const PASSING_CODES: ReadonlySet<number> = new Set([10_008, 10_009, 10_023, 10_076, 10_118])

export class Nats {
  readonly connection: NatsConnection
  readonly streams: JetStreamManager['streams']
  readonly consumers: JetStreamManager['consumers']
  readonly #headers: () => MsgHdrs
  readonly #inbox: () => string
  readonly #onReconnect = new Set<() => void>()
  #isConnected = true

  static async connect(options: NatsOptions): Promise<Nats> {
    const core = await import('@nats-io/transport-node')
    const { jetstreamManager } = await import('@nats-io/jetstream')
    let connection: NatsConnection
    try {
      connection = await core.connect(await connectionOptions(options, core))
    } catch (error) {
      throw new NatsUnavailable(`NATS at ${listHosts(options.url)} cannot be used: ${errorText(error)}`, {
        cause: error,
      })
    }
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: REQUEST_MS })
    const nats = new Nats(connection, manager, core.headers, core.createInbox)
    void nats.#watch(options.onState ?? (() => {}))
    return nats
  }

  private constructor(
    connection: NatsConnection,
    { streams, consumers }: JetStreamManager,
    headers: () => MsgHdrs,
    inbox: () => string,
  ) {
    this.connection = connection
    this.streams = streams
    this.consumers = consumers
    this.#headers = headers
    this.#inbox = inbox
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** `2.10` and later have what these need. */
  isAtLeast(major: number, minor: number): boolean {
    const [first = 0, second = 0] = (this.connection.info?.version ?? '').split('.').map(Number)
    return first > major || (first === major && second >= minor)
  }

  headers(entries: Readonly<Record<string, string>>): MsgHdrs {
    const headers = this.#headers()
    for (const [name, value] of Object.entries(entries)) headers.set(name, value)
    return headers
  }

  inbox(): string {
    return this.#inbox()
  }

  /** Outages become `NatsUnavailable`; while there is no connection nothing is tried. */
  async run<T>(act: () => Promise<T>): Promise<T> {
    this.#expectConnection()
    try {
      return await act()
    } catch (error) {
      throw asOutage(error)
    }
  }

  request(subject: string, payload: Payload, headers?: MsgHdrs, timeout = REQUEST_MS): Promise<Msg> {
    return this.run(() =>
      this.connection.request(subject, payload, { timeout, ...(headers === undefined ? {} : { headers }) }),
    )
  }

  onReconnect(listener: () => void): () => void {
    this.#onReconnect.add(listener)
    return () => this.#onReconnect.delete(listener)
  }

  /** Rejects where nothing can be published. */
  async check({ isJetStreamNeeded }: { readonly isJetStreamNeeded: boolean }): Promise<void> {
    if (isJetStreamNeeded) {
      const reply: unknown = (await this.request('$JS.API.INFO', '', undefined, CHECK_MS)).json()
      if (typeof reply === 'object' && reply !== null && 'error' in reply)
        throw new NatsUnavailable('JetStream is not available')
    } else await this.run(() => Promise.race([this.connection.flush(), silence(CHECK_MS)]))
  }

  close(): Promise<void> {
    return this.connection.close()
  }

  #expectConnection(): void {
    if (!this.#isConnected) throw new NatsUnavailable('NATS is not connected')
  }

  async #watch(onState: (state: ConnectionState) => void): Promise<void> {
    onState({ kind: 'connected', server: this.connection.getServer() })
    for await (const status of this.connection.status()) {
      if (status.type === 'disconnect' && this.#isConnected) {
        this.#isConnected = false
        onState({ kind: 'disconnected' })
      } else if (status.type === 'reconnect') {
        this.#isConnected = true
        onState({ kind: 'connected', server: status.server })
        for (const listener of this.#onReconnect) listener()
      } else if (status.type === 'error') onState({ kind: 'error', error: status.error })
    }
    this.#isConnected = false
  }
}

async function silence(milliseconds: number): Promise<never> {
  await sleep(milliseconds, undefined, { ref: false })
  throw new NatsUnavailable('NATS does not answer')
}

async function connectionOptions(
  { url, credentials, tlsCa }: NatsOptions,
  { credsAuthenticator }: typeof import('@nats-io/transport-node'),
): Promise<ConnectionOptions> {
  const servers = url.split(',').map((text) => text.trim())
  const first = URL.parse(servers[0] ?? '')
  const user = decodeURIComponent(first?.username ?? '')
  const password = decodeURIComponent(first?.password ?? '')
  const isTls = tlsCa !== undefined || servers.some((text) => text.startsWith('tls:'))
  return {
    servers: servers.map((text) => URL.parse(text)?.host ?? text),
    name: 'gatehouse',
    ...(user === '' ? {} : password === '' ? { token: user } : { user, pass: password }),
    ...(credentials === undefined ? {} : { authenticator: credsAuthenticator(await readFile(credentials)) }),
    ...(isTls ? { tls: tlsCa === undefined ? {} : { caFile: tlsCa } } : {}),
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: PING_MS,
    // A password that was changed on the server, and will be put right.
    ignoreAuthErrorAbort: true,
    // Stack traces of each request would cost more than the request.
    noAsyncTraces: true,
  }
}

export function listHosts(url: string): string {
  return url
    .split(',')
    .map((text) => URL.parse(text.trim())?.host ?? 'an address that is no URL')
    .join(', ')
}

/** The code of an error of JetStream's interface; 0 for others. */
export function apiCode(error: unknown): number {
  return error instanceof Error && API_ERRORS.has(error.name) && 'code' in error ? Number(error.code) : 0
}

const API_ERRORS: ReadonlySet<string> = new Set(['JetStreamApiError', 'StreamNotFoundError', 'ConsumerNotFoundError'])

const OUTAGES: ReadonlySet<string> = new Set([
  ...['TimeoutError', 'NoResponders', 'ConnectionError', 'ClosedConnectionError', 'DrainingConnectionError'],
  ...['JetStreamNotEnabled', 'RequestError'],
])

function asOutage(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof NatsUnavailable) return error
  const isOutage =
    OUTAGES.has(error.name) ||
    (error.cause instanceof Error && OUTAGES.has(error.cause.name)) ||
    PASSING_CODES.has(apiCode(error))
  return isOutage ? new NatsUnavailable(`NATS: ${errorText(error)}`, { cause: error }) : error
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message.toLowerCase() : String(error)
}

/** The client and the pool of the driver, which connect to the server that `DatabaseServers` chooses and check what it is. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, ClientBase, ClientConfig, Pool, PoolClient, PoolConfig } from 'pg'
import { loadPg } from '../pg.ts'
import type { ServerAddress } from './addresses.ts'
import type { ServerIdentity } from './identity.ts'
import { readIdentity } from './identity.ts'

/** Set on the connection when it is open. Not by the startup parameter `options`, which PgBouncer does not pass on. */
export type SessionSettings = Readonly<Record<string, string | number>>

/**
 * For connections whose transactions never wait for anything but this process: if the network loses the end of a connection, the locks
 * of its transaction, such as that of an idempotency key, are released after this time.
 */
export const BRIEF_TRANSACTIONS = { idle_in_transaction_session_timeout: 10_000 }

/** Finds out on this side that the server is gone; the system's default is two hours. */
const KEEPALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

/** Lets the server find out that this node is gone, and end what it runs for it. */
const SERVER_KEEPALIVE = {
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
}
/** PostgreSQL 14 refuses it where it is not on Linux. */
const CONNECTION_CHECK = { client_connection_check_interval: 10_000 }

export interface ServerClientConfig extends ClientConfig {
  readonly settings?: SessionSettings | undefined
}

export interface ServerPoolConfig extends PoolConfig {
  readonly settings?: SessionSettings | undefined
}

/** Who chooses the server. */
export interface ServerChoice {
  /** Undefined: the driver reads it from the URL. */
  choose(withinMs: number): Promise<ServerAddress | undefined>
  /** Throws UnfitServer. Undefined where the server does not say what it is. */
  admit(client: Client, identity: ServerIdentity | undefined, address: ServerAddress | undefined): Promise<void>
  /** The server could not be connected to, or was not admitted. */
  failed(address: ServerAddress | undefined): void
  /** Whether another attempt, at another server, may succeed. */
  mayRetry(error: unknown): boolean
  /** The server has answered with this error. */
  onError(client: Client, error: Error): void
}

/** What pg's client has beyond its types. */
interface ClientInside {
  host: string
  port: number
  readonly processID: number
  readonly connection: {
    readonly stream: { destroy(error?: Error): void }
    prependListener(event: 'errorMessage', listener: (error: Error) => void): void
  }
}

function asClientInside(client: ClientBase): ClientInside {
  return client as unknown as ClientInside
}

/** Everything that waits on the connection fails with the error. */
export function destroyClient(client: ClientBase, error?: Error): void {
  asClientInside(client).connection.stream.destroy(error)
}

/** The text is that of PostgreSQL in English: its code is that of every warning. */
const UNREPLICATED = /^canceling wait for synchronous replication/
const UNREPLICATED_CLIENTS = new WeakSet<ClientBase>()

/** A commit of this connection was cancelled while it waited for a standby: PostgreSQL reports success, with a warning. */
export function isUnreplicated(client: ClientBase): boolean {
  return UNREPLICATED_CLIENTS.has(client)
}

/** A pooler between this node and the server gives connections process ids of its own. */
export function isPooled(client: ClientBase, { pid }: ServerIdentity): boolean {
  return asClientInside(client).processID !== pid
}

export function directTo(client: ClientBase, { host, port }: ServerAddress): void {
  const inside = asClientInside(client)
  inside.host = host
  inside.port = port
}

const CONNECT_MS = 10_000
/** Left for the pool, which gives up after the same time. */
const MARGIN_MS = 200
const RETRY_MS = 50

export type ServerClientClass = new (config?: ServerClientConfig) => Client

export function serverClientClass(servers: ServerChoice): ServerClientClass {
  return class ServerClient extends loadPg().Client {
    readonly #settings: SessionSettings
    readonly #withinMs: number

    constructor(config: ServerClientConfig = {}) {
      super({ ...KEEPALIVE, ...config })
      this.#settings = config.settings ?? {}
      this.#withinMs = (config.connectionTimeoutMillis ?? CONNECT_MS) - MARGIN_MS
      // Until the connection is handed out it has no other listener, and the error would end the process.
      this.on('error', () => {})
      this.on('notice', ({ message = '' }) => {
        if (UNREPLICATED.test(message)) UNREPLICATED_CLIENTS.add(this)
      })
      asClientInside(this).connection.prependListener('errorMessage', (error) => servers.onError(this, error))
    }

    override connect(): Promise<Client>
    override connect(callback: ((error: Error) => void) | ((error: null, client: Client) => void)): void
    override connect(
      callback?: ((error: Error) => void) | ((error: null, client: Client) => void),
    ): Promise<Client> | undefined {
      const connected = this.#connect()
      if (callback === undefined) return connected
      const call = callback as (error?: unknown) => void
      connected.then(
        () => process.nextTick(call),
        (error) => process.nextTick(call, error),
      )
      return undefined
    }

    async #connect(): Promise<Client> {
      const address = await servers.choose(this.#withinMs)
      if (address !== undefined) directTo(this, address)
      try {
        await super.connect()
        // Before the settings: a role may not be allowed to read or record the history.
        await servers.admit(this, await tryReadIdentity(this), address)
        await applySettings(this, this.#settings)
        return this
      } catch (error) {
        destroyClient(this)
        servers.failed(address)
        throw error
      }
    }
  }
}

async function applySettings(client: ClientBase, settings: SessionSettings): Promise<void> {
  try {
    await setAll(client, { ...SERVER_KEEPALIVE, ...CONNECTION_CHECK, ...settings })
  } catch (error) {
    if (!(error instanceof loadPg().DatabaseError)) throw error
    await setAll(client, SERVER_KEEPALIVE).catch(() => {})
    await setAll(client, settings)
  }
}

/** In the order of the settings: a role may not be allowed to set what comes after it. */
async function setAll(client: ClientBase, settings: SessionSettings): Promise<void> {
  const entries = Object.entries(settings)
  if (entries.length === 0) return
  const calls = entries.map((_entry, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, false)`)
  await client.query(
    `SELECT ${calls.join(', ')}`,
    entries.flatMap(([name, value]) => [name, String(value)]),
  )
}

/** Undefined where the server does not offer the functions, as some services do not. */
async function tryReadIdentity(client: ClientBase): Promise<ServerIdentity | undefined> {
  try {
    return await readIdentity(client)
  } catch (error) {
    if (error instanceof loadPg().DatabaseError && /^(42|0A)/.test(error.code ?? '')) return undefined
    throw error
  }
}

/** A pool that tries again, within its time to connect, when a server turns out not to be the primary. */
export function createServerPool(servers: ServerChoice, config: ServerPoolConfig): Pool {
  const deadlineMs = config.connectionTimeoutMillis ?? CONNECT_MS
  class ServerPool extends loadPg().Pool {
    override connect(): Promise<PoolClient>
    override connect(callback: ConnectCallback): void
    override connect(callback?: ConnectCallback): Promise<PoolClient> | undefined {
      const connected = this.#connect(performance.now() + deadlineMs)
      if (callback === undefined) return connected
      connected.then(
        (client) => callback(undefined, client, client.release),
        (error) => callback(error, undefined, () => {}),
      )
      return undefined
    }

    async #connect(until: number): Promise<PoolClient> {
      for (;;) {
        try {
          return await super.connect()
        } catch (error) {
          if (!servers.mayRetry(error) || performance.now() + RETRY_MS >= until || this.ending) throw error
          await sleep(RETRY_MS)
        }
      }
    }
  }
  return new ServerPool(config)
}

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: boolean | Error) => void,
) => void

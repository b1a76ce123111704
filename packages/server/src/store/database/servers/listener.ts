/** LISTEN on a connection of its own, which is replaced when it breaks. */
import type { Client } from 'pg'
import { type Backoff, pauseAfter } from '../../../lib/retry.ts'
import type { DatabaseServers } from './servers.ts'

export interface ListenerOptions {
  readonly servers: Pick<DatabaseServers, 'createClient'>
  readonly channel: string
  readonly applicationName: string
  /** Every user of the database can notify. */
  readonly onPayload: (payload: string) => void
  /** Notifications may have been missed before. */
  readonly onListening: () => void
  readonly onError: (error: unknown) => void
}

const RECONNECT: Backoff = { firstMs: 100, longestMs: 1_000 }
/** The time to connect and to LISTEN. */
const DEADLINE_MS = 5_000

export class Listener {
  readonly #options: ListenerOptions
  #client: Client | undefined
  #retry: NodeJS.Timeout | undefined
  #failures = 0
  #isStopped = false

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Resolves when it listens, or when the first attempt has failed. */
  async start(): Promise<void> {
    const { servers, channel, applicationName, onPayload, onListening } = this.#options
    const client = servers.createClient({
      connectionTimeoutMillis: DEADLINE_MS,
      query_timeout: DEADLINE_MS,
      application_name: applicationName,
    })
    this.#client = client
    client.on('error', (error) => this.#onBreak(client, error))
    client.on('end', () => this.#onBreak(client))
    client.on('notification', ({ payload }) => onPayload(payload ?? ''))
    try {
      await client.connect()
      await client.query(`listen ${channel}`)
    } catch (error) {
      this.#onBreak(client, error)
      return
    }
    this.#failures = 0
    onListening()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#retry)
    await this.#client?.end().catch(() => {})
  }

  /** A connection that breaks emits several events; only the first counts. */
  #onBreak(client: Client, error?: unknown): void {
    if (this.#client !== client) return
    this.#client = undefined
    client.end().catch(() => {})
    if (this.#isStopped) return
    const { onError } = this.#options
    if (error !== undefined) onError(error)
    this.#retry = setTimeout(() => this.start().catch(onError), pauseAfter(++this.#failures, RECONNECT))
    this.#retry.unref()
  }
}

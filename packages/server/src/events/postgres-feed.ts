/** Events of other nodes on PostgreSQL: LISTEN on a connection of its own, reconnected when it breaks, with slow polling as a fallback. */
import type pg from 'pg'
import { type Backoff, pauseAfter } from '../lib/retry.ts'
import { CHANNEL, type Events, type RecordedEvent } from '../store/cluster/events.ts'
import type { DatabaseServers } from '../store/database/servers/servers.ts'
import type { Feed } from './durable-bus.ts'

export interface PostgresFeedOptions {
  readonly servers: Pick<DatabaseServers, 'createClient'>
  readonly events: Pick<Events, 'lastSeq'>
  readonly onError: (error: unknown) => void
}

const RECONNECT: Backoff = { firstMs: 100, longestMs: 1_000 }
/** For a dead connection that has not been noticed, and for connection poolers that do not support LISTEN. */
const POLL_EVERY_MS = 500
/** The time to connect and to LISTEN. */
const DEADLINE_MS = 5_000

export class PostgresFeed implements Feed {
  readonly #options: PostgresFeedOptions
  #onNews: (recorded?: RecordedEvent) => void = () => {}
  #onIdle: () => void = () => {}
  #client: pg.Client | undefined
  #retry: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined
  #failures = 0
  #lastSeq = 0
  #isPolling = false
  #isStopped = false

  constructor(options: PostgresFeedOptions) {
    this.#options = options
  }

  async start(onNews: (recorded?: RecordedEvent) => void, onIdle: () => void): Promise<void> {
    this.#onNews = onNews
    this.#onIdle = onIdle
    await this.#listen()
    this.#poll = setInterval(() => void this.#pollLastSeq(), POLL_EVERY_MS)
    this.#poll.unref()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#poll)
    clearTimeout(this.#retry)
    await this.#client?.end().catch(() => {})
  }

  async #listen(): Promise<void> {
    const client = this.#options.servers.createClient({
      keepAlive: true,
      connectionTimeoutMillis: DEADLINE_MS,
      query_timeout: DEADLINE_MS,
      application_name: 'gatehouse events',
    })
    this.#client = client
    client.on('error', (error) => this.#onBreak(client, error))
    client.on('end', () => this.#onBreak(client))
    client.on('notification', ({ payload }) => this.#onNews(readPayload(payload ?? '')))
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
    } catch (error) {
      this.#onBreak(client, error)
      return
    }
    this.#failures = 0
    // Reads what was published while this node was not listening.
    this.#onNews()
  }

  /** A connection that breaks emits several events; only the first counts. */
  #onBreak(client: pg.Client, error?: unknown): void {
    if (this.#client !== client) return
    this.#client = undefined
    client.end().catch(() => {})
    if (this.#isStopped) return
    const { onError } = this.#options
    if (error !== undefined) onError(error)
    this.#retry = setTimeout(() => this.#listen().catch(onError), pauseAfter(++this.#failures, RECONNECT))
    this.#retry.unref()
  }

  async #pollLastSeq(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    try {
      const seq = await this.#options.events.lastSeq()
      const isNew = seq !== this.#lastSeq
      this.#lastSeq = seq
      if (isNew) this.#onNews()
      else this.#onIdle()
    } catch {
      // The database is unavailable; its users report that.
    } finally {
      this.#isPolling = false
    }
  }
}

/**
 * An event too long for NOTIFY arrives as its sequence number alone; it is then read from the table. Anything else that is not an
 * event is treated the same way, because every user of the database can notify.
 */
function readPayload(payload: string): RecordedEvent | undefined {
  const [, seq, body] = /^(\d+) (\{.*\})$/s.exec(payload) ?? []
  if (body === undefined) return undefined
  try {
    return { seq: Number(seq), event: JSON.parse(body) }
  } catch {
    return undefined
  }
}

/** Events of other nodes on PostgreSQL: LISTEN, with slow polling as a fallback. */
import { CHANNEL, type Events, type RecordedEvent } from '../store/cluster/events.ts'
import { Listener } from '../store/database/servers/listener.ts'
import type { DatabaseServers } from '../store/database/servers/servers.ts'
import type { Feed } from './durable-bus.ts'

export interface PostgresFeedOptions {
  readonly servers: Pick<DatabaseServers, 'createClient'>
  readonly events: Pick<Events, 'newest'>
  readonly onError: (error: unknown) => void
}

/** For a dead connection that has not been noticed, and for connection poolers that do not support LISTEN. */
const POLL_EVERY_MS = 500

export class PostgresFeed implements Feed {
  readonly #options: PostgresFeedOptions
  readonly #listener: Listener
  #onNews: (recorded?: RecordedEvent) => void = () => {}
  #onIdle: (sentAt: number) => void = () => {}
  #poll: NodeJS.Timeout | undefined
  #newest = ''
  #isPolling = false

  constructor(options: PostgresFeedOptions) {
    this.#options = options
    this.#listener = new Listener({
      servers: options.servers,
      channel: CHANNEL,
      applicationName: 'gatehouse events',
      onPayload: (payload) => this.#onNews(readPayload(payload)),
      // Reads what was published while this node was not listening.
      onListening: () => this.#onNews(),
      onError: options.onError,
    })
  }

  async start(onNews: (recorded?: RecordedEvent) => void, onIdle: (sentAt: number) => void): Promise<void> {
    this.#onNews = onNews
    this.#onIdle = onIdle
    await this.#listener.start()
    this.#poll = setInterval(() => void this.#pollNewest(), POLL_EVERY_MS)
    this.#poll.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#poll)
    await this.#listener.stop()
  }

  async #pollNewest(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    const sentAt = performance.now()
    try {
      const newest = await this.#options.events.newest()
      const isNew = newest !== this.#newest
      this.#newest = newest
      if (isNew) this.#onNews()
      else this.#onIdle(sentAt)
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

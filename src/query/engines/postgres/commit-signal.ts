/** Tells of commits: of this node at once, of other nodes by NOTIFY, of other programs by polling. */
import pg, { type Client, type Pool } from 'pg'
import { CommitListeners } from '../commit-listeners.ts'

/** Without a payload, so that PostgreSQL folds several into one. */
const CHANNEL = 'gatehouse_commits'

/** How soon commits of other programs are noticed. */
const POLL_MS = 250
/** Commits of this node that come together are one NOTIFY. */
const NOTIFY_MS = 10
const RETRY_MS = { first: 100, last: 5000 }

/**
 * NOTIFY is sent by the node after its commit, not by the triggers in the transaction: PostgreSQL lets transactions that notify
 * commit only one after the other, so that writers would wait for one another.
 */
export class CommitSignal {
  readonly #url: string
  readonly #notifying: Pool
  readonly #listeners = new CommitListeners((count) => this.#listen(count > 0))
  #listening: Listening | undefined
  #notifyTimer: NodeJS.Timeout | undefined

  constructor(url: string, notifying: Pool) {
    this.#url = url
    this.#notifying = notifying
  }

  onCommit(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  /** This node has committed. */
  committed(): void {
    this.#listeners.wake()
    this.#notifyTimer ??= setTimeout(() => {
      this.#notifyTimer = undefined
      // Whoever misses it polls.
      this.#notifying.query(`NOTIFY ${CHANNEL}`).catch(() => {})
    }, NOTIFY_MS).unref()
  }

  async close(): Promise<void> {
    clearTimeout(this.#notifyTimer)
    const listening = this.#listening
    this.#listeners.clear()
    await listening?.close()
  }

  #listen(hasListeners: boolean): void {
    if (hasListeners === (this.#listening !== undefined)) return
    void this.#listening?.close()
    this.#listening = hasListeners ? new Listening(this.#url, () => this.#listeners.wake()) : undefined
  }
}

/** A connection that listens and polls, replaced when it breaks. */
class Listening {
  readonly #url: string
  readonly #wake: () => void
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #retryMs = RETRY_MS.first
  #snapshot: string | undefined
  #isClosed = false
  #ended: Promise<void> | undefined

  constructor(url: string, wake: () => void) {
    this.#url = url
    this.#wake = wake
    void this.#connect()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#ended = this.#end() ?? this.#ended
    await this.#ended
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'gatehouse live',
      keepAlive: true,
      connectionTimeoutMillis: RETRY_MS.last,
    })
    this.#client = client
    client.on('error', () => this.#retry(client))
    client.on('end', () => this.#retry(client))
    client.on('notification', this.#wake)
    try {
      await client.connect()
      await client.query(`LISTEN ${CHANNEL}`)
      this.#retryMs = RETRY_MS.first
      // Commits may have been missed before.
      this.#wake()
      await this.#poll(client)
    } catch {
      this.#retry(client)
    }
  }

  /** The snapshot changes with every transaction that writes, in whatever table. */
  async #poll(client: Client): Promise<void> {
    while (this.#client === client) {
      const { rows } = await client.query<{ snapshot: string }>('SELECT pg_current_snapshot()::text AS snapshot')
      const snapshot = rows[0]?.snapshot
      if (this.#snapshot !== undefined && snapshot !== this.#snapshot) this.#wake()
      this.#snapshot = snapshot
      await new Promise<void>((resolve) => {
        this.#timer = setTimeout(resolve, POLL_MS).unref()
      })
    }
  }

  #retry(client: Client): void {
    if (this.#isClosed || this.#client !== client) return
    void this.#end()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#connect(), this.#retryMs).unref()
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS.last)
    // Reads may still be possible.
    this.#wake()
  }

  #end(): Promise<void> | undefined {
    const client = this.#client
    this.#client = undefined
    client?.removeAllListeners('notification')
    return client?.end().catch(() => {})
  }
}

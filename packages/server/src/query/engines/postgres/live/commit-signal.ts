/** Signals commits: of this node immediately, of other nodes by NOTIFY, of other programs by polling. */
import { randomUUID } from 'node:crypto'
import type { Client, Pool } from 'pg'
import { type Backoff, pauseAfter } from '../../../../lib/retry.ts'
import type { DatabaseServers } from '../../../../store/database/servers/servers.ts'
import { type CommitListener, CommitListeners, type WrittenTable } from '../../commit-listeners.ts'
import { unloggedNames } from '../../own-commits.ts'

/** Without a payload, so that PostgreSQL folds several into one; except for tables without a change log, which are named. */
const CHANNEL = 'gatehouse_commits'
/** PostgreSQL takes 8000 bytes. */
const MAX_PAYLOAD_BYTES = 7000

/** How soon commits of other programs are noticed. */
const POLL_MS = 250
const NOTIFY = 'SELECT pg_notify($1, $2)'
/**
 * PostgreSQL does not wait for the disk, nor for standbys, to commit a transaction that only notifies. If it is lost in a failover, a
 * position that has seen it is void: the new primary uses its number again. A message in the write-ahead log makes the commit wait.
 */
const DURABLE_NOTIFY = "SELECT pg_logical_emit_message(true, 'gatehouse', ''), pg_notify($1, $2)"
/** Commits of this node that come together are one NOTIFY. */
const NOTIFY_MS = 10
const RECONNECT: Backoff = { firstMs: 100, longestMs: 1000 }
/** The time to connect, and for a reply. */
const DEADLINE_MS = 5000

/**
 * NOTIFY is sent by the node after its commit, not by the triggers in the transaction: PostgreSQL serializes the commits of
 * transactions that notify, so writers would wait for one another.
 */
export class CommitSignal {
  readonly #servers: ClientSource
  readonly #notifying: Pool
  /** Identifies this node. */
  readonly #node = randomUUID()
  readonly #listeners = new CommitListeners((count) => this.#listen(count > 0))
  #listening: Listening | undefined
  #notifyTimer: NodeJS.Timeout | undefined
  /** Tables without a change log that have been written to since the last NOTIFY. */
  readonly #written = new Set<string>()
  /** Other nodes have written to these tables without a change log; undefined: possibly to any. */
  onElsewhere: (tables: readonly string[] | undefined) => void = () => {}

  constructor(servers: ClientSource, notifying: Pool) {
    this.#servers = servers
    this.#notifying = notifying
  }

  onCommit(listener: CommitListener): () => void {
    return this.#listeners.add(listener)
  }

  /** This node has committed writes to these tables; undefined: possibly to any. */
  committed(tables?: readonly WrittenTable[]): void {
    for (const name of unloggedNames(tables ?? [])) this.#written.add(name)
    this.#listeners.wake(tables)
    this.#notifyTimer ??= setTimeout(() => {
      this.#notifyTimer = undefined
      // A node that misses it polls.
      this.#notify().catch(() => {})
    }, NOTIFY_MS).unref()
  }

  async #notify(): Promise<void> {
    const tables = [...this.#written]
    this.#written.clear()
    const names = JSON.stringify([this.#node, ...tables])
    const isLong = Buffer.byteLength(names) > MAX_PAYLOAD_BYTES
    const payload = tables.length === 0 ? '' : isLong ? `["${this.#node}"]` : names
    await this.#notifying.query(this.#servers.named.isFailover ? DURABLE_NOTIFY : NOTIFY, [CHANNEL, payload])
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
    if (!hasListeners) {
      this.#listening = undefined
      return
    }
    this.#listening = new Listening(this.#servers, {
      onWake: () => this.#listeners.wake(),
      onMissed: () => this.onElsewhere(undefined),
      onPayload: (payload) => {
        const [node, ...tables] = namesIn(payload)
        if (node !== undefined && node !== this.#node) this.onElsewhere(tables.length === 0 ? undefined : tables)
      },
    })
  }
}

type ClientSource = Pick<DatabaseServers, 'createClient' | 'named'>

/** Everyone with access to the database can notify. */
function namesIn(payload: string): string[] {
  try {
    const names: unknown = JSON.parse(payload)
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
  } catch {
    return []
  }
}

interface ListeningEvents {
  readonly onWake: () => void
  /** There has been no listener for a while. */
  readonly onMissed: () => void
  readonly onPayload: (payload: string) => void
}

/** A connection that listens and polls, replaced when it breaks. */
class Listening {
  readonly #servers: ClientSource
  readonly #events: ListeningEvents
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #snapshot: string | undefined
  #isClosed = false
  #ended: Promise<void> | undefined

  constructor(servers: ClientSource, events: ListeningEvents) {
    this.#servers = servers
    this.#events = events
    void this.#connect()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#ended = this.#end() ?? this.#ended
    await this.#ended
  }

  async #connect(): Promise<void> {
    const client = this.#servers.createClient({
      application_name: 'gatehouse live',
      connectionTimeoutMillis: DEADLINE_MS,
      // A server that disappears without closing the connection would never answer.
      query_timeout: DEADLINE_MS,
    })
    this.#client = client
    client.on('error', () => this.#retry(client))
    client.on('end', () => this.#retry(client))
    client.on('notification', ({ payload = '' }) => {
      if (payload !== '') this.#events.onPayload(payload)
      this.#events.onWake()
    })
    try {
      await client.connect()
      await client.query(`LISTEN ${CHANNEL}`)
      this.#failures = 0
      // Commits may have been missed before.
      this.#events.onMissed()
      this.#events.onWake()
      await this.#poll(client)
    } catch {
      this.#retry(client)
    }
  }

  /** The snapshot changes with every transaction that writes, in any table. */
  async #poll(client: Client): Promise<void> {
    while (this.#client === client) {
      const { rows } = await client.query<{ snapshot: string }>('SELECT pg_current_snapshot()::text AS snapshot')
      const snapshot = rows[0]?.snapshot
      if (this.#snapshot !== undefined && snapshot !== this.#snapshot) this.#events.onWake()
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
    this.#timer = setTimeout(() => void this.#connect(), pauseAfter(++this.#failures, RECONNECT)).unref()
    // Reads may still be possible.
    this.#events.onWake()
  }

  #end(): Promise<void> | undefined {
    const client = this.#client
    this.#client = undefined
    client?.removeAllListeners('notification')
    return client?.end().catch(() => {})
  }
}

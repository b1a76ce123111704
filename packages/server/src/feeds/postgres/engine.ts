/** Feeds in PostgreSQL: tables of their own in the schema gatehouse_feeds, shared by all nodes. */
import { randomBytes } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import { exceptOutages } from '../../lib/unavailable.ts'
import { Listener } from '../../store/database/servers/listener.ts'
import type { FeedEngine, FeedStore, OnMoved } from '../engine.ts'
import type { DroppedFeed, Feed } from '../feed.ts'
import { FeedDatabase, type FeedServers } from './database.ts'
import { DUE_TO_MOVE } from './delayed-functions.ts'
import type { PostgresFeedReads } from './feed-reads.ts'
import { beginEpochsAfterLoss } from './lost-writes.ts'
import { Announcements, CHANNEL, readAnnouncements } from './notifications.ts'
import { HEADERS, type HeaderRow } from './reads.ts'
import { maintainPartitions, prepareSchema } from './setup.ts'
import { PostgresFeedStore } from './store.ts'
import { DUE } from './sweep-functions.ts'
import { SCHEMA } from './tables.ts'

export interface PostgresFeedsOptions {
  readonly servers: FeedServers
  /** For tests. Otherwise the clock of the database counts, which all nodes share. */
  readonly clock?: Clock
  /** Called with errors of work that is not awaited, except outages. */
  readonly onError: (error: unknown) => void
  /** Called when delayed readers are shown messages. */
  readonly onMoved?: OnMoved
  /** For tests. */
  readonly sweepMs?: number
}

/** For a dead connection that has not been noticed, and for connection poolers that do not support LISTEN. */
const POLL_MS = 500
/** How late the bounds of time are applied to what is stored; readers see none of it before. */
const SWEEP_MS = 1000
const SWEEPS_PER_MAINTENANCE = 20
/** How late delayed readers are shown what is old enough. */
const MOVE_MS = 200

/** Throws UnfitDatabase where the user of the database may not create the schema. */
export async function openPostgresFeeds(options: PostgresFeedsOptions): Promise<FeedEngine> {
  const database = new FeedDatabase(options.servers, options.clock)
  try {
    await database.withClient(prepareSchema)
    const engine = new PostgresFeeds(database, options)
    await engine.start()
    return engine
  } catch (error) {
    await database.close()
    throw error
  }
}

class PostgresFeeds implements FeedEngine {
  readonly name = 'postgres'
  readonly #database: FeedDatabase
  readonly #stores = new Set<PostgresFeedStore>()
  /** Of the stores, and of what delayed readers see of them. */
  readonly #reads = new Set<PostgresFeedReads>()
  readonly #announcements: Announcements
  readonly #listener: Listener
  readonly #onError: (error: unknown) => void
  readonly #onMoved: OnMoved
  readonly #sweepMs: number
  readonly #timers: NodeJS.Timeout[] = []
  #isClosed = false

  constructor(
    database: FeedDatabase,
    { servers, onError, onMoved = () => {}, sweepMs = SWEEP_MS }: PostgresFeedsOptions,
  ) {
    this.#database = database
    const report = exceptOutages(onError)
    // What is under way when the pool closes fails.
    this.#onError = (error) => {
      if (!this.#isClosed) report(error)
    }
    this.#onMoved = onMoved
    this.#sweepMs = sweepMs
    this.#announcements = new Announcements(database)
    this.#listener = new Listener({
      servers,
      channel: CHANNEL,
      applicationName: 'gatehouse feeds',
      onPayload: (payload) => this.#onPayload(payload),
      onListening: () => this.#refresh([...this.#reads]).catch(this.#onError),
      onError: this.#onError,
    })
  }

  async start(): Promise<void> {
    await beginEpochsAfterLoss(this.#database)
    await maintainPartitions(this.#database)
    await this.#listener.start()
    this.#repeat(POLL_MS, () => this.#refresh([...this.#reads].filter(({ isFollowed }) => isFollowed)))
    this.#repeat(this.#sweepMs, async () => {
      await beginEpochsAfterLoss(this.#database)
      await this.#sweep()
    })
    this.#repeat(MOVE_MS, () => this.#move())
    this.#repeat(this.#sweepMs * SWEEPS_PER_MAINTENANCE, () => maintainPartitions(this.#database))
  }

  async open(feed: Feed, delays: readonly number[] = []): Promise<FeedStore> {
    const store = await PostgresFeedStore.open(feed, delays, {
      database: this.#database,
      announce: (id, news) => this.#announcements.add(id, news),
      onError: this.#onError,
      onMoved: this.#onMoved,
      onOpen: (reads) => this.#reads.add(reads),
      onClose: (reads) => {
        this.#reads.delete(reads)
        if (reads.id === store.id) this.#stores.delete(store)
      },
    })
    this.#stores.add(store)
    return store
  }

  /** Its messages are left to the partitions, which are dropped when they are old. */
  async drop({ generation }: DroppedFeed): Promise<void> {
    await this.#database.write(
      `with gone as (
           delete from ${SCHEMA}.feeds where name = $1 or source = (select id from ${SCHEMA}.feeds where name = $1) returning id),
         topics as (delete from ${SCHEMA}.topics t using gone where t.feed = gone.id)
       delete from ${SCHEMA}.requests r using gone where r.feed = gone.id`,
      [generation],
    )
  }

  async listStored(): Promise<readonly string[]> {
    const rows = await this.#database.read<{ name: string }>(
      `select name from ${SCHEMA}.feeds where source is null`,
      [],
    )
    return rows.map(({ name }) => name)
  }

  /** A write that reaches the disk when it commits. */
  async check(): Promise<void> {
    await this.#database.write(
      `insert into ${SCHEMA}.marks (name, value) values ('check', $1) on conflict (name) do update set value = excluded.value`,
      [randomBytes(4).toString('hex')],
    )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#timers) clearInterval(timer)
    for (const store of [...this.#stores]) store.close()
    await this.#listener.stop()
    await this.#announcements.close()
    await this.#database.close()
  }

  #onPayload(payload: string): void {
    const news = readAnnouncements(payload)
    for (const reads of this.#reads) {
      const announced = news.get(reads.id)
      if (announced === 'purged') reads.refresh().catch(this.#onError)
      else if (announced !== undefined) reads.heard(announced)
    }
  }

  async #refresh(all: readonly PostgresFeedReads[]): Promise<void> {
    if (all.length === 0) return
    const rows = await this.#database.read<HeaderRow & { id: number }>(HEADERS, [all.map(({ id }) => id)])
    for (const row of rows) all.find(({ id }) => id === row.id)?.see(row)
  }

  async #sweep(): Promise<void> {
    const stores = [...this.#stores]
    if (stores.length === 0) return
    const ids = stores.flatMap(({ sweptIds }) => sweptIds)
    const due = await this.#database.read<{ id: number }>(DUE, [ids, this.#database.now()])
    const dueIds = new Set(due.map(({ id }) => id))
    for (const store of stores) {
      for (const id of store.sweptIds) if (dueIds.has(id)) await store.sweep(id).catch(this.#onError)
      if (store.isDelayed) await store.trimHeld().catch(this.#onError)
    }
  }

  async #move(): Promise<void> {
    const stores = [...this.#stores].filter(({ isDelayed }) => isDelayed)
    if (stores.length === 0) return
    const due = await this.#database.read<{ id: number }>(DUE_TO_MOVE, [
      stores.map(({ id }) => id),
      this.#database.now(),
    ])
    const ids = new Set(due.map(({ id }) => id))
    for (const store of stores) if (ids.has(store.id)) await store.moveDue().catch(this.#onError)
  }

  /** One at a time. */
  #repeat(everyMs: number, task: () => Promise<void>): void {
    let isRunning = false
    const timer = setInterval(() => {
      if (isRunning) return
      isRunning = true
      task()
        .catch(this.#onError)
        .finally(() => {
          isRunning = false
        })
    }, everyMs)
    this.#timers.push(timer.unref())
  }
}

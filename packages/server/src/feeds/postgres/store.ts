/** The messages of one feed in PostgreSQL. */
import { randomBytes } from 'node:crypto'
import type {
  Appended,
  FeedReads,
  FeedStore,
  Follower,
  Following,
  NewMessage,
  OnMoved,
  Page,
  PublishOnce,
  ReadOptions,
  StoredMessage,
  StoredTopic,
  TopicPage,
  Usage,
} from '../engine.ts'
import type { Feed, TopicChoice } from '../feed.ts'
import { refuseAppend } from '../refusals.ts'
import { NO_FEED, TOO_MANY_BYTES, TOO_MANY_TOPICS } from './append-function.ts'
import { AppendQueue } from './append-queue.ts'
import { errorCode, type FeedDatabase } from './database.ts'
import { PostgresFeedReads } from './feed-reads.ts'
import { storageKind } from './reads.ts'
import { classPartitions, createPartitions } from './setup.ts'
import { historyClass, KIND, SCHEMA } from './tables.ts'

export interface StoreOptions {
  readonly database: FeedDatabase
  /** Tells the other nodes. */
  readonly announce: (id: number, news: number | 'purged') => void
  readonly onError: (error: unknown) => void
  readonly onMoved: OnMoved
  /** What is read of the feed, by delayed readers too: it is to be told what other nodes append. */
  readonly onOpen: (reads: PostgresFeedReads) => void
  readonly onClose: (reads: PostgresFeedReads) => void
}

/** The time in which other nodes read the messages of a feed that is not stored. */
const NOT_STORED_MS = 60_000
const NO_PARTITION = '23514'

interface DefinedRow {
  readonly id: number
  readonly delays: readonly string[] | null
  readonly delayed: readonly number[] | null
}

export class PostgresFeedStore implements FeedStore {
  #feed: Feed
  readonly #options: StoreOptions
  readonly #queue: AppendQueue
  #reads: PostgresFeedReads | undefined
  #delays: readonly number[] = []
  /** By delay. */
  readonly #delayed = new Map<number, PostgresFeedReads>()

  static async open(feed: Feed, delays: readonly number[], options: StoreOptions): Promise<PostgresFeedStore> {
    const store = new PostgresFeedStore(feed, options)
    await store.update(feed, delays)
    return store
  }

  private constructor(feed: Feed, options: StoreOptions) {
    this.#feed = feed
    this.#options = options
    this.#queue = new AppendQueue({
      database: options.database,
      feedId: () => this.id,
      feed: () => this.#feed,
      isStored: () => storageKind(this.#feed) !== KIND.notStored,
      makeRoom: (error) => this.#makeRoom(error),
      explain: (error) => this.#explain(error),
      onAppended: (group) => {
        options.announce(this.id, group.lastSeq)
        this.#opened.appended(group)
      },
    })
  }

  get id(): number {
    return this.#reads?.id ?? 0
  }

  /** Of the feed itself, and of what delayed readers see of it. */
  get sweptIds(): readonly number[] {
    return [this.id, ...[...this.#delayed.values()].map(({ id }) => id)]
  }

  get isDelayed(): boolean {
    return this.#delayed.size > 0
  }

  get epoch(): string {
    return this.#opened.epoch
  }

  async update(feed: Feed, delays: readonly number[] = []): Promise<void> {
    const kept = storageKind(feed) === KIND.notStored ? [] : delays
    const { id, delays: stored, delayed } = await this.#define(feed, kept)
    this.#feed = feed
    this.#delays = kept
    this.#reads ??= this.#open(id, false)
    await this.sweep(id)
    for (const reads of this.#takeDelayed(stored ?? [], delayed ?? [])) await reads.refresh()
    if (this.isDelayed) await this.moveDue()
    await this.#opened.refresh()
  }

  async #define(feed: Feed, delays: readonly number[]): Promise<DefinedRow> {
    const { database } = this.#options
    const { history, stateTime, topics, bytes, keep } = feed
    const historyMs = storedHistoryMs(feed)
    const classIndex = historyClass(historyMs + Math.max(0, ...delays))
    await createPartitions(database, classIndex, await database.time())
    const [row] = await database.write<DefinedRow>(
      `select o_id as id, o_delays as delays, o_delayed as delayed
       from ${SCHEMA}.define_2($1, $2, $3::smallint, $4, $5, $6, $7, $8, $9, $10::smallint, $11, $12, $13, $14)`,
      [
        ...[feed.generation, newEpoch(), storageKind(feed), keep === 'latest', history?.messages ?? 0, historyMs],
        ...[stateTime ?? null, topics, bytes, classIndex, classPartitions(classIndex).partitionMs],
        ...[delays, delays.map((delay) => historyClass(historyMs + delay)), database.now()],
      ],
    )
    if (row === undefined) throw new Error('The feed was not declared')
    return row
  }

  /** Returns those that are new. */
  #takeDelayed(delays: readonly string[], ids: readonly number[]): readonly PostgresFeedReads[] {
    const stored = new Map(delays.map((delay, index) => [Number(delay), ids[index] ?? 0]))
    for (const [delay, reads] of this.#delayed)
      if (stored.get(delay) !== reads.id) {
        this.#delayed.delete(delay)
        reads.close()
      }
    const added: PostgresFeedReads[] = []
    for (const [delay, id] of stored) {
      if (this.#delayed.has(delay)) continue
      const reads = this.#open(id, true)
      this.#delayed.set(delay, reads)
      added.push(reads)
    }
    return added
  }

  #open(id: number, isDelayed: boolean): PostgresFeedReads {
    const { database, onError, onOpen, onClose } = this.#options
    const feed = () => this.#feed
    const reads = new PostgresFeedReads(id, { database, onError, feed, isDelayed, onClose: () => onClose(reads) })
    onOpen(reads)
    return reads
  }

  get #opened(): PostgresFeedReads {
    if (this.#reads === undefined) throw new Error('The feed is not declared yet')
    return this.#reads
  }

  append(messages: readonly NewMessage[], once?: PublishOnce, publisher = ''): Promise<Appended> {
    return this.#queue.append(messages, once, publisher)
  }

  async wasAppended({ owner, key, fingerprint }: PublishOnce): Promise<boolean> {
    const [known] = await this.#options.database.read<{ fingerprint: string }>(
      `select fingerprint from ${SCHEMA}.requests where feed = $1 and owner = $2 and key = $3`,
      [this.id, owner, key],
    )
    if (known !== undefined && known.fingerprint !== fingerprint) throw refuseAppend('key', this.#feed)
    return known !== undefined
  }

  readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    return this.#opened.readAfter(choice, after, options)
  }

  readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    return this.#opened.readLast(choice, count)
  }

  listTopics(page: TopicPage): Promise<readonly StoredTopic[]> {
    return this.#opened.listTopics(page)
  }

  follow(follower: Follower): Following {
    return this.#opened.follow(follower)
  }

  delayed(delay: number): FeedReads | undefined {
    return this.#delayed.get(delay)
  }

  async usage(): Promise<Usage> {
    const sql = `select topics, bytes + held_bytes + (select coalesce(sum(d.bytes), 0)::bigint from ${SCHEMA}.feeds d where d.source = f.id) as bytes
      from ${SCHEMA}.feeds f where id = $1`
    const [row] = await this.#options.database.read<Usage>(sql, [this.id])
    return { topics: row?.topics ?? 0, bytes: row?.bytes ?? 0 }
  }

  async purge(): Promise<void> {
    const { database, announce } = this.#options
    await database.write(`select ${SCHEMA}.purge_1($1, $2)`, [this.id, newEpoch()])
    for (const reads of [this.#opened, ...this.#delayed.values()]) {
      await reads.refresh()
      announce(reads.id, 'purged')
    }
  }

  close(): void {
    for (const reads of this.#delayed.values()) reads.close()
    this.#delayed.clear()
    this.#reads?.close()
  }

  /** Applies the bounds of time to the feed, or to what delayed readers see of it. Returns whether anything was done. */
  async sweep(id = this.id): Promise<boolean> {
    const { announce } = this.#options
    let isDone = false
    for (let isMore = true; isMore; ) {
      const [swept] = await this.#sweepOnce(id).catch(async (error) => {
        if (errorCode(error) !== NO_PARTITION) throw error
        await this.#createPartitions()
        return this.#sweepOnce(id)
      })
      isMore = swept?.o_is_more ?? false
      isDone ||= swept?.o_is_done ?? false
      if ((swept?.o_removed ?? 0) > 0) {
        const { through } = await this.#opened.head()
        announce(this.id, through)
        this.#opened.heard(through)
      }
    }
    return isDone
  }

  #sweepOnce(id: number) {
    const { database } = this.#options
    return database.write<{ o_removed: number; o_is_done: boolean; o_is_more: boolean }>(
      `select * from ${SCHEMA}.sweep_1($1, $2)`,
      [id, database.now()],
    )
  }

  /** Shows delayed readers what is old enough for them. */
  async moveDue(): Promise<void> {
    const { database, announce, onMoved } = this.#options
    for (let isMore = true; isMore; ) {
      const [moved] = await database.write<{
        o_feeds: readonly number[]
        o_seqs: readonly string[]
        o_late: number
        o_is_more: boolean
      }>(`select * from ${SCHEMA}.move_1($1, $2)`, [this.id, database.now()])
      if (moved === undefined || moved.o_feeds.length === 0) return
      for (const [index, id] of moved.o_feeds.entries()) {
        const seq = Number(moved.o_seqs[index])
        announce(id, seq)
        for (const reads of this.#delayed.values()) if (reads.id === id) reads.heard(seq)
      }
      onMoved({ feed: this.#feed.name, lateMs: moved.o_late })
      isMore = moved.o_is_more
    }
  }

  /** Held messages that all delayed readers have do not count any more. This node still needs its delays. */
  async trimHeld(): Promise<void> {
    const { database } = this.#options
    for (let isMore = true; isMore; ) {
      const [trimmed] = await database.write<{ o_known: number; o_is_more: boolean }>(
        `select * from ${SCHEMA}.trim_held_1($1, $2, $3)`,
        [this.id, this.#delays, database.now()],
      )
      isMore = trimmed?.o_is_more ?? false
      if (trimmed !== undefined && trimmed.o_known < this.#delays.length) await this.update(this.#feed, this.#delays)
    }
  }

  /** Topics that have expired make room for others, before the next sweep. */
  async #makeRoom(error: unknown): Promise<boolean> {
    const code = errorCode(error)
    if (code === TOO_MANY_TOPICS || code === TOO_MANY_BYTES) return this.sweep()
    if (code !== NO_PARTITION) return false
    await this.#createPartitions()
    return true
  }

  async #createPartitions(): Promise<void> {
    const { database } = this.#options
    const classIndex = historyClass(storedHistoryMs(this.#feed) + Math.max(0, ...this.#delays))
    await createPartitions(database, classIndex, await database.time())
  }

  #explain(error: unknown): unknown {
    switch (errorCode(error)) {
      case TOO_MANY_TOPICS:
        return refuseAppend('topics', this.#feed)
      case TOO_MANY_BYTES:
        return refuseAppend('bytes', this.#feed)
      case NO_FEED:
        return refuseAppend('dropped', this.#feed)
      default:
        return error
    }
  }
}

function storedHistoryMs(feed: Feed): number {
  return feed.history?.time ?? (storageKind(feed) === KIND.notStored ? NOT_STORED_MS : 0)
}

/** At most 16 letters and digits. */
function newEpoch(): string {
  return randomBytes(8).toString('hex')
}

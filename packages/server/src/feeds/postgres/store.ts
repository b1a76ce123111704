/** The messages of one feed in PostgreSQL. */
import { randomBytes } from 'node:crypto'
import type {
  Appended,
  FeedStore,
  Follower,
  Following,
  NewMessage,
  Page,
  PublishOnce,
  ReadOptions,
  StoredMessage,
  StoredTopic,
  TopicPage,
  Usage,
} from '../engine.ts'
import { chooses, type Feed, type TopicChoice } from '../feed.ts'
import { refuseAppend } from '../refusals.ts'
import { NO_FEED, TOO_MANY_BYTES, TOO_MANY_TOPICS } from './append-function.ts'
import { type AppendedGroup, AppendQueue } from './append-queue.ts'
import { errorCode, type FeedDatabase } from './database.ts'
import { FeedFollowing, type News, type Seen } from './following.ts'
import {
  type HeaderRow,
  type PageRow,
  readHistory,
  readLast,
  readNewest,
  readNews,
  readTopics,
  storageKind,
} from './reads.ts'
import { classPartitions, createPartitions } from './setup.ts'
import { historyClass, KIND, SCHEMA } from './tables.ts'

export interface StoreOptions {
  readonly database: FeedDatabase
  /** Tells the other nodes. */
  readonly announce: (id: number, news: number | 'purged') => void
  readonly onError: (error: unknown) => void
  readonly onClose: () => void
}

/** How many messages a node reads at once. */
const NEWS_AT_ONCE = 2000
/** The time in which other nodes read the messages of a feed that is not stored. */
const NOT_STORED_MS = 60_000
const NO_PARTITION = '23514'

export class PostgresFeedStore implements FeedStore {
  #feed: Feed
  readonly #options: StoreOptions
  readonly #queue: AppendQueue
  #id = 0
  #epoch = ''
  #purges = -1
  #following: FeedFollowing | undefined

  static async open(feed: Feed, options: StoreOptions): Promise<PostgresFeedStore> {
    const store = new PostgresFeedStore(feed, options)
    await store.update(feed)
    return store
  }

  private constructor(feed: Feed, options: StoreOptions) {
    this.#feed = feed
    this.#options = options
    this.#queue = new AppendQueue({
      database: options.database,
      feedId: () => this.#id,
      feed: () => this.#feed,
      isStored: () => storageKind(this.#feed) !== KIND.notStored,
      makeRoom: (error) => this.#makeRoom(error),
      explain: (error) => this.#explain(error),
      onAppended: (group) => this.#onAppended(group),
    })
  }

  get id(): number {
    return this.#id
  }

  get epoch(): string {
    return this.#epoch
  }

  get isFollowed(): boolean {
    return this.#following?.isReading ?? false
  }

  async update(feed: Feed): Promise<void> {
    const { database } = this.#options
    const { history, stateTime, topics, bytes, keep } = feed
    const historyMs = storedHistoryMs(feed)
    const classIndex = historyClass(historyMs)
    await this.#createPartitions(feed)
    const { partitionMs } = classPartitions(classIndex)
    const [row] = await database.write<{ id: number }>(
      `select o_id as id from ${SCHEMA}.define_1($1, $2, $3::smallint, $4, $5, $6, $7, $8, $9, $10::smallint, $11) as o_id`,
      [
        ...[feed.generation, newEpoch(), storageKind(feed), keep === 'latest', history?.messages ?? 0, historyMs],
        ...[stateTime ?? null, topics, bytes, classIndex, partitionMs],
      ],
    )
    if (row === undefined) throw new Error('The feed was not declared')
    this.#id = row.id
    this.#feed = feed
    await this.sweep()
    await this.refresh()
  }

  append(messages: readonly NewMessage[], once?: PublishOnce, publisher = ''): Promise<Appended> {
    return this.#queue.append(messages, once, publisher)
  }

  async wasAppended({ owner, key, fingerprint }: PublishOnce): Promise<boolean> {
    const [known] = await this.#options.database.read<{ fingerprint: string }>(
      `select fingerprint from ${SCHEMA}.requests where feed = $1 and owner = $2 and key = $3`,
      [this.#id, owner, key],
    )
    if (known !== undefined && known.fingerprint !== fingerprint) throw refuseAppend('key', this.#feed)
    return known !== undefined
  }

  async readAfter(choice: TopicChoice, after: number, { kind, limit }: ReadOptions): Promise<Page> {
    if (storageKind(this.#feed) === KIND.notStored) return { messages: [], through: after, isLast: true, hasGap: false }
    const read = kind === 'newest' ? readNewest : readHistory
    const { database } = this.#options
    // One more shows whether anything follows.
    const { sql, values } = read(this.#feed, this.#id, database.now(), choice, after, limit + 1)
    const rows = await database.read<PageRow>(sql, values)
    const found = messagesIn(rows)
    const [first] = rows
    const hasGap = (first?.hasGap ?? true) || after > (first?.lastSeq ?? 0)
    const messages = found.slice(0, limit)
    const isLast = (first?.found ?? 0) <= messages.length
    const through = isLast ? Math.max(after, first?.lastSeq ?? 0) : (messages.at(-1)?.seq ?? after)
    return { messages, through, isLast, hasGap }
  }

  async readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    if (storageKind(this.#feed) === KIND.notStored || count === 0) return []
    const { database } = this.#options
    const { sql, values } = readLast(this.#feed, this.#id, database.now(), choice, count)
    return messagesIn(await database.read<PageRow>(sql, values)).toReversed()
  }

  async listTopics(page: TopicPage): Promise<readonly StoredTopic[]> {
    const { database } = this.#options
    const { sql, values } = readTopics(this.#feed, this.#id, database.now(), page)
    return (await database.read<StoredTopic>(sql, values)).map(({ topic, time, messages }) => ({
      topic,
      time,
      messages,
    }))
  }

  async usage(): Promise<Usage> {
    const sql = `select topics, bytes from ${SCHEMA}.feeds where id = $1`
    const [row] = await this.#options.database.read<Usage>(sql, [this.#id])
    return { topics: row?.topics ?? 0, bytes: row?.bytes ?? 0 }
  }

  follow(follower: Follower): Following {
    if (this.#following !== undefined) throw new Error(`The feed ${this.#feed.name} has a follower already`)
    const source = {
      head: () => this.#head(),
      read: (...asked: Parameters<typeof this.readNews>) => this.readNews(...asked),
    }
    this.#following = new FeedFollowing(follower, source, this.#options.onError, () => {
      this.#following = undefined
    })
    return this.#following
  }

  async purge(): Promise<void> {
    await this.#options.database.write(`select ${SCHEMA}.purge_1($1, $2)`, [this.#id, newEpoch()])
    await this.refresh()
    this.#options.announce(this.#id, 'purged')
  }

  close(): void {
    this.#following?.stop()
    this.#options.onClose()
  }

  /** Applies the bounds of time. Returns whether anything was done. */
  async sweep(): Promise<boolean> {
    const { announce } = this.#options
    let isDone = false
    for (let isMore = true; isMore; ) {
      const [swept] = await this.#sweepOnce().catch(async (error) => {
        if (errorCode(error) !== NO_PARTITION) throw error
        await this.#createPartitions()
        return this.#sweepOnce()
      })
      isMore = swept?.o_is_more ?? false
      isDone ||= swept?.o_is_done ?? false
      if ((swept?.o_removed ?? 0) > 0) {
        const { through } = await this.#head()
        announce(this.#id, through)
        this.heard(through)
      }
    }
    return isDone
  }

  #sweepOnce() {
    const { database } = this.#options
    return database.write<{ o_removed: number; o_is_done: boolean; o_is_more: boolean }>(
      `select * from ${SCHEMA}.sweep_1($1, $2)`,
      [this.#id, database.now()],
    )
  }

  /** Another node has appended up to this number. */
  heard(seq: number): void {
    this.#following?.heard(seq)
  }

  /** Looks for a purge and for what other nodes have appended. */
  async refresh(): Promise<void> {
    this.heard((await this.#head()).through)
  }

  /** What the row of the feed says now, or said when something was read. */
  see({ epoch, purges, lastSeq }: HeaderRow): void {
    if (purges > this.#purges) {
      const isFirst = this.#purges === -1
      this.#epoch = epoch
      this.#purges = purges
      if (!isFirst) this.#following?.purged()
    }
    this.heard(lastSeq)
  }

  async #head(): Promise<Seen> {
    const sql = `select last_seq as "lastSeq", last_time as "lastTime", epoch, purges from ${SCHEMA}.feeds where id = $1`
    const [row] = await this.#options.database.read<HeaderRow>(sql, [this.#id])
    if (row === undefined) return { through: 0, throughTime: 0 }
    this.see(row)
    return { through: row.lastSeq, throughTime: row.lastTime }
  }

  async readNews({ through, throughTime }: Seen, wanted: Follower['wanted']): Promise<News> {
    // Those that were wanted when the read began.
    const topics = new Set(wanted.topics)
    const prefixes = new Set(wanted.prefixes)
    const asked = readNews(this.#feed, this.#id, { through, throughTime }, { topics, prefixes }, NEWS_AT_ONCE)
    const rows = await this.#options.database.read<PageRow>(asked.sql, asked.values)
    const [first] = rows
    if (first === undefined) return { messages: [], through, throughTime, isWhole: true }
    this.see(first)
    const found = messagesIn(rows)
    const isCurrent = first.purges === this.#purges
    const last = found.at(-1)
    const isWhole = last === undefined || (found.length < NEWS_AT_ONCE && found.length === first.found)
    const isWanted = ({ topic }: StoredMessage): boolean =>
      topics.has(topic) || [...prefixes].some((prefix) => chooses({ kind: 'prefix', prefix }, topic))
    return {
      messages: isCurrent ? found.filter(isWanted) : [],
      through: isWhole ? Math.max(through, first.lastSeq) : last.seq,
      throughTime: isWhole ? first.lastTime : last.time,
      isWhole,
    }
  }

  #onAppended(group: AppendedGroup): void {
    this.#options.announce(this.#id, group.lastSeq)
    // After a purge that this node has not seen yet, the messages are read: followers learn of the purge first.
    if (group.purges === this.#purges) this.#following?.appended(group)
    else this.heard(group.lastSeq)
  }

  /** Topics that have expired make room for others, before the next sweep. */
  async #makeRoom(error: unknown): Promise<boolean> {
    const code = errorCode(error)
    if (code === TOO_MANY_TOPICS || code === TOO_MANY_BYTES) return this.sweep()
    if (code !== NO_PARTITION) return false
    await this.#createPartitions()
    return true
  }

  async #createPartitions(feed = this.#feed): Promise<void> {
    const { database } = this.#options
    await createPartitions(database, historyClass(storedHistoryMs(feed)), await database.time())
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

function messagesIn(rows: readonly PageRow[]): StoredMessage[] {
  return rows.flatMap(({ seq, time, topic, data }) =>
    seq === null || time === null || topic === null ? [] : [{ seq, time, topic, data: data ?? undefined }],
  )
}

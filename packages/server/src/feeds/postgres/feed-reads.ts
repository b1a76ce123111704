/** What is kept of a feed in PostgreSQL, read page by page and followed: of a declared one, or of what delayed readers see of it. */
import type {
  FeedReads,
  Follower,
  Following,
  Page,
  ReadOptions,
  StoredMessage,
  StoredTopic,
  TopicPage,
} from '../engine.ts'
import { chooses, type Feed, type TopicChoice } from '../feed.ts'
import type { AppendedGroup } from './append-queue.ts'
import type { FeedDatabase } from './database.ts'
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
import { KIND, SCHEMA } from './tables.ts'

export interface FeedReadsOptions {
  readonly database: FeedDatabase
  /** As it is defined now. */
  readonly feed: () => Feed
  readonly isDelayed: boolean
  readonly onError: (error: unknown) => void
  readonly onClose: () => void
}

/** How many messages a node reads at once. */
const NEWS_AT_ONCE = 2000

export class PostgresFeedReads implements FeedReads {
  readonly id: number
  readonly #options: FeedReadsOptions
  #epoch = ''
  #purges = -1
  #following: FeedFollowing | undefined

  constructor(id: number, options: FeedReadsOptions) {
    this.id = id
    this.#options = options
  }

  get epoch(): string {
    return this.#epoch
  }

  get isFollowed(): boolean {
    return this.#following?.isReading ?? false
  }

  async readAfter(choice: TopicChoice, after: number, { kind, limit }: ReadOptions): Promise<Page> {
    const { database, feed } = this.#options
    if (storageKind(feed()) === KIND.notStored) return { messages: [], through: after, isLast: true, hasGap: false }
    const read = kind === 'newest' ? readNewest : readHistory
    // One more shows whether anything follows.
    const { sql, values } = read(feed(), this.id, database.now(), choice, after, limit + 1)
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
    const { database, feed } = this.#options
    if (storageKind(feed()) === KIND.notStored || count === 0) return []
    const { sql, values } = readLast(feed(), this.id, database.now(), choice, count)
    return messagesIn(await database.read<PageRow>(sql, values)).toReversed()
  }

  async listTopics(page: TopicPage): Promise<readonly StoredTopic[]> {
    const { database, feed } = this.#options
    const { sql, values } = readTopics(feed(), this.id, database.now(), page)
    return (await database.read<StoredTopic>(sql, values)).map(({ topic, time, messages }) => ({
      topic,
      time,
      messages,
    }))
  }

  follow(follower: Follower): Following {
    const { feed, onError } = this.#options
    if (this.#following !== undefined) throw new Error(`The feed ${feed().name} has a follower already`)
    const source = {
      head: () => this.head(),
      read: (...asked: Parameters<typeof this.readNews>) => this.readNews(...asked),
    }
    this.#following = new FeedFollowing(follower, source, onError, () => {
      this.#following = undefined
    })
    return this.#following
  }

  close(): void {
    this.#following?.stop()
    this.#options.onClose()
  }

  /** This node has appended. */
  appended(group: AppendedGroup): void {
    // After a purge that this node has not seen yet, the messages are read: followers learn of the purge first.
    if (group.purges === this.#purges) this.#following?.appended(group)
    else this.heard(group.lastSeq)
  }

  /** Another node has appended up to this number. */
  heard(seq: number): void {
    this.#following?.heard(seq)
  }

  /** Looks for a purge and for what other nodes have appended. */
  async refresh(): Promise<void> {
    this.heard((await this.head()).through)
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

  async head(): Promise<Seen> {
    const sql = `select last_seq as "lastSeq", last_time as "lastTime", epoch, purges from ${SCHEMA}.feeds where id = $1`
    const [row] = await this.#options.database.read<HeaderRow>(sql, [this.id])
    if (row === undefined) return { through: 0, throughTime: 0 }
    this.see(row)
    return { through: row.lastSeq, throughTime: row.lastTime }
  }

  async readNews({ through, throughTime }: Seen, wanted: Follower['wanted']): Promise<News> {
    const { database, feed, isDelayed } = this.#options
    // Those that were wanted when the read began.
    const topics = new Set(wanted.topics)
    const prefixes = new Set(wanted.prefixes)
    const from = { id: this.id, isDelayed }
    const asked = readNews(feed(), from, { through, throughTime }, { topics, prefixes }, NEWS_AT_ONCE)
    const rows = await database.read<PageRow>(asked.sql, asked.values)
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
}

function messagesIn(rows: readonly PageRow[]): StoredMessage[] {
  return rows.flatMap(({ seq, time, topic, data }) =>
    seq === null || time === null || topic === null ? [] : [{ seq, time, topic, data: data ?? undefined }],
  )
}

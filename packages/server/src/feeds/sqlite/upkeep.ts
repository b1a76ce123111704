/** Changes of whole feeds in feeds.db: definitions, purges, and the removal of what has expired. */
import type { Database } from 'better-sqlite3'
import { type Appender, textBytes } from './append.ts'
import type { DelayedFeeds } from './delayed-feeds.ts'
import type { HeldMessages } from './held.ts'
import type { FeedRules, SweptFeed } from './jobs.ts'
import { newEpoch } from './schema.ts'

/** How many rows a sweep removes at most, so that publishers do not wait for it. */
const SWEPT_AT_ONCE = 500
/** How long a removed topic is remembered, for readers that come back. */
const REMOVED_MS = 60 * 60_000
const REQUESTS_MS = 24 * 60 * 60_000

interface Expired {
  readonly seq: number
  readonly time: number
  readonly topic: number
  readonly data: string | null
}

interface LongTopic {
  readonly id: number
  messages: number
}

export class Upkeep {
  readonly #database: Database
  readonly #appender: Appender
  readonly #held: HeldMessages
  readonly #delayed: DelayedFeeds

  constructor(database: Database, appender: Appender, held: HeldMessages, delayed: DelayedFeeds) {
    this.#database = database
    this.#appender = appender
    this.#held = held
    this.#delayed = delayed
  }

  define(rules: FeedRules, delays: readonly number[], now: number): void {
    this.#database
      .prepare(
        'insert into feeds (name, epoch, last, time, forgotten, topics, bytes) values (?, ?, 0, 0, 0, 0, 0) on conflict (name) do nothing',
      )
      .run(rules.generation, newEpoch())
    const { id } = this.#feed(rules.generation)
    this.#database.prepare('update feeds set rules = ? where id = ?').run(JSON.stringify(rules), id)
    this.#fit(rules, id, now)
    this.#delayed.declare(id, delays, now)
    for (const { feed, delay } of this.#delayed.list(id)) this.#fit(rules, feed, now - delay)
  }

  #fit(rules: FeedRules, id: number, now: number): void {
    if (rules.keep === 'all') this.#database.prepare('update topics set data = null where feed = ?').run(id)
    else this.#makeStates(id)
    this.#cutHistories(rules, id)
    while (this.#removeExpired(rules, id, now));
    this.#recount(id)
  }

  /** Numbers go on, so that no position from before can be taken for one of a later message. */
  purge(generation: string): void {
    const feed = this.#find(generation)
    // Another worker has dropped it.
    if (feed === undefined) return
    const epoch = newEpoch()
    for (const id of [feed.id, ...this.#delayed.list(feed.id).map((delayed) => delayed.feed)]) {
      this.#removeRows(id)
      this.#database
        .prepare('update feeds set epoch = ?, forgotten = last, topics = 0, bytes = 0 where id = ?')
        .run(epoch, id)
    }
    this.#held.purge(feed.id, feed.last)
  }

  drop(generation: string): void {
    const feed = this.#find(generation)
    if (feed === undefined) return
    for (const delayed of this.#delayed.list(feed.id)) this.#dropDelayed(delayed.feed)
    this.#held.end(feed.id)
    this.#removeRows(feed.id)
    this.#database.prepare('delete from feeds where id = ?').run(feed.id)
    this.#database.prepare('delete from requests where feed = ?').run(generation)
  }

  #dropDelayed(feed: number): void {
    this.#delayed.unlink(feed)
    this.#removeRows(feed)
    this.#database.prepare('delete from feeds where id = ?').run(feed)
  }

  /** True if there is more to remove. */
  sweep(feeds: readonly SweptFeed[], now: number): boolean {
    let hasMore = false
    for (const { rules, delays } of feeds) {
      const feed = this.#find(rules.generation)
      if (feed === undefined) continue
      if (this.#sweepDelayed(rules, delays, feed.id, now)) hasMore = true
      if (this.#removeExpired(rules, feed.id, now)) hasMore = true
      if (this.#expireTopics(rules, feed.id, now)) hasMore = true
      if (this.#forgetRemoved(feed.id, now)) hasMore = true
    }
    const { changes } = this.#database
      .prepare(
        'delete from requests where (feed, owner, key) in (select feed, owner, key from requests where time < ? limit ?)',
      )
      .run(now - REQUESTS_MS, SWEPT_AT_ONCE)
    return hasMore || changes === SWEPT_AT_ONCE
  }

  /** The removals of expired topics reach delayed readers as messages, when these are old enough. True if there is more to remove. */
  #sweepDelayed(rules: FeedRules, delays: readonly number[] | undefined, id: number, now: number): boolean {
    if (delays !== undefined) {
      this.#delayed.declare(id, delays, now)
      for (const { feed } of this.#delayed.undeclared(id, now)) this.#dropDelayed(feed)
    }
    let hasMore = false
    for (const { feed, delay } of this.#delayed.list(id)) {
      if (this.#removeExpired(rules, feed, now - delay)) hasMore = true
      if (this.#forgetRemoved(feed, now - delay)) hasMore = true
    }
    return this.#delayed.trim(id, now) || hasMore
  }

  #feed(generation: string): { readonly id: number } {
    const feed = this.#find(generation)
    if (feed === undefined) throw new Error(`The feed ${generation} is not in the file`)
    return feed
  }

  #find(generation: string): { readonly id: number; readonly last: number } | undefined {
    return this.#database
      .prepare<[string], { id: number; last: number }>('select id, last from feeds where name = ?')
      .get(generation)
  }

  #removeRows(feed: number): void {
    this.#database.prepare('delete from messages where feed = ?').run(feed)
    this.#database.prepare('delete from topics where feed = ?').run(feed)
  }

  /** The feed kept all messages before: the newest of each topic is its state now. */
  #makeStates(feed: number): void {
    this.#database
      .prepare(
        `update topics set data = (select data from messages where messages.feed = topics.feed and messages.seq = topics.seq)
         where feed = ? and data is null and removed = 0`,
      )
      .run(feed)
  }

  #cutHistories({ history }: FeedRules, feed: number): void {
    const most = history?.messages ?? 0
    const long = this.#database
      .prepare<[number, number], LongTopic>('select id, messages from topics where feed = ? and messages > ?')
      .all(feed, most)
    for (const topic of long) {
      this.#appender.removeOldest(topic, topic.messages - most)
      this.#database.prepare('update topics set messages = ? where id = ?').run(topic.messages, topic.id)
    }
    // Removals that were kept for readers of the history.
    if (history === undefined) this.#database.prepare('delete from messages where feed = ?').run(feed)
  }

  #recount(feed: number): void {
    this.#database
      .prepare(
        `update feeds set
           topics = (select count(*) from topics where feed = feeds.id and removed = 0),
           bytes = coalesce((select sum(length(cast(data as blob))) from topics where feed = feeds.id), 0)
             + coalesce((select sum(length(cast(data as blob))) from messages where feed = feeds.id), 0)
         where id = ?`,
      )
      .run(feed)
  }

  /** Messages of the history that are too old. True if there may be more. */
  #removeExpired({ history }: FeedRules, feed: number, now: number): boolean {
    if (history === undefined) return false
    const oldest = this.#database
      .prepare<[number, number], Expired>(
        'select seq, time, topic, data from messages where feed = ? order by seq limit ?',
      )
      .all(feed, SWEPT_AT_ONCE)
    const expired = oldest.filter(({ time }) => time < now - history.time)
    if (expired.length === 0) return false
    const remove = this.#database.prepare('delete from messages where feed = ? and seq = ?')
    const trim = this.#database.prepare(
      'update topics set trimmed = max(trimmed, ?), messages = messages - 1 where id = ?',
    )
    let bytes = 0
    for (const { seq, topic, data } of expired) {
      remove.run(feed, seq)
      if (data !== null) trim.run(seq, topic)
      bytes += textBytes(data)
    }
    this.#database.prepare('update feeds set bytes = bytes - ? where id = ?').run(bytes, feed)
    return expired.length === oldest.length
  }

  /** Topics that hold nothing any more are removed like those that a publisher removes. True if there may be more. */
  #expireTopics(rules: FeedRules, feed: number, now: number): boolean {
    const lifetime = rules.keep === 'latest' ? rules.stateTime : rules.history?.time
    if (lifetime === undefined) return false
    const oldest = this.#oldestTopics(feed, 0)
    const expired = oldest.filter(({ time }) => time < now - lifetime)
    if (expired.length === 0) return false
    const batch = { topics: expired.map(({ topic }) => topic), data: expired.map(() => undefined), once: undefined }
    this.#appender.append(rules, batch, now)
    return expired.length === SWEPT_AT_ONCE
  }

  /** True if there may be more. */
  #forgetRemoved(feed: number, now: number): boolean {
    const removed = this.#oldestTopics(feed, 1).filter(({ time }) => time < now - REMOVED_MS)
    const newest = removed.at(-1)
    if (newest === undefined) return false
    const forget = this.#database.prepare('delete from topics where id = ?')
    for (const { id } of removed) forget.run(id)
    this.#database.prepare('update feeds set forgotten = max(forgotten, ?) where id = ?').run(newest.seq, feed)
    return removed.length === SWEPT_AT_ONCE
  }

  /** Those whose newest message is the oldest. */
  #oldestTopics(feed: number, removed: 0 | 1) {
    return this.#database
      .prepare<[number, number, number], { id: number; topic: string; seq: number; time: number }>(
        'select id, topic, seq, time from topics where feed = ? and removed = ? order by seq limit ?',
      )
      .all(feed, removed, SWEPT_AT_ONCE)
  }
}

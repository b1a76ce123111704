/** Reads feeds.db on the event loop, in pages that are bounded by rows and bytes. */
import type { Database } from 'better-sqlite3'
import type { Page, ReadOptions, StoredMessage, StoredTopic, TopicPage, Usage } from '../engine.ts'
import { chooses, type Feed, type TopicChoice } from '../feed.ts'

/** How many rows are read for one page, whether they are chosen or not. */
const MAX_ROWS = 1_000
/** The `Data` of one page, apart from its last message. */
const MAX_BYTES = 1024 * 1024

export interface Head {
  readonly id: number
  readonly epoch: string
  readonly last: number
  readonly forgotten: number
}

interface MessageRow {
  readonly seq: number
  readonly topic: string
  readonly time: number
  /** Null for a removed topic. */
  readonly data: string | null
  readonly removed: number
}

type HeldRow = Pick<MessageRow, 'seq' | 'topic' | 'time' | 'data'>

interface TopicRow extends StoredTopic {
  readonly removed: number
  readonly trimmed: number
}

/** What readers with a delay see of a feed. */
export interface DelayedHead {
  readonly name: string
  readonly source: number
  readonly delay: number
  /** The highest number that was removed from the held messages of the source. */
  readonly trimmed: number
}

export type Rules = Pick<Feed, 'keep' | 'history' | 'stateTime'>

export class Reads {
  readonly #sql

  constructor(database: Database) {
    const message =
      'm.seq, t.topic, m.time, m.data, m.data is null as removed from messages m join topics t on t.id = m.topic'
    // Where all messages are kept, the newest is among them.
    const state = 'coalesce(data, (select m.data from messages m where m.feed = topics.feed and m.seq = topics.seq))'
    const newest = `seq, topic, time, removed, ${state} as data from topics`
    this.#sql = {
      request: database.prepare<[string, string, string], { fingerprint: string }>(
        'select fingerprint from requests where feed = ? and owner = ? and key = ?',
      ),
      generations: database.prepare<[], { name: string }>(
        'select name from feeds where id not in (select feed from delayed)',
      ),
      delayed: database.prepare<[string, number], DelayedHead>(
        `select f.name, d.source, d.delay, h.trimmed from feeds s join delayed d on d.source = s.id join feeds f on f.id = d.feed
           join held_feeds h on h.feed = s.id where s.name = ? and d.delay = ?`,
      ),
      // The next message that each delay has not seen.
      due: database.prepare<[string], { delay: number; time: number | null }>(
        `select d.delay, (select h.time from held h where h.feed = d.source and h.seq > f.last order by h.seq limit 1) as time
         from feeds s join delayed d on d.source = s.id join feeds f on f.id = d.feed where s.name = ?`,
      ),
      held: database.prepare<[number, number, number, number], HeldRow>(
        'select seq, topic, time, data from held where feed = ? and seq > ? and seq <= ? order by seq limit ?',
      ),
      head: database.prepare<[string], Head>('select id, epoch, last, forgotten from feeds where name = ?'),
      usage: database.prepare<[string], Usage>(
        `select topics, bytes + coalesce((select h.bytes from held_feeds h where h.feed = feeds.id), 0)
           + (select coalesce(sum(f.bytes), 0) from delayed d join feeds f on f.id = d.feed where d.source = feeds.id) as bytes
         from feeds where name = ?`,
      ),
      ofTopic: database.prepare<[number, string, number], MessageRow>(
        `select ${message} where m.topic = (select id from topics where feed = ? and topic = ?) and m.seq > ? order by m.seq`,
      ),
      ofFeed: database.prepare<[number, number], MessageRow>(
        `select ${message} where m.feed = ? and m.seq > ? order by m.seq`,
      ),
      lastOfTopic: database.prepare<[number, string, number], MessageRow>(
        `select ${message} where m.topic = (select id from topics where feed = ? and topic = ?) and m.seq < ? order by m.seq desc`,
      ),
      lastOfFeed: database.prepare<[number, number], MessageRow>(
        `select ${message} where m.feed = ? and m.seq < ? order by m.seq desc`,
      ),
      newestOfTopic: database.prepare<[number, string, number], MessageRow>(
        `select ${newest} where feed = ? and topic = ? and seq > ?`,
      ),
      newestOfFeed: database.prepare<[number, number, number, number], MessageRow>(
        `select ${newest} where feed = ? and removed = 0 and seq > ?
         union all select ${newest} where feed = ? and removed = 1 and seq > ? order by seq`,
      ),
      newestFirst: database.prepare<[number, number], MessageRow>(
        `select ${newest} where feed = ? and removed = 0 and seq < ? order by seq desc`,
      ),
      trimmedOfTopic: database.prepare<[number, string], { trimmed: number }>(
        'select trimmed from topics where feed = ? and topic = ?',
      ),
      topics: database.prepare<[number, string, number], TopicRow>(
        'select topic, time, messages, removed, trimmed from topics where feed = ? and topic > ? order by topic limit ?',
      ),
      topicsFrom: database.prepare<[number, string, number], TopicRow>(
        'select topic, time, messages, removed, trimmed from topics where feed = ? and topic >= ? order by topic limit ?',
      ),
    }
  }

  generations(): readonly string[] {
    return this.#sql.generations.all().map(({ name }) => name)
  }

  /** What a request with this key was; undefined if there was none. */
  fingerprint(generation: string, owner: string, key: string): string | undefined {
    return this.#sql.request.get(generation, owner, key)?.fingerprint
  }

  head(generation: string): Head | undefined {
    return this.#sql.head.get(generation)
  }

  /** With what is kept for delayed readers. */
  usage(generation: string): Usage | undefined {
    return this.#sql.usage.get(generation)
  }

  /** What readers with the delay see; undefined if that is not kept. */
  delayed(generation: string, delay: number): DelayedHead | undefined {
    return this.#sql.delayed.get(generation, delay)
  }

  /** Whether a message is old enough for readers with a delay, who have not seen it. */
  isDue(generation: string, now: number): boolean {
    return this.#sql.due.all(generation).some(({ delay, time }) => time !== null && time <= now - delay)
  }

  /** Held messages of a source, in order. */
  held(source: number, after: number, last: number, limit: number): readonly StoredMessage[] {
    return this.#sql.held.all(source, after, last, limit).map((row) => ({ ...row, data: row.data ?? undefined }))
  }

  page(head: Head, rules: Rules, choice: TopicChoice, after: number, { kind, limit }: ReadOptions, now: number): Page {
    const oldest = oldestTime(rules, kind, now)
    const messages: StoredMessage[] = []
    let [rows, bytes, through, hasGap] = [0, 0, after, after > head.last]
    for (const row of this.#rows(head.id, choice, kind, after)) {
      // Committed after the head was read.
      if (row.seq > head.last) break
      if (messages.length >= limit || rows >= MAX_ROWS || bytes > MAX_BYTES)
        return { messages, through, isLast: false, hasGap }
      rows++
      through = row.seq
      if (!chooses(choice, row.topic)) continue
      if (row.time < oldest) hasGap = kind === 'history'
      else if (row.data !== null || row.removed === 1) {
        messages.push(storedMessage(row))
        bytes += row.data?.length ?? 0
      }
    }
    return { messages, through: Math.max(after, head.last), isLast: true, hasGap }
  }

  /** Whether messages after this one were removed from the topic. */
  isTopicTrimmed(head: Head, topic: string, after: number): boolean {
    return (this.#sql.trimmedOfTopic.get(head.id, topic)?.trimmed ?? head.forgotten) > after
  }

  /** The oldest first. A topic whose history has expired still has its state. */
  last(head: Head, rules: Rules, topic: string, count: number, now: number): readonly StoredMessage[] {
    const oldest = oldestTime(rules, 'history', now)
    const found: StoredMessage[] = []
    let bytes = 0
    if (rules.history !== undefined)
      for (const row of this.#sql.lastOfTopic.iterate(head.id, topic, Number.MAX_SAFE_INTEGER)) {
        if (found.length >= count || row.time < oldest || row.data === null || bytes > MAX_BYTES) break
        found.push(storedMessage(row))
        bytes += row.data.length
      }
    if (found.length === 0 && count > 0 && rules.keep === 'latest') {
      const row = this.#sql.newestOfTopic.get(head.id, topic, 0)
      if (row !== undefined && row.data !== null && row.time >= oldestTime(rules, 'newest', now))
        found.push(storedMessage(row))
    }
    return found.reverse()
  }

  /**
   * Pages of topics with a prefix, newest messages first; `before` is the number of the last row of the page before. `bytes` is the length
   * of the messages so far.
   */
  lastOfPrefix(head: Head, rules: Rules, prefix: string, from: { before: number; bytes: number }, now: number) {
    const oldest = oldestTime(rules, rules.history === undefined ? 'newest' : 'history', now)
    const sql = rules.history === undefined ? this.#sql.newestFirst : this.#sql.lastOfFeed
    const messages: StoredMessage[] = []
    let { before: seq, bytes } = from
    let rows = 0
    for (const row of sql.iterate(head.id, from.before)) {
      if (row.time < oldest || bytes > MAX_BYTES) return { messages, before: 0, bytes }
      if (rows++ >= MAX_ROWS) return { messages, before: seq, bytes }
      seq = row.seq
      if (!row.topic.startsWith(prefix) || row.data === null) continue
      messages.push(storedMessage(row))
      bytes += row.data.length
    }
    return { messages, before: 0, bytes }
  }

  /** One page of the topics with the prefix, removed ones included, and whether more follow. */
  topics(head: Head, { prefix, after }: Pick<TopicPage, 'prefix' | 'after'>) {
    const rows =
      after !== undefined && after >= prefix
        ? this.#sql.topics.all(head.id, after, MAX_ROWS)
        : this.#sql.topicsFrom.all(head.id, prefix, MAX_ROWS)
    const chosen = rows.filter(({ topic }) => topic.startsWith(prefix))
    return { topics: chosen, hasMore: rows.length === MAX_ROWS && chosen.length === rows.length }
  }

  #rows(feed: number, choice: TopicChoice, kind: ReadOptions['kind'], after: number): Iterable<MessageRow> {
    if (kind === 'newest')
      return choice.kind === 'topic'
        ? this.#sql.newestOfTopic.iterate(feed, choice.topic, after)
        : this.#sql.newestOfFeed.iterate(feed, after, feed, after)
    return choice.kind === 'topic'
      ? this.#sql.ofTopic.iterate(feed, choice.topic, after)
      : this.#sql.ofFeed.iterate(feed, after)
  }
}

/** Messages from before have expired, whether they are removed already or not. */
export function oldestTime({ keep, history, stateTime }: Rules, kind: ReadOptions['kind'], now: number): number {
  const lifetime = kind === 'newest' && keep === 'latest' ? stateTime : history?.time
  return lifetime === undefined ? 0 : now - lifetime
}

function storedMessage({ seq, topic, time, data }: MessageRow): StoredMessage {
  return { seq, topic, time, data: data ?? undefined }
}

/** Writes messages to feeds.db: their numbers, the state and history of their topics, without what exceeds the bounds of the feed. */
import type { Database } from 'better-sqlite3'
import type { HeldMessage, HeldMessages } from './held.ts'
import type { BatchToAppend, FeedRules, JobResult } from './jobs.ts'

interface FeedRow {
  readonly id: number
  readonly epoch: string
  readonly last: number
  readonly time: number
  readonly forgotten: number
  readonly topics: number
  readonly bytes: number
  readonly rules: string | null
}

/** A row of the table topics while a batch is written. */
interface Topic {
  readonly id: number
  data: string | null
  messages: number
  removed: number
  readonly wasRemoved: number
  /** The index of its newest message in the batch. */
  newest: number
}

/** By the index of a message in its batch. */
interface Numbers {
  seq(index: number): number
  time(index: number): number
}

export class Appender {
  readonly #held: HeldMessages
  readonly #sql

  constructor(database: Database, held: HeldMessages) {
    this.#held = held
    this.#sql = {
      feed: database.prepare<[string], FeedRow>(
        'select id, epoch, last, time, forgotten, topics, bytes, rules from feeds where name = ?',
      ),
      feedById: database.prepare<[number], FeedRow>(
        'select id, epoch, last, time, forgotten, topics, bytes, rules from feeds where id = ?',
      ),
      topic: database.prepare<[number, string], Pick<Topic, 'id' | 'data' | 'messages' | 'removed'>>(
        'select id, data, messages, removed from topics where feed = ? and topic = ?',
      ),
      addTopic: database.prepare(
        'insert into topics (feed, topic, seq, time, removed, messages, trimmed) values (?, ?, 0, 0, 1, 0, ?)',
      ),
      setTopic: database.prepare(
        'update topics set seq = ?, time = ?, removed = ?, data = ?, messages = ? where id = ?',
      ),
      setTrimmed: database.prepare('update topics set trimmed = max(trimmed, ?) where id = ?'),
      addMessage: database.prepare('insert into messages (feed, seq, topic, time, data) values (?, ?, ?, ?, ?)'),
      // Removals have no data: one that is followed by another leaves no gap.
      oldest: database.prepare<[number, number], { messages: number; bytes: number; trimmed: number }>(
        `select count(data) as messages, coalesce(sum(octet_length(data)), 0) as bytes,
           coalesce(max(case when data is not null then seq end), 0) as trimmed
         from messages where topic = ? and seq <= ?`,
      ),
      nthOldest: database.prepare<[number, number], { seq: number }>(
        'select seq from messages where topic = ? and data is not null order by seq limit 1 offset ?',
      ),
      removeOldest: database.prepare('delete from messages where topic = ? and seq <= ?'),
      setFeed: database.prepare('update feeds set last = ?, time = ?, topics = ?, bytes = ? where id = ?'),
      request: database.prepare<[string, string, string], { fingerprint: string; seq: number; time: number }>(
        'select fingerprint, seq, time from requests where feed = ? and owner = ? and key = ?',
      ),
      addRequest: database.prepare(
        'insert into requests (feed, owner, key, fingerprint, seq, time) values (?, ?, ?, ?, ?, ?)',
      ),
    }
  }

  /** Within a transaction or savepoint, which is rolled back if the result is a refusal. */
  append(given: FeedRules, batch: BatchToAppend, now: number): JobResult {
    const { once } = batch
    const feed = this.#sql.feed.get(given.generation)
    if (feed === undefined) return { kind: 'refused', fault: 'dropped' }
    const { epoch } = feed
    const known = once && this.#sql.request.get(given.generation, once.owner, once.key)
    if (known !== undefined)
      return known.fingerprint === once?.fingerprint
        ? { kind: 'appended', epoch, before: known.seq, seq: known.seq, time: known.time, isRepeated: true }
        : { kind: 'refused', fault: 'key' }
    const rules: FeedRules = feed.rules === null ? given : { history: undefined, ...JSON.parse(feed.rules) }
    // Never earlier than that of a message before, so that messages expire in their order.
    const time = Math.max(now, feed.time)
    const first = feed.last + 1
    const after = this.#write(rules, feed, batch, { seq: (index) => first + index, time: () => time })
    const held = this.#held.bytes(feed.id)
    const toHold = held === undefined ? 0 : batch.data.reduce((sum, data) => sum + textBytes(data ?? null), 0)
    const more = after.bytes + toHold - feed.bytes
    if (after.topics > rules.topics && after.topics > feed.topics) return { kind: 'refused', fault: 'topics' }
    if (more > 0 && feed.bytes + (held ?? 0) + more > rules.bytes) return { kind: 'refused', fault: 'bytes' }
    if (held !== undefined) this.#held.add(feed.id, { ...batch, first, time }, toHold)
    const seq = feed.last + batch.topics.length
    this.#sql.setFeed.run(seq, time, after.topics, after.bytes, feed.id)
    if (once !== undefined)
      this.#sql.addRequest.run(given.generation, once.owner, once.key, once.fingerprint, seq, time)
    return { kind: 'appended', epoch, before: feed.last, seq, time, isRepeated: false }
  }

  /** To what delayed readers see of a feed: it has no bounds of its own. */
  appendMoved(rules: FeedRules, id: number, messages: readonly HeldMessage[]): void {
    const feed = this.#sql.feedById.get(id)
    const last = messages.at(-1)
    if (feed === undefined || last === undefined) return
    const [topics, data] = [messages.map(({ topic }) => topic), messages.map(({ data }) => data ?? undefined)]
    const after = this.#write(
      rules,
      feed,
      { topics, data },
      {
        seq: (index) => messages[index]?.seq ?? last.seq,
        time: (index) => messages[index]?.time ?? last.time,
      },
    )
    this.#sql.setFeed.run(last.seq, last.time, after.topics, after.bytes, id)
  }

  /** Returns how many topics, and how many bytes, the feed holds then. */
  #write(
    { keep, history }: FeedRules,
    feed: FeedRow,
    { topics, data }: Pick<BatchToAppend, 'topics' | 'data'>,
    numbers: Numbers,
  ) {
    const touched = new Map<string, Topic>()
    let { bytes, topics: held } = feed
    for (const [index, name] of topics.entries()) {
      const topic = touched.get(name) ?? this.#open(feed, name)
      touched.set(name, topic)
      topic.newest = index
      const text = data[index] ?? null
      const seq = numbers.seq(index)
      topic.removed = Number(text === null)
      if (text === null) bytes -= this.removeUpTo(topic, seq)
      if (keep === 'latest') {
        bytes += textBytes(text) - textBytes(topic.data)
        topic.data = text
      }
      if (history === undefined) continue
      this.#sql.addMessage.run(feed.id, seq, topic.id, numbers.time(index), text)
      if (text === null) continue
      topic.messages++
      bytes += textBytes(text)
    }
    for (const topic of touched.values()) {
      if (history !== undefined && topic.messages > history.messages)
        bytes -= this.removeOldest(topic, topic.messages - history.messages)
      const { id, newest, removed, messages, wasRemoved } = topic
      this.#sql.setTopic.run(numbers.seq(newest), numbers.time(newest), removed, topic.data, messages, id)
      held += wasRemoved - removed
    }
    return { bytes, topics: held }
  }

  /** The row of an earlier topic of this name may have been forgotten, and its messages with it. */
  #open({ id: feed, forgotten }: FeedRow, name: string): Topic {
    const row = this.#sql.topic.get(feed, name)
    if (row !== undefined) return { ...row, wasRemoved: row.removed, newest: 0 }
    const id = Number(this.#sql.addTopic.run(feed, name, forgotten).lastInsertRowid)
    return { id, data: null, messages: 0, removed: 1, wasRemoved: 1, newest: 0 }
  }

  /** Removes the given number of the oldest messages of a topic; returns their bytes. */
  removeOldest(topic: Pick<Topic, 'id' | 'messages'>, count: number): number {
    const last = this.#sql.nthOldest.get(topic.id, count - 1)
    return last === undefined ? 0 : this.removeUpTo(topic, last.seq)
  }

  removeUpTo(topic: Pick<Topic, 'id' | 'messages'>, last: number): number {
    const oldest = this.#sql.oldest.get(topic.id, last)
    if (oldest === undefined) return 0
    const { messages, bytes, trimmed } = oldest
    this.#sql.removeOldest.run(topic.id, last)
    topic.messages -= messages
    if (trimmed > 0) this.#sql.setTrimmed.run(trimmed, topic.id)
    return bytes
  }
}

/** In UTF-8. */
export function textBytes(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(text)
}

/**
 * What readers with a delay see of the feeds in feeds.db: for each delay a copy of the feed, to which its messages are appended when they
 * are old enough, with their numbers and times. So its state, history and gaps are those of the feed that much earlier.
 */
import type { Database } from 'better-sqlite3'
import type { Appender } from './append.ts'
import type { HeldMessage, HeldMessages } from './held.ts'
import type { FeedRules, MoveResult } from './jobs.ts'

export interface DelayedFeed {
  readonly feed: number
  readonly delay: number
  readonly last: number
  readonly declared: number
}

interface SourceRow {
  readonly id: number
  readonly rules: string | null
}

/** Messages that one job moves. */
const MOVED_AT_ONCE = 2_000
const MOVED_BYTES = 8 * 1024 * 1024
/** Held messages are kept a little longer than they are needed: followers read them too. */
const SLACK_MS = 10_000
/** A delay that no node has needed for this long is forgotten. Nodes say it again in a part of that time. */
const [UNDECLARED_MS, DECLARE_MS] = [120_000, 30_000]

export class DelayedFeeds {
  readonly #appender: Appender
  readonly #held: HeldMessages
  readonly #sql

  constructor(database: Database, appender: Appender, held: HeldMessages) {
    this.#appender = appender
    this.#held = held
    this.#sql = {
      list: database.prepare<[number], DelayedFeed>(
        'select d.feed, d.delay, f.last, d.declared from delayed d join feeds f on f.id = d.feed where d.source = ? order by d.delay',
      ),
      add: database.prepare(
        `insert into feeds (name, epoch, last, time, forgotten, topics, bytes)
         select name || '@' || ?, epoch, 0, 0,
           max(forgotten, (select coalesce(max(trimmed), 0) from topics where feed = feeds.id)), 0, 0 from feeds where id = ?`,
      ),
      link: database.prepare('insert into delayed (feed, source, delay, declared) values (?, ?, ?, ?)'),
      declare: database.prepare('update delayed set declared = ? where source = ? and delay = ? and declared < ?'),
      source: database.prepare<[string], SourceRow>('select id, rules from feeds where name = ?'),
      unlink: database.prepare('delete from delayed where feed = ?'),
      isHeld: database.prepare<[number], number>('select count(*) from held_feeds where feed = ?').pluck(),
    }
  }

  /** The shortest delay first. */
  list(source: number): readonly DelayedFeed[] {
    return this.#sql.list.all(source)
  }

  /** Some node needs these delays. A new one begins with what the feed keeps. */
  declare(source: number, delays: readonly number[], now: number): void {
    const known = new Set(this.list(source).map(({ delay }) => delay))
    for (const delay of delays) {
      this.#sql.declare.run(now, source, delay, now - DECLARE_MS)
      if (known.has(delay)) continue
      const feed = Number(this.#sql.add.run(delay, source).lastInsertRowid)
      this.#sql.link.run(feed, source, delay, now)
      this.#held.begin(source)
    }
  }

  /** Shows what is old enough, by the time `now`. */
  move(generation: string, now: number): MoveResult {
    const source = this.#sql.source.get(generation)
    let [messages, lateMs, hasMore] = [0, 0, false]
    if (source?.rules == null) return { kind: 'moved', messages, lateMs, hasMore }
    const rules: FeedRules = { history: undefined, ...JSON.parse(source.rules) }
    for (const { feed, delay, last } of this.list(source.id)) {
      const { due, isWhole } = this.#takeDue(source.id, last, now - delay)
      const [oldest] = due
      if (oldest === undefined) continue
      this.#appender.appendMoved(rules, feed, due)
      messages += due.length
      lateMs = Math.max(lateMs, now - delay - oldest.time)
      hasMore ||= !isWhole
    }
    return { kind: 'moved', messages, lateMs, hasMore }
  }

  /** Times do not go back from one message to the next. */
  #takeDue(source: number, after: number, horizon: number): { due: readonly HeldMessage[]; isWhole: boolean } {
    const due: HeldMessage[] = []
    let bytes = 0
    for (const message of this.#held.after(source, after)) {
      if (message.time > horizon) break
      if (due.length >= MOVED_AT_ONCE || bytes > MOVED_BYTES) return { due, isWhole: false }
      due.push(message)
      bytes += message.data?.length ?? 0
    }
    return { due, isWhole: true }
  }

  /** Those that no node needs any more. */
  undeclared(source: number, now: number): readonly DelayedFeed[] {
    return this.list(source).filter(({ declared }) => declared < now - UNDECLARED_MS)
  }

  unlink(feed: number): void {
    this.#sql.unlink.run(feed)
  }

  /** Removes held messages that all delayed readers have. True if there may be more. */
  trim(source: number, now: number): boolean {
    if (this.#sql.isHeld.get(source) === 0) return false
    const delayed = this.list(source)
    const longest = delayed.at(-1)
    if (longest === undefined) {
      this.#held.end(source)
      return false
    }
    const moved = Math.min(...delayed.map(({ last }) => last))
    return this.#held.trim(source, moved, now - longest.delay - SLACK_MS)
  }
}

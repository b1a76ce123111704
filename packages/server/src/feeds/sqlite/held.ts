/** Messages that some delayed readers have not seen yet, in feeds.db: kept whatever the bounds of the feed say. */
import type { Database } from 'better-sqlite3'

export interface HeldMessage {
  readonly seq: number
  readonly topic: string
  readonly time: number
  /** Null removes the topic. */
  readonly data: string | null
}

/** Messages that are numbered without a gap, from `first` on. */
export interface MessagesToHold {
  readonly first: number
  readonly time: number
  readonly topics: readonly string[]
  readonly data: readonly (string | undefined)[]
}

/** How many rows a sweep looks at. */
const SWEPT_AT_ONCE = 5_000

export class HeldMessages {
  readonly #sql

  constructor(database: Database) {
    this.#sql = {
      bytes: database
        .prepare<[number], number>(
          `select h.bytes + (select coalesce(sum(f.bytes), 0) from delayed d join feeds f on f.id = d.feed where d.source = h.feed)
           from held_feeds h where h.feed = ?`,
        )
        .pluck(),
      begin: database.prepare('insert into held_feeds (feed, bytes, trimmed) values (?, 0, 0) on conflict do nothing'),
      add: database.prepare('insert into held (feed, seq, topic, time, data) values (?, ?, ?, ?, ?)'),
      addBytes: database.prepare('update held_feeds set bytes = bytes + ? where feed = ?'),
      // The newest message of a topic may have left its history already, or the feed has none.
      addKept: database.prepare(
        `insert or ignore into held (feed, seq, topic, time, data)
         select m.feed, m.seq, t.topic, m.time, m.data from messages m join topics t on t.id = m.topic where m.feed = :feed
         union all select feed, seq, topic, time, data from topics where feed = :feed and removed = 0 and data is not null`,
      ),
      recount: database.prepare(
        'update held_feeds set bytes = (select coalesce(sum(octet_length(data)), 0) from held where held.feed = held_feeds.feed) where feed = ?',
      ),
      after: database.prepare<[number, number], HeldMessage>(
        'select seq, topic, time, data from held where feed = ? and seq > ? order by seq',
      ),
      first: database.prepare<[number], { seq: number; time: number }>(
        'select seq, time from held where feed = ? order by seq limit 1',
      ),
      oldest: database.prepare<
        [number, number, number, number, number],
        { last: number | null; bytes: number; looked: number }
      >(
        `select max(case when time < ? and seq <= ? then seq end) as last, count(*) as looked,
           coalesce(sum(case when time < ? and seq <= ? then octet_length(data) end), 0) as bytes
         from (select seq, time, data from held where feed = ? order by seq limit ${SWEPT_AT_ONCE})`,
      ),
      removeUpTo: database.prepare('delete from held where feed = ? and seq <= ?'),
      trimmed: database.prepare('update held_feeds set bytes = bytes - ?, trimmed = max(trimmed, ?) where feed = ?'),
      removeAll: database.prepare('delete from held where feed = ?'),
      end: database.prepare('delete from held_feeds where feed = ?'),
    }
  }

  /** What delayed readers take of the bytes of a feed; undefined where there are none. */
  bytes(feed: number): number | undefined {
    return this.#sql.bytes.get(feed)
  }

  /** From now on messages of the feed are held. Those that it keeps already are held too. */
  begin(feed: number): void {
    this.#sql.begin.run(feed)
    this.#sql.addKept.run({ feed })
    this.#sql.recount.run(feed)
  }

  add(feed: number, { first, time, topics, data }: MessagesToHold, bytes: number): void {
    for (const [index, topic] of topics.entries())
      this.#sql.add.run(feed, first + index, topic, time, data[index] ?? null)
    this.#sql.addBytes.run(bytes, feed)
  }

  /** In order, beginning after this number. */
  after(feed: number, seq: number): IterableIterator<HeldMessage> {
    return this.#sql.after.iterate(feed, seq)
  }

  /** Removes messages up to number `last` from before the time. True if there may be more. */
  trim(feed: number, last: number, before: number): boolean {
    const first = this.#sql.first.get(feed)
    if (first === undefined || first.seq > last || first.time >= before) return false
    const oldest = this.#sql.oldest.get(before, last, before, last, feed)
    if (oldest === undefined || oldest.last === null) return false
    this.#sql.removeUpTo.run(feed, oldest.last)
    this.#sql.trimmed.run(oldest.bytes, oldest.last, feed)
    return oldest.looked === SWEPT_AT_ONCE
  }

  /** All messages are forgotten, and those that follow are held. */
  purge(feed: number, last: number): void {
    this.#sql.removeAll.run(feed)
    if (this.bytes(feed) === undefined) return
    this.#sql.recount.run(feed)
    this.#sql.trimmed.run(0, last, feed)
  }

  end(feed: number): void {
    this.#sql.removeAll.run(feed)
    this.#sql.end.run(feed)
  }
}

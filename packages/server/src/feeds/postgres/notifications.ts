/** What nodes tell each other by NOTIFY: which feed has grown up to which number, or was purged. Never data. */
import type { FeedDatabase } from './database.ts'

export const CHANNEL = 'gatehouse_feeds'

/** PostgreSQL takes 8000 bytes. */
const MOST_AT_ONCE = 200
const NOTIFY = `select pg_notify('${CHANNEL}', $1)`
/**
 * A transaction that only notifies is lost in a failover, and its number used again: positions of live queries that have seen it would
 * be void. A message in the write-ahead log makes its commit wait.
 */
const DURABLE_NOTIFY = `select pg_logical_emit_message(true, 'gatehouse', ''), pg_notify('${CHANNEL}', $1)`

/**
 * Sent after the commit, not in its transaction: PostgreSQL serializes the commits of transactions that notify, so that feeds would wait
 * for one another. What comes while one is under way is one NOTIFY.
 */
export class Announcements {
  readonly #database: FeedDatabase
  readonly #waiting = new Map<number, number | 'purged'>()
  #sending: Promise<void> | undefined
  #isClosed = false

  constructor(database: FeedDatabase) {
    this.#database = database
  }

  add(id: number, news: number | 'purged'): void {
    if (this.#waiting.get(id) !== 'purged') this.#waiting.set(id, news)
    if (!this.#isClosed) this.#sending ??= this.#send()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#sending
  }

  async #send(): Promise<void> {
    const sql = this.#database.servers.named.isFailover ? DURABLE_NOTIFY : NOTIFY
    try {
      while (this.#waiting.size > 0) {
        const sent = [...this.#waiting].slice(0, MOST_AT_ONCE)
        for (const [id] of sent) this.#waiting.delete(id)
        await this.#database.read(sql, [sent.map(([id, news]) => `${id}:${news}`).join(' ')])
      }
    } catch {
      // A node that misses it polls.
    } finally {
      this.#sending = undefined
    }
  }
}

/** Every user of the database can notify: payloads of another form are ignored, and a wrong announcement leads to a read that finds nothing. */
export function readAnnouncements(payload: string): ReadonlyMap<number, number | 'purged'> {
  const news = new Map<number, number | 'purged'>()
  for (const [, id, seq] of payload.matchAll(/(\d{1,10}):(\d{1,15}|purged)/g))
    news.set(Number(id), seq === 'purged' ? seq : Number(seq))
  return news
}

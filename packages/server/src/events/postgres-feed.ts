/** Events of other nodes on PostgreSQL: LISTEN on a connection of its own, reconnected when it breaks, with slow polling as a fallback. */
import type pg from 'pg'
import { CHANNEL, type Events, type RecordedEvent } from '../store/cluster/events.ts'
import { loadPg } from '../store/database/pg.ts'
import type { Feed } from './durable-bus.ts'

export interface PostgresFeedOptions {
  readonly url: string
  readonly events: Pick<Events, 'lastSeq'>
  readonly onError: (error: unknown) => void
}

const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 2_000
/** For a dead connection that has not been noticed, and for connection poolers that do not support LISTEN. */
const POLL_EVERY_MS = 500
/** To connect, and to LISTEN. */
const DEADLINE_MS = 5_000

export function createPostgresFeed({ url, events, onError }: PostgresFeedOptions): Feed {
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined
  let poll: NodeJS.Timeout | undefined
  let wait = FIRST_RETRY_MS
  let lastSeq = 0
  let stopped = false
  let isPolling = false
  let onNews: (recorded?: RecordedEvent) => void = () => {}
  let onIdle: () => void = () => {}

  return {
    async start(news, idle) {
      onNews = news
      onIdle = idle
      await listen()
      poll = setInterval(pollLastSeq, POLL_EVERY_MS)
      poll.unref()
    },
    async stop() {
      stopped = true
      clearInterval(poll)
      clearTimeout(retry)
      await client?.end().catch(() => {})
    },
  }

  async function listen(): Promise<void> {
    const opened = new (loadPg().Client)({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: DEADLINE_MS,
      query_timeout: DEADLINE_MS,
      application_name: 'gatehouse events',
    })
    let broken = false
    const onBreak = (error?: Error) => {
      if (broken) return
      broken = true
      if (error !== undefined && !stopped) onError(error)
      opened.end().catch(() => {})
      listenLater()
    }
    opened.on('error', onBreak)
    opened.on('end', () => onBreak())
    opened.on('notification', ({ payload }) => onNews(readPayload(payload ?? '')))
    client = opened
    try {
      await opened.connect()
      await opened.query(`listen ${CHANNEL}`)
    } catch (error) {
      onBreak(error instanceof Error ? error : new Error(String(error)))
      return
    }
    wait = FIRST_RETRY_MS
    // Reads what was published while this node was not listening.
    onNews()
  }

  function listenLater(): void {
    if (stopped) return
    retry = setTimeout(() => listen().catch(onError), wait)
    retry.unref()
    wait = Math.min(wait * 2, LONGEST_RETRY_MS)
  }

  function pollLastSeq(): void {
    if (isPolling) return
    isPolling = true
    const polled = events.lastSeq().then(
      (seq) => {
        if (seq === lastSeq) return onIdle()
        lastSeq = seq
        onNews()
      },
      // The database is unavailable; its users report that.
      () => {},
    )
    void polled.finally(() => {
      isPolling = false
    })
  }
}

/**
 * An event too long for NOTIFY arrives as its sequence number alone; it is then read from the table. So is what is not an event: every
 * user of the database can notify.
 */
function readPayload(payload: string): RecordedEvent | undefined {
  const [, seq, body] = /^(\d+) (\{.*\})$/s.exec(payload) ?? []
  if (body === undefined) return undefined
  try {
    return { seq: Number(seq), event: JSON.parse(body) }
  } catch {
    return undefined
  }
}

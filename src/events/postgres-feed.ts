/** News from PostgreSQL: LISTEN on a connection of its own, opened again whenever it breaks, and a slow look besides. */
import type pg from 'pg'
import { CHANNEL, type Events, type RecordedEvent } from '../store/events.ts'
import { loadPg } from '../store/pg.ts'
import type { Feed } from './durable-bus.ts'

export interface PostgresFeedOptions {
  readonly url: string
  readonly events: Pick<Events, 'lastSeq'>
  readonly onError: (error: unknown) => void
}

const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 2_000
/** Catches what a connection that is dead without knowing it does not tell, and databases that know no LISTEN. */
const LOOK_EVERY_MS = 500

export function createPostgresFeed({ url, events, onError }: PostgresFeedOptions): Feed {
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined
  let look: NodeJS.Timeout | undefined
  let wait = FIRST_RETRY_MS
  let lastSeq = 0
  let stopped = false
  let tell: (recorded?: RecordedEvent) => void = () => {}
  let tellNothing: () => void = () => {}

  return {
    async start(news, nothing) {
      tell = news
      tellNothing = nothing
      await listen()
      look = setInterval(lookForNews, LOOK_EVERY_MS)
      look.unref()
    },
    async stop() {
      stopped = true
      clearInterval(look)
      clearTimeout(retry)
      await client?.end().catch(() => {})
    },
  }

  async function listen(): Promise<void> {
    const opened = new (loadPg().Client)({
      connectionString: url,
      keepAlive: true,
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
    opened.on('notification', ({ payload }) => tell(readPayload(payload ?? '')))
    client = opened
    try {
      await opened.connect()
      await opened.query(`listen ${CHANNEL}`)
    } catch (error) {
      onBreak(error instanceof Error ? error : new Error(String(error)))
      return
    }
    wait = FIRST_RETRY_MS
    // Whatever was told while nobody listened.
    tell()
  }

  function listenLater(): void {
    if (stopped) return
    retry = setTimeout(() => listen().catch(onError), wait)
    retry.unref()
    wait = Math.min(wait * 2, LONGEST_RETRY_MS)
  }

  function lookForNews(): void {
    events.lastSeq().then(
      (seq) => {
        if (seq === lastSeq) return tellNothing()
        lastSeq = seq
        tell()
      },
      // The database is away; whoever needs it says so.
      () => {},
    )
  }
}

/** An event too long for the channel comes as its number alone and is read from the table. */
function readPayload(payload: string): RecordedEvent | undefined {
  const space = payload.indexOf(' ')
  const body = payload.slice(space + 1)
  if (space < 0 || body === '') return undefined
  return { seq: Number(payload.slice(0, space)), event: JSON.parse(body) }
}

/** The bus over the database: every event is durable, and every node hears every event once, whatever was lost on the way. */
import type { Events, RecordedEvent } from '../store/events.ts'
import type { Bus, Listener } from './bus.ts'
import { deliver } from './local-bus.ts'

/** Tells when there may be news from other processes; with the event itself, where the database hands it over. */
export interface Feed {
  /** `nothing` is called after a look that found no news. */
  start(news: (recorded?: RecordedEvent) => void, nothing: () => void): Promise<void>
  stop(): Promise<void>
}

export interface DurableBusOptions {
  readonly events: Pick<Events, 'append' | 'since' | 'lastSeq'>
  readonly feed: Feed
  readonly onError: (error: unknown) => void
}

/** PostgreSQL gives numbers before it commits: a lower one may appear after a higher. So far back is looked again. */
const OVERLAP = 500

export async function openDurableBus({ events, feed, onError }: DurableBusOptions): Promise<Bus> {
  const listeners = new Set<Listener>()
  const heard = new Set<number>()
  let highest = await events.lastSeq()
  let catchingUp: Promise<void> | undefined
  let again = false
  let closed = false
  let caughtUpAt = performance.now()
  const isCaughtUp = () => {
    caughtUpAt = performance.now()
  }

  // What was there before this node is not news to it.
  for (const { seq } of await events.since(highest - OVERLAP)) note(seq)
  await feed.start((recorded) => {
    if (recorded === undefined) catchUp()
    else hear(recorded)
  }, isCaughtUp)

  return {
    async publish(event) {
      hear({ seq: await events.append(event), event })
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    lag: () => performance.now() - caughtUpAt,
    async close() {
      closed = true
      await feed.stop()
      await catchingUp
      listeners.clear()
    },
  }

  function hear({ seq, event }: RecordedEvent): void {
    if (heard.has(seq)) return
    note(seq)
    deliver(event, listeners, onError)
  }

  function note(seq: number): void {
    heard.add(seq)
    highest = Math.max(highest, seq)
    if (heard.size <= 4 * OVERLAP) return
    for (const old of heard) if (old < highest - OVERLAP) heard.delete(old)
  }

  function catchUp(): void {
    if (catchingUp !== undefined) {
      again = true
      return
    }
    catchingUp = readNews().finally(() => {
      catchingUp = undefined
      if (!again || closed) return
      again = false
      catchUp()
    })
  }

  async function readNews(): Promise<void> {
    try {
      for (const recorded of await events.since(highest - OVERLAP)) hear(recorded)
      isCaughtUp()
    } catch (error) {
      // The feed tells again when the database is back.
      if (!closed) onError(error)
    }
  }
}

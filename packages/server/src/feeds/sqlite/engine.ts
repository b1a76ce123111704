/** Feeds in SQLite: a file of their own, so that no publisher waits for a long write of another service. For one process, or its workers. */
import { join } from 'node:path'
import { type Clock, type MonotonicClock, monotonicClock } from 'gatehouse-protocol'
import type { SharedFile } from '../../store/database/shared-file.ts'
import type { FeedEngine, NewMessage, OnMoved } from '../engine.ts'
import type { Feed } from '../feed.ts'
import { Reads } from './reads.ts'
import { FEEDS_FILE, openForReading } from './schema.ts'
import { SqliteFeedStore } from './store.ts'
import { Writer } from './writer.ts'

export interface SqliteFeedsOptions {
  readonly dataFolder: string
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  /** Called when delayed readers are shown messages. */
  readonly onMoved?: OnMoved
  /** How often expired messages are removed. */
  readonly sweepMs?: number
  /** Of which writing on the event loop may take a share. */
  readonly monotonic?: MonotonicClock
  /** Of workers, which share the file. */
  readonly shared?: SharedFeeds | undefined
}

export interface SharedFeeds extends SharedFile {
  /** Passes messages that are not stored to the other workers. */
  sendMessages(generation: string, messages: readonly NewMessage[]): void
  onMessages(listener: (generation: string, messages: readonly NewMessage[]) => void): void
}

const SWEEP_MS = 1_000
/** How late delayed readers are shown what is old enough. */
const MOVE_MS = 100

export async function openSqliteFeeds(options: SqliteFeedsOptions): Promise<FeedEngine> {
  const { dataFolder, clock, onError, onMoved = () => {}, shared } = options
  const { sweepMs = SWEEP_MS, monotonic = monotonicClock } = options
  const file = join(dataFolder, FEEDS_FILE)
  const writer = await Writer.open({ file, clock, isShared: shared !== undefined, monotonic })
  const database = openForReading(file)
  const reads = new Reads(database)
  /** By generation. */
  const stores = new Map<string, SqliteFeedStore>()
  const env = {
    ...{ writer, reads, clock, onMoved },
    committed: () => shared?.committed(),
    passOn: (generation: string, messages: readonly NewMessage[]) => shared?.sendMessages(generation, messages),
  }
  shared?.onMessages((generation, messages) => stores.get(generation)?.receive(messages))
  const stopListening = shared?.onCommit(() => {
    for (const store of stores.values()) store.readNew()
  })
  const sweeping = repeat(sweepMs, sweep)
  const moving = repeat(MOVE_MS, async () => {
    for (const store of stores.values()) if (store.isDelayed) await store.moveDue()
  })

  /** One at a time: where one takes longer than the interval, they would fill the queue of the writer. */
  function repeat(everyMs: number, task: () => Promise<void>): NodeJS.Timeout {
    let isRunning = false
    const run = (): void => {
      if (isRunning) return
      isRunning = true
      task()
        .catch(onError)
        .finally(() => {
          isRunning = false
        })
    }
    return setInterval(run, everyMs).unref()
  }

  /** What has expired, idempotency keys too; the removals reach the followers like any message. */
  async function sweep(): Promise<void> {
    const feeds = [...stores.values()].map(({ swept }) => swept)
    let hasMore = true
    while (hasMore) {
      const result = await writer.run({ kind: 'sweep', feeds })
      if (result.kind !== 'swept' || !result.hasChanged) return
      hasMore = result.hasMore
      for (const store of stores.values()) store.readNew()
      shared?.committed()
    }
  }

  return {
    name: 'sqlite',
    async open(feed: Feed, delays: readonly number[] = []) {
      const store = await SqliteFeedStore.open(feed, delays, env)
      stores.set(feed.generation, store)
      return store
    },
    async drop({ generation }) {
      stores.get(generation)?.close()
      stores.delete(generation)
      await writer.run({ kind: 'drop', generation })
    },
    listStored: async () => reads.generations(),
    async check() {
      await writer.run({ kind: 'check' })
    },
    async close() {
      clearInterval(sweeping)
      clearInterval(moving)
      stopListening?.()
      await writer.close()
      database.close()
    },
  }
}

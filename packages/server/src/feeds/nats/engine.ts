/** Feeds in NATS: streams of JetStream for those with state or history, core subjects for the others. */
import { type Clock, systemClock } from 'gatehouse-protocol'
import type { FeedEngine, OnMoved } from '../engine.ts'
import { type DroppedFeed, type Feed, isStored } from '../feed.ts'
import { Nats, type NatsOptions } from './connection.ts'
import { dropCopies } from './copy-stream.ts'
import { CoreStore } from './core-store.ts'
import type { Skipped } from './delivered.ts'
import { Keys } from './keys.ts'
import { NatsFeedStore } from './store.ts'
import { dropOwnStream, findForeignStream, openOwnStream } from './stream.ts'
import { StreamStore } from './stream-store.ts'
import { Subjects } from './subjects.ts'
import { type EngineTime, NatsTime } from './time.ts'

export interface NatsFeedsOptions extends NatsOptions {
  readonly clock?: Clock
  /** By which messages are old enough for readers with a delay; that of NATS, if it is absent. */
  readonly time?: EngineTime
  /** Copies of each message in a cluster of NATS. */
  readonly replicas?: number
  /** Whether requests of several messages are published as atomic batches, where the server can (2.12 and later). */
  readonly isAtomic?: boolean
  /** Whether a feed is declared, of which a stream has the generation. */
  readonly isDeclared: (generation: string) => Promise<boolean>
  readonly onError: (error: unknown) => void
  /** Another program has published something that is not a message of the feed. */
  readonly onSkipped?: (feed: string, reason: Parameters<Skipped>[0]) => void
  /** Called when delayed readers are shown messages. */
  readonly onMoved?: OnMoved
}

/** Rejects where NATS cannot be reached. Later it reconnects as often as it takes. */
export async function openNatsFeeds(options: NatsFeedsOptions): Promise<FeedEngine> {
  const { clock = systemClock, replicas = 1, isAtomic = true, isDeclared, onError } = options
  const { onSkipped = () => {}, onMoved = () => {} } = options
  const nats = await Nats.connect(options)
  const { time = new NatsTime(nats) } = options
  const keys = new Keys(nats, replicas)
  /** Feeds that need JetStream, and all of them, by generation. */
  const stored = new Set<string>()
  const stores = new Map<string, NatsFeedStore<StreamStore | CoreStore>>()

  /** What is open stays open where it can, so that followers miss nothing. */
  const openStore = async (
    feed: Feed,
    delays: readonly number[],
    current?: Current,
  ): Promise<StreamStore | CoreStore> => {
    const store = await openFitting(feed, delays, current)
    if (store === current?.store) await store.update(feed, delays)
    return store
  }

  const openFitting = async (
    feed: Feed,
    delays: readonly number[],
    current?: Current,
  ): Promise<StreamStore | CoreStore> => {
    const isSame =
      current !== undefined &&
      current.feed.natsSubject === feed.natsSubject &&
      isStored(current.feed) === isStored(feed)
    const env = {
      nats,
      clock,
      keys,
      isAtomic,
      onError,
      skipped: (reason: Parameters<Skipped>[0]) => onSkipped(feed.name, reason),
    }
    const onFeedMoved = (lateMs: number) => onMoved({ feed: feed.name, lateMs })
    const streamEnv = { ...env, time, replicas, isDeclared, onMoved: onFeedMoved }
    if (feed.natsSubject !== undefined) {
      if (isSame) return current.store
      const stream = isStored(feed) ? await findForeignStream(nats, feed.natsSubject) : undefined
      if (stream !== undefined) return StreamStore.open(streamEnv, stream, feed, delays)
      return new CoreStore(env, Subjects.ofPattern(feed.natsSubject), feed)
    }
    if (isStored(feed)) {
      const stream = await openOwnStream(nats, feed, { replicas, isDeclared }, delays.length > 0)
      return isSame ? current.store : StreamStore.open(streamEnv, stream, feed, delays)
    }
    if (isSame) return current.store
    await dropStored(feed)
    return new CoreStore(env, Subjects.ofFeed(feed.name), feed)
  }

  const dropStored = async (feed: DroppedFeed): Promise<void> => {
    try {
      await dropOwnStream(nats, feed)
      await dropCopies(nats, feed, () => false)
    } catch (error) {
      unlessJetStreamIsOff(error)
    }
  }

  return {
    name: 'nats',
    async open(feed, delays = []) {
      if (isStored(feed)) stored.add(feed.generation)
      const store = new NatsFeedStore(feed, await openStore(feed, delays), openStore)
      stores.get(feed.generation)?.close()
      stores.set(feed.generation, store)
      return store
    },
    async drop(feed) {
      const { generation } = feed
      stores.get(generation)?.close()
      stores.delete(generation)
      stored.delete(generation)
      await dropStored(feed)
      await keys.forget(generation).catch(unlessJetStreamIsOff)
    },
    // Other installations may have their feeds on the same servers.
    listStored: async () => [],
    check: () => nats.check({ isJetStreamNeeded: stored.size > 0 }),
    async close() {
      for (const store of stores.values()) store.close()
      await nats.close()
    },
  }
}

interface Current {
  readonly feed: Feed
  readonly store: StreamStore | CoreStore
}

/** Feeds without state and history do not need JetStream. */
function unlessJetStreamIsOff(error: unknown): void {
  if (error instanceof Error && error.cause instanceof Error && error.cause.name === 'JetStreamNotEnabled') return
  throw error
}

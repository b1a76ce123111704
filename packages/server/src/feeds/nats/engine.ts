/** Feeds in NATS: streams of JetStream for those with state or history, core subjects for the others. */
import { type Clock, systemClock } from 'gatehouse-protocol'
import type { FeedEngine } from '../engine.ts'
import { type Feed, isStored } from '../feed.ts'
import { Nats, type NatsOptions } from './connection.ts'
import { CoreStore } from './core-store.ts'
import type { Skipped } from './delivered.ts'
import { Keys } from './keys.ts'
import { NatsFeedStore } from './store.ts'
import { dropOwnStream, findForeignStream, openOwnStream } from './stream.ts'
import { StreamStore } from './stream-store.ts'
import { Subjects } from './subjects.ts'

export interface NatsFeedsOptions extends NatsOptions {
  readonly clock?: Clock
  /** Copies of each message in a cluster of NATS. */
  readonly replicas?: number
  /** Whether requests of several messages are published as atomic batches, where the server can (2.12 and later). */
  readonly isAtomic?: boolean
  /** Whether a feed is declared, of which a stream has the generation. */
  readonly isDeclared: (generation: string) => Promise<boolean>
  readonly onError: (error: unknown) => void
  /** Another program has published something that is not a message of the feed. */
  readonly onSkipped?: (feed: string, reason: Parameters<Skipped>[0]) => void
}

/** Rejects where NATS cannot be reached. Later it reconnects as often as it takes. */
export async function openNatsFeeds(options: NatsFeedsOptions): Promise<FeedEngine> {
  const { clock = systemClock, replicas = 1, isAtomic = true, isDeclared, onError, onSkipped = () => {} } = options
  const nats = await Nats.connect(options)
  const keys = new Keys(nats, replicas)
  /** Feeds that need JetStream, and all of them, by generation. */
  const stored = new Set<string>()
  const stores = new Map<string, NatsFeedStore<StreamStore | CoreStore>>()

  /** What is open stays open where it can, so that followers miss nothing. */
  const openStore = async (feed: Feed, current?: Current): Promise<StreamStore | CoreStore> => {
    const store = await openFitting(feed, current)
    if (store === current?.store) await store.update(feed)
    return store
  }

  const openFitting = async (feed: Feed, current?: Current): Promise<StreamStore | CoreStore> => {
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
    if (feed.natsSubject !== undefined) {
      if (isSame) return current.store
      const stream = isStored(feed) ? await findForeignStream(nats, feed.natsSubject) : undefined
      if (stream !== undefined) return StreamStore.open({ ...env, replicas, isDeclared }, stream, feed)
      return new CoreStore(env, Subjects.ofPattern(feed.natsSubject), feed)
    }
    if (isStored(feed)) {
      const stream = await openOwnStream(nats, feed, { replicas, isDeclared })
      return isSame ? current.store : StreamStore.open({ ...env, replicas, isDeclared }, stream, feed)
    }
    if (isSame) return current.store
    await dropOwnStream(nats, feed).catch(unlessJetStreamIsOff)
    return new CoreStore(env, Subjects.ofFeed(feed.name), feed)
  }

  return {
    name: 'nats',
    async open(feed) {
      if (isStored(feed)) stored.add(feed.generation)
      const store = new NatsFeedStore(feed, await openStore(feed), openStore)
      stores.get(feed.generation)?.close()
      stores.set(feed.generation, store)
      return store
    },
    async drop(feed) {
      const { generation } = feed
      stores.get(generation)?.close()
      stores.delete(generation)
      stored.delete(generation)
      await dropOwnStream(nats, feed).catch(unlessJetStreamIsOff)
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

/** What agents listen to: their watches, topics of feeds, and the list of tables. One live query serves all who listen to a watch. */
import { type Principal, Refusal, type RunningSubscription } from 'gatehouse-protocol'
import type { FeedService } from '../../feeds/feeds.ts'
import type { LiveMessage, QueryService } from '../../query/index.ts'
import type { Call } from '../protocol/features.ts'
import type { Listening, Subscriptions, Told } from '../protocol/listen.ts'
import { isChange, liveRequest } from './live-changes.ts'
import type { WatchStore } from './watch-store.ts'

export interface SubscriptionsEnv {
  readonly query: QueryService
  readonly feeds: () => FeedService | undefined
  readonly store: WatchStore
}

export const WATCH_URI = /^gatehouse:\/\/watch\/([\w-]{1,64})$/
export const FEED_URI = /^gatehouse:\/\/feed\/([^/]+)\/(.+)$/

/** Bytes that are no UTF-8 name nothing. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

interface Source {
  setPrincipal(principal: Principal): void
  close(): void
}

interface Tell {
  updated(): void
  /** There will be no more. */
  ended(): void
}

interface Shared {
  readonly listeners: Set<Tell>
  readonly running: Promise<RunningSubscription>
}

export class ResourceSubscriptions implements Subscriptions {
  readonly #env: SubscriptionsEnv
  /** By the id of the watch. */
  readonly #shared = new Map<string, Shared>()

  constructor(env: SubscriptionsEnv) {
    this.#env = env
  }

  async open({ uris, list }: Parameters<Subscriptions['open']>[0], call: Call, told: Told): Promise<Listening> {
    const sources = new Map<string, Source>()
    for (const uri of uris) {
      const source = await this.#openUri(uri, call, { updated: () => told.updated(uri), ended: told.ended }).catch(
        (error) => {
          // What the caller may not read is left out of the acknowledgment.
          if (error instanceof Refusal) return undefined
          throw error
        },
      )
      if (source !== undefined) sources.set(uri, source)
    }
    const unlisten = list ? this.#env.query.onCatalogueChange(() => told.listChanged()) : () => {}
    return {
      uris: [...sources.keys()],
      setPrincipal(principal) {
        for (const source of sources.values()) source.setPrincipal(principal)
        if (list) told.listChanged()
      },
      close() {
        unlisten()
        for (const source of sources.values()) source.close()
      },
    }
  }

  async #openUri(uri: string, call: Call, tell: Tell): Promise<Source | undefined> {
    const watch = WATCH_URI.exec(uri)?.[1]
    if (watch !== undefined) return this.#openWatch(watch, call, tell)
    const [, feed, topic] = FEED_URI.exec(uri) ?? []
    if (feed === undefined || topic === undefined) return undefined
    return this.#openFeed(decode(feed), decode(topic), call, tell)
  }

  async #openWatch(id: string, call: Call, tell: Tell): Promise<Source> {
    const { watched, last } = await this.#env.store.find(id, call.principal)
    if (watched.kind === 'feed') return this.#openFeed(watched.feed, watched.topic, call, tell)
    const shared = this.#shared.get(id) ?? this.#share(id, liveRequest(watched, last, call))
    shared.listeners.add(tell)
    const leave = (): void => {
      shared.listeners.delete(tell)
      if (shared.listeners.size > 0 || this.#shared.get(id) !== shared) return
      this.#shared.delete(id)
      shared.running.then((running) => running.close()).catch(() => {})
    }
    const running = await shared.running.catch((error) => {
      leave()
      throw error
    })
    return { close: leave, setPrincipal: (principal) => running.setPrincipal(principal) }
  }

  #share(id: string, request: ReturnType<typeof liveRequest>): Shared {
    const listeners = new Set<Tell>()
    const drop = (): void => {
      if (this.#shared.get(id) === shared) this.#shared.delete(id)
    }
    // The first who listens may leave before the others.
    const { signal: _, ...lasting } = request
    const running = this.#env.query.live.subscribe(
      { ...lasting, maxRate: 1 },
      {
        maySend: true,
        send: (message: LiveMessage) => {
          if (isChange(message)) for (const tell of listeners) tell.updated()
        },
        // Who listens reads it again, and learns why it ended.
        end() {
          drop()
          for (const tell of listeners) {
            tell.updated()
            tell.ended()
          }
        },
      },
    )
    const shared: Shared = { listeners, running }
    this.#shared.set(id, shared)
    running.catch(drop)
    return shared
  }

  async #openFeed(feed: string, topic: string, call: Call, tell: Tell): Promise<Source> {
    const service = this.#env.feeds()
    if (service === undefined) throw new Refusal('feed.unknown', 404, 'This server has no feeds')
    let isBegun = false
    const send = (): void => {
      // The state at the beginning is no change.
      if (isBegun) tell.updated()
    }
    const sink = { maySend: true, isOpen: true, send, sendOrClose: send, end: tell.ended }
    const running = await service.subscribe(feed, { topic }, call.principal, sink, call)
    running.drained()
    setImmediate(() => {
      isBegun = true
    })
    return { close: () => running.close(), setPrincipal: (principal) => running.setPrincipal(principal) }
  }
}

/** What agents listen to: their watches, topics of feeds, and the list of tables. One live query serves all listeners of a watch. */
import { type Principal, Refusal, type RunningSubscription } from 'gatehouse-protocol'
import type { FeedService } from '../../feeds/feeds.ts'
import type { LiveMessage, QueryService } from '../../query/index.ts'
import type { Call } from '../protocol/features.ts'
import type { Listening, Observer, Subscriptions } from '../protocol/listen.ts'
import { hasFeedChanges } from './feed-changes.ts'
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

interface SourceObserver {
  updated(): void
  /** The source has ended. */
  ended(): void
}

interface Shared {
  readonly listeners: Set<SourceObserver>
  readonly running: Promise<RunningSubscription>
  /** Since it began. */
  hasChanged: boolean
}

export class ResourceSubscriptions implements Subscriptions {
  readonly #env: SubscriptionsEnv
  /** By the id of the watch, and the rights of the token: one of the same grant can have fewer, or those of before. */
  readonly #shared = new Map<string, Shared>()

  constructor(env: SubscriptionsEnv) {
    this.#env = env
  }

  async open({ uris, list }: Parameters<Subscriptions['open']>[0], call: Call, observer: Observer): Promise<Listening> {
    const sources = new Map<string, Source>()
    const closeSources = (): void => {
      for (const source of sources.values()) source.close()
    }
    for (const uri of uris) {
      const source = await this.#openUri(uri, call, {
        updated: () => observer.updated(uri),
        ended: observer.ended,
      }).catch((error) => {
        // What the caller may not read is left out of the acknowledgment.
        if (error instanceof Refusal) return undefined
        closeSources()
        throw error
      })
      if (source !== undefined) sources.set(uri, source)
    }
    const unlisten = list ? this.#env.query.onCatalogueChange(() => observer.listChanged()) : () => {}
    return {
      uris: [...sources.keys()],
      setPrincipal(principal) {
        for (const source of sources.values()) source.setPrincipal(principal)
        if (list) observer.listChanged()
      },
      close() {
        unlisten()
        closeSources()
      },
    }
  }

  async #openUri(uri: string, call: Call, observer: SourceObserver): Promise<Source | undefined> {
    const watch = WATCH_URI.exec(uri)?.[1]
    if (watch !== undefined) return this.#openWatch(watch, call, observer)
    const [, feed, topic] = FEED_URI.exec(uri) ?? []
    if (feed === undefined || topic === undefined) return undefined
    return this.#openFeed(decode(feed), decode(topic), call, observer)
  }

  async #openWatch(id: string, call: Call, observer: SourceObserver): Promise<Source> {
    const { watched, last } = await this.#env.store.find(id, call.principal)
    if (watched.kind === 'feed') return this.#openFeed(watched.feed, watched.topic, call, observer, last)
    const { scopes, roles } = call.principal
    const key = JSON.stringify([id, [...scopes].sort(), [...roles].sort()])
    const known = this.#shared.get(key)
    // What the others were notified of before, this one was not.
    const isLate = known?.hasChanged === true
    // Only that it has changed is of interest.
    const shared = known ?? this.#share(key, liveRequest(watched, last, 0, call))
    shared.listeners.add(observer)
    const leave = (): void => {
      shared.listeners.delete(observer)
      if (shared.listeners.size > 0 || this.#shared.get(key) !== shared) return
      this.#shared.delete(key)
      shared.running.then((running) => running.close()).catch(() => {})
    }
    const running = await shared.running.catch((error) => {
      leave()
      throw error
    })
    if (isLate) observer.updated()
    return { close: leave, setPrincipal: (principal) => running.setPrincipal(principal) }
  }

  #share(key: string, request: ReturnType<typeof liveRequest>): Shared {
    const listeners = new Set<SourceObserver>()
    const drop = (): void => {
      if (this.#shared.get(key) === shared) this.#shared.delete(key)
    }
    // The first listener may leave before the others.
    const { signal: _, ...lasting } = request
    const running = this.#env.query.live.subscribe(
      { ...lasting, maxRate: 1 },
      {
        maySend: true,
        send: (message: LiveMessage) => {
          if (!isChange(message)) return
          shared.hasChanged = true
          for (const observer of listeners) observer.updated()
        },
        // Listeners then read it again, and get the reason for its end.
        end() {
          drop()
          for (const observer of listeners) {
            observer.updated()
            observer.ended()
          }
        },
      },
    )
    const shared: Shared = { listeners, running, hasChanged: false }
    this.#shared.set(key, shared)
    running.catch(drop)
    return shared
  }

  /** `last`: the position of the last call, after which something may have been published. */
  async #openFeed(feed: string, topic: string, call: Call, observer: SourceObserver, last?: string): Promise<Source> {
    const service = this.#env.feeds()
    if (service === undefined) throw new Refusal('feed.unknown', 404, 'This server has no feeds')
    let isBegun = false
    const send = (): void => {
      // The state at the beginning is no change.
      if (isBegun) observer.updated()
    }
    const sink = { maySend: true, isOpen: true, send, sendOrClose: send, end: observer.ended }
    const running = await service.subscribe(feed, { topic }, call.principal, sink, { ...call, way: 'events' })
    running.drained()
    setImmediate(() => {
      isBegun = true
    })
    try {
      if (last !== undefined && (await hasFeedChanges(service, feed, topic, last, call))) observer.updated()
    } catch (error) {
      running.close()
      throw error
    }
    return { close: () => running.close(), setPrincipal: (principal) => running.setPrincipal(principal) }
  }
}

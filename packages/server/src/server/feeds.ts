/** Opens the feeds of this node: the engine of the settings, the declared feeds as controllers of streams, and their routes. */
import type { Config } from '../config/config.ts'
import type { FeedEngine } from '../feeds/engine.ts'
import { FeedEndpoints } from '../feeds/http/endpoints.ts'
import { FeedService } from '../feeds/service.ts'
import type { RouteGroup } from '../http/route.ts'
import type { Identity } from '../identity/identity.ts'
import { retryUntilDone } from '../lib/retry.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import type { StepUp } from '../step-up/step-up.ts'
import type { Gateway } from '../streaming/gateway/gateway.ts'
import type { Caller } from '../streaming/topics/controller.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Base } from './base.ts'
import { feedControllers } from './feed-controllers.ts'
import { feedLimits } from './options.ts'

export interface Feeds {
  readonly service: FeedService
  readonly routes: RouteGroup
  /** Takes over the declared feeds of the database; changes are taken over by themselves. */
  load(): Promise<void>
  setLimits(config: Config): void
  /** Ends the event streams. */
  stop(): void
  close(): Promise<void>
}

const RELOAD = { firstMs: 200, longestMs: 5_000 }
const COUNT_MS = 10_000

export function openFeeds(
  base: Base,
  { identity, metrics, gateway, stepUp }: { identity: Identity; metrics: Metrics; gateway: Gateway; stepUp: StepUp },
): Feeds {
  const { config, resources, bus, clock, logger } = base
  const onError = exceptOutages((error) => logger.error({ err: error }, 'feeds error'))
  let maxPatterns = config.feedPatterns
  let maxPerCaller = config.streamMaxConnectionsPerUser
  const patterns = new WeakMap<Caller, number>()
  const service: FeedService = new FeedService({
    ...{ clock, metrics, onError, stepUp },
    definitions: () => resources.stores.feeds.list(),
    dropped: () => resources.stores.feeds.listDropped(),
    forgetDropped: (generation) => resources.stores.feeds.forgetDropped(generation),
    openEngine: () => openEngine(base, metrics, onError),
    limits: feedLimits(config),
    onChanged(feeds) {
      const declared = feedControllers(feeds, { feeds: service, maxPatterns: () => maxPatterns, patterns })
      for (const feed of gateway.setDeclared('feeds', declared))
        logger.warn({ feed }, 'a loaded controller has the name of a feed, which is not used on streams')
    },
  })
  const endpoints = new FeedEndpoints({
    ...{ feeds: service, authenticate: identity.authenticate, bus, clock },
    maxPerCaller: () => maxPerCaller,
  })
  const closing = new AbortController()
  const unsubscribe = bus.subscribe(({ kind }) =>
    kind === 'feeds-changed' ? retryUntilDone(() => service.reload(), RELOAD, onError, closing.signal) : undefined,
  )
  const counting = countUsage(service, metrics, onError)
  return {
    service,
    routes: endpoints.group,
    load: () => service.reload(),
    setLimits(next) {
      maxPatterns = next.feedPatterns
      maxPerCaller = next.streamMaxConnectionsPerUser
      service.setLimits(feedLimits(next))
    },
    stop: () => endpoints.stop(),
    close() {
      closing.abort()
      unsubscribe()
      clearInterval(counting)
      return service.close()
    },
  }
}

async function openEngine(base: Base, metrics: Metrics, onError: (error: unknown) => void): Promise<FeedEngine> {
  const { config, resources, clock, worker } = base
  if (config.natsUrl !== '') return (await import('./nats-feeds.ts')).openFeedsInNats(base, metrics, onError)
  if (resources.servers !== undefined) {
    const { openPostgresFeeds } = await import('../feeds/postgres/engine.ts')
    return openPostgresFeeds({ servers: resources.servers, onError })
  }
  const { openSqliteFeeds } = await import('../feeds/sqlite/engine.ts')
  return openSqliteFeeds({ dataFolder: config.data, clock, onError, shared: worker?.feeds })
}

/** What the feeds hold, for the metrics. */
function countUsage(service: FeedService, metrics: Metrics, onError: (error: unknown) => void): NodeJS.Timeout {
  let usages: readonly { readonly feed: string; readonly topics: number; readonly bytes: number }[] = []
  metrics.watch('gatehouse_feed_topics', () => usages.map(({ feed, topics }) => [{ feed }, topics]))
  metrics.watch('gatehouse_feed_bytes', () => usages.map(({ feed, bytes }) => [{ feed }, bytes]))
  const count = async (): Promise<void> => {
    usages = await Promise.all(
      service
        .list()
        .map(async ({ name: feed }) => ({ feed, ...((await service.usage(feed)) ?? { topics: 0, bytes: 0 }) })),
    )
  }
  return setInterval(() => void count().catch(onError), COUNT_MS).unref()
}

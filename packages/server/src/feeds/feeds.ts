/** The feeds of a node, the entry of this folder: opens them where the settings say, follows their declarations, and has their routes. */
import type { Authenticate, Clock } from 'gatehouse-protocol'
import type { ApiRoute } from '../http/openapi.ts'
import type { RouteGroup } from '../http/route.ts'
import { retryUntilDone } from '../lib/retry.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import type { StepUp } from '../step-up/step-up.ts'
import type { DatabaseServers } from '../store/database/servers/servers.ts'
import type { Feeds as FeedDefinitions } from '../store/feeds/feeds.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { FeedEngine, OnMoved } from './engine.ts'
import type { Feed } from './feed.ts'
import { FeedEndpoints, type FeedRoutesEnv } from './http/endpoints.ts'
import type { NatsPlace } from './nats/nats.ts'
import { type FeedLimits, FeedService, type FeedServiceOptions } from './service.ts'
import type { SharedFeeds } from './sqlite/engine.ts'

export type { NewMessage, StoredMessage } from './engine.ts'
export { type Feed, MAX_DEPTH, type TopicChoice, topicChoice } from './feed.ts'
export { BEGINNING, type FeedView } from './feed-view.ts'
export { type FeedLabel, type FeedLicences, writeLabels } from './licences.ts'
export type { FeedMessage } from './message.ts'
export { refuse } from './refusals.ts'
export { mayRead, mayWrite } from './rights.ts'
export { type FeedService, MAX_LAST, MAX_RATE, MIN_RATE, type RequestOrigin, type SubscribeRequest } from './service.ts'
export type { SharedFeeds } from './sqlite/engine.ts'
export type { Subscriber } from './subscriber.ts'

/** Where messages are stored. */
export type FeedPlace =
  | { readonly kind: 'sqlite'; readonly dataFolder: string; readonly shared: SharedFeeds | undefined }
  | { readonly kind: 'postgres'; readonly servers: DatabaseServers }
  | NatsPlace

export interface FeedsOptions {
  readonly place: FeedPlace
  readonly definitions: Pick<FeedDefinitions, 'list' | 'listDropped' | 'forgetDropped'>
  readonly bus: FeedRoutesEnv['bus']
  readonly authenticate: Authenticate
  readonly stepUp: StepUp
  readonly licences: FeedServiceOptions['licences']
  readonly delays: FeedServiceOptions['delays']
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
  readonly limits: FeedsLimits
  /** Called when feeds were added, changed or removed. */
  readonly onChanged: (feeds: readonly Feed[]) => void
}

export interface FeedsLimits extends FeedLimits {
  /** How many event streams one user or client may have open on this node. */
  readonly eventStreams: number
  /** How many patterns one stream may subscribe to. */
  readonly patterns: number
}

export interface Feeds {
  readonly service: FeedService
  readonly routes: RouteGroup
  /** Takes over the declared feeds of the database; changes are taken over by themselves. */
  load(): Promise<void>
  limits(): FeedsLimits
  setLimits(limits: FeedsLimits): void
  /** Ends the event streams. */
  stop(): void
  close(): Promise<void>
}

const RELOAD = { firstMs: 200, longestMs: 5_000 }
const COUNT_MS = 10_000

export function openFeeds(options: FeedsOptions): Feeds {
  const { definitions, bus, authenticate, stepUp, licences, delays, clock, logger, metrics, onChanged } = options
  let { limits } = options
  const onError = exceptOutages((error) => logger.error({ err: error }, 'feeds error'))
  const service = new FeedService({
    definitions: () => definitions.list(),
    dropped: () => definitions.listDropped(),
    forgetDropped: (generation) => definitions.forgetDropped(generation),
    openEngine: () => openEngine(options, onError),
    clock,
    limits,
    stepUp,
    licences,
    ...(delays !== undefined && { delays }),
    metrics,
    onError,
    onChanged,
  })
  const maxPerCaller = () => limits.eventStreams
  const endpoints = new FeedEndpoints({ feeds: service, authenticate, bus, clock, maxPerCaller })
  const closing = new AbortController()
  const unsubscribe = bus.subscribe(({ kind }) =>
    kind === 'feeds-changed' ? retryUntilDone(() => service.reload(), RELOAD, onError, closing.signal) : undefined,
  )
  const counting = countUsage(service, metrics, onError)
  return {
    service,
    routes: endpoints.group,
    load: () => service.reload(),
    limits: () => limits,
    setLimits(next) {
      limits = next
      service.setLimits(next)
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

/** The routes of feeds in the OpenAPI document. */
export async function describeRoutes(): Promise<ApiRoute[]> {
  const { describeFeeds } = await import('./http/openapi.ts')
  return describeFeeds()
}

/** Loads the engine of the place, and no other. */
async function openEngine(options: FeedsOptions, onError: (error: unknown) => void): Promise<FeedEngine> {
  const { place, definitions, clock, logger, metrics } = options
  const onMoved: OnMoved = ({ lateMs }) =>
    metrics.observe('gatehouse_licence_lateness_seconds', { kind: 'feed' }, lateMs / 1000)
  switch (place.kind) {
    case 'sqlite': {
      const { openSqliteFeeds } = await import('./sqlite/engine.ts')
      return openSqliteFeeds({ dataFolder: place.dataFolder, clock, onError, onMoved, shared: place.shared })
    }
    case 'postgres': {
      const { openPostgresFeeds } = await import('./postgres/engine.ts')
      return openPostgresFeeds({ servers: place.servers, onError, onMoved })
    }
    case 'nats': {
      const { openFeedsInNats } = await import('./nats/nats.ts')
      const isDeclared = async (generation: string) =>
        (await definitions.list()).some((feed) => feed.generation === generation)
      return openFeedsInNats(place, { clock, logger, metrics, isDeclared, onError, onMoved })
    }
  }
}

/** What the feeds hold, for the metrics. */
function countUsage(service: FeedService, metrics: Metrics, onError: (error: unknown) => void): NodeJS.Timeout {
  let usages: readonly { readonly feed: string; readonly topics: number; readonly bytes: number }[] = []
  metrics.watch('gatehouse_feed_topics', () => usages.map(({ feed, topics }) => [{ feed }, topics]))
  metrics.watch('gatehouse_feed_bytes', () => usages.map(({ feed, bytes }) => [{ feed }, bytes]))
  const count = async (): Promise<void> => {
    usages = await Promise.all(service.list().map(({ name }) => readUsage(service, name)))
  }
  return setInterval(() => void count().catch(onError), COUNT_MS).unref()
}

async function readUsage(service: FeedService, feed: string) {
  const { topics, bytes } = (await service.usage(feed)) ?? { topics: 0, bytes: 0 }
  return { feed, topics, bytes }
}

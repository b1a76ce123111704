/** The feeds in a server: where the settings place them, and the declared ones as controllers of its streams. */
import { type FeedPlace, type Feeds, openFeeds } from '../feeds/feeds.ts'
import type { Identity } from '../identity/identity.ts'
import type { StepUp } from '../step-up/step-up.ts'
import { delaysByName } from '../store/licences/coverage.ts'
import type { Gateway } from '../streaming/streaming.ts'
import type { Caller } from '../streaming/topics/controller.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Base } from './base.ts'
import { feedControllers } from './feed-controllers.ts'
import type { Coverage } from './licensing.ts'
import { feedLimits } from './options.ts'

interface FeedParts {
  readonly identity: Identity
  readonly metrics: Metrics
  readonly gateway: Gateway
  readonly stepUp: StepUp
  readonly coverage: Coverage
}

export function openFeedsOnStreams(base: Base, { identity, metrics, gateway, stepUp, coverage }: FeedParts): Feeds {
  const { config, resources, bus, clock, logger } = base
  const patterns = new WeakMap<Caller, number>()
  const feeds: Feeds = openFeeds({
    place: chooseFeedPlace(base),
    definitions: resources.stores.feeds,
    bus,
    authenticate: identity.authenticate,
    stepUp,
    licences: coverage.feeds,
    delays: async () => delaysByName(await resources.stores.licences.products.list(), 'feed'),
    clock,
    logger,
    metrics,
    limits: feedLimits(config),
    onChanged(declared) {
      const maxPatterns = () => feeds.limits().patterns
      const controllers = feedControllers(declared, { feeds: feeds.service, maxPatterns, patterns })
      for (const feed of gateway.setDeclared('feeds', controllers))
        logger.warn({ feed }, 'a loaded controller has the name of a feed, which is not used on streams')
    },
  })
  coverage.onChanged(() => {
    feeds.service.licencesChanged()
    // What is needed for readers with a delay.
    void feeds.load().catch((error: unknown) => logger.error({ err: error }, 'feeds error'))
  })
  return feeds
}

function chooseFeedPlace({ config, resources, worker }: Base): FeedPlace {
  if (config.natsUrl !== '') {
    const { natsUrl: url, natsCredentials, natsTlsCa, natsReplicas: replicas, natsAtomicBatches: isAtomic } = config
    const credentials = natsCredentials === '' ? undefined : natsCredentials
    return { kind: 'nats', url, credentials, tlsCa: natsTlsCa === '' ? undefined : natsTlsCa, replicas, isAtomic }
  }
  if (resources.servers !== undefined) return { kind: 'postgres', servers: resources.servers }
  return { kind: 'sqlite', dataFolder: config.data, shared: worker?.feeds }
}

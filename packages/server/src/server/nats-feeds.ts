/** Feeds in NATS: what the log and the metrics say about the connection, and about messages that are none. */
import type { Config } from '../config/config.ts'
import type { FeedEngine } from '../feeds/engine.ts'
import { openNatsFeeds } from '../feeds/nats/engine.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Base } from './base.ts'

/** Other programs may publish as many of them as they like. */
const LOG_SKIPPED_MS = 60_000

export function openFeedsInNats(
  { config, clock, logger, resources }: Pick<Base, 'config' | 'clock' | 'logger' | 'resources'>,
  metrics: Metrics,
  onError: (error: unknown) => void,
): Promise<FeedEngine> {
  let isConnected = false
  let loggedAt = Number.NEGATIVE_INFINITY
  metrics.watch('gatehouse_nats_connected', () => [[{}, Number(isConnected)]])
  return openNatsFeeds({
    ...natsOptions(config),
    ...{ clock, onError },
    isDeclared: async (generation) =>
      (await resources.stores.feeds.list()).some((feed) => feed.generation === generation),
    onState(state) {
      if (state.kind === 'connected') logger.info({ server: state.server }, 'connected to NATS')
      else if (state.kind === 'disconnected') logger.error('the connection to NATS was lost: feeds wait for it')
      else logger.warn({ err: state.error }, 'NATS reports an error')
      if (state.kind !== 'error') isConnected = state.kind === 'connected'
    },
    onSkipped(feed, reason) {
      metrics.counter('gatehouse_nats_skipped_total', { feed, reason })(1)
      if (performance.now() - loggedAt < LOG_SKIPPED_MS) return
      loggedAt = performance.now()
      logger.warn({ feed, reason }, 'a message that a program published to NATS is no message of the feed')
    },
  })
}

function natsOptions({ natsUrl, natsCredentials, natsTlsCa, natsReplicas, natsAtomicBatches }: Config) {
  return {
    url: natsUrl,
    credentials: natsCredentials === '' ? undefined : natsCredentials,
    tlsCa: natsTlsCa === '' ? undefined : natsTlsCa,
    replicas: natsReplicas,
    isAtomic: natsAtomicBatches,
  }
}

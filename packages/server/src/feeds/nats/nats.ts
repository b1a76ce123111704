/** Feeds in NATS, the entry of this folder: what the log and the metrics say about the connection, and about messages that are none. */
import type { Clock } from 'gatehouse-protocol'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { FeedEngine, OnMoved } from '../engine.ts'
import { openNatsFeeds } from './engine.ts'

export interface NatsPlace {
  readonly kind: 'nats'
  readonly url: string
  readonly credentials: string | undefined
  readonly tlsCa: string | undefined
  /** Copies of each message in a cluster of NATS. */
  readonly replicas: number
  /** Whether requests of several messages are published as atomic batches, where the server can (2.12 and later). */
  readonly isAtomic: boolean
}

export interface NatsEnv {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
  /** Whether a feed is declared, of which a stream has the generation. */
  readonly isDeclared: (generation: string) => Promise<boolean>
  readonly onError: (error: unknown) => void
  /** Called when delayed readers are shown messages. */
  readonly onMoved: OnMoved
}

/** Other programs may publish as many of them as they like. */
const LOG_SKIPPED_MS = 60_000

export function openFeedsInNats(place: NatsPlace, env: NatsEnv): Promise<FeedEngine> {
  const { clock, logger, metrics, isDeclared, onError, onMoved } = env
  const { url, credentials, tlsCa, replicas, isAtomic } = place
  let isConnected = false
  let loggedAt = Number.NEGATIVE_INFINITY
  metrics.watch('gatehouse_nats_connected', () => [[{}, Number(isConnected)]])
  return openNatsFeeds({
    url,
    credentials,
    tlsCa,
    replicas,
    isAtomic,
    clock,
    isDeclared,
    onError,
    onMoved,
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

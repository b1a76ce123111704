/** The counters of the gateway, and how they appear as metrics. */
import { increment } from '../lib/counts.ts'
import type { Metrics } from '../telemetry/metrics.ts'

export class StreamCounters {
  messagesIn = 0
  messagesOut = 0
  /** Published messages that a newer one replaced because the client read too slowly. */
  messagesCoalesced = 0
  /** Connections closed as too slow, by the limit that was reached. */
  readonly slowCloses = new Map<'connection' | 'address' | 'node', number>()
  /** Connections closed because their incomplete messages and unanswered requests took too much memory, by the limit that was reached. */
  readonly floodCloses = new Map<'address' | 'node', number>()
  /** Error replies by code. */
  readonly errors = new Map<string, number>()
  /** `Limited` error replies by limit. */
  readonly limited = new Map<string, number>()
  signInsAccepted = 0
  signInsRejected = 0
  sessionsDisplaced = 0
  connectionsOpened = 0
  /** Closed connections by close code. */
  readonly closes = new Map<number | 'other', number>()
  /** Refused upgrades by problem code. */
  readonly refusals = new Map<string, number>()
}

/** The limits of this server; those of custom controllers are counted as "other". */
const LIMITS: ReadonlySet<string> = new Set([
  'messages per second',
  'subscriptions',
  'connections per user',
  'rejected sign-ins',
  'messages during the snapshot',
  'live statements',
  'rows',
  'memory',
  'queries',
  'requests to this controller',
  'patterns',
  'message size',
  'topics of the feed',
  'bytes of the feed',
  'rate of the feed',
  'rate of the publisher',
])

export function countError({ errors, limited }: StreamCounters, code: string, context: string): void {
  increment(errors, code)
  if (code === 'Limited') increment(limited, LIMITS.has(context) ? context : 'other')
}

interface MeasuredGateway {
  readonly counters: StreamCounters
  connections(): readonly MeasuredConnection[]
}

interface MeasuredConnection {
  readonly subject: string | undefined
  readonly subscriptions: number
  readonly queuedBytes: number
}

export function watchGateway(metrics: Metrics, gateway: MeasuredGateway): void {
  const { counters } = gateway
  const sum = (of: (connection: MeasuredConnection) => number): number =>
    gateway.connections().reduce((total, connection) => total + of(connection), 0)
  metrics.watchCounts('gatehouse_streaming_connections', 'state', () => {
    const authenticated = sum(({ subject }) => (subject === undefined ? 0 : 1))
    return Object.entries({ authenticated, anonymous: gateway.connections().length - authenticated })
  })
  metrics.watchCounts('gatehouse_streaming_connections_total', 'outcome', () => [
    ['accepted', counters.connectionsOpened],
    ...counters.refusals,
  ])
  metrics.watchCounts('gatehouse_streaming_closes_total', 'code', () => counters.closes)
  metrics.watchCounts('gatehouse_streaming_messages_total', 'direction', () =>
    Object.entries({ in: counters.messagesIn, out: counters.messagesOut }),
  )
  metrics.watchCounts('gatehouse_streaming_errors_total', 'code', () => counters.errors)
  metrics.watchCounts('gatehouse_streaming_limited_total', 'limit', () => counters.limited)
  metrics.watch('gatehouse_streaming_queue_bytes', () => [[{}, sum(({ queuedBytes }) => queuedBytes)]])
  metrics.watch('gatehouse_streaming_subscriptions', () => [[{}, sum(({ subscriptions }) => subscriptions)]])
  metrics.watchCounts('gatehouse_streaming_signins_total', 'outcome', () =>
    Object.entries({ accepted: counters.signInsAccepted, rejected: counters.signInsRejected }),
  )
  metrics.watch('gatehouse_streaming_displaced_total', () => [[{}, counters.sessionsDisplaced]])
  metrics.watchCounts('gatehouse_streaming_slow_closes_total', 'limit', () => counters.slowCloses)
  metrics.watchCounts('gatehouse_streaming_flood_closes_total', 'limit', () => counters.floodCloses)
  metrics.watch('gatehouse_streaming_coalesced_total', () => [[{}, counters.messagesCoalesced]])
}

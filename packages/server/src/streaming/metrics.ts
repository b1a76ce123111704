/** The counters of the gateway, and how they appear as metrics. */
import type { Metrics } from '../telemetry/metrics.ts'

export class StreamCounters {
  messagesIn = 0
  messagesOut = 0
  /** Published messages that a newer one replaced because the client read too slowly. */
  messagesCoalesced = 0
  /** Connections closed as too slow, by the limit that was reached. */
  readonly slowCloses = new Map<'connection' | 'address' | 'node', number>()
  /** Connections closed because of what was received of incomplete messages and unanswered requests, by limit. */
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

/** The limits of the gateway itself; limits of controllers are counted as "other". */
const LIMITS: ReadonlySet<string> = new Set([
  'messages per second',
  'subscriptions',
  'connections per user',
  'rejected sign-ins',
  'publications before the state',
  'live statements',
  'rows',
])

export function countError({ errors, limited }: StreamCounters, code: string, context: string): void {
  increment(errors, code)
  if (code === 'Limited') increment(limited, LIMITS.has(context) ? context : 'other')
}

export function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
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
  const connections = (): readonly MeasuredConnection[] => gateway.connections()
  metrics.watch('gatehouse_streaming_connections', () => {
    const open = connections()
    const authenticated = open.filter(({ subject }) => subject !== undefined).length
    return [
      [{ state: 'authenticated' }, authenticated],
      [{ state: 'anonymous' }, open.length - authenticated],
    ]
  })
  metrics.watch('gatehouse_streaming_connections_total', () => [
    [{ outcome: 'accepted' }, counters.connectionsOpened],
    ...[...counters.refusals].map(([outcome, count]) => [{ outcome }, count] as const),
  ])
  metrics.watch('gatehouse_streaming_closes_total', () =>
    [...counters.closes].map(([code, count]) => [{ code: String(code) }, count] as const),
  )
  metrics.watch('gatehouse_streaming_messages_total', () => [
    [{ direction: 'in' }, counters.messagesIn],
    [{ direction: 'out' }, counters.messagesOut],
  ])
  metrics.watch('gatehouse_streaming_errors_total', () =>
    [...counters.errors].map(([code, count]) => [{ code }, count] as const),
  )
  metrics.watch('gatehouse_streaming_limited_total', () =>
    [...counters.limited].map(([limit, count]) => [{ limit }, count] as const),
  )
  metrics.watch('gatehouse_streaming_queue_bytes', () => [
    [{}, sum(connections().map(({ queuedBytes }) => queuedBytes))],
  ])
  metrics.watch('gatehouse_streaming_subscriptions', () => [
    [{}, sum(connections().map(({ subscriptions }) => subscriptions))],
  ])
  metrics.watch('gatehouse_streaming_signins_total', () => [
    [{ outcome: 'accepted' }, counters.signInsAccepted],
    [{ outcome: 'rejected' }, counters.signInsRejected],
  ])
  metrics.watch('gatehouse_streaming_displaced_total', () => [[{}, counters.sessionsDisplaced]])
  metrics.watch('gatehouse_streaming_slow_closes_total', () =>
    [...counters.slowCloses].map(([limit, count]) => [{ limit }, count] as const),
  )
  metrics.watch('gatehouse_streaming_flood_closes_total', () =>
    [...counters.floodCloses].map(([limit, count]) => [{ limit }, count] as const),
  )
  metrics.watch('gatehouse_streaming_coalesced_total', () => [[{}, counters.messagesCoalesced]])
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** Shows what the gateway counts on the metrics page. */
import type { Metrics } from '../protocol/metrics.ts'
import type { Gateway } from './gateway.ts'

export function watchGateway(metrics: Metrics, { counters, liveSessions }: Gateway): void {
  metrics.watch('gatehouse_streaming_connections', () => {
    const sessions = liveSessions()
    const authenticated = sessions.filter(({ subject }) => subject !== undefined).length
    return [
      [{ state: 'authenticated' }, authenticated],
      [{ state: 'anonymous' }, sessions.length - authenticated],
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
  metrics.watch('gatehouse_streaming_queue_bytes', () => [[{}, sum(liveSessions().map((live) => live.queuedBytes))]])
  metrics.watch('gatehouse_streaming_subscriptions', () => [
    [{}, sum(liveSessions().map(({ subscriptions }) => subscriptions))],
  ])
  metrics.watch('gatehouse_streaming_signins_total', () => [
    [{ outcome: 'accepted' }, counters.signInsAccepted],
    [{ outcome: 'rejected' }, counters.signInsRejected],
  ])
  metrics.watch('gatehouse_streaming_displaced_total', () => [[{}, counters.sessionsDisplaced]])
  metrics.watch('gatehouse_streaming_coalesced_total', () => [[{}, counters.messagesCoalesced]])
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** Every metric of Gatehouse: name, type, labels and meaning; the registry and the docs are made from it. */
const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const
const SLOW = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

export const METRICS = {
  gatehouse_build_info: gauge('Always 1; the labels say what runs.', 'version', 'node'),
  gatehouse_http_requests_total: counter('Requests answered.', 'method', 'route', 'status'),
  gatehouse_http_request_seconds: histogram('Time from a request to the end of its answer.', FAST, 'route'),
  gatehouse_http_rejected_total: counter('Requests refused by a rate limit, by what the limit counts.', 'door', 'by'),
  gatehouse_tokens_total: counter(
    'Answers of the token endpoint; the outcome is "issued" or the error code.',
    'grant',
    'outcome',
  ),
  gatehouse_signins_total: counter(
    'Sign-ins of users by method and outcome: "good", "wrong", "delayed" after failures, "busy" when too many are checked at once.',
    'method',
    'outcome',
  ),
  gatehouse_hash_queue: gauge('Password hashes at work ("running") and waiting for a thread ("waiting").', 'state'),
  gatehouse_hash_seconds: histogram('Time of a password check, waiting included.', SLOW),
  gatehouse_streaming_connections: gauge('Open streaming connections: "authenticated" or "anonymous".', 'state'),
  gatehouse_streaming_connections_total: counter(
    'Streaming upgrades by outcome: "accepted" or the reason of the refusal.',
    'outcome',
  ),
  gatehouse_streaming_closes_total: counter(
    'Streaming connections closed, by close code; codes that clients make up count as `other`.',
    'code',
  ),
  gatehouse_streaming_messages_total: counter('Streaming messages, "in" and "out".', 'direction'),
  gatehouse_streaming_errors_total: counter('Errors sent to streaming clients, by code.', 'code'),
  gatehouse_streaming_limited_total: counter('Streaming requests answered with `Limited`, by the limit met.', 'limit'),
  gatehouse_streaming_queue_bytes: gauge('Bytes that wait in the send queues of all streaming connections.'),
  gatehouse_streaming_subscriptions: gauge('Live subscriptions of streaming connections.'),
  gatehouse_streaming_signins_total: counter('Tokens presented to streaming: "accepted" or "rejected".', 'outcome'),
  gatehouse_streaming_displaced_total: counter('Streaming sessions that gave way to a newer one of the same user.'),
  gatehouse_streaming_coalesced_total: counter('Pushed messages that a newer one replaced for a slow reader.'),
  gatehouse_queries_total: counter('Statements run, by outcome: "ok" or the stable error code.', 'outcome'),
  gatehouse_query_seconds: histogram('Time of a statement from arrival to its last row.', SLOW, 'engine'),
  gatehouse_query_rows_total: counter('Rows sent in query results.'),
  gatehouse_queries_running: gauge('Statements at work now.'),
  gatehouse_query_processes: gauge('Reader processes of the embedded engine: "idle" or "busy".', 'state'),
  gatehouse_bus_events_total: counter('Events heard on the bus, by kind.', 'kind'),
  gatehouse_bus_lag_seconds: gauge('Time since this node last knew that it had heard every event.'),
  gatehouse_database_connections: gauge(
    'Connections of the identity database: "busy", "idle" and callers "waiting" for one.',
    'state',
  ),
  gatehouse_audit_waiting_rows: gauge('Audit rows that are not yet durable.'),
  gatehouse_audit_lost_total: counter('Audit rows that could not be kept because the database was away for too long.'),
  gatehouse_pruned_rows_total: counter('Expired rows removed, by table.', 'table'),
  process_cpu_seconds_total: counter('CPU time of this process.'),
  process_resident_memory_bytes: gauge('Resident memory of this process.'),
  process_heap_bytes: gauge('JavaScript heap in use.'),
  process_start_time_seconds: gauge('When this process started, in Unix time.'),
  nodejs_eventloop_lag_seconds: gauge(
    'How late timers ran since the last scrape: "mean", "p99" and "max".',
    'statistic',
  ),
} as const

export type MetricName = keyof typeof METRICS
type NamesOf<Type extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never
}[MetricName]
export type CounterName = NamesOf<'counter'>
export type HistogramName = NamesOf<'histogram'>
/** A counter that somebody else keeps is read like a gauge. */
export type WatchedName = NamesOf<'gauge' | 'counter'>
export type LabelsOf<Name extends MetricName> = { readonly [Label in (typeof METRICS)[Name]['labels'][number]]: string }

function counter<const Label extends string>(help: string, ...labels: Label[]) {
  return { type: 'counter', help, labels } as const
}

function gauge<const Label extends string>(help: string, ...labels: Label[]) {
  return { type: 'gauge', help, labels } as const
}

function histogram<const Label extends string>(help: string, buckets: readonly number[], ...labels: Label[]) {
  return { type: 'histogram', help, labels, buckets } as const
}

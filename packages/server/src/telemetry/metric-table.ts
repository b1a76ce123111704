/** Every metric of Gatehouse: name, type, labels and meaning. The registry and the docs are generated from it. */
const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const
const SLOW = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

export const METRICS = {
  gatehouse_build_info: processGauge(
    'Always 1; the labels give the versions of Gatehouse and Node, and the name of this node.',
    'version',
    'node',
    'name',
  ),
  gatehouse_http_requests_total: counter(
    'HTTP requests. Status 499: the client left before the end of the reply.',
    'method',
    'route',
    'status',
  ),
  gatehouse_http_request_seconds: histogram('Time from a request to the end of its reply.', FAST, 'route'),
  gatehouse_http_connections_refused_total: counter(
    'Connections refused because their address has too many connections ("address"), or because the process cannot open more files ("node").',
    'limit',
  ),
  gatehouse_http_rejected_total: counter(
    'Requests refused by a rate limit, by limit group and by what is counted.',
    'group',
    'by',
  ),
  gatehouse_tokens_total: counter(
    'Replies of the token endpoint; the outcome is "issued" or the error code.',
    'grant',
    'outcome',
  ),
  gatehouse_api_tokens_total: counter(
    'Access tokens that the token endpoint issued for APIs, by resource.',
    'resource',
  ),
  gatehouse_client_assertions_total: counter(
    'Assertions of clients by method ("private_key_jwt", "federated") and outcome ("accepted", "refused").',
    'method',
    'outcome',
  ),
  gatehouse_pushed_requests_total: counter(
    'Pushed authorization requests by outcome: "accepted", or the error.',
    'outcome',
  ),
  gatehouse_remote_documents_total: counter(
    'Fetches of keys ("jwks"), of metadata of other issuers, and of the documents of agents ("client"): "fetched" or "failed".',
    'document',
    'outcome',
  ),
  gatehouse_dpop_proofs_total: counter(
    'DPoP proofs: "accepted", "refused", "replayed" if the proof was used before, or "nonce" if one was demanded.',
    'outcome',
  ),
  gatehouse_dpop_verify_seconds: histogram('Time until the signature of a DPoP proof is verified.', FAST),
  gatehouse_dpop_replay_entries: gauge('DPoP proofs that this node remembers, so that none is accepted twice.'),
  gatehouse_mcp_requests_total: counter(
    'Messages to /mcp by method, era ("modern", "legacy", "none" if it could not be read) and outcome: "ok", "notification", "tool-error" if the model has to correct its call, or the error.',
    'method',
    'era',
    'outcome',
  ),
  gatehouse_mcp_tool_seconds: histogram('Time of a call of a tool by an agent.', FAST, 'tool'),
  gatehouse_mcp_listeners: gauge('Streams of agents that listen to changes.'),
  gatehouse_mcp_watches: gauge('Watches of agents, as counted in the last minute.'),
  gatehouse_mcp_rows_total: counter('Rows and messages that agents were given.'),
  gatehouse_step_ups_total: counter(
    'Requests whose sign-in was too weak or too old for a table, feed or topic: "asked" to sign in again, or "refused" without a user.',
    'outcome',
  ),
  gatehouse_scim_requests_total: counter(
    'Requests of SCIM clients, by resource ("Users", "Groups" and others), method and status.',
    'resource',
    'method',
    'status',
  ),
  gatehouse_signins_total: counter(
    'Sign-ins of users by method and outcome: "good", "wrong", "delayed" after failures, "busy" when the hash queue is full.',
    'method',
    'outcome',
  ),
  gatehouse_licence_ending: sharedGauge(
    'Entitlements of users by name and trials that end within `warn` of their product, by product.',
    'product',
  ),
  gatehouse_licence_lateness_seconds: histogram(
    'How much later than it was old enough delayed readers were shown something, by kind: "feed" or "table".',
    [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
    'kind',
  ),
  gatehouse_licence_places: sharedGauge('Places with real-time access, on all nodes, by product.', 'product'),
  gatehouse_licence_refused_total: counter(
    'Uses and places of products that were refused, by product and error code.',
    'product',
    'reason',
  ),
  gatehouse_licence_sessions: sharedGauge(
    'Open sessions on all nodes, by product and access: "realtime", "delayed".',
    'product',
    'access',
  ),
  gatehouse_mail_total: counter(
    'Mails by kind and outcome: "sent", "postponed" (one attempt failed), "refused" by the mail server, "expired", "dropped" (not to be sent), "throttled".',
    'kind',
    'outcome',
  ),
  gatehouse_mail_queue: sharedGauge('Mails that wait for their delivery. Counted every ten seconds.'),
  gatehouse_mail_queue_age_seconds: sharedGauge('Seconds since the oldest mail that waits was queued; 0 without any.'),
  gatehouse_provider_signins_total: counter(
    'Sign-ins through other providers by outcome: "good", or the code that the person was shown.',
    'provider',
    'outcome',
  ),
  gatehouse_provider_signin_seconds: histogram('Time of the requests to a provider for one sign-in.', SLOW, 'provider'),
  gatehouse_hash_queue: gauge('Password hashes in progress ("running") and queued ("waiting").', 'state'),
  gatehouse_hash_seconds: histogram('Time of a password check, including the wait.', SLOW),
  gatehouse_wire_connections: gauge(
    'Connections of PostgreSQL\'s protocol: "open" (signed in) or "signing in".',
    'state',
  ),
  gatehouse_wire_signins_total: counter(
    'Sign-ins on the wire port by method ("oauth", "token", "client secret", "password").',
    'method',
  ),
  gatehouse_wire_refused_total: counter(
    'Connections to the wire port refused before they were open: by a limit ("node", "user", "waiting", "address"), by the sign-in ("signin", "delayed", "deadline"), "start-up", "protocol", or "discovery", after which a client comes back with a token.',
    'reason',
  ),
  gatehouse_wire_closes_total: counter(
    'Closed connections to the wire port by reason: "client", "expired", "revoked", "kicked", "idle", "stopping", "protocol" or "error".',
    'reason',
  ),
  gatehouse_wire_cancels_total: counter('CancelRequests on the wire port, right or wrong.'),
  gatehouse_streaming_connections: gauge('Open streaming connections: "authenticated" or "anonymous".', 'state'),
  gatehouse_streaming_connections_total: counter(
    'Streaming upgrades by outcome: "accepted" or the error code.',
    'outcome',
  ),
  gatehouse_streaming_closes_total: counter(
    'Streaming connections closed, by close code; unknown codes of clients count as `other`.',
    'code',
  ),
  gatehouse_streaming_messages_total: counter('Streaming messages, "in" and "out".', 'direction'),
  gatehouse_streaming_errors_total: counter('Errors sent to streaming clients, by code.', 'code'),
  gatehouse_streaming_limited_total: counter('Streaming requests answered with `Limited`, by limit.', 'limit'),
  gatehouse_streaming_queue_bytes: gauge('Bytes in the send queues of all streaming connections.'),
  gatehouse_streaming_subscriptions: gauge('Live subscriptions of streaming connections.'),
  gatehouse_streaming_signins_total: counter('Tokens presented to streaming: "accepted" or "rejected".', 'outcome'),
  gatehouse_streaming_displaced_total: counter('Streaming sessions closed because the same user opened a newer one.'),
  gatehouse_streaming_flood_closes_total: counter(
    'Streaming connections closed because a limit of receive queues was reached: "address" or "node".',
    'limit',
  ),
  gatehouse_streaming_slow_closes_total: counter(
    'Streaming connections closed because a limit of send queues was reached: "connection", "address" or "node".',
    'limit',
  ),
  gatehouse_streaming_coalesced_total: counter('Pushed messages replaced by a newer one for a slow reader.'),
  gatehouse_queries_total: counter('Statements run, by outcome: "ok" or the stable error code.', 'outcome'),
  gatehouse_query_seconds: histogram('Time of a statement from arrival to its last row.', SLOW, 'engine'),
  gatehouse_query_rows_total: counter('Rows sent in query results.'),
  gatehouse_queries_running: gauge('Statements running now.'),
  gatehouse_queries_waiting: gauge('Statements that wait for a reader process or a connection.'),
  gatehouse_query_answers_aborted_total: counter(
    'Answers aborted because the client did not read them: "stalled" while others waited, or "queue" when too many bytes were queued.',
    'reason',
  ),
  gatehouse_http_arriving_bytes: gauge('Memory of HTTP request bodies that have not arrived completely.'),
  gatehouse_query_send_queue_bytes: gauge('Bytes of HTTP replies that clients have not read yet.'),
  gatehouse_query_writes_stopped_total: counter('Long writes stopped because writes of others waited too long.'),
  gatehouse_query_processes: gauge('Reader processes of the embedded engine: "idle" or "busy".', 'state'),
  gatehouse_query_column_segments: gauge(
    'Column segments of the embedded engine: "ready", "marked" (their rows have changed) or "missing" (not written yet).',
    'state',
  ),
  gatehouse_retention_rows_total: counter('Rows that retention has deleted.', 'table'),
  gatehouse_retention_behind_seconds: gauge(
    'By how much the oldest row of a table is older than its retention, on the node that is the keeper.',
    'table',
  ),
  gatehouse_view_behind_seconds: gauge(
    'Time since the first commit that a materialized view has not seen; only the keeper knows it.',
    'view',
  ),
  gatehouse_view_groups_total: counter('Groups of materialized views evaluated after changes.', 'view'),
  gatehouse_view_seconds: counter('Time spent on evaluating and writing materialized views.', 'view'),
  gatehouse_alerts: gauge(
    'Alerts, by state: "ok", "pending", "firing", "paused", "suspended" or "error"; on the node that is the keeper.',
    'state',
  ),
  gatehouse_alert_deliveries_total: counter(
    'Attempts to deliver, by the kind of the channel and the outcome: "sent", "failed" or "dropped".',
    'kind',
    'outcome',
  ),
  gatehouse_alert_queue: gauge('Deliveries of alerts that wait, on the node that is the keeper.'),
  gatehouse_alert_queue_age_seconds: gauge('Since when the oldest of them waits.'),
  gatehouse_live_statements: gauge('Live statements, by method: "keys", "rerun" or "clock".', 'method'),
  gatehouse_live_families: gauge('Groups of live statements that share one read of the changed rows.'),
  gatehouse_live_rows: gauge('Rows of live results in memory, including results kept for clients that come back.'),
  gatehouse_live_bytes: gauge('Approximate memory of live results.'),
  gatehouse_live_evaluations_total: counter('Evaluations of live results, by method.', 'method'),
  gatehouse_live_delivery_seconds: histogram(
    'Time from when this node learned of a commit to when it sent the messages to subscribers.',
    FAST,
  ),
  gatehouse_live_resumes_total: counter(
    'Live statements resumed: "recovered", or "reset" with a new snapshot.',
    'outcome',
  ),
  gatehouse_live_log_changes: sharedGauge(
    'Changes kept in the change logs of "all" tables, and of the "largest" log. Counted once a minute.',
    'of',
  ),
  gatehouse_live_resets_total: counter('Snapshots sent again, by the reason in the Reset.', 'reason'),
  gatehouse_feed_messages_total: counter('Messages published to a feed on this node.', 'feed'),
  gatehouse_feed_subscriptions: gauge('Subscriptions of a feed on this node, over streams and events.', 'feed'),
  gatehouse_feed_topics: sharedGauge(
    'Topics of a feed that hold a state or history. Counted every ten seconds.',
    'feed',
  ),
  gatehouse_feed_bytes: sharedGauge('Bytes of the messages that a feed keeps. Counted every ten seconds.', 'feed'),
  gatehouse_nats_connected: processGauge(
    'Whether the process is connected to NATS: 1 or 0. Only with nats_url, and a declared feed.',
  ),
  gatehouse_nats_skipped_total: counter(
    'Messages that programs published to NATS and that are none of the feed: "not_json", "too_large", or a "subject" that no topic is written as.',
    'feed',
    'reason',
  ),
  gatehouse_feed_refused_total: counter(
    'Requests to publish that were refused, over HTTP and on streams, by error code.',
    'feed',
    'code',
  ),
  gatehouse_controller_faults_total: counter(
    'Uncaught errors of custom streaming controllers, such as those of their timers.',
    'controller',
  ),
  gatehouse_remote_calls_total: counter(
    'Requests to remote controllers, by outcome: "ok", "refused" (4xx with a problem document), "fault", "timeout", "cancelled" (by the client, or because its connection or its time ended) or "limited".',
    'controller',
    'outcome',
  ),
  gatehouse_remote_call_seconds: histogram(
    'Time of a request to a remote controller, including the wait for others.',
    SLOW,
    'controller',
  ),
  gatehouse_remote_calls: gauge(
    'Requests to remote controllers: "running", and "waiting" because too many run.',
    'controller',
    'state',
  ),
  gatehouse_bus_events_total: counter('Events received from the event bus, by kind.', 'kind'),
  gatehouse_bus_lag_seconds: processGauge(
    'Time since a moment of which this node knows that every event before it has taken effect.',
  ),
  gatehouse_database_connections: gauge(
    'Connections of the identity database: "busy", "idle" and callers "waiting" for one.',
    'state',
  ),
  gatehouse_database_failovers_total: counter('Changes of the primary of PostgreSQL that this node has followed.'),
  gatehouse_database_timeline: processGauge(
    'The timeline of the primary of PostgreSQL; every promotion begins the next one.',
  ),
  gatehouse_database_writes_stopped: processGauge(
    '1 while writes are stopped because PostgreSQL lacks acknowledged writes after a failover.',
  ),
  gatehouse_audit_waiting_rows: gauge('Audit rows waiting to be made durable.'),
  gatehouse_audit_lost_total: counter('Audit rows lost because the database was unavailable for too long.'),
  gatehouse_tls_certificate_expiry_seconds: sharedGauge(
    'Time until the TLS certificate expires; negative after expiry. Only if TLS is configured.',
  ),
  gatehouse_pruned_rows_total: counter('Expired rows removed, by table.', 'table'),
  gatehouse_disk_free_bytes: sharedGauge('Bytes still available to the server on the disk of the data folder.'),
  gatehouse_disk_size_bytes: sharedGauge('Size of the disk of the data folder.'),
  gatehouse_last_backup_timestamp_seconds: sharedGauge(
    'When the last backup in the audit log was taken, in Unix time; absent if there is none.',
  ),
  gatehouse_backup_lag_seconds: sharedGauge(
    'Age of the oldest change that is not stored at `backup_url`; 0 if everything is. Only if it is set.',
  ),
  gatehouse_backup_spool_bytes: sharedGauge('Bytes that wait in the data folder to be sent to `backup_url`.'),
  gatehouse_backup_verified_timestamp_seconds: sharedGauge(
    'When what was sent to `backup_url` was last restored and checked, in Unix time; absent before the first time.',
  ),
  process_open_fds: processGauge('Open file descriptors of this process; on Linux only.'),
  process_max_fds: processGauge('Maximum of open file descriptors; on Linux only.'),
  process_cpu_seconds_total: counter('CPU time of this process.'),
  process_resident_memory_bytes: processGauge('Resident memory of this process.'),
  process_heap_bytes: processGauge('JavaScript heap in use.'),
  process_start_time_seconds: processGauge('When this process started, in Unix time.'),
  nodejs_eventloop_lag_seconds: processGauge(
    'Delay of timers since the last scrape: "mean", "p99" and "max".',
    'statistic',
  ),
} as const

export type MetricName = keyof typeof METRICS
type NamesByType<Type extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never
}[MetricName]
export type CounterName = NamesByType<'counter'>
export type HistogramName = NamesByType<'histogram'>
/** A counter that is kept elsewhere is read like a gauge. */
export type WatchedName = NamesByType<'gauge' | 'counter'>
export type MetricLabels<Name extends MetricName> = {
  readonly [Label in (typeof METRICS)[Name]['labels'][number]]: string
}

function counter<const Label extends string>(help: string, ...labels: Label[]) {
  return { type: 'counter', help, labels } as const
}

function gauge<const Label extends string>(help: string, ...labels: Label[]) {
  return { type: 'gauge', over: 'sum', help, labels } as const
}

/** A gauge of one process: of several workers each has its own series, with the label `worker`. */
function processGauge<const Label extends string>(help: string, ...labels: Label[]) {
  return { type: 'gauge', over: 'worker', help, labels } as const
}

/** A gauge of something that all workers share: they report the same, or what the last of them has seen. */
function sharedGauge<const Label extends string>(help: string, ...labels: Label[]) {
  return { type: 'gauge', over: 'largest', help, labels } as const
}

function histogram<const Label extends string>(help: string, buckets: readonly number[], ...labels: Label[]) {
  return { type: 'histogram', help, labels, buckets } as const
}

/** docs/metrics.md, from the table of metrics. */
import { METRICS, type MetricName } from '../../packages/server/src/telemetry/metric-table.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/metrics.md',
  render: () => `${NOTICE}

# Metrics and traces

\`/metrics\` uses the Prometheus text format. With \`GATEHOUSE_METRICS_PORT\` it is served on that port of
\`GATEHOUSE_METRICS_HOST\` (loopback by default) without an access token: do not expose that port to the public. With
\`GATEHOUSE_METRICS_TOKEN\` a scraper must send that token (\`authorization\` in the configuration of Prometheus). Without a metrics port,
\`/metrics\` is on the main port and needs an access token with \`Platform/Admin\`.

\`\`\`
scrape_configs:
  - job_name: gatehouse
    static_configs: [{ targets: ["node-a:9464", "node-b:9464"] }]
\`\`\`

Import the Grafana dashboard [examples/grafana/gatehouse.json](../examples/grafana/gatehouse.json) and choose the data
source. No label contains a name that a caller chose: requests are labelled by route, and a label with too many values
counts the rest as \`other\`.

[Several workers](scaling.md#several-workers-on-one-machine) are one target: any worker that is scraped reports all of them. Counters and
histograms are sums, and include the counts of workers that have ended. Gauges are sums too, except that those of a process have the
label \`worker\` (${namesOver('worker')}) and that what all workers share is shown once (${namesOver('largest')}).

| metric | type | labels | meaning |
|---|---|---|---|
${(Object.keys(METRICS) as MetricName[]).map(row).join('\n')}

## Worth an alert

[examples/prometheus/alerts.yaml](../examples/prometheus/alerts.yaml) has these and more as rules that Prometheus loads: name
the file under \`rule_files\`.

| expression | because |
|---|---|
| \`up == 0\` or \`probe_success{path="/readyz"} == 0\` for a minute | a node is down |
| \`rate(gatehouse_http_requests_total{status=~"5.."}[5m]) > 0\` | a server error; the log has the details under the request id |
| \`gatehouse_audit_lost_total > 0\` | an event is missing from the audit log |
| \`gatehouse_database_connections{state="waiting"} > 0\` for a minute | the pool or the database is too small |
| \`gatehouse_bus_lag_seconds > 1\` | revocations reach this node late |
| \`rate(gatehouse_feed_refused_total{code=~"feed.full\\|feed.topics"}[5m]) > 0\` | a feed is full: see its [bounds](feeds.md#bounds) |
| \`gatehouse_disk_free_bytes / gatehouse_disk_size_bytes < 0.1\` | writes fail when the disk is full |
| \`nodejs_eventloop_lag_seconds{statistic="p99"} > 0.2\` | the process is starved of CPU |
| \`rate(gatehouse_signins_total{outcome="wrong"}[5m])\` far above its usual rate | someone is guessing passwords |

## Traces

With \`GATEHOUSE_TRACE_ENDPOINT\` (for example \`http://127.0.0.1:4318/v1/traces\`) every request becomes a span, sent as
OTLP over HTTP in JSON. The server continues the trace of a \`traceparent\` header; \`GATEHOUSE_TRACE_RATIO\` is the sampling
ratio of traces that start here. Child spans cover each statement on the identity database (\`select users\`) and the
execution of a query, with its outcome and row count. A statement over [PostgreSQL's protocol](wire.md) is a span too; it continues the trace of a
comment \`/*traceparent='…'*/\`, as sqlcommenter writes it. No span contains a network address, a value or the text of a
statement. Without the setting there is no tracing overhead.
`,
}

function namesOver(over: 'worker' | 'largest'): string {
  return (Object.keys(METRICS) as MetricName[])
    .filter((name) => {
      const metric = METRICS[name]
      return metric.type === 'gauge' && metric.over === over
    })
    .map((name) => `\`${name}\``)
    .join(', ')
}

function row(name: MetricName): string {
  const { type, labels, help } = METRICS[name]
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ') || '–'} | ${help} |`
}

/** docs/metrics.md, from the table of metrics. */
import { METRICS, type MetricName } from '../../src/protocol/metric-table.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/metrics.md',
  render: () => `${NOTICE}

# Metrics and traces

\`/metrics\` speaks the Prometheus text format. With \`GATEHOUSE_METRICS_PORT\` set it has a port of its own, without a token,
on \`GATEHOUSE_METRICS_HOST\` (loopback unless told otherwise): keep that port inside. Without it, \`/metrics\` is on the main
port for access tokens with \`Platform/Admin\`.

\`\`\`
scrape_configs:
  - job_name: gatehouse
    static_configs: [{ targets: ["node-a:9464", "node-b:9464"] }]
\`\`\`

A dashboard for Grafana is in [examples/grafana/gatehouse.json](../examples/grafana/gatehouse.json): import it and choose
the data source. No label ever holds a name that a caller chose: routes stand for addresses, and a label that would take
too many values counts the rest as \`other\`.

| metric | type | labels | meaning |
|---|---|---|---|
${(Object.keys(METRICS) as MetricName[]).map(row).join('\n')}

## Worth an alert

| expression | because |
|---|---|
| \`up == 0\` or \`probe_success{path="/readyz"} == 0\` for a minute | a node is away |
| \`rate(gatehouse_http_requests_total{status=~"5.."}[5m]) > 0\` | a fault of ours: the log has it under the request id |
| \`gatehouse_audit_lost_total > 0\` | something happened that no row tells of |
| \`gatehouse_database_connections{state="waiting"} > 0\` for a minute | the pool or the database is too small |
| \`gatehouse_bus_lag_seconds > 1\` | a revocation reaches this node late |
| \`nodejs_eventloop_lag_seconds{statistic="p99"} > 0.2\` | the process is starved of CPU |
| \`rate(gatehouse_signins_total{outcome="wrong"}[5m])\` far above its usual | somebody is guessing |

## Traces

With \`GATEHOUSE_TRACE_ENDPOINT\` (for example \`http://127.0.0.1:4318/v1/traces\`) every request becomes a span, sent as
OTLP over HTTP in JSON. A \`traceparent\` header is honoured; \`GATEHOUSE_TRACE_RATIO\` decides about traces that begin here.
Within it are spans for each statement of the identity database (\`select users\`) and for the run of a query, with its outcome and
rows. No span has an address, a value or the text of a statement. Without the setting nothing is measured.
`,
}

function row(name: MetricName): string {
  const { type, labels, help } = METRICS[name]
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ') || '–'} | ${help} |`
}

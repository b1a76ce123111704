/** The nodes and how they are, what needs attention, and charts of the metrics. */
import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { read } from '../../admin/requests.ts'
import { gate } from '../../gate.ts'
import { server } from '../../server.ts'
import {
  Await,
  Badge,
  bytes,
  count,
  duration,
  ErrorNotice,
  Facts,
  Notice,
  Section,
  Select,
  Time,
} from '../../ui/index.ts'
import { CHARTS, History } from './figures.ts'
import { nodeOf, parseMetrics } from './metrics.ts'
import { usePolling } from './polling.ts'
import { problemsOf } from './problems.ts'
import type { FromNodes, NodeItem } from './replies.ts'
import { Trend } from './trend.tsx'

const REST_MS = 3000
/** After a longer time without a sample there is a gap in the line. */
const LONGEST_GAP_MS = 4 * REST_MS

/** Kept while other pages are shown. Behind a balancer each request may reach another node, so each has its own. */
const histories = signal<ReadonlyMap<string, History>>(new Map())
const MOST_NODES = 32

async function sample(signal: AbortSignal): Promise<string> {
  const response = await gate.request('/metrics', { signal })
  const scrape = parseMetrics(await response.text())
  const node = nodeOf(scrape)
  const known = histories.value.get(node)
  if (known === undefined && histories.value.size >= MOST_NODES) return node
  const history = known ?? new History()
  history.add(Date.now(), scrape, LONGEST_GAP_MS)
  histories.value = new Map(histories.value).set(node, history)
  return node
}

export function Overview() {
  const nodes = usePolling((signal) => read<FromNodes<NodeItem>>('/admin/nodes', signal), REST_MS, [])
  const metrics = usePolling(sample, REST_MS, [])
  const [chosen, setChosen] = useState<string>()
  const known = [...histories.value.keys()].sort()
  const node = chosen ?? known[0] ?? ''
  const history = histories.value.get(node)
  return (
    <>
      <Await of={nodes} title="The nodes could not be listed">
        {(reply) => (
          <Section title="Nodes" about={reply.items.length === 1 ? undefined : `${count(reply.items.length)} reply`}>
            <Problems of={problemsOf(reply, history?.last)} />
            <div class="nodes">
              {reply.items.map((item) => (
                <Node key={item.node} item={item} />
              ))}
            </div>
          </Section>
        )}
      </Await>
      <Section
        title="Metrics"
        about={
          <>
            The last ten minutes while this page was open, from {node || 'the node that answers'}.{' '}
            <a href={`${server.base}/docs/metrics`} target="_blank" rel="noreferrer">
              All metrics, and alerts
            </a>
          </>
        }
        actions={known.length > 1 && <Select label="Node" hideLabel value={node} onValue={setChosen} choices={known} />}
      >
        {metrics.error !== undefined && (
          <ErrorNotice error={metrics.error} title="The metrics could not be read" onRetry={metrics.reload} />
        )}
        <div class="trends">
          {CHARTS.map((chart, index) => (
            <Trend key={`${node} ${chart.title}`} chart={chart} index={index} points={history?.points ?? NO_POINTS} />
          ))}
        </div>
      </Section>
    </>
  )
}

const NO_POINTS: History['points'] = []

function Problems({ of }: { readonly of: readonly string[] }) {
  if (of.length === 0) return null
  return (
    <div class="problems" role="status">
      {of.map((problem) => (
        <Notice key={problem} kind="warning">
          {problem}
        </Notice>
      ))}
    </div>
  )
}

function Node({ item }: { readonly item: NodeItem }) {
  const { queries } = item
  return (
    <article class="node">
      <header>
        <h3>{item.node}</h3>
        {typeof item.worker === 'number' && <Badge>worker {item.worker}</Badge>}
        {item.ready ? <Badge kind="good">ready</Badge> : <Badge kind="danger">not ready</Badge>}
        <span class="quiet">
          up for {duration(item.uptime_seconds * 1000)}, with {item.services.join(', ')}
        </span>
      </header>
      <Facts
        of={[
          ['Version', `${item.version}, ${item.runtime}, ${item.database}`],
          ['Started', <Time key="at" at={item.started_at} />],
          [
            'Event-loop lag',
            `p99 ${Math.round(item.event_loop_lag_ms.p99)} ms, maximum ${Math.round(item.event_loop_lag_ms.max)} ms`,
          ],
          ['Memory', `${bytes(item.memory_bytes)}, heap ${bytes(item.heap_bytes)}`],
          ['Disk', item.disk_free_bytes === null ? 'unknown' : `${bytes(item.disk_free_bytes)} free`],
          [
            'Connections',
            item.streams === null
              ? count(item.connections)
              : `${count(item.connections)}; streams ${count(item.streams)}, subscriptions ${count(item.subscriptions ?? 0)}`,
          ],
          ...(queries === null
            ? []
            : ([
                [
                  'Queries',
                  `${count(queries.running)} running, ${count(queries.waiting)} waiting, ${count(queries.live)} live`,
                ],
                ['Query slots', <Slots key="slots" {...queries.slots} />],
              ] as const)),
        ]}
      />
    </article>
  )
}

function Slots({ busy, total }: { readonly busy: number; readonly total: number }) {
  if (total === 0) return 'none in use yet'
  return (
    <span class="slots">
      <meter min={0} max={total} value={busy} high={total * 0.9} aria-label="Busy query slots" />
      {busy} of {total} busy
    </span>
  )
}

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
import { usePolling } from '../../ui/polling.ts'
import { word } from '../../ui/word.ts'
import { addSamples, CHARTS, type NodeFigures, type Point } from './figures.ts'
import { parseMetrics, type Scrape } from './metrics.ts'
import { findProblems } from './problems.ts'
import type { FromNodes, NodeItem } from './replies.ts'
import { Trend } from './trend.tsx'

const REST_MS = 3000
/** As often as nodes take a sample. */
const FIGURES_REST_MS = 5000
/** The disk changes slowly. */
const SCRAPE_REST_MS = 15_000

const MOST_NODES = 64

/** By node; kept while other pages are shown. */
const histories = signal<ReadonlyMap<string, readonly Point[]>>(new Map())

/** The nodes of the last reply: one that is silent must not make the others send everything again. */
let replied: readonly string[] = []

async function readFigures(signal: AbortSignal): Promise<void> {
  const before = histories.peek()
  const since = replied.length === 0 ? 0 : Math.min(...replied.map((node) => before.get(node)?.at(-1)?.at ?? 0))
  const { items } = await read<FromNodes<NodeFigures>>(`/admin/nodes/figures?since=${since}`, signal)
  replied = items.map(({ node }) => node)
  const added = items.map((item) => [item.node, addSamples(before.get(item.node) ?? NO_POINTS, item)] as const)
  histories.value = new Map([...before, ...added].slice(-MOST_NODES))
}

async function scrape(signal: AbortSignal): Promise<Scrape> {
  return parseMetrics(await (await gate.request('/metrics', { signal })).text())
}

export function Overview() {
  const nodes = usePolling((signal) => read<FromNodes<NodeItem>>('/admin/nodes', signal), REST_MS, [])
  const figures = usePolling(readFigures, FIGURES_REST_MS, [])
  const metrics = usePolling(scrape, SCRAPE_REST_MS, [])
  const [chosen, setChosen] = useState<string>()
  const known = [...histories.value.keys()].sort()
  const node = chosen !== undefined && known.includes(chosen) ? chosen : (known[0] ?? '')
  const points = histories.value.get(node) ?? NO_POINTS
  return (
    <>
      <Await of={nodes} title="The nodes could not be listed">
        {(reply) => (
          <Section title="Nodes" about={reply.items.length === 1 ? undefined : `${count(reply.items.length)} reply`}>
            <Problems of={findProblems(reply, metrics.data)} />
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
            The last hour of {node || 'the node'}, in steps of five seconds.{' '}
            <a href={`${server.base}/docs/metrics`} target="_blank" rel="noreferrer">
              All metrics and alerts
            </a>
          </>
        }
        actions={known.length > 1 && <Select label="Node" hideLabel value={node} onValue={setChosen} choices={known} />}
      >
        {figures.error !== undefined && (
          <ErrorNotice error={figures.error} title="The figures could not be read" onRetry={figures.reload} />
        )}
        <div class="trends">
          {CHARTS.map((chart, index) => (
            <Trend key={`${node} ${chart.title}`} chart={chart} index={index} points={points} />
          ))}
        </div>
      </Section>
    </>
  )
}

const NO_POINTS: readonly Point[] = []

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
          [word('Version'), `${item.version}, ${item.runtime}, ${item.database}`],
          [word('Started'), <Time key="at" at={item.started_at} />],
          [
            'Event-loop lag',
            word(
              `p99 ${Math.round(item.event_loop_lag_ms.p99)} ms, maximum ${Math.round(item.event_loop_lag_ms.max)} ms`,
            ),
          ],
          [word('Memory'), word(`${bytes(item.memory_bytes)}, heap ${bytes(item.heap_bytes)}`)],
          [word('Disk'), word(item.disk_free_bytes === null ? 'unknown' : `${bytes(item.disk_free_bytes)} free`)],
          [
            word('Connections'),
            item.streams === null
              ? count(item.connections)
              : word(
                  `${count(item.connections)}; streams ${count(item.streams)}, subscriptions ${count(item.subscriptions ?? 0)}`,
                ),
          ],
          ...(queries === null
            ? []
            : ([
                [
                  word('Queries'),
                  word(
                    `${count(queries.running)} running, ${count(queries.waiting)} waiting, ${count(queries.live)} live`,
                  ),
                ],
                ['Query slots', <Slots key="slots" {...queries.slots} />],
              ] as const)),
        ]}
      />
    </article>
  )
}

function Slots({ busy, total }: { readonly busy: number; readonly total: number }) {
  if (total === 0) return word('none in use yet')
  return (
    <span class="slots">
      <meter min={0} max={total} value={busy} high={total * 0.9} aria-label="Busy query slots" />
      {busy} of {total} busy
    </span>
  )
}

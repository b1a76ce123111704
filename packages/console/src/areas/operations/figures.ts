/** What the charts show: the figures of two scrapes of a node, and their history, which is bounded. Independent of the page. */
import { increaseOf, largestOf, type Match, quantileOf, type Scrape, sumOf } from './metrics.ts'

/** How figures of a chart are written. */
export type Unit = 'per second' | 'ms' | 'bytes' | 'percent'

export interface LineOf {
  readonly name: string
  /** From two scrapes and the seconds between them; undefined where there is nothing to show. */
  readonly read: (before: Scrape, after: Scrape, seconds: number) => number | undefined
}

export interface ChartOf {
  readonly title: string
  readonly unit: Unit
  readonly about?: string
  readonly lines: readonly LineOf[]
}

export const CHARTS: readonly ChartOf[] = [
  {
    title: 'Requests',
    unit: 'per second',
    lines: [
      { name: 'HTTP', read: rate('gatehouse_http_requests_total') },
      { name: 'Statements', read: rate('gatehouse_queries_total') },
      { name: 'Tokens', read: rate('gatehouse_tokens_total') },
    ],
  },
  {
    title: 'Errors',
    unit: 'per second',
    lines: [
      { name: 'HTTP 5xx', read: rate('gatehouse_http_requests_total', ({ status = '' }) => status.startsWith('5')) },
      { name: 'HTTP 4xx', read: rate('gatehouse_http_requests_total', ({ status = '' }) => status.startsWith('4')) },
      { name: 'Statements', read: rate('gatehouse_queries_total', ({ outcome }) => outcome !== 'ok') },
      { name: 'Stream', read: rate('gatehouse_streaming_errors_total') },
    ],
  },
  {
    title: 'HTTP latency',
    unit: 'ms',
    // A request that follows the audit log waits on purpose.
    lines: quantiles('gatehouse_http_request_seconds', ({ route }) => route !== '/admin/audit'),
  },
  { title: 'Statement latency', unit: 'ms', lines: quantiles('gatehouse_query_seconds') },
  {
    title: 'Stream messages',
    unit: 'per second',
    lines: [
      { name: 'Out', read: rate('gatehouse_streaming_messages_total', ({ direction }) => direction === 'out') },
      { name: 'In', read: rate('gatehouse_streaming_messages_total', ({ direction }) => direction === 'in') },
    ],
  },
  {
    title: 'Live delivery',
    unit: 'ms',
    about: 'From a commit to the messages for its subscribers',
    lines: quantiles('gatehouse_live_delivery_seconds'),
  },
  {
    title: 'Event-loop lag',
    unit: 'ms',
    lines: [
      { name: 'Mean', read: lag('mean') },
      { name: 'p99', read: lag('p99') },
      { name: 'Maximum', read: lag('max') },
    ],
  },
  {
    title: 'CPU',
    unit: 'percent',
    about: '100 % is one core',
    lines: [{ name: 'CPU', read: (...of) => scale(rate('process_cpu_seconds_total')(...of), 100) }],
  },
  {
    title: 'Memory',
    unit: 'bytes',
    lines: [
      { name: 'Resident', read: (_, after) => sumOf(after, 'process_resident_memory_bytes') },
      { name: 'Heap', read: (_, after) => sumOf(after, 'process_heap_bytes') },
    ],
  },
]

function rate(name: string, match?: Match): LineOf['read'] {
  return (before, after, seconds) => increaseOf(before, after, name, match) / seconds
}

function quantiles(name: string, match?: Match): LineOf[] {
  const line = (title: string, quantile: number): LineOf => ({
    name: title,
    read: (before, after) => scale(quantileOf(quantile, before, after, name, match), 1000),
  })
  return [line('p50', 0.5), line('p95', 0.95), line('p99', 0.99)]
}

function lag(statistic: string): LineOf['read'] {
  return (_, after) =>
    scale(
      largestOf(after, 'nodejs_eventloop_lag_seconds', (labels) => labels.statistic === statistic),
      1000,
    )
}

function scale(value: number | undefined, by: number): number | undefined {
  return value === undefined ? undefined : value * by
}

/** One moment: the figures of each chart, in the order of `CHARTS` and of its lines. */
export interface Point {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly figures: readonly (readonly (number | undefined)[])[]
}

/** Ten minutes, with a sample every three seconds. */
export const LONGEST_HISTORY = 200

/** The figures of one node over time. */
export class History {
  #last: { readonly at: number; readonly scrape: Scrape } | undefined
  #points: readonly Point[] = []

  get points(): readonly Point[] {
    return this.#points
  }

  get last(): Scrape | undefined {
    return this.#last?.scrape
  }

  /** The first one only gives the counters to start from. Samples that are far apart are not joined by a line. */
  add(at: number, scrape: Scrape, longestGap: number): void {
    const before = this.#last
    this.#last = { at, scrape }
    if (before === undefined || at <= before.at) return
    const seconds = (at - before.at) / 1000
    const figures = CHARTS.map(({ lines }) => lines.map(({ read }) => read(before.scrape, scrape, seconds)))
    const gap = at - before.at > longestGap ? [{ at: at - 1, figures: CHARTS.map(() => []) }] : []
    this.#points = [...this.#points, ...gap, { at, figures }].slice(-LONGEST_HISTORY)
  }
}

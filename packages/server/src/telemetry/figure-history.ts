/** The figures of this process over the last hour, for the charts of the console: a ring in memory, read from the metrics. */
import type { LoopDelay } from './loop-delay.ts'
import { type CounterName, type HistogramName, METRICS } from './metric-table.ts'
import type { Buckets, LabelMatch, Metrics } from './metrics.ts'

export const SAMPLE_MS = 5_000
/** An hour. */
export const MOST_SAMPLES = 720

export interface FigureSource {
  readonly metrics: Pick<Metrics, 'sum' | 'buckets' | 'takeLargest'>
  readonly loopDelay: () => LoopDelay
}

export interface FigureHistory {
  /** The names of the figures, in the order of each sample. */
  readonly figures: readonly string[]
  /** Oldest first: milliseconds since the epoch, then a value for each figure, null where there was nothing to measure. */
  readonly samples: readonly (readonly (number | null)[])[]
  /** The largest value that a figure can have: it stands for everything above it. Figures that can have any value are absent. */
  readonly edges: Readonly<Record<string, number>>
}

/** A figure from what was read before and now. */
type Figure = (before: Reading, now: Reading) => number | undefined

interface Reading {
  readonly at: number
  readonly counters: Readonly<Record<string, number>>
  readonly histograms: Readonly<Record<string, Observed>>
  readonly loopDelay: LoopDelay
  readonly memory: number
  readonly heap: number
}

interface Observed extends Buckets {
  /** Since the reading before. */
  readonly largest: number
}

/** What is added up: a counter, and which of its series. */
const COUNTERS: Readonly<Record<string, readonly [CounterName | 'process_cpu_seconds_total', LabelMatch?]>> = {
  requests: ['gatehouse_http_requests_total'],
  statements: ['gatehouse_queries_total'],
  tokens: ['gatehouse_tokens_total'],
  server_errors: ['gatehouse_http_requests_total', (labels) => labels.includes('status="5')],
  client_errors: ['gatehouse_http_requests_total', (labels) => labels.includes('status="4')],
  statement_errors: ['gatehouse_queries_total', (labels) => !labels.includes('outcome="ok"')],
  stream_errors: ['gatehouse_streaming_errors_total'],
  messages_out: ['gatehouse_streaming_messages_total', (labels) => labels.includes('"out"')],
  messages_in: ['gatehouse_streaming_messages_total', (labels) => labels.includes('"in"')],
  cpu: ['process_cpu_seconds_total'],
}

const HISTOGRAMS: Readonly<Record<string, readonly [HistogramName, LabelMatch?]>> = {
  // A request that follows the audit log waits on purpose.
  http: ['gatehouse_http_request_seconds', (labels) => !labels.includes('route="/admin/audit"')],
  statement: ['gatehouse_query_seconds'],
  live: ['gatehouse_live_delivery_seconds'],
}

const QUANTILES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const

const FIGURES: ReadonlyMap<string, Figure> = new Map<string, Figure>([
  ...Object.keys(COUNTERS).map((name): [string, Figure] => [
    `${name}_per_second`,
    (before, now) => rate(before.counters[name] ?? 0, now.counters[name] ?? 0, now.at - before.at),
  ]),
  ...Object.keys(HISTOGRAMS).flatMap((name) =>
    Object.entries(QUANTILES).map(([title, quantile]): [string, Figure] => [
      `${name}_${title}_ms`,
      (before, now) => quantileBetween(quantile, before.histograms[name], now.histograms[name]),
    ]),
  ),
  ['loop_mean_ms', (_, { loopDelay }) => loopDelay.mean],
  ['loop_p99_ms', (_, { loopDelay }) => loopDelay.p99],
  ['loop_max_ms', (_, { loopDelay }) => loopDelay.max],
  ['memory_bytes', (_, { memory }) => memory],
  ['heap_bytes', (_, { heap }) => heap],
])

const EDGES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(HISTOGRAMS).flatMap(([name, [metric]]) =>
    Object.keys(QUANTILES).map((title) => [`${name}_${title}_ms`, (METRICS[metric].buckets.at(-1) ?? 0) * 1000]),
  ),
)

/** Counters never become smaller within a process. */
function rate(before: number, now: number, milliseconds: number): number {
  return ((now - before) / milliseconds) * 1000
}

/**
 * In milliseconds, interpolated inside its bucket as Prometheus does, but never larger than what was observed; undefined if nothing was observed
 * in between. Past the last bucket it is the edge of that, which stands for everything above.
 */
export function quantileBetween(
  quantile: number,
  before: Buckets | undefined,
  now: Observed | undefined,
): number | undefined {
  if (now === undefined) return undefined
  const total = now.total - (before?.total ?? 0)
  if (total <= 0) return undefined
  const rank = quantile * total
  let [below, from] = [0, 0]
  for (const [index, bound] of now.bounds.entries()) {
    const inside = (now.counts[index] ?? 0) - (before?.counts[index] ?? 0)
    if (below + inside >= rank)
      return Math.min(now.largest, from + (bound - from) * (inside === 0 ? 1 : (rank - below) / inside)) * 1000
    below += inside
    from = bound
  }
  return from * 1000
}

/** Call `sample` at intervals. */
export class Figures {
  readonly #source: FigureSource
  readonly #samples: (readonly (number | null)[])[] = []
  #last: Reading | undefined

  constructor(source: FigureSource) {
    this.#source = source
  }

  sample(at: number): void {
    const [before, now] = [this.#last, this.#read(at)]
    this.#last = now
    if (before === undefined || at <= before.at) return
    this.#samples.push([at, ...[...FIGURES.values()].map((figure) => rounded(figure(before, now)))])
    if (this.#samples.length > MOST_SAMPLES) this.#samples.shift()
  }

  /** The samples after a time. */
  since(at: number): FigureHistory {
    return {
      figures: [...FIGURES.keys()],
      samples: this.#samples.filter(([time]) => (time ?? 0) > at),
      edges: EDGES,
    }
  }

  #read(at: number): Reading {
    const { metrics, loopDelay } = this.#source
    const { rss, heapUsed } = process.memoryUsage()
    return {
      at,
      counters: mapped(COUNTERS, ([name, match]) => metrics.sum(name, match)),
      histograms: mapped(HISTOGRAMS, ([name, match]) => ({
        ...metrics.buckets(name, match),
        largest: metrics.takeLargest(name, match),
      })),
      loopDelay: loopDelay(),
      memory: rss,
      heap: heapUsed,
    }
  }
}

function mapped<From, To>(of: Readonly<Record<string, From>>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]))
}

/** Four digits are enough for a chart. */
function rounded(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(4))
}

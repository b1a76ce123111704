/** The metrics registry, in the Prometheus text format; cheap enough for every request. */
import {
  type CounterName,
  type HistogramName,
  METRICS,
  type MetricLabels,
  type MetricName,
  type WatchedName,
} from './metric-table.ts'

type Labels = Readonly<Record<string, string>>

interface Counter {
  value: number
}

interface Histogram {
  readonly counts: number[]
  sum: number
  total: number
  /** The largest value since it was taken. */
  largest: number
}

/** Whether a series counts, by the text of its labels: `method="GET",route="/a",status="200"`. */
export type LabelMatch = (labels: string) => boolean

/** A histogram, its series added up. */
export interface Buckets {
  readonly bounds: readonly number[]
  /** Of each bucket alone. */
  readonly counts: readonly number[]
  readonly total: number
}

/** Past this many series of a name, further ones are counted as one: labels with values from outside could grow without bound. */
const MOST_SERIES = 1_000

export class Metrics {
  readonly #counters = new Map<MetricName, Map<string, Counter>>()
  readonly #histograms = new Map<MetricName, Map<string, Histogram>>()
  readonly #watched = new Map<MetricName, (() => Iterable<readonly [Labels, number]>)[]>()

  count<Name extends CounterName>(name: Name, labels: MetricLabels<Name>, by = 1): void {
    this.#findOrAddCounter(name, labels).value += by
  }

  observe<Name extends HistogramName>(name: Name, labels: MetricLabels<Name>, seconds: number): void {
    this.histogram(name, labels)(seconds)
  }

  /** A counter with fixed labels, which are looked up once. */
  counter<Name extends CounterName>(name: Name, labels: MetricLabels<Name>): (by: number) => void {
    const counter = this.#findOrAddCounter(name, labels)
    return (by) => {
      counter.value += by
    }
  }

  histogram<Name extends HistogramName>(name: Name, labels: MetricLabels<Name>): (seconds: number) => void {
    const { buckets } = METRICS[name]
    const empty = () => ({ counts: buckets.map(() => 0), sum: 0, total: 0, largest: 0 })
    const histogram = findOrAddCell(this.#histograms, name, labels, empty)
    return (seconds) => add(histogram, buckets, seconds)
  }

  /** Read at each scrape. Several parts may add series to one name. */
  watch<Name extends WatchedName>(name: Name, read: () => Iterable<readonly [MetricLabels<Name>, number]>): void {
    this.#watched.set(name, [...(this.#watched.get(name) ?? []), read])
  }

  /** Counts that are kept elsewhere, by the value of the one label. */
  watchCounts<Name extends WatchedName>(
    name: Name,
    label: keyof MetricLabels<Name> & string,
    read: () => Iterable<readonly [string | number, number]>,
  ): void {
    const series = () => [...read()].map(([value, count]) => [{ [label]: String(value) }, count] as const)
    this.#watched.set(name, [...(this.#watched.get(name) ?? []), series])
  }

  /** The series of a name added up, without writing a text. */
  sum(name: CounterName | WatchedName, isCounted: LabelMatch = () => true): number {
    let sum = 0
    for (const [labels, { value }] of this.#counters.get(name) ?? []) if (isCounted(labels)) sum += value
    for (const read of this.#watched.get(name) ?? [])
      for (const [labels, value] of read()) if (isCounted(labelText(name, labels))) sum += value
    return sum
  }

  buckets(name: HistogramName, isCounted: LabelMatch = () => true): Buckets {
    const { buckets: bounds } = METRICS[name]
    const counts = bounds.map(() => 0)
    let total = 0
    for (const [labels, histogram] of this.#histograms.get(name) ?? []) {
      if (!isCounted(labels)) continue
      total += histogram.total
      histogram.counts.forEach((count, index) => {
        counts[index] = (counts[index] ?? 0) + count
      })
    }
    return { bounds, counts, total }
  }

  /** The largest value of the series since the call before: quantiles are read from buckets, and no quantile is larger. */
  takeLargest(name: HistogramName, isCounted: LabelMatch = () => true): number {
    let largest = 0
    for (const [labels, histogram] of this.#histograms.get(name) ?? []) {
      if (!isCounted(labels)) continue
      largest = Math.max(largest, histogram.largest)
      histogram.largest = 0
    }
    return largest
  }

  render(): string {
    return metricNames()
      .map((name) => metricText(name, this.#formatLines(name)))
      .join('')
  }

  #findOrAddCounter(name: CounterName, labels: Labels): Counter {
    return findOrAddCell(this.#counters, name, labels, () => ({ value: 0 }))
  }

  #formatLines(name: MetricName): string[] {
    const counters = [...(this.#counters.get(name) ?? [])]
    const histograms = [...(this.#histograms.get(name) ?? [])]
    const watched = (this.#watched.get(name) ?? []).flatMap((read) => [...read()])
    return [
      ...counters.map(([labels, { value }]) => `${name}${braces(labels)} ${value}`),
      ...histograms.flatMap(([labels, histogram]) => histogramLines(name, labels, histogram)),
      ...watched.map(([labels, value]) => `${name}${braces(labelText(name, labels))} ${value}`),
    ]
  }
}

export function metricNames(): MetricName[] {
  return Object.keys(METRICS) as MetricName[]
}

/** A metric with its series; nothing if it has none. */
export function metricText(name: MetricName, lines: readonly string[]): string {
  const { help, type } = METRICS[name]
  return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
}

function add(histogram: Histogram, buckets: readonly number[], seconds: number): void {
  const index = buckets.findIndex((bound) => seconds <= bound)
  if (index >= 0) histogram.counts[index] = (histogram.counts[index] ?? 0) + 1
  histogram.sum += seconds
  histogram.total += 1
  if (seconds > histogram.largest) histogram.largest = seconds
}

function findOrAddCell<Cell>(
  all: Map<MetricName, Map<string, Cell>>,
  name: MetricName,
  labels: Labels,
  make: () => Cell,
): Cell {
  const series = all.get(name) ?? new Map<string, Cell>()
  all.set(name, series)
  const key = seriesKey(series, name, labels)
  const cell = series.get(key) ?? make()
  series.set(key, cell)
  return cell
}

function seriesKey(series: ReadonlyMap<string, unknown>, name: MetricName, labels: Labels): string {
  const key = labelText(name, labels)
  if (series.has(key) || series.size < MOST_SERIES) return key
  return labelText(name, Object.fromEntries(METRICS[name].labels.map((label) => [label, 'other'])))
}

function labelText(name: MetricName, labels: Labels): string {
  return METRICS[name].labels.map((label) => `${label}="${escaped(labels[label] ?? '')}"`).join(',')
}

function escaped(value: string): string {
  return /[\\"\n]/.test(value) ? value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n') : value
}

function braces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

function histogramLines(name: MetricName, labels: string, { counts, sum, total }: Histogram): string[] {
  const metric = METRICS[name]
  const buckets = metric.type === 'histogram' ? metric.buckets : []
  const prefix = labels === '' ? '' : `${labels},`
  let below = 0
  const lines = buckets.map((bound, index) => {
    below += counts[index] ?? 0
    return `${name}_bucket{${prefix}le="${bound}"} ${below}`
  })
  return [
    ...lines,
    `${name}_bucket{${prefix}le="+Inf"} ${total}`,
    `${name}_sum${braces(labels)} ${sum}`,
    `${name}_count${braces(labels)} ${total}`,
  ]
}

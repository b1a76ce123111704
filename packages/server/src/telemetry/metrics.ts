/** The metrics registry, in the Prometheus text format; cheap enough for every request. */
import {
  type CounterName,
  type HistogramName,
  type LabelsOf,
  METRICS,
  type MetricName,
  type WatchedName,
} from './metric-table.ts'

export interface Metrics {
  count<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by?: number): void
  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, seconds: number): void
  /** A counter with fixed labels, which are looked up once. */
  counter<Name extends CounterName>(name: Name, labels: LabelsOf<Name>): (by: number) => void
  histogram<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>): (seconds: number) => void
  /** Read at each scrape. Several parts may add series to one name. */
  watch<Name extends WatchedName>(name: Name, read: () => Iterable<readonly [LabelsOf<Name>, number]>): void
  render(): string
}

interface Counter {
  value: number
}

interface Histogram {
  readonly counts: number[]
  sum: number
  total: number
}

/** Past this many series of a name, further ones are counted as one: labels with values from outside could grow without bound. */
const MOST_SERIES = 1_000

export function createMetrics(): Metrics {
  const counters = new Map<CounterName, Map<string, Counter>>()
  const histograms = new Map<HistogramName, Map<string, Histogram>>()
  const watched: { name: WatchedName; read: () => Iterable<readonly [Readonly<Record<string, string>>, number]> }[] = []

  return {
    count(name, labels, by = 1) {
      counterOf(name, labels).value += by
    },
    observe(name, labels, seconds) {
      add(histogramOf(name, labels), METRICS[name].buckets, seconds)
    },
    counter(name, labels) {
      const counter = counterOf(name, labels)
      return (by) => {
        counter.value += by
      }
    },
    histogram(name, labels) {
      const histogram = histogramOf(name, labels)
      const { buckets } = METRICS[name]
      return (seconds) => add(histogram, buckets, seconds)
    },
    watch(name, read) {
      watched.push({ name, read })
    },
    render() {
      const names = Object.keys(METRICS) as MetricName[]
      return names.map((name) => renderMetric(name)).join('')
    },
  }

  function counterOf<Name extends CounterName>(name: Name, labels: LabelsOf<Name>): Counter {
    return cellOf(counters, name, labels, () => ({ value: 0 }))
  }

  function histogramOf<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>): Histogram {
    return cellOf(histograms, name, labels, () => ({ counts: METRICS[name].buckets.map(() => 0), sum: 0, total: 0 }))
  }

  function renderMetric(name: MetricName): string {
    const lines: string[] = []
    for (const [labels, { value }] of counters.get(name as CounterName) ?? [])
      lines.push(`${name}${braces(labels)} ${value}`)
    for (const [labels, histogram] of histograms.get(name as HistogramName) ?? [])
      lines.push(...renderHistogram(name as HistogramName, labels, histogram))
    for (const { name: named, read } of watched) {
      if (named !== name) continue
      for (const [labels, value] of read()) lines.push(`${name}${braces(labelText(name, labels))} ${value}`)
    }
    if (lines.length === 0) return ''
    const { help, type } = METRICS[name]
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
  }
}

function add(histogram: Histogram, buckets: readonly number[], seconds: number): void {
  const index = buckets.findIndex((bound) => seconds <= bound)
  if (index >= 0) histogram.counts[index] = (histogram.counts[index] ?? 0) + 1
  histogram.sum += seconds
  histogram.total += 1
}

function cellOf<Name extends MetricName, Cell>(
  all: Map<Name, Map<string, Cell>>,
  name: Name,
  labels: Readonly<Record<string, string>>,
  make: () => Cell,
): Cell {
  let series = all.get(name)
  if (series === undefined) {
    series = new Map()
    all.set(name, series)
  }
  const key = seriesKey(series, name, labels)
  let cell = series.get(key)
  if (cell === undefined) {
    cell = make()
    series.set(key, cell)
  }
  return cell
}

function seriesKey(
  series: ReadonlyMap<string, unknown>,
  name: MetricName,
  labels: Readonly<Record<string, string>>,
): string {
  const key = labelText(name, labels)
  if (series.has(key) || series.size < MOST_SERIES) return key
  return labelText(name, Object.fromEntries(METRICS[name].labels.map((label) => [label, 'other'])))
}

function labelText(name: MetricName, labels: Readonly<Record<string, string>>): string {
  let text = ''
  for (const label of METRICS[name].labels) {
    text += `${text === '' ? '' : ','}${label}="${escaped(labels[label] ?? '')}"`
  }
  return text
}

function escaped(value: string): string {
  return /[\\"\n]/.test(value) ? value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n') : value
}

function braces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

function renderHistogram(name: HistogramName, labels: string, { counts, sum, total }: Histogram): string[] {
  const prefix = labels === '' ? '' : `${labels},`
  let below = 0
  const lines = METRICS[name].buckets.map((bound, index) => {
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

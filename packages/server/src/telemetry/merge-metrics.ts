/** The metrics of several workers as one text: counters and histograms are summed, and so are gauges unless their table says otherwise. */
import { METRICS, type MetricName } from './metric-table.ts'
import { metricNames, metricText } from './metrics.ts'

export interface WorkerMetrics {
  readonly worker: number
  /** In the Prometheus text format, as `Metrics.render` writes it. */
  readonly text: string
}

/** Values by series, in the order in which they were first seen. */
type Series = Map<string, number>

/**
 * Keeps the counts of workers that have ended: a sum that fell would look like a restart of all of them. Counts after
 * its last scrape are lost with the worker.
 */
export class MergedMetrics {
  readonly #ended = new Map<MetricName, Series>()

  /** Adds the last known counts of an ended worker. */
  addEnded(text: string): void {
    for (const { name, series, value } of readLines(text)) {
      if (METRICS[name].type !== 'gauge') add(findOrAddSeries(this.#ended, name), series, value)
    }
  }

  render(workers: readonly WorkerMetrics[]): string {
    const merged = new Map<MetricName, Series>()
    for (const [name, series] of this.#ended) merged.set(name, new Map(series))
    for (const { worker, text } of workers) {
      for (const { name, series, value } of readLines(text))
        mergeInto(findOrAddSeries(merged, name), { name, series, value, worker })
    }
    return metricNames()
      .map((name) =>
        metricText(
          name,
          [...(merged.get(name) ?? [])].map(([series, value]) => `${series} ${value}`),
        ),
      )
      .join('')
  }
}

interface Line {
  readonly name: MetricName
  /** The name and the labels. */
  readonly series: string
  readonly value: number
}

function mergeInto(target: Series, { name, series, value, worker }: Line & { readonly worker: number }): void {
  const metric = METRICS[name]
  const over = metric.type === 'gauge' ? metric.over : 'sum'
  if (over === 'sum') add(target, series, value)
  else if (over === 'worker') target.set(withWorker(series, worker), value)
  else target.set(series, Math.max(value, target.get(series) ?? Number.NEGATIVE_INFINITY))
}

function withWorker(series: string, worker: number): string {
  const label = `worker="${worker}"`
  return series.endsWith('}') ? `${series.slice(0, -1)},${label}}` : `${series}{${label}}`
}

function add(target: Series, series: string, value: number): void {
  target.set(series, (target.get(series) ?? 0) + value)
}

function findOrAddSeries(all: Map<MetricName, Series>, name: MetricName): Series {
  const series = all.get(name) ?? new Map()
  all.set(name, series)
  return series
}

/** The lines of a metric follow its TYPE line. */
function* readLines(text: string): Generator<Line> {
  let name: MetricName | undefined
  for (const line of text.split('\n')) {
    if (line.startsWith('# TYPE ')) name = metricNames().find((known) => known === line.split(' ')[2])
    if (name === undefined || line === '' || line.startsWith('#')) continue
    const space = line.lastIndexOf(' ')
    yield { name, series: line.slice(0, space), value: Number(line.slice(space + 1)) }
  }
}

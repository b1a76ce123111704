/** The text format of Prometheus, read: values by name, increases of counters, quantiles of histograms. Independent of the page. */

export interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export type Labels = Readonly<Record<string, string>>
export type Scrape = ReadonlyMap<string, readonly Series[]>
/** Which series of a name count; all by default. */
export type Match = (labels: Labels) => boolean

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g
const ALL: Match = () => true

/** Lines that cannot be read are left out. */
export function parseMetrics(text: string): Scrape {
  const found = new Map<string, Series[]>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name, labels = '', number = ''] = LINE.exec(line.trim()) ?? []
    if (name === undefined) continue
    const series = { labels: readLabels(labels), value: readNumber(number) }
    const known = found.get(name)
    if (known === undefined) found.set(name, [series])
    else known.push(series)
  }
  return found
}

function readLabels(text: string): Labels {
  const labels: Record<string, string> = Object.create(null)
  for (const [, name = '', value = ''] of text.matchAll(LABEL)) labels[name] = unescaped(value)
  return labels
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter))
}

function readNumber(text: string): number {
  if (/^[+-]?Inf$/i.test(text)) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return Number(text)
}

/** The sum of the series; undefined if there is none. */
export function sumOf(scrape: Scrape, name: string, match: Match = ALL): number | undefined {
  const series = (scrape.get(name) ?? []).filter(({ labels }) => match(labels))
  return series.length === 0 ? undefined : series.reduce((sum, { value }) => sum + value, 0)
}

/** The largest of the series; undefined if there is none. */
export function largestOf(scrape: Scrape, name: string, match: Match = ALL): number | undefined {
  const values = (scrape.get(name) ?? []).filter(({ labels }) => match(labels)).map(({ value }) => value)
  return values.length === 0 ? undefined : Math.max(...values)
}

/** How much counters grew between two scrapes. One that is smaller than before was reset to zero. */
export function increaseOf(before: Scrape, after: Scrape, name: string, match: Match = ALL): number {
  const earlier = new Map((before.get(name) ?? []).map(({ labels, value }) => [keyOf(labels), value]))
  let sum = 0
  for (const { labels, value } of after.get(name) ?? []) {
    if (!match(labels)) continue
    const was = earlier.get(keyOf(labels)) ?? 0
    sum += value >= was ? value - was : value
  }
  return sum
}

/**
 * A quantile of what a histogram observed between two scrapes, interpolated inside its bucket as Prometheus does. Undefined
 * if nothing was observed. Values above the last bound count as that bound.
 */
export function quantileOf(
  quantile: number,
  before: Scrape,
  after: Scrape,
  name: string,
  match: Match = ALL,
): number | undefined {
  const bounds = [...new Set((after.get(`${name}_bucket`) ?? []).map(({ labels }) => labels.le ?? ''))]
    .map((le) => ({ le, bound: readNumber(le) }))
    .filter(({ bound }) => !Number.isNaN(bound))
    .sort((one, other) => one.bound - other.bound)
  const counts = bounds.map(({ le, bound }) => ({
    bound,
    count: increaseOf(before, after, `${name}_bucket`, (labels) => labels.le === le && match(labels)),
  }))
  const total = counts.at(-1)?.count ?? 0
  if (total === 0) return undefined
  const rank = quantile * total
  const index = counts.findIndex(({ count }) => count >= rank)
  const [below, found] = [counts[index - 1], counts[index]]
  if (found === undefined) return undefined
  const [from, already] = [below?.bound ?? 0, below?.count ?? 0]
  if (found.bound === Number.POSITIVE_INFINITY) return below?.bound
  const inside = found.count - already
  return inside === 0 ? found.bound : from + (found.bound - from) * ((rank - already) / inside)
}

/** The node that was scraped: behind a balancer not always the same one. */
export function nodeOf(scrape: Scrape): string {
  return scrape.get('gatehouse_build_info')?.[0]?.labels.name ?? ''
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)))
}

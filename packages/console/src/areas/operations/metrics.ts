/** The text format of Prometheus, read: values by name. Independent of the page. */

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
export function sumSeries(scrape: Scrape, name: string, match: Match = ALL): number | undefined {
  const series = (scrape.get(name) ?? []).filter(({ labels }) => match(labels))
  return series.length === 0 ? undefined : series.reduce((sum, { value }) => sum + value, 0)
}

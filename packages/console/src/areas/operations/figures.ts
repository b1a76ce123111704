/** What the charts show: the figures that each node keeps of its last hour, and how they are drawn. Independent of the page. */
import { word } from '../../ui/word.ts'

/** What the figures of a chart are, which decides how they are written. */
export type Measure = 'rate' | 'ms' | 'bytes' | 'percent'

export interface FigureLine {
  readonly name: string
  /** The name of the figure, as `GET /admin/nodes/figures` has it. */
  readonly figure: string
  /** Of the figure in the unit of the chart. */
  readonly factor?: number
}

export interface FigureChart {
  readonly title: string
  readonly measure: Measure
  readonly about?: string
  readonly lines: readonly FigureLine[]
}

export const CHARTS: readonly FigureChart[] = [
  {
    title: 'Requests',
    measure: 'rate',
    lines: [
      { name: 'HTTP', figure: 'requests_per_second' },
      { name: word('Statements'), figure: 'statements_per_second' },
      { name: word('Tokens'), figure: 'tokens_per_second' },
    ],
  },
  {
    title: 'Errors',
    measure: 'rate',
    lines: [
      { name: 'HTTP 5xx', figure: 'server_errors_per_second' },
      { name: 'HTTP 4xx', figure: 'client_errors_per_second' },
      { name: word('Statements'), figure: 'statement_errors_per_second' },
      { name: word('Stream'), figure: 'stream_errors_per_second' },
    ],
  },
  { title: 'HTTP latency', measure: 'ms', lines: quantiles('http') },
  { title: 'Statement latency', measure: 'ms', lines: quantiles('statement') },
  {
    title: 'Stream messages',
    measure: 'rate',
    lines: [
      { name: word('Out'), figure: 'messages_out_per_second' },
      { name: word('In'), figure: 'messages_in_per_second' },
    ],
  },
  {
    title: 'Live delivery',
    measure: 'ms',
    about: 'From commit to subscriber',
    lines: quantiles('live'),
  },
  {
    title: 'Event-loop lag',
    measure: 'ms',
    lines: [
      { name: word('Mean'), figure: 'loop_mean_ms' },
      { name: 'p99', figure: 'loop_p99_ms' },
      { name: word('Maximum'), figure: 'loop_max_ms' },
    ],
  },
  {
    title: 'CPU',
    measure: 'percent',
    about: '100 % is one core',
    lines: [{ name: 'CPU', figure: 'cpu_per_second', factor: 100 }],
  },
  {
    title: 'Memory',
    measure: 'bytes',
    lines: [
      { name: word('Resident'), figure: 'memory_bytes' },
      { name: word('Heap'), figure: 'heap_bytes' },
    ],
  },
]

function quantiles(of: string): FigureLine[] {
  return ['p50', 'p95', 'p99'].map((name) => ({ name, figure: `${of}_${name}_ms` }))
}

/** One moment: the figures of each chart, in the order of `CHARTS` and of its lines. */
export interface Point {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly figures: readonly (readonly (number | undefined)[])[]
  /** What stands for everything above it, where a figure has such a value. */
  readonly edges?: readonly (readonly (number | undefined)[])[]
}

/** As the server sends it for a node. */
export interface NodeFigures {
  readonly node: string
  readonly figures: readonly string[]
  readonly samples: readonly (readonly (number | null)[])[]
  /** Undefined from a node of an earlier version. */
  readonly edges?: Readonly<Record<string, number>>
}

/** An hour, with a sample every five seconds. */
export const LONGEST_HISTORY = 720
/** After a longer time without a sample there is a gap in the line. */
const LONGEST_GAP_MS = 20_000

/** The points of a node, with newer samples at their end. */
export function addSamples(
  points: readonly Point[],
  { figures, samples, edges: known = {} }: NodeFigures,
): readonly Point[] {
  const edges = CHARTS.map(({ lines }) => lines.map(({ figure }) => known[figure]))
  const places = CHARTS.map(({ lines }) => lines.map(({ figure }) => figures.indexOf(figure)))
  const added: Point[] = []
  let last = points.at(-1)?.at
  for (const [at, ...values] of samples) {
    if (at === undefined || at === null || (last !== undefined && at <= last)) continue
    if (last !== undefined && at - last > LONGEST_GAP_MS) added.push({ at: at - 1, figures: CHARTS.map(() => []) })
    added.push({
      at,
      edges,
      figures: CHARTS.map(({ lines }, chart) =>
        lines.map(({ factor = 1 }, line) => {
          const value = values[places[chart]?.[line] ?? -1]
          return value === undefined || value === null ? undefined : value * factor
        }),
      ),
    })
    last = at
  }
  return added.length === 0 ? points : [...points, ...added].slice(-LONGEST_HISTORY)
}

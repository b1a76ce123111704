/** The tool that draws: the rows of a statement for a chart in the chat (MCP Apps 2026-01-26), and as text where none is shown. */
import { Refusal } from 'gatehouse-protocol'
import type { Call } from '../protocol/features.ts'
import type { JsonObject } from '../protocol/json.ts'
import { counted } from '../text/escape.ts'
import { type Column, licenceMember, type Rows, takeJsonRows, writeRows } from '../text/rows.ts'
import { readLiveChanges } from '../watches/live-changes.ts'
import type { Arguments } from './arguments.ts'
import { object, PARAMETERS, STATEMENT } from './schemas.ts'
import type { Outcome, ToolDefinition } from './tool-set.ts'
import { keyedRows, type WatchEnv } from './watch.ts'

export const UI_EXTENSION = 'io.modelcontextprotocol/ui'
export const CHART_URI = 'ui://gatehouse/chart'
/** In `_meta` of the result: what the page draws. */
const CHART_DATA = 'gatehouse/chart'

const DRAWN = { rows: 1_000, bytes: 256 * 1024 }
const TEXT = { rows: 200, bytes: 32 * 1024 }
/** For a model whose person sees the chart. */
const BESIDE_CHART = { rows: 20, bytes: 4 * 1024 }
const COLUMN = { type: 'string', maxLength: 128 } as const

export function chartTool(env: WatchEnv): ToolDefinition {
  return {
    name: 'chart',
    title: 'Draw a chart',
    description:
      'Draws the rows of a statement, at most 1,000, in the chat: lines, bars, scatter or candles (open, high, low, close, volume). Columns are chosen from the result unless named. Aggregate first, by time_bucket for example. With live it follows the data.',
    example: {
      statement:
        "SELECT time_bucket(INTERVAL '1 hour', executed_at) AS hour, vwap(price, quantity) AS vwap FROM trades GROUP BY hour",
    },
    inputSchema: object(['statement'], {
      statement: STATEMENT,
      parameters: PARAMETERS,
      view: { type: 'string', enum: ['line', 'bar', 'scatter', 'candles'] },
      x: { ...COLUMN, description: 'The column of the x axis.' },
      y: { type: 'array', items: COLUMN, maxItems: 20, description: 'The columns that are drawn.' },
      series: { ...COLUMN, description: 'The column with a line or set of bars for each value.' },
      live: { type: 'boolean' },
    }),
    _meta: { ui: { resourceUri: CHART_URI }, 'ui/resourceUri': CHART_URI },
    async run(args, call) {
      const read = args.flag('live') === true ? await readLive(args, call, env) : await readRows(args, call, env)
      const view = readView(args, read.columns)
      const watch = read.follow === undefined ? {} : await read.follow()
      return describeChart(read, { view, ...watch }, call)
    },
  }
}

interface Drawn extends Rows {
  readonly tables: readonly string[]
  /** Of the rows, in a live result. */
  readonly keys?: readonly unknown[]
  /** Keeps a watch, which the page follows by `changes`. */
  readonly follow?: () => Promise<{ readonly id: string; readonly since: number }>
}

async function readRows(args: Arguments, call: Call, { statements }: WatchEnv): Promise<Drawn> {
  const read = await statements.read({ ...readStatement(args), rows: DRAWN.rows }, call)
  const rows = takeJsonRows(read.columns, read.rows, DRAWN.bytes)
  return { ...read, rows, hasMore: read.hasMore || rows.length < read.rows.length }
}

async function readLive(args: Arguments, call: Call, { statements, live, store }: WatchEnv): Promise<Drawn> {
  const asked = readStatement(args)
  const started = performance.now()
  const reading = { resume: undefined, budget: { ...DRAWN, changes: 0 } }
  const first = await readLiveChanges(live, asked, reading, call, Promise.resolve(), (read) =>
    statements.readLive(asked, call, read),
  )
  const { columns = [], position, licence } = first
  const { rows, keys, more } = keyedRows(columns, first, DRAWN)
  return {
    ...{ columns, rows, keys, licence, tables: await statements.listTables(asked.statement, call) },
    hasMore: more,
    milliseconds: performance.now() - started,
    follow: () => store.create(call.principal, { kind: 'statement', ...asked, columns }, position),
  }
}

function readStatement(args: Arguments) {
  return { statement: args.text('statement') ?? '', parameters: args.object('parameters') ?? {} }
}

/** The members of a view, as saved queries have them. */
function readView(args: Arguments, columns: readonly Column[]): JsonObject {
  const [x, named, series] = [args.text('x'), args.texts('y') ?? [], args.text('series')]
  const y = named.length === 0 ? undefined : named
  for (const name of [x, series, ...(y ?? [])]) if (name !== undefined) requireColumn(name, columns)
  for (const name of y ?? []) requireNumber(requireColumn(name, columns))
  if (!columns.some(({ type }) => NUMBER.test(type)))
    throw new Refusal('mcp.arguments', 422, 'The result has no column of numbers to draw', {
      members: { Hint: 'Add an aggregate such as count(*), or show the rows with query' },
    })
  const view = args.text('view')
  return {
    ...(view === undefined ? {} : { view }),
    ...(x === undefined ? {} : { x }),
    ...(y === undefined ? {} : { y }),
    ...(series === undefined ? {} : { series }),
  }
}

const NUMBER = /^(Integer|Decimal|Double)\b/

function requireColumn(name: string, columns: readonly Column[]): Column {
  const found = columns.find((column) => column.name.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  const known = columns.map((column) => column.name).join(', ')
  throw new Refusal('mcp.arguments', 422, `The result has no column ${JSON.stringify(name)}: it has ${known}`)
}

function requireNumber({ name, type }: Column): void {
  if (!NUMBER.test(type)) throw new Refusal('mcp.arguments', 422, `${name} is ${type}: y takes columns of numbers`)
}

/** The page gets all rows, the model the first ones. */
function describeChart(
  { columns, rows, keys, hasMore, milliseconds, licence, tables }: Drawn,
  data: { readonly view: JsonObject; readonly id?: string; readonly since?: number },
  call: Call,
): Outcome {
  const budget = call.hasExtension(UI_EXTENSION) ? BESIDE_CHART : TEXT
  const shown = rows.slice(0, budget.rows)
  const first = { columns, rows: shown, hasMore: hasMore || shown.length < rows.length, milliseconds, licence }
  const { text } = writeRows(first, budget, 'text', undefined)
  const bound = hasMore ? ', more are not drawn: aggregate' : ''
  const followed = data.id === undefined ? '' : ` · live: watch ${data.id} · since ${data.since}`
  return {
    text: `chart of ${counted(rows.length, 'row')}${bound}${followed}\n${text}`,
    meta: { [CHART_DATA]: { ...data, columns, rows, ...(keys && { keys }), more: hasMore, ...licenceMember(licence) } },
    rows: rows.length,
    tables,
  }
}

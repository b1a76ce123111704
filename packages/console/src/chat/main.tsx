/** The chart in a chat: a page that the client of a model shows in a frame, for the result of the tool `chart`. */
import '../styles/chat.css'
import 'uplot/dist/uPlot.min.css'
import '../chart/chart.css'
import './chat.css'
import { signal } from '@preact/signals'
import { render } from 'preact'
import { findZone } from '../chart/statement-zone.ts'
import { ChatChart, type Shown } from './chat-chart.tsx'
import { DrawnRows } from './drawn-rows.ts'
import { follow } from './follow.ts'
import { type Host, type HostContext, openHost } from './host.ts'
import {
  type DrawnResult,
  isObject,
  type JsonObject,
  readDrawn,
  readFault,
  readQueried,
  type ToolResult,
} from './tool-result.ts'

/** Between two whole results. */
const RENEW_MS = 30_000
const MOST_ROWS = 1_000

const shown = signal<Shown>({ kind: 'waiting' })
const context = signal<HostContext>({ theme: undefined, isFullscreen: false, canFillScreen: false, height: undefined })
let input: JsonObject = {}
let following = new AbortController()
let renewed = Number.NEGATIVE_INFINITY

const opening = openHost({
  onInput(args) {
    input = args
  },
  onResult: (result) => void opening.then((host) => showResult(host, result)),
  onCancelled: () => showNothing('The call was cancelled', 'There is nothing to draw.'),
  onContext(changed) {
    context.value = changed
    const { dataset, style } = document.documentElement
    if (changed.theme !== undefined) dataset.theme = changed.theme
    dataset.mode = changed.isFullscreen ? 'fullscreen' : 'inline'
    if (changed.height === undefined) style.removeProperty('--chat-height')
    else style.setProperty('--chat-height', `${changed.height}px`)
  },
  onTeardown: () => following.abort(),
})

async function showResult(host: Host, result: ToolResult): Promise<void> {
  following.abort()
  const fault = readFault(result)
  if (fault !== undefined) return showNothing('There is no result', fault)
  const drawn = readDrawn(result) ?? (await queryAgain(host))
  if (typeof drawn === 'string') return showNothing('There is no result', drawn)
  showDrawn(host, drawn)
}

/** Where the client keeps what is for programs. */
async function queryAgain(host: Host): Promise<DrawnResult | string> {
  const missing = 'The client passes on neither the rows nor calls of tools.'
  const { statement, parameters = {} } = input
  if (typeof statement !== 'string') return missing
  try {
    const result = await host.callTool('query', { statement, parameters, max_rows: MOST_ROWS, format: 'json' })
    return readFault(result) ?? readQueried(result, input) ?? missing
  } catch {
    return missing
  }
}

function showDrawn(host: Host, drawn: DrawnResult): void {
  const { statement, parameters } = input
  const model = new DrawnRows(drawn)
  const { view, more, licence, watch } = drawn
  const zone = findZone(String(statement ?? ''), isObject(parameters) ? parameters : {})
  const show = (state: Extract<Shown, { kind: 'chart' }>['state']) => {
    shown.value = { kind: 'chart', model, view, zone, more, licence, state }
  }
  show(watch === undefined ? 'still' : 'live')
  if (watch === undefined) return
  following = new AbortController()
  const end = (fault: string) => show({ ended: fault })
  const events = {
    onChanges: model.apply.bind(model),
    onIncomplete: () => void renew(host, following.signal).catch((error) => end(String(error))),
    onEnd: end,
  }
  void follow(host, watch, events, following.signal)
}

/** The whole result anew, with another watch. */
async function renew(host: Host, signal?: AbortSignal): Promise<void> {
  const hasEnded = () => signal?.aborted === true
  const wait = renewed + RENEW_MS - performance.now()
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
  if (hasEnded()) return
  renewed = performance.now()
  const result = await host.callTool('chart', { ...input, live: true })
  if (!hasEnded()) await showResult(host, result)
}

function showNothing(title: string, reason: string): void {
  following.abort()
  shown.value = { kind: 'nothing', title, reason }
}

function Page({ host }: { readonly host: Host }) {
  return (
    <ChatChart
      shown={shown.value}
      context={context.value}
      onFillScreen={(wanted) => void host.fillScreen(wanted).catch(() => {})}
      onFollow={() => void renew(host).catch(() => {})}
    />
  )
}

void opening.then((host) => {
  const root = document.querySelector('#chat')
  if (!(root instanceof HTMLElement)) return
  render(<Page host={host} />, root)
  new ResizeObserver(() => host.sendHeight(root.offsetHeight)).observe(root)
})

/** The client that shows this page in a frame: the messages of MCP Apps 2026-01-26, JSON-RPC over `postMessage`. */
import { isObject, type JsonObject, type ToolResult } from './tool-result.ts'

/** What the client says about the frame; it may change. */
export interface HostContext {
  readonly theme: 'light' | 'dark' | undefined
  readonly isFullscreen: boolean
  readonly canFillScreen: boolean
  /** In pixels, where the client has decided. */
  readonly height: number | undefined
}

export interface HostEvents {
  /** The arguments of the call whose result this page shows. */
  onInput(args: JsonObject): void
  onResult(result: JsonObject): void
  onCancelled(): void
  onContext(context: HostContext): void
  /** The frame is about to go. */
  onTeardown(): void
}

export interface Host {
  callTool(name: string, args: JsonObject): Promise<ToolResult>
  fillScreen(wanted: boolean): Promise<void>
  sendHeight(height: number): void
}

const VERSION = '2026-01-26'
const UNKNOWN_METHOD = -32601

interface Waiting {
  resolve(result: unknown): void
  reject(error: Error): void
}

export async function openHost(events: HostEvents): Promise<Host> {
  const waiting = new Map<number, Waiting>()
  let last = 0
  let context: JsonObject = {}
  // The origin of the client is not known, and nothing that is sent is secret from it.
  const send = (message: JsonObject) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
  const request = (method: string, params: JsonObject) =>
    new Promise<unknown>((resolve, reject) => {
      const id = ++last
      waiting.set(id, { resolve, reject })
      send({ id, method, params })
    })
  const changeContext = (changed: unknown) => {
    if (isObject(changed)) context = { ...context, ...changed }
    events.onContext(readContext(context))
  }
  const notices = new Map<unknown, (params: JsonObject) => void>([
    ['ui/notifications/tool-input', ({ arguments: args }) => events.onInput(isObject(args) ? args : {})],
    ['ui/notifications/tool-result', (params) => events.onResult(params)],
    ['ui/notifications/tool-cancelled', () => events.onCancelled()],
    ['ui/notifications/host-context-changed', changeContext],
    ['ui/resource-teardown', () => events.onTeardown()],
    ['ping', () => {}],
  ])
  addEventListener('message', ({ source, data }) => {
    if (source !== parent || !isObject(data)) return
    const { id, method, params, result, error } = data
    if (method === undefined) return settle(waiting, id, result, error)
    const act = notices.get(method)
    act?.(isObject(params) ? params : {})
    if (id === undefined) return
    send(act === undefined ? { id, error: { code: UNKNOWN_METHOD, message: String(method) } } : { id, result: {} })
  })

  const opened = await request('ui/initialize', {
    appInfo: { name: 'gatehouse-chart', version: '1' },
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    protocolVersion: VERSION,
  })
  changeContext(isObject(opened) ? opened.hostContext : undefined)
  send({ method: 'ui/notifications/initialized', params: {} })
  return {
    async callTool(name, args) {
      const result = await request('tools/call', { name, arguments: args })
      return isObject(result) ? result : {}
    },
    async fillScreen(wanted) {
      const result = await request('ui/request-display-mode', { mode: wanted ? 'fullscreen' : 'inline' })
      if (isObject(result)) changeContext({ displayMode: result.mode })
    },
    sendHeight: (height) => send({ method: 'ui/notifications/size-changed', params: { height } }),
  }
}

function settle(waiting: Map<number, Waiting>, id: unknown, result: unknown, error: unknown): void {
  if (typeof id !== 'number') return
  const request = waiting.get(id)
  waiting.delete(id)
  if (isObject(error)) request?.reject(new Error(String(error.message)))
  else request?.resolve(result)
}

function readContext({ theme, displayMode, availableDisplayModes, containerDimensions }: JsonObject): HostContext {
  const height = isObject(containerDimensions) ? containerDimensions.height : undefined
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : undefined,
    isFullscreen: displayMode === 'fullscreen',
    canFillScreen: Array.isArray(availableDisplayModes) && availableDisplayModes.includes('fullscreen'),
    height: typeof height === 'number' ? height : undefined,
  }
}

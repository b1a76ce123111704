/** A client of server-sent events for tests: reads events one by one, and can stop reading. */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

export interface ServerEvent {
  readonly event: string
  /** Undefined where the event has no line for it; empty where the line clears it. */
  readonly id: string | undefined
  readonly retry: string | undefined
  readonly data: Record<string, unknown>
}

export interface EventClient {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly response: IncomingMessage
  /** The next event; comments are skipped and counted. Rejects when the response ends before. */
  next(): Promise<ServerEvent>
  readonly comments: () => number
  /** Resolves with the rest of the events when the response has ended. */
  ended(): Promise<readonly ServerEvent[]>
  close(): void
}

export interface EventRequest {
  readonly method?: 'GET' | 'POST'
  readonly token: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const TIMEOUT_MS = 30_000

export async function openEvents(url: string, options: EventRequest): Promise<EventClient> {
  const { method = 'POST', token, headers = {}, body } = options
  const head = { accept: 'text/event-stream', authorization: `Bearer ${token}`, ...headers }
  const asked: ClientRequest = request(url, { method, headers: head, agent: false })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve)
    asked.on('error', reject)
    asked.end(body)
  })
  const arrived: ServerEvent[] = []
  let wake: () => void = () => {}
  let isEnded = false
  let comments = 0
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end)
      text = text.slice(end + 2)
      if (block.startsWith(':')) comments++
      else arrived.push(readEvent(block))
    }
    wake()
  })
  response.on('error', () => {})
  response.on('close', () => {
    isEnded = true
    wake()
  })
  const waitUntil = (happened: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('nothing arrived in time')), TIMEOUT_MS)
      wake = () => {
        if (!happened()) return
        clearTimeout(late)
        resolve()
      }
      wake()
    })
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    response,
    comments: () => comments,
    async next() {
      await waitUntil(() => arrived.length > 0 || isEnded)
      const event = arrived.shift()
      if (event === undefined) throw new Error(`the response ended: ${text}`)
      return event
    },
    async ended() {
      await waitUntil(() => isEnded)
      return arrived.splice(0)
    },
    close: () => void asked.destroy(),
  }
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
function readEvent(block: string): ServerEvent {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return {
    event: fields.get('event') ?? 'message',
    id: fields.get('id'),
    retry: fields.get('retry'),
    data: JSON.parse(fields.get('data') ?? '{}'),
  }
}

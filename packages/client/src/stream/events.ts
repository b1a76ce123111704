/** Live queries by server-sent events: where no WebSocket can be opened, and for programs that want the messages as they are. */
import { ConnectionError, GatehouseError, problemError } from '../errors.ts'
import { type Http, type Search, withSearch } from '../http.ts'
import { type CallOptions, readLines } from '../query.ts'
import { backoff, either, pause } from '../wait.ts'
import type { Channel, Channels } from './channel.ts'

/** The request, with the members of docs/live.md. */
export interface LiveRequest {
  readonly Statement: string
  readonly Parameters?: unknown
  readonly MaxRate?: number | undefined
  /** A `Position` that was received: what was missed since is sent. */
  readonly Resume?: string | undefined
}

/** Options of messages by server-sent events. */
export interface EventOptions extends CallOptions {
  /** More of the query string, as docs/query.md lists it: `{ integers: 'strings' }`. */
  readonly search?: Search | undefined
  /** The server has accepted the statement, at first and after each loss. */
  readonly onOpen?: (() => void) | undefined
  /** The connection was lost, or could not be opened, and another follows; unless this throws. */
  readonly onLost?: ((error: GatehouseError) => void) | undefined
}

/** The server sends something every 15 seconds: if no line arrives for this long, the connection is lost. */
const SILENCE_MS = 45_000

/**
 * The messages of a live query as the server writes them, over lost connections and expired tokens; docs/live.md describes
 * them. `Live` makes a result of them.
 *
 * @example
 * ```ts
 * for await (const text of liveMessages(gate, { Statement: 'select symbol, price from trades' })) console.log(text)
 * ```
 */
export async function* liveMessages(
  http: Http,
  { Resume, ...body }: LiveRequest,
  { search = {}, onOpen, onLost, ...options }: EventOptions = {},
): AsyncGenerator<string, void, undefined> {
  const wanted = either(options.signal, http.closed)
  let position = Resume
  let retry = 0
  for (let failures = 0; ; failures++) {
    const attempt = new AbortController()
    const signal = AbortSignal.any([attempt.signal, wanted])
    let timer: ReturnType<typeof setTimeout> | undefined
    const watch = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => attempt.abort(new ConnectionError('The server is silent')), SILENCE_MS)
    }
    try {
      const response = await http.request(withSearch('/query', search), {
        method: 'POST',
        headers: { accept: 'text/event-stream', 'last-event-id': position },
        body,
        // It is repeated here, where each loss is reported.
        attempts: 1,
        onSend: watch,
        statement: body.Statement,
        signal,
      })
      if (!/^text\/event-stream/.test(response.headers.get('content-type') ?? ''))
        throw new GatehouseError('The server has no live queries', { code: 'client.no_events' })
      onOpen?.()
      let [type, data] = ['', '']
      for await (const lines of readLines(response, signal)) {
        // The reader may take its time: only while we wait for the server does its silence count.
        clearTimeout(timer)
        for (const line of lines) {
          const [, field, value = ''] = /^(\w*):? ?(.*)/.exec(line) ?? []
          if (field === 'event') type = value
          else if (field === 'data') data += value
          else if (field === 'id') position = value || undefined
          else if (field === 'retry') retry = Number(value) || 0
          else if (line === '' && data !== '') {
            if (type === 'end') throw readEnd(data, body.Statement)
            yield data
            failures = 0
            data = ''
          }
        }
        watch()
      }
      throw new ConnectionError('The server closed the connection')
    } catch (error) {
      wanted.throwIfAborted()
      if (!(error instanceof GatehouseError)) throw error
      // If the server no longer knows the position, the whole result follows.
      if (error.code === 'Request.BadPosition' && position !== undefined) {
        position = undefined
        continue
      }
      if (!error.retryable) throw error
      onLost?.(error)
      await pause(Math.max((error.retryAfter ?? 0) * 1000, retry) + backoff(failures), wanted)
    } finally {
      clearTimeout(timer)
      attempt.abort()
    }
  }
}

/** The end of a token is no end: the next request has a fresh one. */
function readEnd(data: string, statement: string): GatehouseError {
  const error = problemError(JSON.parse(data), { statement })
  return error.status === 401 ? new ConnectionError(error.message) : error
}

/**
 * Where live queries are opened without a stream: `createLive(new LiveEvents(http), http.values)`. Each has a connection of
 * its own, of which browsers allow six to a server by HTTP/1.1.
 *
 * @example
 * ```ts
 * const http = new Http(url, { auth })
 * const live = createLive(new LiveEvents(http), http.values)
 * for await (const { put } of live`select symbol, price from prices`) show(put)
 * ```
 */
export class LiveEvents implements Channels {
  readonly #http: Http
  readonly #options: Pick<EventOptions, 'search' | 'onLost'>
  readonly #open = new Map<Channel, AbortController>()

  constructor(http: Http, options: Pick<EventOptions, 'search' | 'onLost'> = {}) {
    this.#http = http
    this.#options = options
  }

  attach(channel: Channel): void {
    const end = new AbortController()
    this.#open.set(channel, end)
    void this.#follow(channel, end.signal)
  }

  detach(channel: Channel): void {
    this.#open.get(channel)?.abort()
    this.#open.delete(channel)
  }

  async #follow(channel: Channel, signal: AbortSignal): Promise<void> {
    const options = { ...this.#options, signal, onOpen: () => channel.onConfirmed() }
    try {
      const messages = liveMessages(this.#http, channel.data() as LiveRequest, options)
      for await (const text of messages) channel.onData(this.#http.values.parse(text))
    } catch (error) {
      if (this.#open.delete(channel)) channel.onEnd(error as GatehouseError)
    }
  }
}

/**
 * The socket that the client library and a person at a terminal share. The library authenticates, renews the token and tests
 * the connection on it, which the person does not see; what the person sends and receives passes unchanged.
 *
 * `ws`, because the WebSocket of Node.js does not say why a connection failed: neither the error of TCP or TLS, nor the status and the
 * text of a refusal.
 */
import { text } from 'node:stream/consumers'
import { WebSocket } from 'ws'
import type { WebSocketLike } from '../../../../client/src/index.ts'
import { CommandError } from '../errors.ts'
import { asObject, parseJson } from '../output/json.ts'
import { printable } from '../output/table.ts'

export interface SocketOptions {
  /** The protocol version; the library itself uses 2.0. */
  readonly version: string
  /** No user is signed in, but the library believes that one is. */
  readonly isAnonymous: boolean
  /** A message that is not for the library. */
  onMessage(text: string): void
  /** The socket could not be opened. */
  onFailed(error: CommandError): void
}

type Listener = ((event: never) => void) | null

/** Put before the ids of the library, which are small and negative: a user of the terminal never gets such an id. */
const OWN_ID = '"TransactionID":-1789562'

export class SharedSocket implements WebSocketLike {
  onopen: Listener = null
  onmessage: Listener = null
  onclose: Listener = null
  onerror: Listener = null
  /** What the server said when it closed. */
  closeReason = ''
  readonly #socket: WebSocket
  readonly #options: SocketOptions
  /** The last notice about the authority, which the library has subscribed to. */
  #identity: string | undefined

  constructor(address: string, protocol: string, options: SocketOptions) {
    const url = new URL(address)
    url.searchParams.set('version', options.version)
    this.#options = options
    this.#socket = new WebSocket(url, [protocol], { handshakeTimeout: 10_000 })
    this.#socket.on('open', () => this.#tell(this.onopen, {}))
    this.#socket.on('message', (data) => this.#receive(data.toString()))
    this.#socket.on('close', (code, reason) => {
      this.closeReason = reason.toString()
      this.#tell(this.onclose, { code, reason: this.closeReason })
    })
    this.#socket.on('error', (error) =>
      options.onFailed(new CommandError(`${url.href} cannot be reached (${error.message})`)),
    )
    this.#socket.on('unexpected-response', async (request, response) => {
      const { detail } = asObject(parseJson(await text(response).catch(() => '')))
      const reason = typeof detail === 'string' ? `: ${printable(detail)}` : ''
      options.onFailed(
        new CommandError(`${url.href} refused the connection with status ${response.statusCode}${reason}`),
      )
      request.destroy()
      this.#tell(this.onclose, { code: 1006, reason: '' })
    })
  }

  get readyState(): number {
    return this.#socket.readyState
  }

  /** A message from the library. */
  send(data: string): void {
    if (this.#options.isAnonymous && /"Topic":"(AuthToken|Identify)"/.test(data)) {
      const reply = '{"TransactionID":-1,"Data":{"Result":"Success"}}'
      if (data.includes('"AuthToken"')) queueMicrotask(() => this.#tell(this.onmessage, { data: reply }))
      return
    }
    this.#socket.send(data.replace('"TransactionID":-', OWN_ID))
  }

  /** A message from the person. */
  sendUnchanged(message: string): void {
    this.#socket.send(message)
  }

  /** The message that Auth/Identify would have sent first if the library had not already subscribed. */
  repeatIdentity(): void {
    if (this.#identity !== undefined && !this.#options.isAnonymous) this.#options.onMessage(this.#identity)
  }

  close(code?: number): void {
    this.#socket.close(code)
  }

  #receive(message: string): void {
    if (message.includes(OWN_ID)) {
      this.#tell(this.onmessage, { data: asVersion2(message.replace(OWN_ID, '"TransactionID":-')) })
      return
    }
    if (message.startsWith('{"Controller":"Auth","Topic":"Identify",') && !message.includes('"TransactionID"')) {
      this.#identity = message
      this.#tell(this.onmessage, { data: asVersion2(message) })
    }
    this.#options.onMessage(message)
  }

  #tell(listener: Listener, event: object): void {
    listener?.(event as never)
  }
}

/** A reply or a notice of version 1 in the form that the library reads: without Action, and with what is left of the token. */
function asVersion2(message: string): string {
  const { Action, ...members } = asObject(parseJson(message))
  const data = asObject(members.Data)
  const expiry = Date.parse(String(data.ExpiryDate))
  const isOld = Number.isFinite(expiry) && data.ExpiresIn === undefined
  return JSON.stringify({
    ...members,
    ...(Action === 'Publish' ? {} : { Action }),
    ...(isOld ? { Data: { ...data, ExpiresIn: timeSpan(expiry - Date.now()) } } : {}),
  })
}

function timeSpan(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  return [seconds / 3600, (seconds / 60) % 60, seconds % 60]
    .map((part) => String(Math.floor(part)).padStart(2, '0'))
    .join(':')
}

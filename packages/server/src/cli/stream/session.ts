/** A streaming session: the client library keeps it connected and authenticated, messages are sent and shown as they are. */

import { CLOSE_CODES } from 'gatehouse-protocol'
import { type Auth, getToken, Http, type StateChange, Stream, type TokenSource } from '../../../../client/src/index.ts'
import { CommandError } from '../errors.ts'
import { explained } from '../gate.ts'
import { asObject, type JsonObject, parseJson } from '../output/json.ts'
import { printable } from '../output/table.ts'
import { PendingMessages } from './pending.ts'
import { SharedSocket } from './shared-socket.ts'

export interface SessionListener {
  onMessage(text: string): void
  /** The connection is lost, and with it the replies to this number of requests; another connection follows. */
  onLost(reason: string, unanswered: number): void
  /** Connected again; the subscriptions are opened again. */
  onResumed(): void
}

/** One client of the library, and the socket that it has now. */
interface Link {
  readonly http: Http
  readonly stream: Stream
  socket: SharedSocket | undefined
}

export class StreamSession {
  readonly server: string
  readonly pending = new PendingMessages()
  readonly #version: string
  readonly #ended = Promise.withResolvers<string>()
  #listener: SessionListener | undefined
  #link: Link | undefined
  /** Why there is no connection, since it was lost. */
  #lost: string | undefined
  /** What was sent since. */
  #unsent: string[] = []
  /** The user has subscribed to Auth/Identify too, and the server has confirmed it. */
  #seesIdentity = false

  constructor(server: string, version: string) {
    this.server = server
    this.#version = version
  }

  /** Resolves with the reason when the session has ended permanently. */
  get ended(): Promise<string> {
    return this.#ended.promise
  }

  /** Undefined while connected. */
  get lost(): string | undefined {
    return this.#lost
  }

  listen(listener: SessionListener): void {
    this.#listener = listener
  }

  /** Connects, anonymously without `auth`; in place of the connection before, if there is one. */
  async connect(auth: Auth<TokenSource> | undefined): Promise<void> {
    const link = await this.#open(auth)
    const before = this.#link
    this.#link = link
    before?.http.close()
    this.#resume()
  }

  send(text: string): void {
    this.pending.onSent(text)
    if (this.#lost === undefined) this.#transmit(text)
    else this.#unsent.push(text)
  }

  close(): void {
    const link = this.#link
    this.#link = undefined
    link?.http.close()
  }

  async #open(auth: Auth<TokenSource> | undefined): Promise<Link> {
    const failed = Promise.withResolvers<never>()
    const options = {
      version: this.#version,
      isAnonymous: auth === undefined,
      onMessage: (text: string) => this.#onMessage(link, text),
      onFailed: failed.reject,
    }
    const http = new Http(this.server, {
      auth: auth ?? getToken(() => ''),
      WebSocket: class extends SharedSocket {
        constructor(url: string, protocol: string) {
          super(url, protocol, options)
          link.socket = this
        }
      },
    })
    const link: Link = { http, stream: new Stream(http), socket: undefined }
    link.stream.on('state', (change) => {
      // The library would keep retrying, but the user may have mistyped something.
      if (change.state === 'offline' && change.code !== 'invalid_token')
        failed.reject(new CommandError(explainLoss(link, change)))
      this.#onState(link, change, auth === undefined)
    })
    try {
      await Promise.race([link.stream.connect(), failed.promise])
      return link
    } catch (error) {
      http.close()
      throw explained(error)
    }
  }

  #onState(link: Link, change: StateChange, isAnonymous: boolean): void {
    if (link !== this.#link) return
    const { state, code } = change
    const text = explainLoss(link, change)
    if (state === 'offline') {
      // Without a token the next connection would end in the same way.
      if (isAnonymous && code === CLOSE_CODES.policy.code) this.#ended.resolve(text)
      else if (this.#lost === undefined) {
        this.#lost = text
        this.#listener?.onLost(text, this.pending.onLost())
      }
    } else if (state === 'ended') this.#ended.resolve(text)
    else if (state === 'online' && this.#lost !== undefined) {
      this.#resume()
      this.#listener?.onResumed()
    } else if (state === 'online') for (const text of this.pending.takeSuspended()) this.send(text)
  }

  /** Opens the subscriptions again, and sends what waits. */
  #resume(): void {
    this.#lost = undefined
    this.#seesIdentity = false
    const unsent = this.#unsent.splice(0)
    for (const text of this.pending.subscriptions) if (!unsent.includes(text)) this.send(text)
    for (const text of unsent) this.#transmit(text)
  }

  #transmit(text: string): void {
    this.#link?.socket?.sendUnchanged(text)
    const message = asObject(parseJson(text))
    // Otherwise the confirmation comes first.
    if (isIdentity(message) && message.Action === 'Sub' && message.Confirm !== true) this.#showIdentity()
  }

  /** The library listens to this topic, whether the user does or not. */
  #showIdentity(): void {
    this.#seesIdentity = true
    this.#link?.socket?.repeatIdentity()
  }

  #onMessage(link: Link, text: string): void {
    if (link !== this.#link) return
    const message = asObject(parseJson(text))
    const isWanted = this.#seesIdentity && this.pending.has('Auth/Identify')
    if (isIdentity(message) && message.TransactionID === undefined && !isWanted) return
    this.pending.onReceived(text, link.stream.state === 'lapsed')
    this.#listener?.onMessage(text)
    if (isIdentity(message) && message.Action === 'Sub') this.#showIdentity()
  }
}

function isIdentity({ Controller: controller, Topic: topic }: JsonObject): boolean {
  return controller === 'Auth' && topic === 'Identify'
}

/** `closed with 1012 (restarting): The server is stopping …`, or the words of the library. */
function explainLoss({ socket }: Link, { code, reason }: StateChange): string {
  if (typeof code !== 'number') return printable(reason)
  const known = Object.values(CLOSE_CODES).find((candidate) => candidate.code === code)
  const given = socket === undefined || socket.closeReason === '' ? '' : ` (${printable(socket.closeReason)})`
  return `closed with ${code}${given}${known === undefined ? '' : `: ${known.when}`}`
}

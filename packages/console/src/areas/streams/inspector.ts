/** A separate connection of the client library that records its messages in both directions. */
import { signal } from '@preact/signals'
import type { Gatehouse, StateChange } from '../../../../client/src/index.ts'
import { withoutTokens } from './message-text.ts'
import { createTappedGate } from './tapped-gate.ts'

/** One message on the wire. */
export interface Entry {
  readonly number: number
  readonly at: number
  readonly direction: 'in' | 'out'
  /** Without access tokens. */
  readonly text: string
  readonly controller: string
  readonly topic: string
  /** As in the message, or what its absence means. */
  readonly operation: string
  readonly transaction: string
  readonly bytes: number
  /** Of a reply: milliseconds since its request. */
  readonly took: number | undefined
}

/** Older messages are dropped, so that an open page does not grow. */
const KEPT = 2_000
/** Longer messages are cut, because the page would take too long to show them. */
const LONGEST = 100_000
/** Above the ids that the library gives to its own requests. */
const FIRST_ID = 1_000_000

export class Inspector {
  readonly state = signal<Pick<StateChange, 'state' | 'reason' | 'code'>>({
    state: 'offline',
    reason: 'not connected',
    code: undefined,
  })
  /** Rises when there are other messages, at most once per frame. */
  readonly version = signal(0)
  readonly paused = signal(false)
  /** Messages that came while it was paused, and are not shown. */
  readonly missed = signal(0)
  entries: Entry[] = []
  #gate: Gatehouse | undefined
  #socket: WebSocket | undefined
  #number = 0
  #nextId = FIRST_ID
  #drawn = 0
  readonly #sent = new Map<string, number>()

  connect(): void {
    if (this.#gate !== undefined) return
    const own = createTappedGate({
      onSocket: (socket) => {
        this.#socket = socket
      },
      onMessage: (direction, text) => this.#add(direction, text),
    })
    own.on('state', (change) => {
      this.state.value = change
    })
    this.#gate = own
    own.stream.connect().catch(() => {})
  }

  disconnect(): void {
    this.#gate?.close()
    this.#gate = undefined
    this.#socket = undefined
    this.#sent.clear()
    this.state.value = { state: 'offline', reason: 'not connected', code: undefined }
  }

  /** Throws if there is no connection. */
  send(text: string): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) throw new Error('There is no connection: connect first.')
    this.#socket.send(text)
  }

  /** Through the library, so that it survives a lost connection. Its messages are seen on the wire. */
  subscribe(controller: string, topic: string, onEnd: (error: unknown) => void): void {
    if (this.#gate === undefined) throw new Error('There is no connection: connect first.')
    const messages = this.#gate.stream.subscribe(controller, topic, { slow: 'latest' })
    const read = async () => {
      for await (const _ of messages);
    }
    read().catch(onEnd)
  }

  newId(): number {
    return this.#nextId++
  }

  clear(): void {
    this.entries = []
    this.missed.value = 0
    this.version.value++
  }

  #add(direction: Entry['direction'], raw: string): void {
    const message = readMessage(raw)
    const transaction = /"TransactionID":\s*(-?\d+)/.exec(raw)?.[1] ?? ''
    const now = performance.now()
    let took: number | undefined
    if (transaction !== '') {
      const sentAt = this.#sent.get(transaction)
      if (direction === 'out') this.#remember(transaction, now)
      else if (sentAt !== undefined) {
        took = now - sentAt
        this.#sent.delete(transaction)
      }
    }
    if (this.paused.value) {
      this.missed.value++
      return
    }
    const text = withoutTokens(raw)
    this.entries.push({
      number: ++this.#number,
      at: Date.now(),
      direction,
      text: text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text,
      controller: message.Controller ?? (message.Topic === undefined ? '' : 'Platform'),
      topic: message.Topic ?? '',
      operation: message.Action ?? 'Publish',
      transaction,
      bytes: new Blob([raw]).size,
      took,
    })
    if (this.entries.length > KEPT + KEPT / 10) this.entries = this.entries.slice(-KEPT)
    this.#drawn ||= requestAnimationFrame(() => {
      this.#drawn = 0
      this.version.value++
    })
  }

  #remember(transaction: string, at: number): void {
    if (this.#sent.size >= KEPT) this.#sent.delete(this.#sent.keys().next().value ?? '')
    this.#sent.set(transaction, at)
  }
}

interface Names {
  readonly Controller?: string
  readonly Topic?: string
  readonly Action?: string
}

function readMessage(raw: string): Names {
  try {
    const parsed: unknown = JSON.parse(raw)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Names) : {}
  } catch {
    return {}
  }
}

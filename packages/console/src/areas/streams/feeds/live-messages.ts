/** The newest message of each topic that is watched, over a connection of its own. */
import { signal } from '@preact/signals'
import type { Gatehouse, Subscription } from '../../../../../client/src/index.ts'
import { memberTexts } from '../json-text.ts'
import { createTappedGate } from '../tapped-gate.ts'

export interface NewestMessage {
  /** JSON as it was published. */
  readonly data: string
  /** Undefined if the feed has no history. */
  readonly position: string | undefined
  /** When it was received here; the first one may have been published before. */
  readonly at: number
  /** Messages so far. */
  readonly number: number
}

/** More topics than the page shows are not remembered. */
const MOST_TOPICS = 500
/** The page changes at most so often. */
const DRAW_MS = 250

export class LiveMessages {
  /** Rises when something has changed. */
  readonly version = signal(0)
  readonly isOnline = signal(false)
  readonly error = signal<unknown>(undefined)
  readonly newest = new Map<string, NewestMessage>()
  /** Rises when a topic was removed. */
  readonly removals = signal(0)
  readonly #feed: string
  readonly #watched = new Map<string, Subscription>()
  /** Topics that have sent something since the connection was made: their first message may be known already. */
  readonly #heard = new Set<string>()
  #gate: Gatehouse | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(feed: string) {
    this.#feed = feed
  }

  /** Watches these topics and patterns, and no others. `data` is that of a new subscription. */
  watch(topics: readonly string[], data: object): void {
    const wanted = new Set(topics)
    for (const [topic, subscription] of this.#watched)
      if (!wanted.has(topic)) {
        this.#watched.delete(topic)
        this.#heard.delete(topic)
        subscription.close()
      }
    if (wanted.size === 0) return
    const { stream } = this.#open()
    for (const topic of wanted) {
      if (this.#watched.has(topic)) continue
      const subscription = stream.subscribe(this.#feed, topic, { slow: 'latest', data })
      this.#watched.set(topic, subscription)
      readAll(subscription).catch((error) => {
        // After a pause, another one may have taken its place.
        if (this.#watched.get(topic) !== subscription) return
        this.#watched.delete(topic)
        this.error.value = error
      })
    }
  }

  /** Ends the connection; what was received stays. */
  pause(): void {
    for (const subscription of this.#watched.values()) subscription.close()
    this.#watched.clear()
    this.#heard.clear()
    this.#gate?.close()
    this.#gate = undefined
    this.isOnline.value = false
    this.error.value = undefined
  }

  #open(): Gatehouse {
    if (this.#gate !== undefined) return this.#gate
    const own = createTappedGate({
      onMessage: (direction, text) => {
        if (direction === 'in' && this.#gate === own) this.#take(text)
      },
    })
    own.on('state', ({ state }) => {
      if (this.#gate !== own) return
      this.isOnline.value = state === 'online'
      if (state !== 'online') this.#heard.clear()
    })
    this.#gate = own
    return own
  }

  #take(text: string): void {
    const members = memberTexts(text)
    // Replies to this page's own requests have an id.
    if (members.has('TransactionID') || textOf(members.get('Controller')) !== this.#feed) return
    const topic = textOf(members.get('Topic')) ?? ''
    if (members.has('Action')) return
    if (members.get('Removed') === 'true') this.#remove(topic)
    else {
      const data = members.get('Data')
      if (data === undefined) return
      this.#add(topic, data, textOf(members.get('Position')))
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.version.value++
    }, DRAW_MS)
  }

  #add(topic: string, data: string, position: string | undefined): void {
    const known = this.newest.get(topic)
    const isFirst = !this.#heard.has(topic)
    this.#heard.add(topic)
    if (known === undefined) {
      if (this.newest.size >= MOST_TOPICS) return
      this.newest.set(topic, { data, position, at: Date.now(), number: 1 })
    } else if (!isFirst || known.data !== data)
      this.newest.set(topic, { data, position, at: Date.now(), number: known.number + 1 })
  }

  /** A removed pattern stands for all of its topics. */
  #remove(topic: string): void {
    if (topic.endsWith('*')) {
      for (const each of [...this.newest.keys()]) if (each.startsWith(topic.slice(0, -1))) this.newest.delete(each)
    } else this.newest.delete(topic)
    this.removals.value++
  }
}

/** Rejects when the server refuses or ends the subscription. Messages are read on the wire, which has all digits. */
async function readAll(subscription: Subscription): Promise<void> {
  for await (const _ of subscription);
}

function textOf(json: string | undefined): string | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json)
  return typeof value === 'string' ? value : undefined
}

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
  /** Rises with each one that is shown. */
  readonly number: number
  /** Seconds after which the licence shows it. */
  readonly delay: number | undefined
}

/** As it is written; a quote inside of it has a backslash. */
const TOPIC = /"Topic":("(?:[^"\\]|\\.)*")/
/** Of patterns; more are not remembered. */
const MOST_TOPICS = 200
/** The page changes at most so often. */
const DRAW_MS = 500
/** Messages that arrive together are drawn together. */
const GATHER_MS = 30

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
  /** What has arrived since the page was drawn: the newest message of each topic. */
  readonly #waiting = new Map<string, string>()
  #gate: Gatehouse | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #drawnAt = Number.NEGATIVE_INFINITY

  constructor(feed: string) {
    this.#feed = feed
  }

  /** Watches these topics and patterns, and no others. `data` is that of a new subscription. */
  watch(topics: readonly string[], data: object): void {
    const wanted = new Set(topics)
    for (const [topic, subscription] of this.#watched)
      if (!wanted.has(topic)) {
        this.#watched.delete(topic)
        subscription.close()
        this.#forget(topic)
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
    this.#waiting.clear()
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

  /** Kept until the page is drawn: of a topic with many messages, only the newest is read. */
  #take(text: string): void {
    const end = text.indexOf(',"Data":')
    const head = end === -1 ? text : text.slice(0, end)
    const topic = TOPIC.exec(head)?.[1]
    // Replies to this page's own requests have an id.
    if (topic === undefined || /"(?:TransactionID|Action)":/.test(head)) return
    // At the end, so that they are read in the order of their arrival.
    this.#waiting.delete(topic)
    this.#waiting.set(topic, text)
    const wait = Math.max(GATHER_MS, this.#drawnAt + DRAW_MS - performance.now())
    this.#timer ??= setTimeout(() => this.#draw(), wait)
  }

  #draw(): void {
    this.#timer = undefined
    this.#drawnAt = performance.now()
    const texts = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const text of texts) this.#read(memberTexts(text))
    this.version.value++
  }

  #read(members: ReadonlyMap<string, string>): void {
    const topic = parseText(members.get('Topic')) ?? ''
    const data = members.get('Data')
    if (parseText(members.get('Controller')) !== this.#feed) return
    if (members.get('Removed') === 'true') {
      this.#forget(topic)
      this.removals.value++
    } else if (data !== undefined)
      this.#add(topic, {
        data,
        position: parseText(members.get('Position')),
        at: Date.now(),
        delay: Number(members.get('Delay')) || undefined,
      })
  }

  #add(topic: string, message: Omit<NewestMessage, 'number'>): void {
    const known = this.newest.get(topic)
    if (known === undefined && this.newest.size >= MOST_TOPICS && !this.#watched.has(topic)) return
    const isFirst = !this.#heard.has(topic)
    this.#heard.add(topic)
    if (known === undefined) this.newest.set(topic, { ...message, number: 1 })
    else if (!isFirst || known.data !== message.data) this.newest.set(topic, { ...message, number: known.number + 1 })
  }

  /** A pattern stands for all of its topics. */
  #forget(topic: string): void {
    const isForgotten = (each: string) => (topic.endsWith('*') ? each.startsWith(topic.slice(0, -1)) : each === topic)
    for (const each of [...this.newest.keys()].filter(isForgotten)) {
      this.newest.delete(each)
      this.#heard.delete(each)
    }
  }
}

/** Rejects when the server refuses or ends the subscription. Messages are read on the wire, which has all digits. */
async function readAll(subscription: Subscription): Promise<void> {
  for await (const _ of subscription);
}

function parseText(json: string | undefined): string | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json)
  return typeof value === 'string' ? value : undefined
}

/** The event bus over the database: events are durable, and every node receives each event exactly once. */
import { type Events, LATE, type RecordedEvent } from '../store/cluster/events.ts'
import type { Bus, GateEvent, Listener } from './bus.ts'

/** Watches the database for events of other processes. */
export interface Feed {
  /**
   * `onNews` is called with the event itself where the database delivers it, otherwise with nothing: then the table
   * has to be read. `onIdle` is called after a poll that found nothing new, with the time of `performance.now` at which it was sent.
   */
  start(onNews: (recorded?: RecordedEvent) => void, onIdle: (sentAt: number) => void): Promise<void>
  stop(): Promise<void>
}

export interface DurableBusOptions {
  readonly events: Pick<Events, 'append' | 'since' | 'lastSeq'>
  readonly feed: Feed
  readonly onError: (error: unknown) => void
  /** Notifies other processes on the same file that this one has recorded an event. */
  readonly announce?: (() => void) | undefined
}

export async function openDurableBus({ events, feed, onError, announce }: DurableBusOptions): Promise<Bus> {
  const listeners = new Set<Listener>()
  const received = new Set<number>()
  const effects = new Effects(onError)
  let highest = await events.lastSeq()
  let catchingUp: Promise<void> | undefined
  let again = false
  let closed = false
  let caughtUpAt = performance.now()
  const markCaughtUp = (at: number) => {
    caughtUpAt = Math.max(caughtUpAt, at)
  }
  /** All that was recorded before `at` has been received. */
  const markReceived = (at: number): Promise<void> | undefined => {
    if (!effects.isSettled) return effects.settled().then(() => markCaughtUp(at))
    markCaughtUp(at)
    return undefined
  }

  // Events from before this node started are not delivered.
  for (const { seq } of await events.since(highest - LATE)) remember(seq)
  await feed.start((recorded) => {
    if (recorded === undefined) catchUp()
    else take(recorded)
  }, markReceived)

  return {
    async publish(event) {
      receive({ seq: await events.append(event), event })
    },
    receive,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async settled() {
      await catchingUp
      await effects.settled()
    },
    lag: () => performance.now() - caughtUpAt,
    catchUp: async () => markReceived(await receiveNew()),
    async close() {
      closed = true
      await feed.stop()
      await catchingUp
      listeners.clear()
    },
  }

  function receive(recorded: RecordedEvent): void {
    take(recorded)
    announce?.()
  }

  function take({ seq, event }: RecordedEvent): void {
    if (received.has(seq)) return
    remember(seq)
    effects.deliver(event, listeners)
  }

  function remember(seq: number): void {
    received.add(seq)
    highest = Math.max(highest, seq)
    if (received.size <= 4 * LATE) return
    for (const old of received) if (old < highest - LATE) received.delete(old)
  }

  function catchUp(): void {
    if (catchingUp !== undefined) {
      again = true
      return
    }
    catchingUp = readReported().finally(() => {
      catchingUp = undefined
      if (!again || closed) return
      again = false
      catchUp()
    })
  }

  async function readReported(): Promise<void> {
    try {
      markReceived(await receiveNew())
    } catch (error) {
      // The feed calls again when the database is back.
      if (!closed) onError(error)
    }
  }

  /** Resolves to when it was asked. */
  async function receiveNew(): Promise<number> {
    const sentAt = performance.now()
    for (const recorded of await events.since(highest - LATE)) take(recorded)
    return sentAt
  }
}

/** Delivers events, and knows which of them have not taken effect yet. An error in one listener does not keep the event from the next. */
export class Effects {
  readonly #onError: (error: unknown) => void
  readonly #pending = new Set<Promise<void>>()

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  deliver(event: GateEvent, listeners: Iterable<Listener>): void {
    for (const listener of listeners) {
      try {
        const effect = listener(event)
        if (effect instanceof Promise) this.#add(effect)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  get isSettled(): boolean {
    return this.#pending.size === 0
  }

  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }

  #add(effect: Promise<void>): void {
    const pending = effect.catch(this.#onError).finally(() => this.#pending.delete(pending))
    this.#pending.add(pending)
  }
}

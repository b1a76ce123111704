/**
 * What waits to be delivered. A lane is an alert and a channel: its deliveries leave in order, one at a time. A host is called by a few
 * lanes at once, and the owners of lanes take turns, so that no receiver and no owner holds up others.
 */

import { type AlertDelivery, type DeliveryAttempt, type ListedDelivery, LOST_RIGHTS } from '../../query/index.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import { newId } from '../../store/keys/opaque.ts'
import type { Notice } from '../notice.ts'
import { HostTurns } from './host-turns.ts'
import { joinNotices } from './join.ts'
import { nextDelay } from './schedule.ts'

/** What one attempt came to. */
export type AttemptResult =
  | {
      readonly outcome: 'sent'
      readonly status?: number | undefined
      /** What was sent with it. */
      readonly together?: readonly ListedDelivery[]
    }
  | {
      readonly outcome: 'failed'
      readonly error: string
      readonly status?: number | undefined
      readonly retryAfterMs?: number | undefined
    }
  /** It is not to be sent any more. */
  | { readonly outcome: 'dropped'; readonly error: string }
  /** The channel is disabled: it waits, and is not tried. */
  | { readonly outcome: 'held' }
  /** It was not tried: it waits for as long. */
  | { readonly outcome: 'postponed'; readonly waitMs: number }
  /** It was sent with another one. */
  | { readonly outcome: 'done' }

export interface LanesEnv {
  /** Where a channel delivers to, which bounds how many are under way there. */
  readonly hostOf: (channel: string) => string
  readonly attempt: (delivery: ListedDelivery) => Promise<AttemptResult>
  readonly commit: (attempts: readonly DeliveryAttempt[]) => Promise<void>
  /** Drops what is stored of an alert and was not delivered. */
  readonly commitDrop: (alert: string) => Promise<void>
  readonly clock: () => number
  readonly onError: (error: unknown) => void
}

export interface NewDeliveries {
  readonly deliveries: readonly AlertDelivery[]
  readonly owner: string
  /** The number of the last delivery of each channel. */
  readonly sequences: Readonly<Record<string, number>>
  /** How often deliveries of the alert were dropped before these were made. */
  readonly drops: number
}

/** Further ones are joined to the last. */
const MOST_WAITING = 100
const LONGEST_TIMER_MS = 3_600_000
/** When an attempt is made again that ended with a fault of this server, such as a database that does not answer. */
const FAULT_MS = 1_000

interface Lane {
  readonly name: string
  readonly alert: string
  readonly channel: string
  readonly owner: string
  readonly waiting: ListedDelivery[]
  /** The last one with its notice, while so many wait that another one is joined to it. */
  last: AlertDelivery | undefined
  isUnderWay: boolean
  isHeld: boolean
  timer: NodeJS.Timeout | undefined
}

export class Lanes {
  readonly #env: LanesEnv
  readonly #lanes = new Map<string, Lane>()
  readonly #turns: HostTurns<Lane>
  readonly #dropped = new Set<string>()
  /** Nothing is sent before the owners of all alerts are known. */
  #isOpen = false
  /** How often deliveries of an alert were dropped. */
  readonly #drops = new Map<string, number>()
  #isClosed = false

  constructor(env: LanesEnv) {
    this.#env = env
    this.#turns = new HostTurns((lane) => this.#run(lane))
  }

  /** How many wait, and since when the oldest does. */
  get waiting(): { readonly count: number; readonly since: number | undefined } {
    let count = 0
    let since: number | undefined
    for (const { waiting } of this.#lanes.values()) {
      count += waiting.length
      const [first] = waiting
      if (first !== undefined) since = Math.min(since ?? first.created, first.created)
    }
    return { count, since }
  }

  /** Those of an earlier term, before any alert adds one. */
  load(deliveries: readonly ListedDelivery[], owners: ReadonlyMap<string, string>): void {
    for (const delivery of deliveries) this.#restore(delivery, owners.get(delivery.alert) ?? '')
  }

  /** From now on all are sent. What was under way in an earlier term is repeated at once: it is still due. */
  open(): void {
    this.#isOpen = true
    for (const lane of [...this.#lanes.values()]) this.#schedule(lane)
  }

  /** Those of an alert that wait again, such as one that was to be retried by hand. */
  reload(deliveries: readonly ListedDelivery[], owner: string): void {
    for (const delivery of deliveries) this.#schedule(this.#restore(delivery, owner))
  }

  #restore(delivery: ListedDelivery, owner: string): Lane {
    const lane = this.#lane(delivery, owner)
    if (lane.waiting.some(({ id }) => id === delivery.id)) return lane
    lane.waiting.push(delivery)
    lane.waiting.sort((one, other) => one.sequence - other.sequence)
    return lane
  }

  /** What waits in the lanes of a channel besides; undefined if the delivery itself waits no more. */
  waitingWith({ id, alert, channel }: ListedDelivery, owner?: string): readonly ListedDelivery[] | undefined {
    const own = this.#lanes.get(`${alert} ${channel}`)
    if (own?.waiting.some((each) => each.id === id) !== true) return undefined
    const others: ListedDelivery[] = []
    for (const lane of this.#lanes.values()) {
      if (lane.channel !== channel || lane.isHeld || (owner !== undefined && lane.owner !== owner)) continue
      others.push(...lane.waiting.filter((each) => each.id !== id))
    }
    return others
  }

  /** Makes a delivery for each channel. They are added once they are committed. */
  prepare(
    { id: alert, owner, definition }: Alert,
    notice: Notice,
    before: Readonly<Record<string, number>>,
  ): NewDeliveries {
    const sequences = new Map(Object.entries(before))
    const deliveries = definition.channels.map((channel): AlertDelivery => {
      const lane = this.#lane({ alert, channel }, owner)
      if (lane.last !== undefined && lane.waiting.length >= MOST_WAITING) {
        const joined = joinNotices(lane.last, notice)
        lane.last = joined
        return joined
      }
      const sequence = (sequences.get(channel) ?? 0) + 1
      sequences.set(channel, sequence)
      const now = this.#env.clock()
      lane.last = {
        ...{ id: newId(), alert, channel, sequence, state: 'waiting', created: now, next_at: now, ended: null },
        ...{ attempts: 0, status: null, error: null, joined: 0 },
        notice: JSON.stringify({ ...notice, data: { ...notice.data, sequence } }),
      }
      return lane.last
    })
    return { deliveries, owner, sequences: Object.fromEntries(sequences), drops: this.#drops.get(alert) ?? 0 }
  }

  add({ deliveries, owner, drops }: NewDeliveries): void {
    const [first] = deliveries
    // Rights were lost while they were committed.
    if (first !== undefined && drops !== (this.#drops.get(first.alert) ?? 0)) {
      this.#drop(deliveries)
      return
    }
    for (const { notice: _, ...delivery } of deliveries) {
      const lane = this.#lane(delivery, owner)
      const at = lane.waiting.findIndex(({ id }) => id === delivery.id)
      if (at >= 0) lane.waiting[at] = delivery
      else lane.waiting.push(delivery)
      this.#schedule(lane)
    }
  }

  /** What waits for an alert is not sent, and what could not be delivered not by hand either: the owner lost rights. */
  drop(alert: string): void {
    this.#drops.set(alert, (this.#drops.get(alert) ?? 0) + 1)
    for (const lane of this.#lanes.values()) {
      if (lane.alert !== alert) continue
      lane.last = undefined
      if (lane.waiting.length === 0) continue
      for (const { id } of lane.waiting.splice(0)) this.#dropped.add(id)
    }
    this.#env.commitDrop(alert).catch(this.#env.onError)
  }

  #drop(deliveries: readonly ListedDelivery[]): void {
    const now = this.#env.clock()
    this.#env
      .commit(deliveries.map((each) => ended(each, 'dropped', now, { error: LOST_RIGHTS })))
      .catch(this.#env.onError)
  }

  /** Of an alert that is deleted. */
  forget(alert: string): void {
    this.#drops.delete(alert)
    for (const lane of [...this.#lanes.values()]) {
      if (lane.alert !== alert) continue
      for (const { id } of lane.waiting) this.#dropped.add(id)
      lane.waiting.length = 0
      clearTimeout(lane.timer)
      this.#lanes.delete(lane.name)
    }
  }

  /** The channels have changed: those that were held are tried again. */
  channelsChanged(): void {
    for (const lane of this.#lanes.values()) {
      if (!lane.isHeld) continue
      lane.isHeld = false
      this.#schedule(lane)
    }
  }

  close(): void {
    this.#isClosed = true
    for (const { timer } of this.#lanes.values()) clearTimeout(timer)
  }

  #lane({ alert, channel }: Pick<AlertDelivery, 'alert' | 'channel'>, owner: string): Lane {
    const name = `${alert} ${channel}`
    const known = this.#lanes.get(name)
    if (known !== undefined) return known
    const lane: Lane = {
      ...{ name, alert, channel, owner, waiting: [], last: undefined },
      ...{ isUnderWay: false, isHeld: false, timer: undefined },
    }
    this.#lanes.set(name, lane)
    return lane
  }

  #schedule(lane: Lane): void {
    const [first] = lane.waiting
    if (!this.#isOpen || this.#isClosed || lane.isUnderWay || lane.isHeld) return
    clearTimeout(lane.timer)
    if (first === undefined) {
      this.#lanes.delete(lane.name)
      return
    }
    const wait = first.next_at - this.#env.clock()
    if (wait > 0) {
      lane.timer = setTimeout(() => this.#schedule(lane), Math.min(wait, LONGEST_TIMER_MS)).unref()
      return
    }
    lane.isUnderWay = true
    this.#turns.add(lane, { host: this.#env.hostOf(lane.channel), owner: lane.owner })
  }

  async #run(lane: Lane): Promise<void> {
    const [delivery] = lane.waiting
    try {
      if (delivery !== undefined && !this.#isClosed) await this.#deliver(lane, delivery)
    } catch (error) {
      this.#env.onError(error)
      if (delivery !== undefined) replace(lane, { ...delivery, next_at: this.#env.clock() + FAULT_MS })
    } finally {
      lane.isUnderWay = false
      this.#schedule(lane)
    }
  }

  async #deliver(lane: Lane, delivery: ListedDelivery): Promise<void> {
    const result = await this.#env.attempt(delivery)
    if (this.#isClosed || this.#dropped.delete(delivery.id)) return
    const now = this.#env.clock()
    const attempts = delivery.attempts + 1
    const after = { ...delivery, attempts }
    switch (result.outcome) {
      case 'done':
        return
      case 'held':
        lane.isHeld = true
        return
      case 'postponed':
        replace(lane, { ...delivery, next_at: Math.round(now + result.waitMs) })
        return
      case 'sent':
      case 'dropped': {
        const together = result.outcome === 'sent' ? (result.together ?? []) : []
        for (const each of [delivery, ...together]) remove(this.#lane(each, lane.owner), each)
        await this.#env.commit([after, ...together].map((each) => ended(each, result.outcome, now, result)))
        return
      }
      case 'failed':
        break
    }
    const delay = nextDelay(attempts, result.retryAfterMs)
    if (delay === undefined) {
      remove(lane, delivery)
      await this.#env.commit([ended(after, 'dead', now, result)])
      return
    }
    const again = { ...after, next_at: Math.round(now + delay), error: result.error, status: result.status ?? null }
    replace(lane, again)
    await this.#env.commit([again])
  }
}

function replace({ waiting }: Lane, delivery: ListedDelivery): void {
  const at = waiting.findIndex(({ id }) => id === delivery.id)
  if (at >= 0) waiting[at] = delivery
}

function remove(lane: Lane, { id }: ListedDelivery): void {
  const at = lane.waiting.findIndex((each) => each.id === id)
  if (at >= 0) lane.waiting.splice(at, 1)
  if (lane.last?.id === id) lane.last = undefined
}

function ended(
  { id, next_at, attempts }: ListedDelivery,
  state: 'sent' | 'dead' | 'dropped',
  now: number,
  { error, status }: { readonly error?: string; readonly status?: number | undefined },
): DeliveryAttempt {
  return { id, state, next_at, attempts, ended: now, error: error ?? null, status: status ?? null }
}

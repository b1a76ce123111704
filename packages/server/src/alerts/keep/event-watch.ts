/**
 * The mode `event`: each key that comes to match is one event. Which keys match is stored with the position of the result up to which their
 * events were sent, so that after a crash each one is sent once.
 */
import type { AlertState } from '../../query/index.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import type { NoticedInstance } from '../build-notice.ts'
import { untilActive } from '../states/active-times.ts'
import type { Silences } from '../states/due-notice.ts'
import type { Now } from '../states/instance.ts'
import type { AlertProgram } from './alert-program.ts'
import type { ResultChange } from './result-sink.ts'
import type { HappenedEvent, Settled, Watch, WatchNotice } from './watch.ts'

const MATCHED = 'matched'
/** Further events that wait are only counted. */
const MOST_WAITING = 1_000
/** A position that is not stored for longer than this could be forgotten by the log. */
const POSITION_MS = 60_000

export class EventWatch implements Watch {
  readonly #alert: Alert
  #program: AlertProgram
  readonly #matched: Set<string>
  /** Undefined until the first result: what matches then sends no notice. */
  #position: string | undefined
  #storedAt: number
  readonly #added = new Map<string, number>()
  readonly #removed = new Set<string>()
  #waiting: NoticedInstance[] = []
  #more = 0
  #missed = false
  #since: number | undefined
  readonly #notifiedAt = new Map<string, number>()

  constructor(
    alert: Alert,
    program: AlertProgram,
    stored: readonly Omit<AlertState, 'alert'>[],
    { position, now }: { readonly position: string | undefined; readonly now: Now },
  ) {
    this.#alert = alert
    this.#program = program
    this.#matched = new Set(stored.filter(({ state }) => state === MATCHED).map(({ key }) => key))
    this.#position = position
    this.#storedAt = now.monotonic
  }

  use(program: AlertProgram): void {
    this.#program = program
  }

  accept({ isWhole, reset, put, removed, position }: ResultChange, isLoss: boolean, now: Now): void {
    const isFirst = this.#position === undefined
    // No position is stored, or one of another result.
    if (isFirst || isLoss) this.#storedAt = Number.NEGATIVE_INFINITY
    if (!isFirst && (reset === 'Expired' || reset === 'Lost')) this.#missed = true
    this.#position = position
    // What has not left may be of rows that the owner no longer sees.
    if (isLoss) {
      this.#waiting = []
      this.#more = 0
      this.#since = undefined
    }
    if (isWhole) {
      const keys = new Set(put.map(({ key }) => key))
      for (const key of [...this.#matched]) if (!keys.has(key)) this.#leave(key)
    }
    for (const { key, row } of put) {
      if (this.#program.judge(row).when !== true) this.#leave(key)
      else if (!this.#matched.has(key)) {
        this.#matched.add(key)
        this.#removed.delete(key)
        this.#added.set(key, now.wall)
        if (!isFirst && !isLoss) this.#wait({ key, state: 'event', since: now.wall, row: JSON.stringify(row) }, now)
      }
    }
    for (const key of removed) this.#leave(key)
  }

  #leave(key: string): void {
    if (!this.#matched.delete(key)) return
    if (!this.#added.delete(key)) this.#removed.add(key)
  }

  #wait(event: NoticedInstance, { monotonic }: Now): void {
    this.#since ??= monotonic
    if (this.#waiting.length < MOST_WAITING) this.#waiting.push(event)
    else this.#more++
  }

  settle(silences: Silences, now: Now): Settled {
    const { definition } = this.#alert
    const nothing = { notice: undefined, events: [], worst: 'ok' } as const
    if (this.#waiting.length === 0) {
      const isDue = now.monotonic - this.#storedAt >= POSITION_MS
      const written = isDue ? this.#takeWritten(now) : { states: [], removed: [], position: undefined }
      return { ...nothing, ...written, waitMs: undefined }
    }
    const groupMs = definition.groupMs - (now.monotonic - (this.#since ?? now.monotonic))
    const waitMs = Math.max(untilActive(definition, now.wall), groupMs)
    if (waitMs > 0) return { ...nothing, states: [], removed: [], position: undefined, waitMs }
    const { due, later } = this.#split(silences, now)
    const events: HappenedEvent[] = this.#waiting
      .filter((event) => !later.includes(event))
      .map(({ key, row }) => ({ type: 'event', key, row }))
    const notice: WatchNotice | undefined =
      due.length === 0 ? undefined : { type: 'alert.event', instances: due, more: this.#more, missed: this.#missed }
    if (notice !== undefined) {
      for (const { key } of due) if (definition.elapsedMs > 0) this.#notifiedAt.set(key, now.wall)
      this.#missed = false
    }
    this.#more = 0
    this.#waiting = [...later]
    this.#since = later.length === 0 ? undefined : now.monotonic
    // Those that are sent later are of keys that are not stored before.
    const written = this.#takeWritten(now, new Set(later.map(({ key }) => key)))
    return { ...nothing, ...written, notice, events, waitMs: later.length === 0 ? undefined : definition.elapsedMs }
  }

  /** What is silenced sends no notice; a key with a recent notice waits. */
  #split(
    { all, byKey }: Silences,
    { wall }: Now,
  ): { readonly due: readonly NoticedInstance[]; readonly later: readonly NoticedInstance[] } {
    const { elapsedMs } = this.#alert.definition
    const heard = this.#waiting.filter(({ key }) => Math.max(all, byKey.get(key) ?? 0) <= wall)
    const isLater = ({ key }: NoticedInstance): boolean => {
      const since = wall - (this.#notifiedAt.get(key) ?? Number.NEGATIVE_INFINITY)
      return since >= 0 && since < elapsedMs
    }
    if (this.#notifiedAt.size > MOST_WAITING) this.#notifiedAt.clear()
    return { due: heard.filter((event) => !isLater(event)), later: heard.filter(isLater) }
  }

  #takeWritten(now: Now, except: ReadonlySet<string> = new Set()): Pick<Settled, 'states' | 'removed' | 'position'> {
    const states = [...this.#added]
      .filter(([key]) => !except.has(key))
      .map(([key, since]) => ({
        ...{ key, since, state: MATCHED, ending: null, notified: 'ok', notified_at: null, row: 'null' },
      }))
    const removed = [...this.#removed]
    for (const { key } of states) this.#added.delete(key)
    this.#removed.clear()
    this.#storedAt = now.monotonic
    return { states, removed, position: this.#position }
  }
}

/** The mode `state`: keys of the result are ok, pending or firing. */
import type { AlertState } from '../../query/index.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import { decide, markNotified, type Silences } from '../states/due-notice.ts'
import {
  elapse,
  GONE,
  type Instance,
  isEnding,
  isOver,
  judge,
  type Now,
  newInstance,
  resume,
  type Truths,
  worstState,
} from '../states/instance.ts'
import type { AlertProgram } from './alert-program.ts'
import type { ResultChange } from './result-sink.ts'
import { type HappenedEvent, type Settled, TooManyInstances, type Watch } from './watch.ts'

/** The key of the instance that is there while no row matches. No row has it: keys are arrays. */
const ABSENT = 'null'

export class StateWatch implements Watch {
  readonly #alert: Alert
  #program: AlertProgram
  readonly #most: number
  readonly #instances: Map<string, Instance>
  /** Keys that match now; kept only for `absent`. */
  readonly #matching = new Set<string>()
  readonly #changed = new Set<Instance>()
  #removed: string[] = []
  #events: HappenedEvent[] = []
  #groupedSince: number | undefined

  constructor(
    alert: Alert,
    program: AlertProgram,
    stored: readonly Omit<AlertState, 'alert'>[],
    { most, now }: { readonly most: number; readonly now: Now },
  ) {
    this.#alert = alert
    this.#program = program
    this.#most = most
    this.#instances = new Map(stored.map((state) => [state.key, readState(state)]))
    for (const instance of this.#instances.values()) resume(instance, now, this.#times(instance.key))
  }

  use(program: AlertProgram): void {
    this.#program = program
  }

  accept({ isWhole, put, removed }: ResultChange, isLoss: boolean, now: Now): void {
    if (isWhole) this.#endMissing(new Set(put.map(({ key }) => key)), isLoss, now)
    for (const { key, row } of put) {
      const truths = this.#program.judge(row)
      const known = this.#instances.get(key)
      // A group that lost rows has other values.
      if (isLoss && known !== undefined && isEnding(known, truths)) this.#forget(known)
      this.#judge(key, JSON.stringify(row), truths, now)
    }
    for (const key of removed) this.#judge(key, undefined, GONE, now)
    if (this.#alert.definition.absentMs > 0) {
      const truths: Truths = { when: this.#matching.size === 0, until: 'when' }
      this.#judge(ABSENT, 'null', truths, now)
    }
  }

  #endMissing(keys: ReadonlySet<string>, isLoss: boolean, now: Now): void {
    this.#matching.clear()
    for (const instance of [...this.#instances.values()]) {
      if (keys.has(instance.key) || instance.key === ABSENT) continue
      if (isLoss) this.#forget(instance)
      else this.#judge(instance.key, undefined, GONE, now)
    }
  }

  #judge(key: string, row: string | undefined, truths: Truths, now: Now): void {
    if (key !== ABSENT) {
      if (truths.when === true) this.#note(key)
      else this.#matching.delete(key)
    }
    const known = this.#instances.get(key)
    if (known === undefined && truths.when !== true) return
    if (known === undefined && this.#instances.size >= this.#most) throw new TooManyInstances(this.#most)
    const instance = known ?? newInstance(key, row ?? 'null', now)
    if (row !== undefined) instance.row = row
    const before = instance.state
    if (!judge(instance, truths, now, this.#times(key))) return
    this.#instances.set(key, instance)
    this.#stateChanged(instance, before)
  }

  #note(key: string): void {
    if (this.#alert.definition.absentMs > 0) this.#matching.add(key)
  }

  /** Nothing that matches has to wait for absence to be noticed. */
  #times(key: string): { readonly forMs: number; readonly keepFiringMs: number } {
    const { definition } = this.#alert
    return key === ABSENT ? { forMs: definition.absentMs, keepFiringMs: 0 } : definition
  }

  #stateChanged(instance: Instance, before: Instance['state']): void {
    this.#changed.add(instance)
    const { state, key, row } = instance
    if (state === before) return
    if (state === 'firing') this.#events.push({ type: 'firing', key, row })
    else if (before === 'firing') this.#events.push({ type: 'resolved', key, row })
  }

  #forget(instance: Instance): void {
    this.#instances.delete(instance.key)
    this.#changed.delete(instance)
    this.#removed.push(instance.key)
  }

  settle(silences: Silences, now: Now): Settled {
    for (const instance of this.#instances.values()) {
      const before = instance.state
      if (elapse(instance, now)) this.#stateChanged(instance, before)
    }
    const { notice, forgotten, isGathering, waitMs } = decide(
      this.#alert,
      this.#instances.values(),
      silences,
      this.#groupedSince,
      now,
    )
    for (const instance of forgotten) {
      instance.notified = 'ok'
      this.#changed.add(instance)
    }
    if (notice !== undefined) {
      markNotified(notice.instances, now.wall)
      for (const instance of notice.instances) this.#changed.add(instance)
    }
    this.#groupedSince = isGathering ? (this.#groupedSince ?? now.monotonic) : undefined
    const instances = notice?.instances.map(({ key, state, since, row }) => ({
      ...{ key, since, row },
      state: state === 'firing' ? 'firing' : 'resolved',
    }))
    return {
      ...this.#takeWritten(),
      notice: notice && instances && { type: notice.type, instances, more: 0, missed: false },
      waitMs: this.#nextMs(waitMs, now),
      worst: worstState(this.#instances.values()),
      position: undefined,
    }
  }

  #takeWritten(): Pick<Settled, 'states' | 'removed' | 'events'> {
    const changed = [...this.#changed]
    const over = changed.filter(isOver)
    for (const { key } of over) this.#instances.delete(key)
    const states = changed.filter((instance) => !isOver(instance)).map(writeState)
    const removed = [...this.#removed, ...over.map(({ key }) => key)]
    const events = this.#events
    this.#changed.clear()
    this.#removed = []
    this.#events = []
    return { states, removed, events }
  }

  #nextMs(waitMs: number | undefined, { monotonic }: Now): number | undefined {
    let next = waitMs
    for (const { dueAt } of this.#instances.values())
      if (dueAt !== undefined) next = Math.min(next ?? Number.POSITIVE_INFINITY, Math.max(dueAt - monotonic, 1))
    return next
  }
}

function readState({
  key,
  state,
  since,
  ending,
  notified,
  notified_at: notifiedAt,
  row,
}: Omit<AlertState, 'alert'>): Instance {
  return {
    key,
    row,
    since,
    state: state === 'firing' || state === 'pending' ? state : 'ok',
    ending: ending ?? undefined,
    notified: notified === 'firing' ? 'firing' : 'ok',
    notifiedAt: notifiedAt ?? undefined,
    dueAt: undefined,
  }
}

function writeState({ key, state, since, ending, notified, notifiedAt, row }: Instance): Omit<AlertState, 'alert'> {
  return { key, state, since, ending: ending ?? null, notified, notified_at: notifiedAt ?? null, row }
}

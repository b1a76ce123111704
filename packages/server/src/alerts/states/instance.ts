/** The state of one key of an alert: ok, pending, firing, and what the last notice said of it. Pure. */
import type { AlertDefinition } from '../../store/alerts/alert.ts'
import type { Truth } from '../condition/evaluate.ts'

export interface Instance {
  /** The JSON text of the key; `null` where nothing has matched (`absent`). */
  readonly key: string
  state: 'ok' | 'pending' | 'firing'
  /** In milliseconds since the epoch. */
  since: number
  /** Since when it has been about to end. */
  ending: number | undefined
  notified: 'ok' | 'firing'
  notifiedAt: number | undefined
  /** The JSON text of the row. */
  row: string
  /** When it changes by itself, by the monotonic clock: a step of the wall clock does not move it. */
  dueAt: number | undefined
}

export interface Now {
  /** In milliseconds since the epoch. */
  readonly wall: number
  /** The monotonic clock, in milliseconds. */
  readonly monotonic: number
}

export interface Truths {
  readonly when: Truth
  /** Undefined members: there is no `until`. */
  readonly until: Truth | 'when'
}

/** A row that is gone matches nothing. */
export const GONE: Truths = { when: false, until: 'when' }

export function newInstance(key: string, row: string, now: Now): Instance {
  return {
    key,
    row,
    state: 'ok',
    since: now.wall,
    ending: undefined,
    notified: 'ok',
    notifiedAt: undefined,
    dueAt: undefined,
  }
}

type Times = Pick<AlertDefinition, 'forMs' | 'keepFiringMs'>

/** Whether the state has changed. What is not known is not true. */
export function judge(instance: Instance, { when, until }: Truths, now: Now, times: Times): boolean {
  const before = instance.state
  const wasEnding = instance.ending !== undefined
  if (instance.state === 'firing') {
    const ends = isEnding(instance, { when, until })
    if (!ends) stay(instance)
    else if (times.keepFiringMs === 0) enter(instance, 'ok', now)
    else if (instance.ending === undefined) {
      instance.ending = now.wall
      instance.dueAt = now.monotonic + times.keepFiringMs
    }
  } else if (when !== true) {
    if (instance.state === 'pending') enter(instance, 'ok', now)
  } else if (instance.state === 'ok') {
    enter(instance, times.forMs === 0 ? 'firing' : 'pending', now)
    if (times.forMs > 0) instance.dueAt = now.monotonic + times.forMs
  }
  return instance.state !== before || (instance.ending !== undefined) !== wasEnding
}

/** Whether what is so now ends what has begun. */
export function isEnding({ state }: Pick<Instance, 'state'>, { when, until }: Truths): boolean {
  return state === 'firing' && until !== 'when' ? until === true : when !== true
}

/** Changes one whose time has come. Whether its state has changed. */
export function elapse(instance: Instance, now: Now): boolean {
  if (instance.dueAt === undefined || instance.dueAt > now.monotonic) return false
  if (instance.state === 'pending') enter(instance, 'firing', now)
  else if (instance.ending !== undefined) enter(instance, 'ok', now)
  else instance.dueAt = undefined
  return true
}

function enter(instance: Instance, state: Instance['state'], { wall }: Now): void {
  instance.state = state
  instance.since = wall
  instance.ending = undefined
  instance.dueAt = undefined
}

function stay(instance: Instance): void {
  instance.ending = undefined
  instance.dueAt = undefined
}

/** After a restart: the time that has passed counts, if the clock has not been set back meanwhile. */
export function resume(instance: Instance, now: Now, times: Times): void {
  const started = instance.state === 'pending' ? instance.since : instance.ending
  if (started === undefined) return
  const needed = instance.state === 'pending' ? times.forMs : times.keepFiringMs
  const passed = Math.min(Math.max(now.wall - started, 0), needed)
  instance.dueAt = now.monotonic + needed - passed
}

/** Whether a notice is due: the last one said something else. */
export function needsNotice({ state, notified }: Instance): boolean {
  return (state === 'firing') !== (notified === 'firing')
}

/** Whether there is nothing to keep. */
export function isOver({ state, notified }: Instance): boolean {
  return state === 'ok' && notified === 'ok'
}

const RANKS = ['ok', 'pending', 'firing'] as const

/** What the alert shows. */
export function worstState(instances: Iterable<Instance>): Instance['state'] {
  let worst = 0
  for (const { state } of instances) worst = Math.max(worst, RANKS.indexOf(state))
  return RANKS[worst] ?? 'ok'
}

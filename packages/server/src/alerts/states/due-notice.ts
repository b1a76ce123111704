/** Which notice of an alert is due, and when: deliveries wait for others, for silences, and for the hours in which they may leave. Pure. */
import type { Alert } from '../../store/alerts/alert.ts'
import type { NoticeType } from '../notice.ts'
import { untilActive } from './active-times.ts'
import { type Instance, type Now, needsNotice } from './instance.ts'

export interface Silences {
  /** Of all keys, in milliseconds since the epoch. */
  readonly all: number
  readonly byKey: ReadonlyMap<string, number>
}

export const NO_SILENCES: Silences = { all: 0, byKey: new Map() }

export interface DueNotice {
  readonly type: NoticeType
  readonly instances: readonly Instance[]
}

export interface Decision {
  /** Undefined: nothing yet. */
  readonly notice: DueNotice | undefined
  /** Whose end sends no notice. */
  readonly forgotten: readonly Instance[]
  /** Whether something waits for others. */
  readonly isGathering: boolean
  /** In how many milliseconds to look again; undefined: when something changes. */
  readonly waitMs: number | undefined
}

/** `groupedSince` is since when something has waited for others, by the monotonic clock. */
export function decide(
  { definition }: Pick<Alert, 'definition'>,
  instances: Iterable<Instance>,
  silences: Silences,
  groupedSince: number | undefined,
  now: Now,
): Decision {
  const due: Instance[] = []
  const repeated: Instance[] = []
  const forgotten: Instance[] = []
  let waitMs: number | undefined
  const wait = (milliseconds: number): void => {
    waitMs = Math.min(waitMs ?? Number.POSITIVE_INFINITY, Math.max(milliseconds, 1))
  }
  for (const instance of instances) {
    const isNew = needsNotice(instance)
    if (isNew && instance.state !== 'firing' && !definition.resolved) {
      forgotten.push(instance)
      continue
    }
    const repeatMs = isNew ? 0 : waitToRepeat(instance, definition.repeatMs, now)
    if (repeatMs === undefined) continue
    const withheldMs = Math.max(repeatMs, waitForKey(instance, definition.elapsedMs, silences, now))
    if (withheldMs > 0) wait(withheldMs)
    else (isNew ? due : repeated).push(instance)
  }
  const nothing = { notice: undefined, forgotten, isGathering: due.length > 0 }
  if (due.length === 0 && repeated.length === 0) return { ...nothing, waitMs }
  const closedMs = untilActive(definition, now.wall)
  const groupMs = definition.groupMs - (now.monotonic - (groupedSince ?? now.monotonic))
  const delay = Math.max(closedMs, due.length > 0 ? groupMs : 0)
  if (delay > 0) {
    wait(delay)
    return { ...nothing, waitMs }
  }
  const noticed = [...due, ...repeated]
  const type = due.length === 0 ? 'repeat' : due.some(({ state }) => state === 'firing') ? 'firing' : 'resolved'
  return { notice: { type: `alert.${type}`, instances: noticed }, forgotten, isGathering: false, waitMs }
}

/** Undefined: nothing is to be repeated. */
function waitToRepeat({ state, notified, notifiedAt }: Instance, repeatMs: number, now: Now): number | undefined {
  if (repeatMs === 0 || state !== 'firing' || notified !== 'firing') return undefined
  return clamp((notifiedAt ?? 0) + repeatMs - now.wall, repeatMs)
}

function waitForKey({ key, notifiedAt }: Instance, elapsedMs: number, { all, byKey }: Silences, { wall }: Now): number {
  const elapsed = notifiedAt === undefined ? 0 : clamp(notifiedAt + elapsedMs - wall, elapsedMs)
  return Math.max(elapsed, all - wall, (byKey.get(key) ?? 0) - wall)
}

/** A clock that was set back makes nobody wait for longer than was asked for. */
function clamp(milliseconds: number, most: number): number {
  return Math.min(milliseconds, most)
}

/** What the last notice said is what is so now. */
export function markNotified(instances: Iterable<Instance>, wall: number): void {
  for (const instance of instances) {
    instance.notified = instance.state === 'firing' ? 'firing' : 'ok'
    instance.notifiedAt = wall
  }
}

/** What the two modes of an alert have in common: they follow the rows of its result, and say what is to be written, and which notice is due. */
import type { AlertState } from '../../query/index.ts'
import type { NoticedInstance } from '../build-notice.ts'
import type { NoticeType } from '../notice.ts'
import type { Silences } from '../states/due-notice.ts'
import type { Now } from '../states/instance.ts'
import type { AlertProgram } from './alert-program.ts'
import type { ResultChange } from './result-sink.ts'

export interface Watch {
  /** The statement was described anew: its columns may be others. */
  use(program: AlertProgram): void
  /** `isLoss`: rows that are missing were taken away by rights, and end without a word. */
  accept(change: ResultChange, isLoss: boolean, now: Now): void
  /** Since the last call. */
  settle(silences: Silences, now: Now): Settled
}

export interface Settled {
  readonly states: readonly Omit<AlertState, 'alert'>[]
  /** Keys whose states are forgotten. */
  readonly removed: readonly string[]
  readonly events: readonly HappenedEvent[]
  readonly notice: WatchNotice | undefined
  /** In how many milliseconds to look again; undefined: when something changes. */
  readonly waitMs: number | undefined
  /** What the alert shows. */
  readonly worst: 'ok' | 'pending' | 'firing'
  /** Up to where everything is settled; undefined: not needed, or not yet. */
  readonly position: string | undefined
}

export interface WatchNotice {
  readonly type: NoticeType
  readonly instances: readonly NoticedInstance[]
  readonly more: number
  readonly missed: boolean
}

export interface HappenedEvent {
  readonly type: 'firing' | 'resolved' | 'event'
  readonly key: string
  readonly row: string
}

/** More keys than an alert may have in a state. */
export class TooManyInstances extends Error {
  constructor(most: number) {
    super(`More than ${most} keys of the result match, which is the limit of an alert`)
  }
}

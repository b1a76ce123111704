/** What an alert tells: one notice, whatever channel it goes through. */
import { parseNumbers, rawNumber } from '../lib/exact-json.ts'

export type NoticeType =
  | 'alert.firing'
  | 'alert.resolved'
  | 'alert.event'
  | 'alert.repeat'
  | 'alert.error'
  | 'alert.recovered'
  | 'alert.test'

export interface Notice {
  readonly type: NoticeType
  /** When it was made, as a text of ISO 8601. */
  readonly timestamp: string
  readonly data: NoticeData
}

export interface NoticeData {
  /** The id of the alert; null in a test of a channel. */
  readonly alert: string | null
  readonly name: string
  /** Counts the deliveries of the alert through the channel, without a gap; 0 in a test. */
  readonly sequence: number
  readonly title: string
  readonly text: string
  /** Where the alert is in the console; empty where there is none. */
  readonly url: string
  readonly instances: readonly NoticeInstance[]
  /** How many more there are. */
  readonly more: number
  /** Set if some events may not have been seen. */
  readonly missed?: boolean
  /** Set if the owner sees rows with a delay: a time as of which these are. */
  readonly as_of?: string
  /** How many notices were joined to this one, because too many waited. */
  readonly joined?: number
}

export interface NoticeInstance {
  readonly key: unknown
  readonly state: string
  readonly since: string
  readonly row: unknown
}

/** One that was stored. Integers that a double cannot hold keep their digits. */
export function readNotice(text: string): Notice {
  const read = parseNumbers(text, (value, source) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? rawNumber(source) : value,
  )
  // It was written by this service.
  return read as Notice
}

/** A message of a feed on its way to subscribers. */
import type { JsonText } from 'gatehouse-protocol'

/** What a subscriber is sent. Subscribers of the same topic or pattern share the object. */
export interface FeedMessage {
  readonly topic: string
  /** The pattern that was subscribed to, if it is one. */
  readonly pattern: string | undefined
  /** Undefined for a removed topic, and for a message that only says whether all was recovered. */
  readonly data: JsonText | undefined
  /** Undefined if the feed has no history. */
  readonly position: string | undefined
  readonly isRemoved: boolean
  /** The first message after a resumption says whether nothing is missing. */
  readonly isRecovered: boolean | undefined
  /** Seconds after which the subscriber is sent what is published; 0 to say that it is real-time now. Undefined: real-time. */
  readonly delay: number | undefined
  /** What is delayed, or left out, of the topics of a pattern, where that has changed. */
  readonly licence: readonly object[] | undefined
}

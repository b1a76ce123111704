/** Messages of feeds, as subscribers and readers get them. */

interface MessageBase {
  readonly topic: string
  /** To resume after it; undefined if the feed has no history. */
  readonly position: string | undefined
  /** On the first message after a reconnect: whether nothing is missing. */
  readonly recovered: boolean | undefined
}

/** A message of a subscription. `removed`: the topic, or all that the pattern chooses, was removed or has expired. */
export type FeedMessage<T = unknown> = MessageBase &
  ({ readonly removed: false; readonly data: T } | { readonly removed: true; readonly data: undefined })

/** A message that the feed keeps. */
export interface KeptMessage<T = unknown> {
  readonly topic: string
  readonly data: T
  /** Undefined if the feed has no history. */
  readonly position: string | undefined
  /** When it was published. */
  readonly time: string
}

/** Messages of feeds, as subscribers and readers get them. */

/**
 * A message of a subscription. `position` is where to resume after it, undefined if the feed has no history. `recovered` is set on the first
 * message after a reconnect: whether nothing is missing. `removed`: the topic was removed or has expired; if `topic` is the pattern, all
 * of its topics.
 */
export type FeedMessage<T = unknown> = {
  readonly topic: string
  readonly position: string | undefined
  readonly recovered: boolean | undefined
  /** Seconds after which the licence shows it; undefined: it is real-time. */
  readonly delay: number | undefined
} & ({ readonly removed: false; readonly data: T } | { readonly removed: true; readonly data: undefined })

/** A message that the feed keeps. */
export interface KeptMessage<T = unknown> {
  readonly topic: string
  readonly data: T
  /** Undefined if the feed has no history. */
  readonly position: string | undefined
  /** When it was published. */
  readonly time: string
  /** Seconds after which the licence shows it; undefined: it is real-time. */
  readonly delay: number | undefined
}

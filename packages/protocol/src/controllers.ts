/** The names of streaming controllers and topics, and the classes of feeds. */

/** Names are case-sensitive. */
export const CONTROLLER_NAME = /^[A-Za-z][\w.]*$/

/** No other controller may have one of these names. */
export const BUILT_IN_CONTROLLERS: readonly string[] = ['Auth', 'Platform', 'Query']

/** The topics that every controller has. */
export const COMMON_TOPIC_NAMES: readonly string[] = ['Configure', 'QueryConfigure']

/** A connection stores the names of its topics: a thousand names of a megabyte each would take a gigabyte. */
export const LONGEST_TOPIC = 256

/** The classes that clients of version 2 know. */
export const FEED_CLASSES = ['Authority', 'Market', 'News', 'Trading', 'Watchlist', 'Scanner', 'Channel'] as const
export type FeedClass = (typeof FEED_CLASSES)[number]

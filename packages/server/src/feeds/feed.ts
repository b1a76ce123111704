/** What follows from the definition of a feed, and what its topics are. */
import type { Feed } from '../store/feeds/feeds.ts'

export type { DroppedFeed, Feed, FeedHistory } from '../store/feeds/feeds.ts'

/** Whether anything of a feed is stored. Without state and history a message reaches those who listen, and is gone. */
export function isStored({ keep, history }: Pick<Feed, 'keep' | 'history'>): boolean {
  return keep === 'latest' || history !== undefined
}

export const LONGEST_TOPIC = 256
/** How deep Data may nest: deeper values could not be encoded in MessagePack, for example. */
export const MAX_DEPTH = 500

/** Most topics are of these: a test of a tenth of the time. */
const PLAIN_TOPIC = /^[\x20-\x29\x2b-\x7e]{1,256}$/
/** Any characters but control characters; `*` ends a pattern, and is no part of a topic. */
const TOPIC = /^[^\p{Cc}*]{1,256}$/u
/** On a stream these are operations of every controller. */
const RESERVED: ReadonlySet<string> = new Set(['Configure', 'QueryConfigure'])
const RESERVED_FAULT = 'is an operation of every controller'

/** Why this cannot be a topic; undefined if it can. */
export function topicFault(topic: string): string | undefined {
  if (PLAIN_TOPIC.test(topic)) return RESERVED.has(topic) ? RESERVED_FAULT : undefined
  if (topic === '') return 'is empty'
  if (topic.length > LONGEST_TOPIC) return `is longer than ${LONGEST_TOPIC} characters`
  if (!topic.isWellFormed()) return 'is not well-formed Unicode'
  if (topic.includes('*')) return 'contains *, which only ends the pattern of a subscription'
  if (!TOPIC.test(topic)) return 'contains a control character'
  return undefined
}

/** The topics that a subscriber wants: one, or with a pattern such as `NYSE/*` those that begin with its prefix. */
export type TopicChoice =
  | { readonly kind: 'topic'; readonly topic: string }
  | { readonly kind: 'prefix'; readonly prefix: string }

/** Undefined for what is neither a topic nor a pattern: `*`, or a prefix that ends in `/`, followed by `*`. */
export function topicChoice(text: string): TopicChoice | undefined {
  if (!text.endsWith('*')) return topicFault(text) === undefined ? { kind: 'topic', topic: text } : undefined
  const prefix = text.slice(0, -1)
  if (prefix === '') return { kind: 'prefix', prefix }
  return prefix.endsWith('/') && topicFault(prefix) === undefined ? { kind: 'prefix', prefix } : undefined
}

export function chooses(choice: TopicChoice, topic: string): boolean {
  return choice.kind === 'topic' ? choice.topic === topic : topic.startsWith(choice.prefix)
}

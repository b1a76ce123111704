/** A feed as it is declared: who may publish and subscribe, what is kept of its messages, and its bounds. */
import type { FeedClass } from 'gatehouse-protocol'

export interface Feed {
  /** Also the name of its controller on streams. */
  readonly name: string
  readonly description: string
  /** The class that clients of version 2 see. */
  readonly class: FeedClass
  /** Who may subscribe and read history: `identity` (any authenticated caller), or a scope. */
  readonly read: string
  /** The scope that publishing needs. */
  readonly write: string
  /** `latest`: the newest message of a topic is its state. `all`: every message counts. */
  readonly keep: 'latest' | 'all'
  /** Undefined where no message is kept, or only the state of each topic. */
  readonly history: History | undefined
  /** Milliseconds after its newest message in which a topic still has its state; undefined without a limit. Only with `latest`. */
  readonly stateTime: number | undefined
  /** The longest `Data`. */
  readonly messageBytes: number
  /** How many topics may hold a state or history. */
  readonly topics: number
  /** The bytes of the `Data` of all its messages that are kept. */
  readonly bytes: number
  /** Messages that may be published in a second, by all publishers together. */
  readonly rate: number
  /** An existing subject of NATS that the feed offers, such as `md.prices.>`; undefined for one of its own. Only with that engine. */
  readonly natsSubject: string | undefined
}

/** The bounds of what is kept of one topic; both hold. */
export interface History {
  readonly messages: number
  /** Milliseconds. */
  readonly time: number
}

/** Whether anything of a feed is stored. Without state and history a message reaches those who listen, and is gone. */
export function isStored({ keep, history }: Pick<Feed, 'keep' | 'history'>): boolean {
  return keep === 'latest' || history !== undefined
}

export const LONGEST_TOPIC = 256

/** Any characters but control characters; `*` ends a pattern, and is no part of a topic. */
const TOPIC = /^[^\p{Cc}*]{1,256}$/u
/** On a stream these are operations of every controller. */
const RESERVED: ReadonlySet<string> = new Set(['Configure', 'QueryConfigure'])

/** Why this cannot be a topic; undefined if it can. */
export function topicFault(topic: string): string | undefined {
  if (topic === '') return 'is empty'
  if (topic.length > LONGEST_TOPIC) return `is longer than ${LONGEST_TOPIC} characters`
  if (!topic.isWellFormed()) return 'is not well-formed Unicode'
  if (topic.includes('*')) return 'contains *, which only ends the pattern of a subscription'
  if (!TOPIC.test(topic)) return 'contains a control character'
  return RESERVED.has(topic) ? 'is an operation of every controller' : undefined
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

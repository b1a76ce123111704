/** What feeds ask of licences: whether products cover a feed, and what a caller may see of it. */
import type { Principal, Refusal } from 'gatehouse-protocol'
import type { TopicChoice } from './feed.ts'

export interface FeedLicences {
  /** Whether a product covers anything of the feed: then the rest is nobody's. */
  covers(feed: string): boolean
  /**
   * Undefined: this node knows who may see what of the feed. Otherwise resolves when it does: it was cut off from the others, and until
   * then nothing is shown that they may have forbidden.
   */
  catchUp(feed: string): Promise<void> | undefined
  open(request: FeedUseRequest): Promise<FeedUse>
  /** Whether the caller has real-time access to the topic, without using it. */
  hasRealtime(feed: string, choice: TopicChoice, principal: Principal): Promise<boolean>
}

export interface FeedUseRequest {
  readonly feed: string
  readonly choice: TopicChoice
  readonly principal: Principal
  /** Of the client; empty where it is not known. */
  readonly address: string
  readonly way: FeedWay
  /** `access` of the use is different now. */
  onChange(): void
  /** Called with what it would have, before its use is recorded: rejects to refuse it. */
  approve?(access: FeedAccess): Promise<void>
}

/** How a feed is used, for the usage report. */
export type FeedWay = 'stream' | 'events' | 'query'

export interface FeedUse {
  /** Now: another object after each change. */
  readonly access: FeedAccess
  setPrincipal(principal: Principal): void
  close(): void
}

/** What a caller may see of a topic or pattern. */
export interface FeedAccess {
  /** In milliseconds; 0: real-time. Those that any topic has; none if there is no access at all. */
  readonly delays: readonly number[]
  /** Whether all topics have the same. */
  readonly isUniform: boolean
  /** Whether there are topics without access. */
  readonly isPartial: boolean
  /** Of a topic of the choice; undefined: no access. */
  delayFor(topic: string): number | undefined
  /** Why there is no access, where there is none at all. */
  readonly refusal: Refusal | undefined
  /** What is delayed, or left out. */
  readonly labels: readonly FeedLabel[]
}

/** Topics that are delayed, or left out. */
export interface FeedLabel {
  /** Undefined where no product names them. */
  readonly product: string | undefined
  /** Milliseconds; undefined: no access. */
  readonly delay: number | undefined
  /** Topics and patterns, of which those that other labels name are excepted; undefined: all of the choice. */
  readonly topics: readonly string[] | undefined
}

/** Of a feed that no product covers. */
export const EVERYTHING: FeedAccess = {
  delays: [0],
  isUniform: true,
  isPartial: false,
  delayFor: () => 0,
  refusal: undefined,
  labels: [],
}

/** As it is beside messages, and in the confirmation of a pattern. */
export function writeLabels(feed: string, labels: readonly FeedLabel[]): readonly object[] {
  return labels.map(({ product, delay, topics }) => ({
    ...(product !== undefined && { Product: product }),
    Feed: feed,
    Access: delay === undefined ? 'none' : 'delayed',
    ...(delay !== undefined && { Delay: delay / 1000 }),
    ...(topics !== undefined && { Topics: topics }),
  }))
}

/** What feeds ask of licences: whether products cover a feed, and what a caller may see of it. */
import type { Principal, Refusal } from 'gatehouse-protocol'
import type { TopicChoice } from './feed.ts'

export interface FeedLicences {
  /** Whether a product covers anything of the feed: then the rest is nobody's. */
  covers(feed: string): boolean
  open(request: FeedUseRequest): Promise<FeedUse>
}

export interface FeedUseRequest {
  readonly feed: string
  readonly choice: TopicChoice
  readonly principal: Principal
  /** Of the client; empty where it is not known. */
  readonly address: string
  readonly way: FeedWay
  /** What the use says is different now. */
  onChange(): void
}

/** How a feed is used, for the usage report. */
export type FeedWay = 'stream' | 'events' | 'query'

/** What a caller may see while the use is open. */
export interface FeedUse {
  /** In milliseconds; 0: real-time. Those that any topic has; none if there is no access at all. */
  readonly delays: readonly number[]
  /** Whether all topics have the same. */
  readonly isUniform: boolean
  /** Of a topic of the choice; undefined: no access. */
  delayFor(topic: string): number | undefined
  /** Why there is no access, where there is none at all. */
  readonly refusal: Refusal | undefined
  setPrincipal(principal: Principal): void
  close(): void
}

/** How fast messages may be published: by one publisher, and to one feed. */
import type { MonotonicClock } from 'gatehouse-protocol'
import { LruMap } from '../lib/lru-map.ts'
import { refuseForNow } from './refusals.ts'

/** What is counted of one publisher or feed. */
interface Bucket {
  /** Messages that may be published now; below 0 after a long request, which is never cut. */
  credit: number
  at: number
}

const MAX_PUBLISHERS = 10_000

/** A second's worth of messages can be published at once. */
export class PublishRates {
  readonly #clock: MonotonicClock
  readonly #publishers = new LruMap<Bucket>(MAX_PUBLISHERS)
  readonly #feeds = new Map<string, Bucket>()
  /** Messages a second. */
  publisherRate: number

  constructor(publisherRate: number, clock: MonotonicClock) {
    this.publisherRate = publisherRate
    this.#clock = clock
  }

  /** Throws if the publisher or the feed has no credit left; otherwise takes from it. */
  take(publisher: string, feed: { readonly name: string; readonly rate: number }, messages: number): void {
    const now = this.#clock()
    const own = this.#publishers.get(publisher) ?? { credit: this.publisherRate, at: now }
    const all = this.#feeds.get(feed.name) ?? { credit: feed.rate, at: now }
    this.#publishers.set(publisher, own)
    this.#feeds.set(feed.name, all)
    refill(own, this.publisherRate, now)
    refill(all, feed.rate, now)
    if (own.credit <= 0) throw tooFast('feed.publisher_too_fast', 'You publish', this.publisherRate, own)
    if (all.credit <= 0) throw tooFast('feed.too_fast', `The publishers of ${feed.name} send`, feed.rate, all)
    own.credit -= messages
    all.credit -= messages
  }

  forget(feed: string): void {
    this.#feeds.delete(feed)
  }
}

function refill(bucket: Bucket, rate: number, now: number): void {
  bucket.credit = Math.min(rate, bucket.credit + ((now - bucket.at) / 1000) * rate)
  bucket.at = now
}

function tooFast(code: 'feed.too_fast' | 'feed.publisher_too_fast', who: string, rate: number, { credit }: Bucket) {
  const seconds = Math.ceil((1 - credit) / rate)
  return refuseForNow(code, `${who} more than ${rate} messages a second: try again in ${seconds} s`, seconds)
}

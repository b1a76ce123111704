/** How fast messages may be published, by one publisher and to one feed, and how many idempotency keys a publisher may use. */
import type { MonotonicClock } from 'gatehouse-protocol'
import { LruMap } from '../lib/lru-map.ts'
import { refuseForNow } from './refusals.ts'

export interface PublisherLimits {
  /** Messages a second that one publisher may publish. */
  readonly publisherRate: number
  /** Idempotency keys that one publisher may use for one feed in 24 hours. */
  readonly publisherKeys: number
}

/** What is counted of one publisher or feed. */
interface Bucket {
  /** Messages that may be published now; below 0 after a long request, which is never cut. */
  credit: number
  at: number
}

const MAX_PUBLISHERS = 10_000
/** How long keys are known, in seconds. */
const KEYS_SECONDS = 24 * 3600

/** A second's worth of messages can be published at once. */
export class PublishRates {
  readonly #clock: MonotonicClock
  readonly #publishers = new LruMap<Bucket>(MAX_PUBLISHERS)
  readonly #feeds = new Map<string, Bucket>()
  /** By feed and publisher. */
  #keys = new LruMap<Bucket>(MAX_PUBLISHERS)
  #limits: PublisherLimits

  constructor(limits: PublisherLimits, clock: MonotonicClock) {
    this.#limits = limits
    this.#clock = clock
  }

  setLimits(limits: PublisherLimits): void {
    // A day would pass before those who have used all have a part of what was added.
    if (limits.publisherKeys > this.#limits.publisherKeys) this.#keys = new LruMap<Bucket>(MAX_PUBLISHERS)
    this.#limits = limits
  }

  /** Throws if the publisher or the feed has no credit left; otherwise takes from it. */
  take(publisher: string, feed: { readonly name: string; readonly rate: number }, messages: number): void {
    const { publisherRate } = this.#limits
    const now = this.#clock()
    const own = this.#publishers.get(publisher) ?? { credit: publisherRate, at: now }
    const all = this.#feeds.get(feed.name) ?? { credit: feed.rate, at: now }
    this.#publishers.set(publisher, own)
    this.#feeds.set(feed.name, all)
    refill(own, publisherRate, now)
    refill(all, feed.rate, now)
    if (own.credit <= 0) throw tooFast('feed.publisher_too_fast', 'You publish', publisherRate, own)
    if (all.credit <= 0) throw tooFast('feed.too_fast', `The publishers of ${feed.name} send`, feed.rate, all)
    own.credit -= messages
    all.credit -= messages
  }

  /** Throws if the publisher has used as many keys for the feed as are kept. Each is kept for a day, also that of a short message. */
  takeKey(publisher: string, { name }: { readonly name: string }): void {
    const { publisherKeys } = this.#limits
    const now = this.#clock()
    const place = JSON.stringify([name, publisher])
    const keys = this.#keys.get(place) ?? { credit: publisherKeys, at: now }
    this.#keys.set(place, keys)
    refill(keys, publisherKeys, now, KEYS_SECONDS)
    if (keys.credit < 1)
      throw refuseForNow(
        'feed.too_many_keys',
        `You use more than ${publisherKeys} idempotency keys in 24 hours for the feed ${name}: send several messages in one request`,
        Math.ceil(((1 - keys.credit) * KEYS_SECONDS) / publisherKeys),
      )
    keys.credit--
  }

  forget(feed: string): void {
    this.#feeds.delete(feed)
  }
}

/** `most` in as many seconds. */
function refill(bucket: Bucket, most: number, now: number, seconds = 1): void {
  bucket.credit = Math.min(most, bucket.credit + ((now - bucket.at) / 1000 / seconds) * most)
  bucket.at = now
}

function tooFast(code: 'feed.too_fast' | 'feed.publisher_too_fast', who: string, rate: number, { credit }: Bucket) {
  const seconds = Math.ceil((1 - credit) / rate)
  return refuseForNow(code, `${who} more than ${rate} messages a second: try again in ${seconds} s`, seconds)
}

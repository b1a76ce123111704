/** The prices of the demonstration market as messages of its feed, published like those of any other program. */
import { type Principal, Refusal } from 'gatehouse-protocol'
import { TICKER } from '../declarative/demo-feed.ts'
import type { FeedService } from '../feeds/feeds.ts'

/** The `Data` of messages, so the names are those of the wire. */
export interface Price {
  readonly Symbol: string
  readonly Bid: number
  readonly Ask: number
  readonly Time: string
}

export type PublishPrices = (prices: readonly Price[]) => Promise<void>

/** Where subscriptions are not allowed, nothing is published. */
export const publishNothing: PublishPrices = async () => {}

export function publishTo(feeds: Pick<FeedService, 'publish'>, principal: Principal): PublishPrices {
  const publisher = { ...principal, scopes: new Set([...principal.scopes, TICKER.write]) }
  return async (prices) => {
    const messages = prices.map((price) => ({ topic: `Price/${price.Symbol}`, data: JSON.stringify(price) }))
    try {
      await feeds.publish(TICKER.name, messages, publisher)
    } catch (error) {
      // An operator has removed the feed.
      if (!(error instanceof Refusal && error.code === 'feed.unknown')) throw error
    }
  }
}

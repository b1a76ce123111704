/** The feed of the demonstration: pushes the prices of its market, as the example controller in examples/ticker does. */
import { type Controller, type Publisher, refuse } from '../streaming/topics/controller.ts'

/** The `Data` of messages, so the names are those of the wire. */
export interface Price {
  readonly Symbol: string
  readonly Bid: number
  readonly Ask: number
  readonly Time: string
}

export interface Ticker {
  readonly controller: Controller
  publish(price: Price): void
}

export function createTicker(symbols: ReadonlySet<string>): Ticker {
  const prices = new Map<string, Price>()
  let publisher: Publisher | undefined
  /** Undefined until the market has its first price. */
  const priceOf = (topic: string): Price | undefined => {
    const symbol = topic.slice('Price/'.length)
    if (!symbols.has(symbol)) throw refuse('Operation.Unknown', topic)
    return prices.get(symbol)
  }
  return {
    controller: {
      name: 'Ticker',
      summary: 'The prices of the demonstration market.',
      feedClass: 'Market',
      topics: {
        Symbols: {
          summary: 'Replies with the symbols that are traded.',
          needs: 'Platform/Market',
          publish: () => [...symbols],
        },
        'Price/*': {
          summary: 'Pushes the price of one symbol (Price/ACME) whenever it changes; a slow reader gets the latest.',
          needs: 'Platform/Market',
          publish: ({ topic }) => priceOf(topic),
          subscription: { slow: 'latest', snapshot: ({ topic }) => priceOf(topic) },
        },
      },
      start(given) {
        publisher = given
        return () => {
          publisher = undefined
        }
      },
    },
    publish(price) {
      prices.set(price.Symbol, price)
      publisher?.publish(`Price/${price.Symbol}`, price)
    },
  }
}

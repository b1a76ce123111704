/** An example controller: random prices, pushed to subscribers with the scope Platform/Market. */
import { type Controller, type Publisher, refuse } from '../../packages/server/src/streaming/topics/controller.ts'

const START_PRICES = { ACME: 101.25, BOLT: 48.1, CORN: 4.32, DYNE: 220.0, ECHO: 12.75 }
const INTERVAL_MS = Number(process.env.TICKER_INTERVAL_MS ?? 250)

interface Price {
  readonly Symbol: string
  readonly Bid: number
  readonly Ask: number
  readonly Time: string
}

const prices = new Map<string, Price>()

const ticker: Controller = {
  name: 'Ticker',
  summary: 'Random prices of five symbols.',
  feedClass: 'Market',
  topics: {
    Symbols: {
      summary: 'Replies with the symbols that have a price.',
      needs: 'Platform/Market',
      publish: () => [...prices.keys()],
    },
    'Price/*': {
      summary: 'Pushes the price of one symbol (Price/ACME) whenever it changes; a slow reader gets the latest.',
      needs: 'Platform/Market',
      publish: ({ topic }) => findPrice(topic),
      subscription: { slow: 'latest', snapshot: ({ topic }) => findPrice(topic) },
    },
  },
  start(publisher) {
    for (const [symbol, bid] of Object.entries(START_PRICES)) prices.set(symbol, quote(symbol, bid, publisher))
    const timer = setInterval(() => changePrices(publisher), INTERVAL_MS)
    return () => clearInterval(timer)
  },
}

export default ticker

function findPrice(topic: string): Price {
  const price = prices.get(topic.slice('Price/'.length))
  if (price === undefined) throw refuse('Operation.Unknown', topic)
  return price
}

function changePrices(publisher: Publisher): void {
  for (const { Symbol: symbol, Bid: bid } of prices.values()) {
    const changed = Math.max(0.05, bid * (1 + (Math.random() - 0.5) / 500))
    const price = quote(symbol, changed, publisher)
    prices.set(symbol, price)
    publisher.publish(`Price/${symbol}`, price)
  }
}

function quote(symbol: string, bid: number, { clock }: Publisher): Price {
  const rounded = Math.round(bid * 100) / 100
  return {
    Symbol: symbol,
    Bid: rounded,
    Ask: Math.round((rounded + 0.02) * 100) / 100,
    Time: new Date(clock()).toISOString(),
  }
}

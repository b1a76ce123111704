/** The prices of the demonstration market: a random walk of each instrument, with quotes around it and trades inside them. */
import { type Instrument, priceText } from './demo-market.ts'
import { createRandom, pick } from './demo-random.ts'

export interface Quote {
  readonly symbol: string
  /** Texts of decimals; the bid is below the ask. */
  readonly bid: string
  readonly ask: string
  readonly bidSize: number
  readonly askSize: number
}

export interface Trade {
  readonly symbol: string
  readonly side: 'Buy' | 'Sell'
  readonly quantity: number
  /** At the bid, at the ask or between them. */
  readonly price: string
  readonly venue: string
}

export interface Move {
  readonly quote: Quote
  /** About every second quote is followed by a trade. */
  readonly trade: Trade | undefined
}

export type Walk = ReturnType<typeof createWalk>

/** The share of moves of the busy instruments. */
const BUSY_SHARE = 0.75
const TRADE_SHARE = 0.5
/** The longest step of a price, and the longest distance of a quote from it, as shares of the price. */
const STEP = 0.002
const HALF_SPREAD = 0.0005
/** How strongly a price is drawn to where it opened, so that it stays plausible for days. */
const REVERSION = 0.002
const LEAST = 10

/** A seed and a list of instruments always give the same moves. */
export function createWalk(instruments: readonly Instrument[], seed: number) {
  const random = createRandom(seed)
  const busy = instruments.filter((instrument) => instrument.busy)
  const prices = new Map(instruments.map(({ symbol, opening }) => [symbol, opening]))
  return {
    /** Continues from a price, in ticks. */
    resume(symbol: string, ticks: number): void {
      if (prices.has(symbol)) prices.set(symbol, Math.max(LEAST, ticks))
    },
    /** A quote of each instrument, at the prices of now. */
    open: (): readonly Quote[] =>
      instruments.map((instrument) => createQuote(instrument, prices.get(instrument.symbol) ?? 0, random)),
    next(): Move {
      const instrument = pick(random() < BUSY_SHARE ? busy : instruments, random)
      const { symbol, opening, lot } = instrument
      const before = prices.get(symbol) ?? opening
      const step = (random() + random() - 1) * Math.max(2, before * STEP) + (opening - before) * REVERSION
      const price = Math.max(LEAST, Math.round(before + step))
      prices.set(symbol, price)
      const quote = createQuote(instrument, price, random)
      return { quote, trade: random() < TRADE_SHARE ? tradeIn(quote, price, lot, random) : undefined }
    },
  }
}

function createQuote({ symbol, lot }: Instrument, price: number, random: () => number): Quote {
  const half = 1 + Math.floor(random() * Math.max(1, price * HALF_SPREAD))
  const size = (): number => lot * (1 + Math.floor(random() ** 2 * 50))
  return { symbol, bid: priceText(price - half), ask: priceText(price + half), bidSize: size(), askSize: size() }
}

/** A buyer pays the ask, a seller gets the bid; a dark venue trades in the middle. */
function tradeIn({ symbol, bid, ask }: Quote, price: number, lot: number, random: () => number): Trade {
  const isBuy = random() < 0.5
  const isDark = random() < 0.15
  return {
    symbol,
    side: isBuy ? 'Buy' : 'Sell',
    quantity: lot * (1 + Math.floor(random() ** 3 * 50)),
    price: isDark ? priceText(price) : isBuy ? ask : bid,
    venue: isDark ? 'DARK' : 'LIT',
  }
}

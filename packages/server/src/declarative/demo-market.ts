/** A small fictional market, generated from a fixed seed: the same instruments, quotes and trades on every machine. */
import type { CsvRow } from 'gatehouse-csv'
import { createRandom, pick } from './demo-random.ts'

const SEED = 20_260_105
const TRADES = 4_000
/** A Monday; five trading days of eight hours follow. */
const FIRST_DAY = Date.UTC(2026, 0, 5, 8)
const DAYS = 5
const DAY_MS = 86_400_000
const SESSION_MS = 8 * 3_600_000
const TICK = 0.01

/** The instruments that the documentation names and that are traded most: symbol, name, sector, opening price in ticks. */
const KNOWN: readonly (readonly [string, string, string, number])[] = [
  ['ACME', 'Acme Engineering', 'Industrials', 10_125],
  ['BOLT', 'Bolt Power', 'Energy', 4_810],
  ['CORN', 'Corn Exchange Trust', 'Financials', 432],
  ['DYNE', 'Dyne Devices', 'Technology', 22_000],
  ['ECHO', 'Echo Diagnostics', 'Health', 1_275],
]

const SECTORS: Readonly<Record<string, readonly string[]>> = {
  Energy: ['Oil', 'Gas', 'Power', 'Solar'],
  Materials: ['Mining', 'Steel', 'Copper', 'Chemicals'],
  Industrials: ['Rail', 'Freight', 'Engineering', 'Airways'],
  Financials: ['Bank', 'Insurance', 'Capital', 'Trust'],
  Technology: ['Systems', 'Software', 'Devices', 'Networks'],
  Health: ['Pharma', 'Clinics', 'Biotech', 'Diagnostics'],
}
const PLACES = [
  'Albion',
  'Borealis',
  'Cormorant',
  'Delta',
  'Evergreen',
  'Falcon',
  'Granite',
  'Harbour',
  'Ironbridge',
  'Juniper',
]
const CURRENCIES = ['EUR', 'USD', 'GBP', 'AUD']
const VENUES = ['LIT', 'LIT', 'LIT', 'DARK', 'AUCTION', null]
const LOTS = [1, 1, 1, 10, 100]

export interface Instrument {
  readonly symbol: string
  readonly name: string
  readonly sector: string
  readonly currency: string
  readonly lot: number
  readonly listed: string
  readonly active: boolean
  /** Opening price in ticks. */
  readonly opening: number
  /** Traded more often than the others. */
  readonly busy: boolean
}

/** The instruments that can be traded now. */
export function tradedInstruments(): readonly Instrument[] {
  return makeInstruments().filter(({ active }) => active)
}

/** A price in ticks as the text of a Decimal. */
export function priceText(ticks: number): string {
  return (ticks * TICK).toFixed(4)
}

/** The ticks of a price as it is stored. */
export function toTicks(price: string): number {
  return Math.round(Number(price) / TICK)
}

export function* demoInstruments(): Generator<CsvRow> {
  yield ['symbol', 'name', 'sector', 'currency', 'lot_size', 'tick_size', 'listed', 'active']
  for (const { symbol, name, sector, currency, lot, listed, active } of makeInstruments()) {
    yield [symbol, name, sector, currency, String(lot), TICK.toFixed(4), listed, String(active)]
  }
}

/** Prices follow a random walk in small steps. Trades are ordered by time. */
export function* demoTrades(): Generator<CsvRow> {
  yield ['id', 'symbol', 'side', 'quantity', 'price', 'venue', 'executed_at']
  const random = createRandom(SEED + 1)
  const traded = tradedInstruments()
  const prices = new Map(traded.map(({ symbol, opening }) => [symbol, opening]))
  const perDay = TRADES / DAYS
  for (let index = 0; index < TRADES; index++) {
    const { symbol, lot } = pick(traded, random)
    const step = Math.round((random() + random() - 1) * 12)
    const price = Math.max(1, (prices.get(symbol) ?? 1) + step)
    prices.set(symbol, price)
    const day = Math.floor(index / perDay)
    const time = FIRST_DAY + day * DAY_MS + Math.floor((((index % perDay) + random()) / perDay) * SESSION_MS)
    yield [
      String(index + 1),
      symbol,
      random() < 0.5 ? 'Buy' : 'Sell',
      String(lot * (1 + Math.floor(random() ** 3 * 500))),
      priceText(price),
      pick(VENUES, random),
      new Date(time).toISOString(),
    ]
  }
}

/** One quote of each instrument, around its last trade. */
export function* demoQuotes(): Generator<CsvRow> {
  yield ['symbol', 'quoted_at', 'bid', 'ask', 'bid_size', 'ask_size']
  const prices = new Map(tradedInstruments().map(({ symbol, opening }) => [symbol, opening]))
  for (const [, symbol, , , price] of demoTrades())
    if (prices.has(symbol ?? '')) prices.set(symbol ?? '', toTicks(price ?? ''))
  const closing = new Date(FIRST_DAY + (DAYS - 1) * DAY_MS + SESSION_MS).toISOString()
  for (const { symbol, lot } of tradedInstruments()) {
    const price = prices.get(symbol) ?? 2
    yield [
      symbol,
      closing,
      priceText(Math.max(1, price - 1)),
      priceText(price + 1),
      String(lot * 100),
      String(lot * 100),
    ]
  }
}

function makeInstruments(): readonly Instrument[] {
  const known = KNOWN.map(([symbol, name, sector, opening]) => {
    return { symbol, name, sector, opening, currency: 'USD', lot: 10, listed: '2001-03-05', active: true, busy: true }
  })
  return [...known, ...otherInstruments().slice(known.length)]
}

function otherInstruments(): Instrument[] {
  const random = createRandom(SEED)
  const taken = new Set<string>()
  return Object.entries(SECTORS).flatMap(([sector, trades]) =>
    PLACES.map((place) => {
      const trade = pick(trades, random)
      return {
        symbol: newSymbol(`${place}${trade}`.toUpperCase(), taken),
        name: `${place} ${trade}`,
        sector,
        currency: pick(CURRENCIES, random),
        lot: pick(LOTS, random),
        listed: new Date(
          Date.UTC(1990 + Math.floor(random() * 35), Math.floor(random() * 12), 1 + Math.floor(random() * 28)),
        )
          .toISOString()
          .slice(0, 10),
        active: random() > 0.08,
        opening: 200 + Math.floor(random() ** 2 * 40_000),
        busy: false,
      }
    }),
  )
}

/** A unique symbol: the first letter and two of the others. */
function newSymbol(letters: string, taken: Set<string>): string {
  for (let second = 1; second < letters.length; second++) {
    for (let third = letters.length - 1; third > second; third--) {
      const symbol = `${letters[0]}${letters[second]}${letters[third]}`
      if (taken.has(symbol)) continue
      taken.add(symbol)
      return symbol
    }
  }
  throw new Error(`No symbol is left for ${letters}`)
}

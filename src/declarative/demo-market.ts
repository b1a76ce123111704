/** A small fictional market, generated from a fixed seed: the same instruments and trades on every machine. */
import type { CsvRow } from '../lib/csv.ts'

const SEED = 20_260_105
const TRADES = 4_000
/** A Monday; five trading days of eight hours follow. */
const FIRST_DAY = Date.UTC(2026, 0, 5, 8)
const DAYS = 5
const DAY_MS = 86_400_000
const SESSION_MS = 8 * 3_600_000
const TICK = 0.01

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

interface Instrument {
  readonly symbol: string
  readonly name: string
  readonly sector: string
  readonly currency: string
  readonly lot: number
  readonly listed: string
  readonly active: boolean
  /** Opening price in ticks. */
  readonly opening: number
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
  const traded = makeInstruments().filter(({ active }) => active)
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
      (price * TICK).toFixed(4),
      pick(VENUES, random),
      new Date(time).toISOString(),
    ]
  }
}

function makeInstruments(): Instrument[] {
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

function pick<T>(items: readonly T[], random: () => number): T {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('pick() needs at least one item')
  return item
}

/** A linear congruential generator modulo 2^32 with Knuth's constants. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

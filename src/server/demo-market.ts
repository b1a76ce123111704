/** The market of the demonstration: quotes and trades through the query service, prices through the feed Ticker. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { type Instrument, ticksOf } from '../declarative/demo-market.ts'
import { createWalk, type Quote, type Trade, type Walk } from '../declarative/demo-walk.ts'
import type { Declared } from '../declarative/reconcile.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { QueryService } from '../query/service.ts'
import type { Controller } from '../streaming/controller.ts'
import type { Logger } from '../telemetry/log.ts'
import { createTicker, type Price } from './demo-ticker.ts'

export interface DemoMarket {
  /** With the feed of the market, unless a loaded controller has its name. */
  controllers(loaded: readonly Controller[]): readonly Controller[]
  start(query: Pick<QueryService, 'run'>, env: { readonly clock: Clock; readonly logger: Logger }): RunningMarket
}

export interface RunningMarket {
  /** Resolves when the market writes nothing any more. */
  stop(): Promise<void>
}

/** Undefined where there is nothing to trade: without the demonstration, or when a file declares the tables as its own. */
export async function createDemoMarket(
  config: Config,
  declared: Declared | undefined,
): Promise<DemoMarket | undefined> {
  if (!config.demo || !config.demoMarket || !config.services.includes('query')) return undefined
  if (!['instruments', 'trades', 'quotes'].every((table) => declared?.rows.has(table))) return undefined
  const { tradedInstruments } = await import('../declarative/demo-market.ts')
  const instruments = tradedInstruments()
  const ticker = createTicker(new Set(instruments.map(({ symbol }) => symbol)))
  return {
    controllers: (loaded) =>
      loaded.some(({ name }) => name === ticker.controller.name) ? loaded : [...loaded, ticker.controller],
    start: ({ run }, env) => startMarket({ ...env, run, instruments, publish: ticker.publish, seed: env.clock() }),
  }
}

export interface MarketOptions {
  readonly run: QueryService['run']
  readonly publish: (price: Price) => void
  readonly instruments: readonly Instrument[]
  readonly clock: Clock
  readonly logger: Logger
  readonly seed: number
  /** Time from one quote to the next; about every second one is followed by a trade. */
  readonly intervalMs?: number
  /** How many trades, and about how many quotes, the tables keep. */
  readonly kept?: number
  /** How long to wait after a failure, and after the last trade of another node before taking over from it. */
  readonly patienceMs?: number
}

/** A client with no more rights than the trader of the demonstration. */
const PRINCIPAL: Principal = {
  subject: 'demo-service',
  kind: 'client',
  clientId: 'demo-service',
  scopes: new Set(['Platform/Market', 'Platform/Trading']),
  roles: [],
  audiences: [],
  tokenId: 'demo-market',
  sessionId: undefined,
  grantId: undefined,
  username: undefined,
  displayName: 'Demonstration market',
  issuedAt: 0,
  expiresAt: Number.MAX_SAFE_INTEGER,
  authTime: undefined,
}

const INTERVAL_MS = 250
const KEPT = 10_000
const PATIENCE_MS = 5_000
/** Trades between two deletions of old rows. */
const DELETE_EVERY = 200

export function startMarket(options: MarketOptions): RunningMarket {
  const stopping = new AbortController()
  const ended = new Market(options, stopping.signal).run()
  return {
    stop() {
      stopping.abort()
      return ended
    },
  }
}

/**
 * Of several nodes on one database one trades and the others follow it: they publish its quotes on their own streams. No
 * lock decides who trades but the primary key of the trades: whose insert is refused follows.
 */
class Market {
  readonly #options: MarketOptions
  readonly #signal: AbortSignal
  readonly #walk: Walk
  readonly #kept: number
  readonly #intervalMs: number
  readonly #patienceMs: number
  #lastId = 0
  /** The time of the newest quote that was published, as text of the database. */
  #quotedAt = ''
  #trades = 0
  #hasFailed = false

  constructor(options: MarketOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
    this.#walk = createWalk(options.instruments, options.seed)
    this.#kept = options.kept ?? KEPT
    this.#intervalMs = options.intervalMs ?? INTERVAL_MS
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS
  }

  /** Never rejects: the server goes on without its market. */
  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        if (!(await this.#resume())) await this.#follow()
        await this.#trade()
      } catch (error) {
        if (!isTaken(error)) {
          this.#report(error)
          await this.#pause(this.#patienceMs)
        }
      }
    }
  }

  /** Takes prices and the last trade from the tables; false if another node traded a moment ago. */
  async #resume(): Promise<boolean> {
    await this.#readLastId()
    const rows = await this.#publishQuotes('order by quoted_at desc limit 1000', {})
    const newest = rows.at(-1)?.quoted_at
    return newest === undefined || this.#options.clock() - Date.parse(String(newest)) > this.#patienceMs
  }

  /** Returns when nobody trades any more. */
  async #follow(): Promise<void> {
    let changedAt = performance.now()
    while (!this.#signal.aborted) {
      await this.#pause(this.#patienceMs / 5)
      const before = this.#lastId
      await this.#readLastId()
      await this.#publishQuotes('where quoted_at > :after order by quoted_at desc limit 1000', {
        after: this.#quotedAt,
      })
      if (this.#lastId !== before) changedAt = performance.now()
      else if (performance.now() - changedAt > this.#patienceMs) return
    }
  }

  /** Returns when the market stops; throws when an insert is refused. */
  async #trade(): Promise<void> {
    // Every instrument has a quote from the start, and keeps one when old quotes are deleted.
    if (!this.#signal.aborted) await this.#insertQuotes(this.#walk.open(), this.#now())
    while (!this.#signal.aborted) {
      const { quote, trade } = this.#walk.next()
      const time = this.#now()
      await this.#insertQuotes([quote], time)
      if (trade !== undefined) await this.#insertTrade(trade, time)
      this.#hasFailed = false
      await this.#pause(this.#intervalMs)
    }
  }

  async #insertQuotes(quotes: readonly Quote[], time: string): Promise<void> {
    const rows = quotes.map(
      (_quote, row) => `(:symbol${row}, :time, :bid${row}, :ask${row}, :bidSize${row}, :askSize${row})`,
    )
    const statement = `insert into quotes (symbol, quoted_at, bid, ask, bid_size, ask_size) values ${rows.join(', ')}`
    const values = quotes.flatMap((quote, row) =>
      Object.entries(quote).map(([name, value]) => [`${name}${row}`, String(value)] as const),
    )
    await this.#run(statement, { time, ...Object.fromEntries(values) })
    this.#quotedAt = time
    for (const { symbol, bid, ask } of quotes)
      this.#options.publish({ Symbol: symbol, Bid: Number(bid), Ask: Number(ask), Time: time })
  }

  async #insertTrade({ symbol, side, quantity, price, venue }: Trade, time: string): Promise<void> {
    const id = this.#lastId + 1
    await this.#run(INSERT_TRADE, { id: String(id), symbol, side, quantity: String(quantity), price, venue, time })
    this.#lastId = id
    if (++this.#trades % Math.min(DELETE_EVERY, this.#kept) !== 0) return
    await this.#run('delete from trades where id <= :id', { id: String(id - this.#kept) })
    const oldest = new Date(Date.parse(time) - this.#kept * this.#intervalMs).toISOString()
    await this.#run('delete from quotes where quoted_at < :oldest', { oldest })
  }

  async #readLastId(): Promise<void> {
    const { rows } = await this.#run('select max(id) as id from trades', {})
    this.#lastId = Number(rows[0]?.id ?? 0)
  }

  /** Oldest first, so that the newest counts. */
  async #publishQuotes(rest: string, parameters: Readonly<Record<string, string>>) {
    const { rows } = await this.#run(`select symbol, quoted_at, bid, ask from quotes ${rest}`, parameters)
    const ordered = rows.toReversed()
    for (const { symbol, quoted_at: time, bid, ask } of ordered) {
      this.#quotedAt = String(time)
      this.#walk.resume(String(symbol), Math.round((ticksOf(String(bid)) + ticksOf(String(ask))) / 2))
      this.#options.publish({ Symbol: String(symbol), Bid: Number(bid), Ask: Number(ask), Time: String(time) })
    }
    return ordered
  }

  #now(): string {
    return new Date(this.#options.clock()).toISOString()
  }

  #run(statement: string, parameters: Readonly<Record<string, string>>) {
    return this.#options.run(PRINCIPAL, statement, parameters)
  }

  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#signal, ref: false }).catch(() => {})
  }

  /** An outage of the database has its own line in the log; anything else is logged once, until a trade succeeds. */
  #report(error: unknown): void {
    const isOutage = error instanceof Refusal && error.code === 'Data.Unavailable'
    if (isOutage || this.#hasFailed || this.#signal.aborted) return
    this.#hasFailed = true
    this.#options.logger.warn({ err: error }, 'the demonstration market cannot trade; it keeps trying')
  }
}

const INSERT_TRADE = `insert into trades (id, symbol, side, quantity, price, venue, executed_at)
  values (:id, :symbol, :side, :quantity, :price, :venue, :time)`

function isTaken(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'Data.UniqueViolation'
}

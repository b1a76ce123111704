/** The market of the demonstration: quotes and trades through the query service, prices through its feed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, type Principal, Refusal } from 'gatehouse-protocol'
import type { Config } from '../config/config.ts'
import { type Instrument, toTicks } from '../declarative/demo-market.ts'
import { createWalk, type Quote, type Trade, type Walk } from '../declarative/demo-walk.ts'
import type { Declared } from '../declarative/reconcile.ts'
import type { FeedService } from '../feeds/feeds.ts'
import type { LazyRouteGroups } from '../http/route.ts'
import type { QueryService } from '../query/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { type PublishPrices, publishNothing, publishTo } from './ticker.ts'

export interface DemoMarket {
  /** The route that replies with the latest prices. */
  prices(query: Pick<QueryService, 'query'>, clock: Clock): LazyRouteGroups
  start(query: Pick<QueryService, 'ownQuery'>, env: MarketEnv): RunningMarket
}

export interface MarketEnv {
  readonly clock: Clock
  readonly logger: Logger
  /** Undefined where streaming does not run. */
  readonly feeds: Pick<FeedService, 'publish'> | undefined
}

export interface RunningMarket {
  /** Resolves when the market has stopped writing. */
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
  const hasTicker = declared?.hasTicker === true
  return {
    prices: ({ query }, clock) => ({
      at: ['/demo'],
      limit: 'pages',
      load: async () => [(await import('./prices.ts')).demoPrices(query, { principal: PAGE, clock })],
    }),
    start({ ownQuery: query }, { feeds, ...env }) {
      const publish = feeds !== undefined && hasTicker ? publishTo(feeds, PRINCIPAL) : publishNothing
      return startMarket({ ...env, query, instruments, publish, seed: env.clock() })
    },
  }
}

export interface MarketOptions {
  readonly query: QueryService['ownQuery']
  readonly publish: PublishPrices
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

/** The web application of the demonstration: its start page shows everybody what this one is licensed to show. */
const PAGE: Principal = {
  ...PRINCIPAL,
  subject: 'demo-web',
  clientId: 'demo-web',
  scopes: new Set(['Platform/Market']),
  tokenId: 'demo-start-page',
  displayName: 'Demonstration start page',
}

const INTERVAL_MS = 250
const KEPT = 10_000
const PATIENCE_MS = 5_000
/** Old rows that are deleted with each new one: more than one, so that a table that has grown too long becomes shorter. */
const DELETED_AT_ONCE = 3

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
 * Every statement is so small that the server runs it on its event loop: at rest, no process is kept for a query.
 *
 * Of several nodes on one database one trades, and the others wait until it stops. No lock decides who trades but the primary key of
 * the trades: whose insert is refused waits.
 */
class Market {
  readonly #options: MarketOptions
  readonly #signal: AbortSignal
  readonly #walk: Walk
  readonly #kept: number
  readonly #intervalMs: number
  readonly #patienceMs: number
  #lastId = 0
  /** The time of the last quote of each instrument. */
  readonly #quotedAt = new Map<string, number>()
  #hasFailed = false

  constructor(options: MarketOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
    this.#walk = createWalk(options.instruments, options.seed)
    this.#kept = options.kept ?? KEPT
    this.#intervalMs = options.intervalMs ?? INTERVAL_MS
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS
  }

  /** Never rejects: the server continues without its market. */
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
    await this.#readQuotes()
    return this.#options.clock() - Math.max(0, ...this.#quotedAt.values()) > this.#patienceMs
  }

  /** Returns when all traders have stopped. */
  async #follow(): Promise<void> {
    let changedAt = performance.now()
    while (!this.#signal.aborted) {
      await this.#pause(this.#patienceMs / 5)
      const before = this.#lastId
      await this.#readLastId()
      await this.#readQuotes()
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
      await Promise.all([this.#insertQuotes([quote], time), this.#deleteOldQuotes(quote.symbol, time)])
      if (trade !== undefined) await Promise.all([this.#insertTrade(trade, time), this.#deleteOldTrades()])
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
    await this.#query(statement, { time, ...Object.fromEntries(values) })
    for (const { symbol } of quotes) this.#quotedAt.set(symbol, Date.parse(time))
    await this.#options.publish(
      quotes.map(({ symbol, bid, ask }) => ({ Symbol: symbol, Bid: Number(bid), Ask: Number(ask), Time: time })),
    )
  }

  async #insertTrade({ symbol, side, quantity, price, venue }: Trade, time: string): Promise<void> {
    const id = this.#lastId + 1
    await this.#query(INSERT_TRADE, { id: String(id), symbol, side, quantity: String(quantity), price, venue, time })
    this.#lastId = id
  }

  async #deleteOldTrades(): Promise<void> {
    const newest = this.#lastId - this.#kept
    const { rows } = await this.#query(`select id from trades order by id limit ${DELETED_AT_ONCE}`, {})
    const old = rows.map(({ id }) => Number(id)).filter((id) => id <= newest)
    await Promise.all(old.map((id) => this.#query('delete from trades where id = :id', { id: String(id) })))
  }

  async #deleteOldQuotes(symbol: string, now: string): Promise<void> {
    const oldest = Date.parse(now) - this.#kept * this.#intervalMs
    const { rows } = await this.#query(OLDEST_QUOTES, { symbol })
    const old = rows.map(({ quoted_at }) => String(quoted_at)).filter((time) => Date.parse(time) < oldest)
    await Promise.all(old.map((time) => this.#query(DELETE_QUOTE, { symbol, time })))
  }

  async #readLastId(): Promise<void> {
    const { rows } = await this.#query('select id from trades order by id desc limit 1', {})
    this.#lastId = Number(rows[0]?.id ?? 0)
  }

  /** Those of another node, and on a start those of the time before: the walk goes on from them. */
  async #readQuotes(): Promise<void> {
    for (const { symbol } of this.#options.instruments) {
      const [row] = (await this.#query(LAST_QUOTE, { symbol })).rows
      const { time, bid, ask } = { time: String(row?.quoted_at), bid: String(row?.bid), ask: String(row?.ask) }
      if (row === undefined || Date.parse(time) === this.#quotedAt.get(symbol)) continue
      this.#walk.resume(symbol, Math.round((toTicks(bid) + toTicks(ask)) / 2))
      this.#quotedAt.set(symbol, Date.parse(time))
    }
  }

  #now(): string {
    return new Date(this.#options.clock()).toISOString()
  }

  #query(statement: string, parameters: Readonly<Record<string, string>>) {
    return this.#options.query(PRINCIPAL, statement, parameters)
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

const LAST_QUOTE = 'select quoted_at, bid, ask from quotes where symbol = :symbol order by quoted_at desc limit 1'
const OLDEST_QUOTES = `select quoted_at from quotes where symbol = :symbol order by quoted_at limit ${DELETED_AT_ONCE}`
const DELETE_QUOTE = 'delete from quotes where symbol = :symbol and quoted_at = :time'

function isTaken(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'Data.UniqueViolation'
}

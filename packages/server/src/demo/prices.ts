/**
 * `GET /demo/prices`: prices of the demonstration, for its start page. Public, and so as late as the product of the market has them for
 * the application that stands for the page.
 */
import { type Clock, type Principal, Refusal } from 'gatehouse-protocol'
import type { RouteGroup } from '../http/route.ts'
import type { QueryService } from '../query/index.ts'

export interface DemoPrice {
  readonly symbol: string
  readonly bid: string
  readonly ask: string
}

export interface DemoPrices {
  readonly prices: readonly DemoPrice[]
  /** Seconds; undefined: real-time. */
  readonly delay?: number
  /** They are licensed with a delay, and none is old enough yet. */
  readonly waiting?: true
}

const SYMBOLS = ['ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO']
/** All visitors share a reply for this long. */
const KEPT_MS = 500
const LAST_QUOTE = 'select bid, ask from quotes where symbol = :symbol order by quoted_at desc limit 1'

export function demoPrices(
  query: QueryService['query'],
  { principal, clock }: { readonly principal: Principal; readonly clock: Clock },
): RouteGroup {
  let kept: { readonly at: number; readonly prices: Promise<DemoPrices> } | undefined
  return {
    at: ['/demo'],
    limit: 'pages',
    routes: [
      {
        method: 'GET',
        path: '/demo/prices',
        async handle(context) {
          if (kept === undefined || Math.abs(clock() - kept.at) >= KEPT_MS) kept = { at: clock(), prices: read() }
          context.setHeader('cache-control', 'no-store')
          context.json(await kept.prices)
        },
      },
    ],
  }

  async function read(): Promise<DemoPrices> {
    const found = await Promise.all(SYMBOLS.map(lastQuote))
    const prices = found.flatMap((each) => each.prices)
    const { delay } = found.find((each) => each.delay !== undefined) ?? {}
    const isWaiting = prices.length === 0 && found.some(({ waiting }) => waiting)
    return { prices, ...(delay !== undefined && { delay }), ...(isWaiting && { waiting: true }) }
  }

  /** None where an operator has dropped or changed the table, or has licensed it to others. */
  async function lastQuote(symbol: string): Promise<DemoPrices> {
    try {
      const { rows, labels } = await query(principal, LAST_QUOTE, { symbol })
      const prices = rows.map(({ bid, ask }) => ({ symbol, bid: String(bid), ask: String(ask) }))
      const { Delay: delay } = labels.find(({ Delay }) => Delay !== undefined) ?? {}
      return { prices, ...(delay !== undefined && { delay }) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { prices: [], ...(error.code === 'Licence.NotReady' && { waiting: true }) }
    }
  }
}

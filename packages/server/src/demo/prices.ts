/** `GET /demo/prices`: the latest prices of the demonstration, for its start page. Public, since they are invented. */
import { type Clock, type Principal, Refusal } from 'gatehouse-protocol'
import type { RouteGroup } from '../http/route.ts'
import type { QueryService } from '../query/index.ts'

export interface DemoPrice {
  readonly symbol: string
  readonly bid: string
  readonly ask: string
}

const SYMBOLS = ['ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO']
/** All visitors share a reply for this long. */
const KEPT_MS = 500
const LAST_QUOTE = 'select bid, ask from quotes where symbol = :symbol order by quoted_at desc limit 1'

export function demoPrices(
  query: QueryService['query'],
  { principal, clock }: { readonly principal: Principal; readonly clock: Clock },
): RouteGroup {
  let kept: { readonly at: number; readonly prices: Promise<readonly DemoPrice[]> } | undefined
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
          context.json({ prices: await kept.prices })
        },
      },
    ],
  }

  async function read(): Promise<readonly DemoPrice[]> {
    const found = await Promise.all(SYMBOLS.map(lastQuote))
    return found.flat()
  }

  /** None where an operator has dropped or changed the table. */
  async function lastQuote(symbol: string): Promise<readonly DemoPrice[]> {
    try {
      const { rows } = await query(principal, LAST_QUOTE, { symbol })
      return rows.map(({ bid, ask }) => ({ symbol, bid: String(bid), ask: String(ask) }))
    } catch (error) {
      if (error instanceof Refusal) return []
      throw error
    }
  }
}

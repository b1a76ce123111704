/** Prices of the demonstration on the first page, live through the stream. */
import { useEffect, useState } from 'preact/hooks'
import { type Row, statement } from '../../../client/src/index.ts'
import { gate } from '../gate.ts'
import { classes, Section } from '../ui/index.ts'
import { numberText } from '../ui/number.ts'
import { href } from './router.ts'

const SYMBOLS = ['ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO']
const STATEMENT = `select symbol, last(bid, quoted_at) as bid, last(ask, quoted_at) as ask
from quotes
where symbol in (${SYMBOLS.map((symbol) => `'${symbol}'`).join(', ')})
group by symbol
order by symbol`
/** What people can follow. */
const CHANGES_PER_SECOND = 4

interface Price {
  readonly bid: number
  readonly ask: number
  /** The middle when the page was opened. */
  readonly first: number
  readonly direction: 'up' | 'down' | undefined
  /** Restarts the flash. */
  readonly changes: number
}

/** Nothing if there are no quotes that the user may read. */
export function LivePrices() {
  const [prices, setPrices] = useState<ReadonlyMap<string, Price>>(new Map())
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    const live = gate.live<Row>(statement(STATEMENT, {}), { maxRate: CHANGES_PER_SECOND })
    void (async () => {
      for await (const { put } of live)
        setPrices((before) => new Map([...before, ...put.map((row) => readPrice(row, before))]))
    })().catch(() => setFailed(true))
    return () => live.close()
  }, [])
  if (hasFailed) return null
  return (
    <Section
      title="Prices"
      about="Live from the demonstration market."
      actions={<a href={href('query', { q: STATEMENT })}>Open as a query</a>}
    >
      <ul class="live-prices">
        {SYMBOLS.map((symbol) => (
          <li key={symbol}>
            <PriceCard symbol={symbol} price={prices.get(symbol)} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function readPrice(row: Row, before: ReadonlyMap<string, Price>): [string, Price] {
  const [symbol, bid, ask] = [String(row.symbol), Number(row.bid), Number(row.ask)]
  const known = before.get(symbol)
  const [middle, was] = [(bid + ask) / 2, known === undefined ? undefined : (known.bid + known.ask) / 2]
  const direction = was === undefined || was === middle ? known?.direction : middle > was ? 'up' : 'down'
  return [symbol, { bid, ask, first: known?.first ?? middle, direction, changes: (known?.changes ?? 0) + 1 }]
}

/** Without a price, its place is kept. */
function PriceCard({ symbol, price }: { readonly symbol: string; readonly price: Price | undefined }) {
  const middle = price === undefined ? undefined : (price.bid + price.ask) / 2
  const percent = price === undefined || middle === undefined ? 0 : ((middle - price.first) / price.first) * 100
  // Rounded first: what is shown as zero has no sign.
  const change = Number(percent.toFixed(2))
  return (
    <div class={classes('live-price', price?.direction)}>
      <strong>{symbol}</strong>
      <span key={price?.changes} class="live-price-value">
        {middle === undefined ? '–' : numberText(middle.toFixed(2))}
      </span>
      {price !== undefined && (
        <span class="live-price-change">
          {change > 0 ? '+' : change < 0 ? '−' : ''}
          {numberText(Math.abs(change).toFixed(2))} %
        </span>
      )}
    </div>
  )
}

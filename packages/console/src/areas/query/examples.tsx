/** What is shown before anything was run: statements that one click runs, on tables that exist. */

import type { ChartView } from '../../chart/chart.tsx'
import type { Catalogue } from '../../editor/catalogue.ts'
import { printed } from '../../editor/printed.ts'
import { Await, Button, Empty, Keys, useLoad } from '../../ui/index.ts'

export interface Example {
  readonly title: string
  readonly text: string
  readonly chart?: ChartView
  readonly live?: boolean
}

const DEMO: readonly Example[] = [
  {
    title: 'Prices, live',
    live: true,
    text: "select symbol, last(bid, quoted_at) as bid, last(ask, quoted_at) as ask\nfrom quotes\nwhere symbol in ('ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO')\ngroup by symbol\norder by symbol",
  },
  {
    title: 'Candles of ACME',
    chart: { view: 'candles', x: 'time', y: ['open', 'high', 'low', 'close'] },
    text: "select time_bucket(interval '30 seconds', executed_at) as time, first(price, executed_at) as open,\n  max(price) as high, min(price) as low, last(price, executed_at) as close\nfrom trades\nwhere symbol = 'ACME' and executed_at > now() - interval '15 minutes'\ngroup by time_bucket(interval '30 seconds', executed_at)\norder by time",
  },
  {
    title: 'Turnover by sector',
    chart: { view: 'bar', x: 'sector', y: ['turnover'] },
    text: 'select i.sector, sum(t.price * t.quantity) as turnover\nfrom trades t\njoin instruments i on i.symbol = t.symbol\ngroup by i.sector\norder by turnover desc',
  },
  { title: 'All trades', text: 'select * from trades order by executed_at desc' },
]

export function Examples({
  catalogue,
  onExample,
}: {
  readonly catalogue: Catalogue
  readonly onExample: (example: Example) => void
}) {
  const examples = useLoad(() => examplesFor(catalogue), [])
  return (
    <Await of={examples}>
      {(found) => (
        <Empty
          icon="query"
          title="Write a statement and run it"
          actions={found.map((example) => (
            <Button key={example.title} icon="play" onClick={() => onExample(example)}>
              {example.title}
            </Button>
          ))}
        >
          <Keys of="Mod Enter" /> runs the statement at the cursor, or what is selected; with <Keys of="Shift" /> all of
          it.
          {found.length > 0 && ' Or start with an example:'}
        </Empty>
      )}
    </Await>
  )
}

async function examplesFor(catalogue: Catalogue): Promise<readonly Example[]> {
  const tables = await catalogue.tables('')
  const names = new Set(tables.map(({ name }) => name))
  if (['trades', 'quotes', 'instruments'].every((name) => names.has(name))) return DEMO
  const first = tables.find(({ name }) => !name.startsWith('catalogue'))
  return [
    ...(first === undefined
      ? []
      : [{ title: `Rows of ${first.name}`, text: `select * from ${printed(first.name)} limit 1000` }]),
    { title: 'Tables that you may read', text: 'show tables' },
  ]
}

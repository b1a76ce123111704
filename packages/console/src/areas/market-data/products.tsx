/** The products. */
import { AccessBadge } from '../../admin/licences.tsx'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { href } from '../../shell/router.ts'
import { Badge, ButtonLink, count, Empty, Page } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { MarketDataTabs } from './tabs.tsx'
import type { Product } from './types.ts'
import { coverageName } from './words.ts'

const NEW = (
  <ButtonLink kind="primary" icon="plus" href={href('market-data', 'products', 'new')}>
    New product
  </ButtonLink>
)
/** Names in the list. */
const SHOWN = 3

export function Products() {
  const products = usePages<Product>('/admin/products?limit=100')
  return (
    <Page title="Market data" bar={<MarketDataTabs current="products" />} actions={NEW}>
      <PagedTable
        of={products}
        label="Products"
        rowKey={({ name }) => name}
        rowHref={({ name }) => href('market-data', 'products', name)}
        columns={[
          { title: 'Product', cell: ({ name }) => name },
          { title: 'Covers', wide: true, cell: coveredText },
          { title: 'Delay', cell: ({ delay }) => delay ?? <span class="quiet">–</span> },
          { title: 'For all', cell: ({ default: access }) => <AccessBadge of={access} /> },
          { title: 'Places', wide: true, cell: ({ simultaneous }) => simultaneous ?? <span class="quiet">–</span> },
          { title: 'State', cell: ({ enabled }) => !enabled && <Badge kind="danger">Off</Badge> },
        ]}
        empty={
          <Empty icon="chart" title="There are no products yet" actions={NEW}>
            A product covers feeds, tables and controllers. People see them in real time, delayed or not at all, and the
            report counts who did.
          </Empty>
        }
      />
    </Page>
  )
}

function coveredText({ covers = [] }: Product) {
  const names = [...new Set(covers.map(coverageName))]
  if (names.length === 0) return <span class="quiet">–</span>
  const more = names.length - SHOWN
  const shown = names.slice(0, SHOWN).join(', ')
  return more > 0 ? word(`${shown} and ${count(more)} more`) : shown
}

/** The places in use now: sign-ins and programs that use a product, on all nodes. */
import { AccessBadge } from '../../admin/licences.tsx'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { may } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import { Button, Empty, Page, SearchField, Time } from '../../ui/index.ts'
import { MarketDataTabs } from './tabs.tsx'
import type { Place } from './types.ts'

const TYPING_MS = 300

export function Places({ query }: { readonly query: URLSearchParams }) {
  const product = query.get('product') ?? ''
  const places = usePages<Place>(withQuery('/admin/places', { product, limit: 100 }), TYPING_MS)
  const search = (text: string) =>
    go(href('market-data', 'places', text === '' ? {} : { product: text }), { replace: true })
  return (
    <Page
      title="Market data"
      bar={<MarketDataTabs current="places" />}
      actions={
        <Button icon="refresh" onClick={places.reload}>
          Refresh
        </Button>
      }
    >
      <div class="market-data-search">
        <SearchField label="Product" value={product} onValue={search} />
      </div>
      <PagedTable
        of={places}
        label="In use now"
        rowKey={({ session }) => session}
        rowHref={({ user }) => (user === undefined || !may('Identity/Admin') ? undefined : href('people', user))}
        columns={[
          { title: 'Who', cell: ({ user, username, client }) => username ?? client ?? user },
          { title: 'Product', cell: (place) => place.product },
          { title: 'Access', cell: ({ access }) => <AccessBadge of={access} /> },
          { title: 'Since', cell: ({ since }) => <Time at={since} as="relative" /> },
        ]}
        empty={
          <Empty icon="eye" title="Nothing is in use">
            A sign-in that uses a product is a place, with all its connections.
          </Empty>
        }
      />
    </Page>
  )
}

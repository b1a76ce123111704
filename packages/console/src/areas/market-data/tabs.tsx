/** The pages of the area. */
import { may } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

const PAGES = [
  { id: 'products', title: 'Products', right: 'Platform/Admin' },
  { id: 'agreements', title: 'Agreements', right: 'Platform/Admin' },
  { id: 'places', title: 'In use now', right: 'Identity/Admin' },
  { id: 'report', title: 'Report', right: 'Identity/Admin' },
] as const

export type PageId = (typeof PAGES)[number]['id']

export function MarketDataTabs({ current }: { readonly current: PageId }) {
  const tabs = PAGES.filter(({ right }) => may(right)).map(({ id, title }) => ({
    title,
    href: id === 'products' ? href('market-data') : href('market-data', id),
    current: id === current,
  }))
  return <Tabs label="Market data" tabs={tabs} />
}

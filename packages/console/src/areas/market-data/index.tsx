/** Market data: products, who has them, agreements, the places in use and the report of a month. */
import './market-data.css'
import { may } from '../../gate.ts'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { AgreementPage, Agreements, NewAgreement } from './agreements.tsx'
import { Places } from './places.tsx'
import { NewProduct, ProductPage } from './product.tsx'
import { Products } from './products.tsx'
import { Report } from './report.tsx'

export default function MarketData({ path: [first, second, third], query }: AreaProps) {
  useCommands(() => [
    {
      id: 'market-data-new',
      title: 'New product',
      group: 'Market data',
      icon: 'plus',
      act: () => go(href('market-data', 'products', 'new')),
    },
    {
      id: 'market-data-report',
      title: 'Usage report',
      group: 'Market data',
      icon: 'chart',
      act: () => go(href('market-data', 'report')),
    },
  ])
  if (first === undefined) return may('Platform/Admin') ? <Products /> : <Places query={query} />
  if (first === 'places') return <Places query={query} />
  if (first === 'report') return <Report query={query} />
  if (first === 'agreements') {
    if (second === undefined) return <Agreements />
    return second === 'new' ? <NewAgreement /> : <AgreementPage key={second} id={second} />
  }
  if (first === 'products' && second !== undefined)
    return second === 'new' ? <NewProduct /> : <ProductPage key={second} name={second} part={third} />
  return <Products />
}

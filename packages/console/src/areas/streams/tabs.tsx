/** The pages of the area. */
import { may } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

type PageName = 'inspector' | 'feeds' | 'controllers' | 'connections'

interface PageTab {
  /** Also in its address, but for the first one. */
  readonly name: PageName
  readonly title: string
  readonly isForAdministrators?: boolean
}

const PAGES: readonly PageTab[] = [
  { name: 'feeds', title: 'Feeds' },
  { name: 'inspector', title: 'Inspector' },
  { name: 'controllers', title: 'Controllers', isForAdministrators: true },
  { name: 'connections', title: 'Connections' },
]

export function StreamsTabs({ current }: { readonly current: PageName }) {
  const tabs = PAGES.filter(({ isForAdministrators }) => !isForAdministrators || may('Platform/Admin')).map(
    ({ name, title }) => ({
      title,
      href: name === 'feeds' ? href('streams') : href('streams', name),
      current: name === current,
    }),
  )
  return <Tabs label="Streams" tabs={tabs} />
}

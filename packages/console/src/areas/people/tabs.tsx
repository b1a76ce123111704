/** The pages of the area. */
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

const PAGES = [
  { id: 'users', title: 'Users' },
  { id: 'signed-in', title: 'Signed in' },
  { id: 'links', title: 'Set-up links' },
  { id: 'roles', title: 'Roles' },
  { id: 'attributes', title: 'Attributes' },
  { id: 'mail', title: 'Mail' },
  { id: 'providers', title: 'Providers' },
] as const

type PageId = (typeof PAGES)[number]['id']

export function PeopleTabs({ current }: { readonly current: PageId }) {
  const tabs = PAGES.map(({ id, title }) => ({
    title,
    href: id === 'users' ? href('people') : href('people', id),
    current: id === current,
  }))
  return <Tabs label="People" tabs={tabs} />
}

/** The pages of the area. */
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

export const SCIM_PAGE = 'scim-clients'

const PAGES = [
  { id: 'applications', title: 'Applications', path: [] },
  { id: 'apis', title: 'APIs', path: ['apis'] },
  { id: 'agents', title: 'Agents', path: ['agents'] },
  { id: 'provisioning', title: 'Provisioning', path: [SCIM_PAGE] },
] as const

type PageId = (typeof PAGES)[number]['id']

export function ApplicationTabs({ current }: { readonly current: PageId }) {
  const tabs = PAGES.map(({ id, title, path }) => ({
    title,
    href: href('applications', ...path),
    current: id === current,
  }))
  return <Tabs label="Applications" tabs={tabs} />
}

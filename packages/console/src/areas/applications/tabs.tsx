/** The pages of the area. */
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

export const SCIM_PAGE = 'scim-clients'

const PAGES = [
  ['Applications', []],
  ['APIs', ['apis']],
  ['Provisioning', [SCIM_PAGE]],
] as const

export type PageTitle = (typeof PAGES)[number][0]

export function ApplicationTabs({ current }: { readonly current: PageTitle }) {
  const tabs = PAGES.map(([title, path]) => ({
    title,
    href: href('applications', ...path),
    current: title === current,
  }))
  return <Tabs label="Applications" tabs={tabs} />
}

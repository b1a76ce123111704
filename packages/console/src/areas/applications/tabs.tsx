/** The pages of the area. */
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

export const SCIM_PAGE = 'scim-clients'

const PAGES = [
  ['Applications', []],
  ['Provisioning', [SCIM_PAGE]],
] as const

export type PageTitle = (typeof PAGES)[number][0]

export function ApplicationsTabs({ current }: { readonly current: PageTitle }) {
const PAGES = [
  ['Applications', []],
  ['APIs', ['apis']],
] as const

export function ApplicationTabs({ current }: { readonly current: (typeof PAGES)[number][0] }) {
  const tabs = PAGES.map(([title, path]) => ({
    title,
    href: href('applications', ...path),
    current: title === current,
  }))
  return <Tabs label="Applications" tabs={tabs} />
}

/** The pages of the area. */
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

const PAGES = [
  ['Users', []],
  ['Signed in', ['signed-in']],
  ['Set-up links', ['links']],
  ['Roles', ['roles']],
  ['Providers', ['providers']],
  ['Attributes', ['attributes']],
] as const

export type PageTitle = (typeof PAGES)[number][0]

export function PeopleTabs({ current }: { readonly current: PageTitle }) {
  const tabs = PAGES.map(([title, path]) => ({ title, href: href('people', ...path), current: title === current }))
  return <Tabs label="People" tabs={tabs} />
}

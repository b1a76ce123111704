/** The pages of the area. */
import { server } from '../../server.ts'
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

const PAGES = [
  ['Users', []],
  ['Signed in', ['signed-in']],
  ['Set-up links', ['links']],
  ['Roles', ['roles']],
  ['Attributes', ['attributes']],
  ['Mail', ['mail']],
  ['Providers', ['providers']],
] as const

export type PageTitle = (typeof PAGES)[number][0]

export function PeopleTabs({ current }: { readonly current: PageTitle }) {
  const pages = server.mail ? PAGES : PAGES.filter(([title]) => title !== 'Mail')
  const tabs = pages.map(([title, path]) => ({ title, href: href('people', ...path), current: title === current }))
  return <Tabs label="People" tabs={tabs} />
}

/** The pages of the area. */
import { may } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

const PAGES = [
  ['Inspector', [], false],
  ['Feeds', ['feeds'], false],
  ['Controllers', ['controllers'], true],
  ['Connections', ['connections'], false],
] as const

export type PageTitle = (typeof PAGES)[number][0]

export function StreamsTabs({ current }: { readonly current: PageTitle }) {
  const tabs = PAGES.filter(([, , isForAdministrators]) => !isForAdministrators || may('Platform/Admin')).map(
    ([title, path]) => ({ title, href: href('streams', ...path), current: title === current }),
  )
  return <Tabs label="Streams" tabs={tabs} />
}

/** The area Operations: a page for each part, as far as the token allows it. */
import type { ComponentType } from 'preact'
import { may } from '../../gate.ts'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { Empty, Forbidden, Page, Tabs } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { Audit } from './audit.tsx'
import { Backups } from './backups.tsx'
import { Keys } from './keys.tsx'
import './operations.css'
import { Overview } from './overview.tsx'
import { Queries } from './queries.tsx'
import { Settings } from './settings.tsx'

interface Part {
  /** The part of the address; the overview is the area itself. */
  readonly name: string
  readonly title: string
  readonly words: string
  readonly right: string
  readonly Content: ComponentType<AreaProps>
}

const PARTS: readonly Part[] = [
  {
    name: 'overview',
    title: 'Overview',
    words: word('nodes health metrics'),
    right: 'Platform/Admin',
    Content: Overview,
  },
  { name: 'queries', title: 'Queries', words: word('running live cancel'), right: 'Platform/Admin', Content: Queries },
  { name: 'keys', title: 'Keys', words: word('signing rotate'), right: 'Identity/Admin', Content: Keys },
  { name: 'audit', title: 'Audit log', words: word('events follow verify'), right: 'Identity/Admin', Content: Audit },
  {
    name: 'settings',
    title: 'Settings',
    words: word('configuration export declarative file'),
    right: 'Platform/Admin',
    Content: Settings,
  },
  { name: 'backups', title: 'Backups', words: word('restore'), right: 'Platform/Admin', Content: Backups },
]

export default function Operations({ path, query }: AreaProps) {
  const allowed = PARTS.filter(({ right }) => may(right))
  const name = path[0] ?? allowed[0]?.name
  const part = PARTS.find((candidate) => candidate.name === name)
  const names = allowed.map((each) => each.name).join(' ')
  useCommands(
    () =>
      allowed.map(({ name: to, title, words }) => ({
        id: `operations-${to}`,
        title,
        group: 'Operations',
        icon: 'operations',
        words,
        act: () => go(href('operations', to)),
      })),
    [names],
  )
  return (
    <Page
      title={part === undefined || part.name === 'overview' ? 'Operations' : part.title}
      bar={
        <Tabs
          label="Operations"
          tabs={allowed.map(({ name: to, title }) => ({ title, href: href('operations', to), current: to === name }))}
        />
      }
    >
      {part === undefined ? (
        <Empty title="There is no such page">Choose one above.</Empty>
      ) : may(part.right) ? (
        <part.Content path={path.slice(1)} query={query} />
      ) : (
        <Forbidden rights={[part.right]} />
      )}
    </Page>
  )
}

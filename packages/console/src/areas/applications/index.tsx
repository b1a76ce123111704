/** Applications: clients, their secrets, and the code to connect them. */
import './applications.css'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { ApplicationPage } from './application.tsx'
import { Applications } from './list.tsx'
import { NewApplication } from './new-application.tsx'
import { ScimClients } from './scim.tsx'
import { SCIM_PAGE } from './tabs.tsx'

export default function ApplicationsArea({ path: [id, part], query }: AreaProps) {
  useCommands(() => [
    {
      id: 'applications-new',
      title: 'Connect an application',
      group: 'Applications',
      icon: 'plus',
      words: 'client register new',
      act: () => go(href('applications', 'new')),
    },
  ])
  if (id === undefined) return <Applications query={query} />
  if (id === SCIM_PAGE) return <ScimClients />
  if (id === 'new') return <NewApplication kind={query.get('kind')} />
  return <ApplicationPage key={id} id={id} part={part} />
}

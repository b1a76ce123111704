/** Applications: clients, their secrets, and the code to connect them. */
import './applications.css'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { word } from '../../ui/word.ts'
import { Agents } from './agents.tsx'
import { ApiPage, NewApi } from './apis/api.tsx'
import { Apis } from './apis/list.tsx'
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
      words: word('client register new'),
      act: () => go(href('applications', 'new')),
    },
    {
      id: 'applications-apis',
      title: 'APIs and scopes of your own',
      group: 'Applications',
      icon: 'application',
      words: word('api resource scope audience'),
      act: () => go(href('applications', 'apis')),
    },
    {
      id: 'applications-agents',
      title: 'Agents that users may connect',
      group: 'Applications',
      icon: 'application',
      words: word('agent assistant model mcp allow'),
      act: () => go(href('applications', 'agents')),
    },
  ])
  if (id === undefined) return <Applications query={query} />
  if (id === SCIM_PAGE) return <ScimClients />
  if (id === 'agents') return <Agents />
  if (id === 'apis') {
    if (part === undefined) return <Apis />
    return part === 'new' ? <NewApi /> : <ApiPage key={part} resource={part} />
  }
  if (id === 'new') return <NewApplication kind={query.get('kind')} />
  return <ApplicationPage key={id} id={id} part={part} />
}

/** People: users, roles, attributes, set-up links, and the users who are signed in now. */
import './people.css'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { word } from '../../ui/word.ts'
import { AttributePage, Attributes, NewAttribute } from './attributes.tsx'
import { InviteMany } from './invite-many.tsx'
import { Links } from './links.tsx'
import { MailQueue } from './mail.tsx'
import { NewUser } from './new-user.tsx'
import { NewProvider, ProviderPage, Providers } from './providers.tsx'
import { NewRole, RolePage } from './role.tsx'
import { Roles } from './roles.tsx'
import { SignedIn } from './signed-in.tsx'
import { UserPage } from './user.tsx'
import { Users } from './users.tsx'

export default function People({ path: [first, second], query }: AreaProps) {
  useCommands(() => [
    { id: 'people-new', title: 'Add a person', group: 'People', icon: 'plus', act: () => go(href('people', 'new')) },
    {
      id: 'people-new-many',
      title: 'Invite many people',
      group: 'People',
      words: word('paste list bulk'),
      icon: 'people',
      act: () => go(href('people', 'new', 'many')),
    },
    {
      id: 'people-signed-in',
      title: 'Who is signed in',
      group: 'People',
      icon: 'eye',
      act: () => go(href('people', 'signed-in')),
    },
    { id: 'people-roles', title: 'Roles', group: 'People', icon: 'shield', act: () => go(href('people', 'roles')) },
  ])
  if (first === undefined) return <Users query={query} />
  if (first === 'new') return second === 'many' ? <InviteMany /> : <NewUser />
  if (first === 'signed-in') return <SignedIn what={second} query={query} />
  if (first === 'links') return <Links />
  if (first === 'mail') return <MailQueue state={second} />
  if (first === 'roles') {
    if (second === undefined) return <Roles />
    return second === 'new' ? <NewRole /> : <RolePage key={second} name={second} />
  }
  if (first === 'attributes') {
    if (second === undefined) return <Attributes />
    return second === 'new' ? <NewAttribute /> : <AttributePage key={second} name={second} />
  }
  if (first === 'providers') {
    if (second === undefined) return <Providers />
    return second === 'new' ? <NewProvider /> : <ProviderPage key={second} id={second} />
  }
  return <UserPage key={first} id={first} part={second} />
}

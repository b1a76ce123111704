/** The page of one user: profile, sessions, rights, and the actions of an administrator. */
import { useState } from 'preact/hooks'
import { type Tagged, useTagged } from '../../admin/tagged.ts'
import { user as me } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Await, Badge, Button, Dialog, Menu, Page, Tabs } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { UserAccess } from './access.tsx'
import { personActions } from './actions.tsx'
import { OneTimeLink } from './one-time-link.tsx'
import { Profile } from './profile.tsx'
import { Rights } from './rights.tsx'
import { fullName, type Link, type Person, userPath } from './types.ts'
import { StateBadges } from './users.tsx'

const PARENTS = [{ title: 'People', href: href('people') }]

export function UserPage({ id, part }: { readonly id: string; readonly part: string | undefined }) {
  const user = useTagged<Person>(userPath(id))
  if (user.data === undefined)
    return (
      <Page title="User" parents={PARENTS}>
        <Await of={user} title="This user could not be loaded">
          {() => null}
        </Await>
      </Page>
    )
  return <Loaded user={user} person={user.data} id={id} part={part} />
}

function Loaded({
  user,
  person,
  id,
  part,
}: {
  readonly user: Tagged<Person>
  readonly person: Person
  readonly id: string
  readonly part: string | undefined
}) {
  const [link, setLink] = useState<Link>()
  // Lists of the page are read again after something has ended.
  const [round, setRound] = useState(0)
  const tab = (title: string, name?: string) => ({
    title,
    href: name === undefined ? href('people', id) : href('people', id, name),
    current: part === name,
  })
  const { quick, items } = personActions({ user, person, onLink: setLink, onEnded: () => setRound((was) => was + 1) })
  return (
    <Page
      title={person.username}
      parents={PARENTS}
      afterTitle={
        <span class="badges">
          <StateBadges user={person} />
          {me.value?.sub === person.id && <Badge>You</Badge>}
        </span>
      }
      actions={
        <>
          {/* A link would not let them sign in. */}
          {!person.disabled && (
            <Button icon="link" onClick={quick.act}>
              {quick.title}
            </Button>
          )}
          <Menu label="More actions" items={items} />
        </>
      }
      bar={
        <Tabs
          label={fullName(person) ?? person.username}
          tabs={[tab(word('Profile')), tab(word('Access'), 'access'), tab('See as this user', 'rights')]}
        />
      }
    >
      {part === undefined && <Profile key={person.updated_at} user={user} person={person} />}
      {part === 'access' && <UserAccess person={person} round={round} onChange={user.reload} />}
      {part === 'rights' && <Rights key={round} person={person} />}
      {link !== undefined && (
        <Dialog
          title={link.kind === 'reset' ? 'A link for a new password' : 'Invitation'}
          size="wide"
          onClose={() => setLink(undefined)}
          actions={<Button onClick={() => setLink(undefined)}>Done</Button>}
        >
          <OneTimeLink link={link} />
        </Dialog>
      )}
    </Page>
  )
}

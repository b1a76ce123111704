/** Adding a person: by an invitation, or with a password. */
import { useState } from 'preact/hooks'
import type { AdminUser } from '../../../../client/src/index.ts'
import { isElsewhere, readFaults } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { server } from '../../server.ts'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Button,
  ButtonLink,
  Checkbox,
  ErrorNotice,
  Form,
  Page,
  Segments,
  Select,
  TextField,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { OneTimeLink } from './one-time-link.tsx'
import { RoleChoice } from './role-choice.tsx'
import type { Link } from './types.ts'

const PARENTS = [{ title: 'People', href: href('people') }]

export const LIFETIMES = [
  { value: '86400', title: 'One day' },
  { value: '259200', title: 'Three days' },
  { value: '604800', title: 'A week' },
  { value: '2592000', title: '30 days' },
] as const

export function NewUser() {
  const [made, setMade] = useState<Link>()
  if (made !== undefined)
    return (
      <Page
        title="Invitation"
        parents={PARENTS}
        actions={<ButtonLink href={href('people', made.user ?? '')}>{`Open ${made.username}`}</ButtonLink>}
      >
        <OneTimeLink link={made} />
        <p class="next-step no-print">
          <Button onClick={() => setMade(undefined)}>Invite another person</Button>
        </p>
      </Page>
    )
  return (
    <Page
      title="Add a person"
      parents={PARENTS}
      actions={
        <ButtonLink href={href('people', 'new', 'many')} icon="people">
          Invite many
        </ButtonLink>
      }
    >
      <NewUserForm onLink={setMade} />
    </Page>
  )
}

function NewUserForm({ onLink }: { readonly onLink: (link: Link) => void }) {
  const [how, setHow] = useState<'invite' | 'password'>('invite')
  const [username, setUsername] = useState('')
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [roles, setRoles] = useState<readonly string[]>([])
  const [lifetime, setLifetime] = useState<string>('259200')
  const [password, setPassword] = useState('')
  const [isMailed, setMailed] = useState(server.mail)
  const [mustChange, setMustChange] = useState(true)
  const { isBusy, error, submit } = useSubmit(async () => {
    const profile = { username: username.trim(), roles, ...filled({ name, email }) }
    if (how === 'invite') {
      const send = isMailed && email.trim() !== '' ? { send: true } : {}
      onLink((await gate.admin.links.create({ ...profile, expires_in: Number(lifetime), ...send })) as unknown as Link)
      toast(word(`${profile.username} was invited`))
      return
    }
    const body = { ...profile, password, must_change_password: mustChange } as Partial<AdminUser>
    const { id } = await gate.admin.users.create(body)
    toast(word(`${profile.username} was created`))
    go(href('people', id))
  })
  const faults = readFaults(error)
  return (
    <Form onSubmit={submit}>
      <Segments
        label="How they first sign in"
        value={how}
        onValue={setHow}
        choices={[
          { value: 'invite', title: 'Invite with a link' },
          { value: 'password', title: 'Set a password' },
        ]}
      />
      <p class="quiet">
        {how === 'invite'
          ? `You get a link to pass on, on paper or in a message${server.mail ? ', or it is mailed' : ''}. They use it to choose their own password.`
          : 'You choose the first password and give it to them.'}
      </p>
      <TextField
        label="Username"
        value={username}
        onValue={setUsername}
        error={faults?.get('username')}
        required
        autofocus
        maxLength={128}
      />
      <TextField
        label="Name"
        value={name}
        onValue={setName}
        error={faults?.get('name')}
        hint="The name that others know them by. Optional."
      />
      <TextField
        label="E-mail address"
        type="email"
        value={email}
        onValue={setEmail}
        error={faults?.get('email')}
        hint={server.mail ? 'Optional.' : 'Optional: nothing is sent there.'}
      />
      {how === 'password' ? (
        <>
          <TextField
            label="Password"
            type="password"
            autocomplete="new-password"
            value={password}
            onValue={setPassword}
            error={faults?.get('password')}
            required
          />
          <Checkbox
            label="They must choose a new one at first sign-in"
            checked={mustChange}
            onChecked={setMustChange}
          />
        </>
      ) : (
        <>
          <Select label="The link works for" value={lifetime} onValue={setLifetime} choices={LIFETIMES} />
          {server.mail && <Checkbox label="Mail the link to this address" checked={isMailed} onChecked={setMailed} />}
        </>
      )}
      <RoleChoice roles={roles} onRoles={setRoles} />
      {isElsewhere(error, ['username', 'name', 'email', 'password']) && (
        <ErrorNotice error={error} title={how === 'invite' ? 'No invitation was created' : 'No user was created'} />
      )}
      <div class="row">
        <Button type="submit" kind="primary" busy={isBusy} disabled={username.trim() === ''}>
          {how === 'invite' ? 'Create the invitation' : 'Create the user'}
        </Button>
        <ButtonLink href={href('people')} kind="plain">
          Cancel
        </ButtonLink>
      </div>
    </Form>
  )
}

function filled(members: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value.trim() !== ''))
}

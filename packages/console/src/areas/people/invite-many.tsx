/** Inviting many people at once: a pasted list, a preview, and a one-time link for each. */
import { useState } from 'preact/hooks'
import { gate } from '../../gate.ts'
import { server } from '../../server.ts'
import { href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Badge,
  Button,
  ButtonLink,
  Checkbox,
  Copy,
  copyText,
  explain,
  Form,
  Notice,
  Page,
  Progress,
  Select,
  Table,
  TextArea,
} from '../../ui/index.ts'
import { LIFETIMES } from './new-user.tsx'
import { MOST_PEOPLE, type PastedPerson, readPeople } from './pasted-people.ts'
import { RoleChoice } from './role-choice.tsx'
import type { Link } from './types.ts'

const PARENTS = [{ title: 'People', href: href('people') }]

/** What became of a person. */
interface Invited {
  readonly person: PastedPerson
  readonly link: Link | undefined
  readonly error: string | undefined
}

export function InviteMany() {
  const [invited, setInvited] = useState<readonly Invited[]>()
  return (
    <Page title="Invite many people" parents={PARENTS}>
      {invited === undefined ? <PasteForm onInvited={setInvited} /> : <Outcome invited={invited} />}
    </Page>
  )
}

function PasteForm({ onInvited }: { readonly onInvited: (invited: readonly Invited[]) => void }) {
  const [text, setText] = useState('')
  const [roles, setRoles] = useState<readonly string[]>([])
  const [lifetime, setLifetime] = useState<string>('604800')
  const [isMailed, setMailed] = useState(server.mail)
  const [done, setDone] = useState<number>()
  const people = readPeople(text)
  const good = people.filter(({ fault }) => fault === undefined)
  const isTooLong = people.length > MOST_PEOPLE
  const invite = async () => {
    const invited: Invited[] = []
    for (const person of good) {
      setDone(invited.length)
      invited.push(await inviteOne(person, { roles, lifetime: Number(lifetime), isMailed }))
    }
    setDone(undefined)
    onInvited(invited)
  }
  return (
    <Form class="form invite-many" onSubmit={() => void invite()}>
      <TextArea
        label="People"
        value={text}
        onValue={setText}
        rows={8}
        placeholder={'ada@example.com\nAlan Turing <alan@example.com>\ngrace, Grace Hopper, grace@example.com'}
        hint="A person on each line: an e-mail address, or username, name and address, as copied from a spreadsheet."
        autofocus
      />
      {people.length > 0 && <Preview people={people.slice(0, MOST_PEOPLE)} />}
      {isTooLong && <Notice kind="warning">{`At most ${MOST_PEOPLE} people can be invited at once.`}</Notice>}
      <Select label="The links work for" value={lifetime} onValue={setLifetime} choices={LIFETIMES} />
      {server.mail && <Checkbox label="Mail each link to its address" checked={isMailed} onChecked={setMailed} />}
      <RoleChoice roles={roles} onRoles={setRoles} />
      {done !== undefined && <Progress label="Invitations" value={done} of={good.length} />}
      <div class="row">
        <Button
          type="submit"
          kind="primary"
          busy={done !== undefined}
          disabled={good.length === 0 || good.length < people.length || isTooLong}
        >
          {good.length === 0 ? 'Invite' : good.length === 1 ? 'Invite 1 person' : `Invite ${good.length} people`}
        </Button>
        <ButtonLink href={href('people')} kind="plain">
          Cancel
        </ButtonLink>
      </div>
    </Form>
  )
}

function Preview({ people }: { readonly people: readonly PastedPerson[] }) {
  return (
    <Table
      label="Preview"
      rows={people.map((person, index) => ({ ...person, index }))}
      rowKey={({ index }) => index}
      columns={[
        { title: 'Username', cell: ({ username }) => username || '–' },
        { title: 'Name', wide: true, cell: ({ name }) => name || <span class="quiet">–</span> },
        { title: 'E-mail', wide: true, cell: ({ email }) => email || <span class="quiet">–</span> },
        {
          title: '',
          cell: ({ fault }) =>
            fault === undefined ? <Badge kind="good">OK</Badge> : <Badge kind="danger">{fault}</Badge>,
        },
      ]}
    />
  )
}

async function inviteOne(
  person: PastedPerson,
  { roles, lifetime, isMailed }: { roles: readonly string[]; lifetime: number; isMailed: boolean },
): Promise<Invited> {
  const { username, name, email } = person
  const members = Object.fromEntries(Object.entries({ name, email }).filter(([, value]) => value !== ''))
  const send = isMailed && email !== '' ? { send: true } : {}
  try {
    const link = await gate.admin.links.create({ username, roles, ...members, expires_in: lifetime, ...send })
    return { person, link: link as unknown as Link, error: undefined }
  } catch (error) {
    return { person, link: undefined, error: explain(error).message }
  }
}

function Outcome({ invited }: { readonly invited: readonly Invited[] }) {
  const made = invited.filter(({ link }) => link !== undefined)
  const shown = made.filter(({ link }) => link?.url !== undefined)
  const copyAll = async () => {
    const lines = shown.map(({ person, link }) => `${person.username}\t${person.email}\t${link?.url}`)
    await copyText(lines.join('\n'))
    toast('The links were copied')
  }
  return (
    <>
      <Notice kind={made.length === invited.length ? 'good' : 'warning'}>
        {made.length === 1 ? '1 invitation created.' : `${made.length} invitations created.`}
        {shown.length > 0 && ' This is the only time the links are shown. Each works once.'}
      </Notice>
      <div class="row">
        {shown.length > 0 && (
          <Button kind="primary" icon="copy" onClick={() => void copyAll()}>
            Copy all links
          </Button>
        )}
        <ButtonLink href={href('people', 'links')}>Set-up links</ButtonLink>
      </div>
      <Table
        label="Invitations"
        rows={invited}
        rowKey={({ person }) => person.username}
        columns={[
          {
            title: 'Username',
            cell: ({ person, link }) =>
              link?.user == null ? person.username : <a href={href('people', link.user)}>{person.username}</a>,
          },
          {
            title: 'Link',
            cell: ({ link, error }) =>
              error !== undefined ? (
                <span class="fault">{error}</span>
              ) : link?.url === undefined ? (
                `Mailed to ${link?.sent_to}`
              ) : (
                <span class="invitation-link">
                  <code>{link.url}</code> <Copy text={link.url} label="Copy the link" />
                </span>
              ),
          },
        ]}
      />
    </>
  )
}

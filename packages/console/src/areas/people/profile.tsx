/** Profile and roles of a user, to read and to change. */
import { useState } from 'preact/hooks'
import { AttributeValues } from '../../admin/attributes.tsx'
import type { Tagged } from '../../admin/tagged.ts'
import { href } from '../../shell/router.ts'
import { Badge, Button, Copy, Facts, Form, Section, TextField, Time } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { RoleChoice } from './role-choice.tsx'
import type { Person } from './types.ts'

interface Props {
  readonly user: Tagged<Person>
  readonly person: Person
}

export function Profile(props: Props) {
  return (
    <>
      <Details {...props} />
      <Roles {...props} />
      <AttributeValues
        of={props.user}
        values={props.person.attributes ?? {}}
        about="What row filters and claims know about them. Changes take effect at once."
        done={`The attributes of ${props.person.username} were changed`}
      />
    </>
  )
}

/** The members that can be edited; others stay as they are. */
const FIELDS = [
  ['name', word('Name')],
  ['given_name', 'Given name'],
  ['family_name', 'Family name'],
  ['email', 'E-mail address'],
  ['zoneinfo', 'Time zone', 'Such as Europe/Paris'],
  ['locale', word('Language'), 'A tag such as en-GB'],
] as const

function Details({ user, person }: Props) {
  const [draft, setDraft] = useState<Readonly<Record<string, string>>>()
  const shown = FIELDS.flatMap(([name, title]) => {
    const value = person[name]
    return typeof value === 'string' ? [[title, value] as const] : []
  })
  if (draft !== undefined) return <EditDetails user={user} person={person} draft={draft} onDraft={setDraft} />
  const edit = () =>
    setDraft(
      Object.fromEntries([['username', person.username], ...FIELDS.map(([name]) => [name, textOrEmpty(person[name])])]),
    )
  return (
    <Section
      title="Profile"
      actions={
        <Button size="small" icon="edit" onClick={edit}>
          Edit
        </Button>
      }
    >
      <Facts
        of={[
          [word('Username'), person.username],
          ...shown,
          [
            word('Password'),
            person.has_password
              ? person.must_change_password
                ? word('Set; must be changed at the next sign-in')
                : word('Set')
              : 'None yet: send them an invitation link',
          ],
          ['Second factor', person.has_second_factor ? 'Set up' : 'Not set up'],
          [
            word('Id'),
            <span class="row tight">
              <code>{person.id}</code>
              <Copy text={person.id} label="Copy the id" />
            </span>,
          ],
          [word('Created'), <Time at={person.created_at} />],
          [word('Changed'), <Time at={person.updated_at} />],
        ]}
      />
    </Section>
  )
}

function EditDetails({
  user,
  person,
  draft,
  onDraft,
}: Props & {
  readonly draft: Readonly<Record<string, string>>
  readonly onDraft: (draft: Readonly<Record<string, string>> | undefined) => void
}) {
  const [busy, setBusy] = useState(false)
  const field = (name: string, title: string, hint?: string) => (
    <TextField
      key={name}
      label={title}
      {...(hint !== undefined && { hint })}
      value={draft[name] ?? ''}
      onValue={(value) => onDraft({ ...draft, [name]: value })}
    />
  )
  const save = async () => {
    const changed = Object.entries(draft).filter(([name, value]) => value.trim() !== textOrEmpty(person[name]))
    if (changed.length === 0) return onDraft(undefined)
    setBusy(true)
    const patch = Object.fromEntries(changed.map(([name, value]) => [name, value.trim() === '' ? null : value.trim()]))
    if (await user.change(patch, word(`${person.username} was changed`))) onDraft(undefined)
    setBusy(false)
  }
  return (
    <Section title="Profile">
      <Form onSubmit={save}>
        {field('username', word('Username'))}
        {FIELDS.map(([name, title, hint]) => field(name, title, hint))}
        <div class="row">
          <Button type="submit" kind="primary" busy={busy} disabled={draft.username?.trim() === ''}>
            Save
          </Button>
          <Button kind="plain" onClick={() => onDraft(undefined)}>
            Cancel
          </Button>
        </div>
      </Form>
    </Section>
  )
}

/** Such as: trader is given by the provider corp. They stay while one of these gives them. */
function sourcesText(sources: NonNullable<Props['person']['role_sources']>): string {
  const given = Object.entries(sources).map(([role, by]) =>
    word(`${role} is given by ${by.map(sourceName).join(word(' and '))}`),
  )
  return word(`${given.join('; ')}. A role is held while one of these gives it.`)
}

function sourceName(source: string): string {
  const [kind, name] = [source.slice(0, source.indexOf(':')), source.slice(source.indexOf(':') + 1)]
  if (kind === 'provider') return word(`the provider ${name}`)
  return kind === 'scim' ? word(`the SCIM client ${name}`) : word('an operator')
}

function Roles({ user, person }: Props) {
  const [draft, setDraft] = useState<readonly string[]>()
  const [busy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    const names = draft?.join(', ') ?? ''
    const done =
      names === '' ? word(`${person.username} has no roles now`) : word(`${person.username} has ${names} now`)
    if (await user.change({ roles: draft }, done)) setDraft(undefined)
    setBusy(false)
  }
  return (
    <Section
      title="Roles"
      about="What they are allowed to do. Changes take effect at once, even in open sessions."
      actions={
        draft === undefined && (
          <Button size="small" icon="edit" onClick={() => setDraft(person.roles)}>
            Change roles
          </Button>
        )
      }
    >
      {person.role_sources !== undefined && <p class="quiet">{sourcesText(person.role_sources)}</p>}
      {draft === undefined ? (
        <p class="badges">
          {person.roles.map((role) => (
            <a key={role} class="badge-link" href={href('people', 'roles', role)}>
              <Badge kind="accent">{role}</Badge>
            </a>
          ))}
          {person.roles.length === 0 && <span class="quiet">None: they can sign in, but have no rights.</span>}
        </p>
      ) : (
        <div class="form">
          <RoleChoice roles={draft} onRoles={setDraft} />
          <div class="row">
            <Button kind="primary" busy={busy} onClick={save}>
              Save roles
            </Button>
            <Button kind="plain" onClick={() => setDraft(undefined)}>
              Cancel
            </Button>
          </div>
        </div>
      )}
    </Section>
  )
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

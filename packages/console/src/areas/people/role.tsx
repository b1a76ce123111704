/** One role: its scopes, its users, and what a change of it affects. */
import { useState } from 'preact/hooks'
import type { AdminRole } from '../../../../client/src/index.ts'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { useScopes } from '../../admin/scopes.ts'
import { isElsewhere, readFaults, type Tagged, useTagged } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  ButtonLink,
  Checkbox,
  Checkboxes,
  count,
  ErrorNotice,
  Form,
  Page,
  Section,
  TextField,
} from '../../ui/index.ts'
import { Right } from '../../ui/rights.tsx'
import { word } from '../../ui/word.ts'
import { fullName, type Person } from './types.ts'

interface Role extends AdminRole {
  readonly users: { readonly count: number; readonly more: boolean }
}

interface Draft {
  readonly name: string
  readonly description: string
  readonly scopes: readonly string[]
  readonly require_second_factor: boolean
  readonly provisioned: boolean
}

const PARENTS = [
  { title: 'People', href: href('people') },
  { title: 'Roles', href: href('people', 'roles') },
]

export function RolePage({ name }: { readonly name: string }) {
  const role = useTagged<Role>(`/admin/roles/${encodeURIComponent(name)}`)
  const { data } = role
  return (
    <Page
      title={name}
      parents={PARENTS}
      actions={
        data !== undefined && (
          <Button kind="danger" icon="trash" onClick={() => remove(role, data)}>
            Delete
          </Button>
        )
      }
    >
      <Await of={role} title="This role could not be loaded">
        {(found) => (
          <>
            <Section title="What it gives">
              <RoleForm
                key={JSON.stringify([found.scopes, found.description, found.provisioned])}
                draft={{ description: '', ...found, provisioned: found.provisioned === true }}
                action="Save"
                note={touched(found)}
                onSave={(draft) => save(role, found, draft)}
              />
            </Section>
            <Holders role={found} />
          </>
        )}
      </Await>
    </Page>
  )
}

function touched({ users }: Role): string {
  if (users.count === 0) return 'No user has this role.'
  return users.count === 1
    ? word('1 user has this role. Changes take effect at once, even in open sessions.')
    : word(`${countText(users)} users have this role. Changes take effect at once, even in open sessions.`)
}

async function save(role: Tagged<Role>, found: Role, draft: Draft): Promise<void> {
  const { name, scopes, users } = found
  const isProvisioned = found.provisioned === true
  const lost = scopes.filter((scope) => !draft.scopes.includes(scope))
  const isAgreed =
    lost.length === 0 ||
    users.count === 0 ||
    (await confirm({
      title: `Remove ${lost.join(', ')} from the role ${name}?`,
      text:
        users.count === 1
          ? '1 user loses it at once, unless another role gives it.'
          : `${countText(users)} users lose it at once, unless another role gives it.`,
      action: 'Save',
      danger: true,
    }))
  if (!isAgreed || (isProvisioned && !draft.provisioned && !(await confirmEnd(name)))) return
  const { description, scopes: wanted, require_second_factor, provisioned } = draft
  const patch = {
    scopes: wanted,
    require_second_factor,
    description: description.trim() || null,
    ...(provisioned !== isProvisioned && { provisioned: provisioned || null }),
  }
  await role.change(patch, `The role ${name} was changed`)
}

function confirmEnd(name: string): Promise<boolean> {
  return confirm({
    title: `End the provisioning of the role ${name}?`,
    text: 'Users to whom a SCIM client gave it lose it at once, unless an operator or a provider gives it too.',
    action: 'End provisioning',
    danger: true,
  })
}

async function remove(role: Tagged<Role>, { name, users, scopes }: Role): Promise<void> {
  const isAgreed = await confirm({
    title: `Delete the role ${name}?`,
    text: lossText(users, scopes),
    action: 'Delete',
    danger: true,
  })
  if (isAgreed && (await role.remove(`The role ${name} was deleted`))) go(href('people', 'roles'), { replace: true })
}

function lossText(users: Role['users'], scopes: readonly string[]): string {
  if (users.count === 0) return 'No user has it.'
  const lost = scopes.join(', ')
  if (lost === '') return users.count === 1 ? word('1 user has it.') : word(`${countText(users)} users have it.`)
  return users.count === 1
    ? word(`1 user loses ${lost} at once, unless another role gives it.`)
    : word(`${countText(users)} users lose ${lost} at once, unless another role gives it.`)
}

function countText({ count: number, more }: Role['users']): string {
  return more ? word(`${count(number)} or more`) : count(number)
}

const SHOWN = 20

function Holders({ role }: { readonly role: Role }) {
  const { items, more } = usePages<Person>(withQuery('/admin/users', { role: role.name, limit: SHOWN }))
  if (role.users.count === 0) return null
  return (
    <Section title="Who has it">
      <p class="badges">
        {items.map((person) => (
          <a key={person.id} class="badge-link" href={href('people', person.id)} title={fullName(person)}>
            <Badge>{person.username}</Badge>
          </a>
        ))}
        {more !== undefined && <a href={href('people', { role: role.name })}>and others</a>}
      </p>
    </Section>
  )
}

export function NewRole() {
  const [error, setError] = useState<unknown>()
  const create = async ({ description, ...draft }: Draft) => {
    setError(undefined)
    try {
      await gate.admin.roles.create({ ...draft, ...(description.trim() !== '' && { description }) })
    } catch (failure) {
      setError(failure)
      return
    }
    toast(`The role ${draft.name} was created`)
    go(href('people', 'roles', draft.name))
  }
  return (
    <Page title="New role" parents={PARENTS}>
      <RoleForm
        draft={{ name: '', description: '', scopes: [], require_second_factor: false, provisioned: false }}
        action="Create the role"
        withName
        error={error}
        onSave={create}
      />
      {isElsewhere(error, ['name', 'description']) && <ErrorNotice error={error} title="The role was not created" />}
    </Page>
  )
}

function RoleForm({
  draft: given,
  action,
  withName = false,
  note,
  error,
  onSave,
}: {
  readonly draft: Draft
  readonly action: string
  readonly withName?: boolean
  readonly note?: string
  readonly error?: unknown
  readonly onSave: (draft: Draft) => Promise<void>
}) {
  const [draft, setDraft] = useState(given)
  const [busy, setBusy] = useState(false)
  const faults = readFaults(error)
  const submit = async () => {
    setBusy(true)
    await onSave(draft)
    setBusy(false)
  }
  return (
    <Form onSubmit={submit}>
      {withName && (
        <TextField
          label="Name"
          value={draft.name}
          onValue={(name) => setDraft({ ...draft, name })}
          error={faults?.get('name')}
          required
          autofocus
        />
      )}
      <TextField
        label="Purpose"
        value={draft.description}
        onValue={(description) => setDraft({ ...draft, description })}
        hint="For other administrators."
        error={faults?.get('description')}
      />
      <ScopeChoice scopes={draft.scopes} onScopes={(scopes) => setDraft({ ...draft, scopes })} />
      <Checkbox
        label="Require a second factor"
        hint="Users with this role must sign in with one."
        checked={draft.require_second_factor}
        onChecked={(isOn) => setDraft({ ...draft, require_second_factor: isOn })}
      />
      <Checkbox
        label="Provisioned over SCIM"
        hint="Directories see it as a group, and may give it to users and take it back."
        checked={draft.provisioned}
        onChecked={(provisioned) => setDraft({ ...draft, provisioned })}
      />
      {note !== undefined && <p class="quiet">{note}</p>}
      <div class="row">
        <Button type="submit" kind="primary" busy={busy} disabled={draft.name.trim() === ''}>
          {action}
        </Button>
        <ButtonLink kind="plain" href={href('people', 'roles')}>
          Cancel
        </ButtonLink>
      </div>
    </Form>
  )
}

/** Who has it already: rights reach users through roles. */
function holdersText(roles: readonly string[]): string {
  if (roles.length === 0) return 'No role gives it yet: nobody has it.'
  return roles.length === 1
    ? `Users have it through the role ${roles[0]}.`
    : `Users have it through the roles ${roles.join(', ')}.`
}

function ScopeChoice({
  scopes,
  onScopes,
}: {
  readonly scopes: readonly string[]
  readonly onScopes: (scopes: readonly string[]) => void
}) {
  return (
    <fieldset class="choices">
      <legend>Rights</legend>
      <Await of={useScopes()}>
        {(found) => (
          <Checkboxes
            items={found
              .filter(({ resource }) => resource !== null)
              .map(({ name, roles }) => ({
                name,
                label: <Right of={name} />,
                hint: holdersText(roles),
              }))}
            chosen={scopes}
            onChosen={onScopes}
          />
        )}
      </Await>
    </fieldset>
  )
}

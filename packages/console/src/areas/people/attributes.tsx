/** The attributes that users and applications can have: the list, a new one, and one to change. */
import { useState } from 'preact/hooks'
import type { AdminAttribute } from '../../../../client/src/index.ts'
import { useAttributes } from '../../admin/attributes.tsx'
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
  Empty,
  ErrorNotice,
  Facts,
  Form,
  Page,
  Section,
  Select,
  Table,
  TextField,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { PeopleTabs } from './tabs.tsx'

const PARENTS = [
  { title: 'People', href: href('people') },
  { title: 'Attributes', href: href('people', 'attributes') },
]
const NEW = (
  <ButtonLink kind="primary" icon="plus" href={href('people', 'attributes', 'new')}>
    New attribute
  </ButtonLink>
)

export function Attributes() {
  return (
    <Page title="Attributes" bar={<PeopleTabs current="attributes" />} actions={NEW}>
      <Await of={useAttributes()} title="The attributes could not be loaded">
        {(attributes) =>
          attributes.length === 0 ? (
            <Empty icon="people" title="There are no attributes yet" actions={NEW}>
              An attribute is something your firm knows about people and programs, such as their desk. Row filters can
              use it, and applications can get it as a claim.
            </Empty>
          ) : (
            <Table
              label="Attributes"
              rows={attributes}
              rowKey={({ name }) => name}
              rowHref={({ name }) => href('people', 'attributes', name)}
              columns={[
                { title: 'Attribute', cell: ({ name }) => name },
                { title: 'Type', cell: ({ type, many }) => (many ? word(`${type}, many`) : type) },
                { title: 'Claim', cell: ({ claim }) => (claim === undefined ? '' : <code>{claim}</code>) },
                { title: 'Scope', wide: true, cell: ({ scope }) => scope !== undefined && <Badge>{scope}</Badge> },
              ]}
            />
          )
        }
      </Await>
    </Page>
  )
}

interface Draft {
  readonly name: string
  readonly type: AdminAttribute['type']
  readonly many: boolean
  readonly claim: string
  readonly scope: string
  readonly scim: string
}

export function AttributePage({ name }: { readonly name: string }) {
  const attribute = useTagged<AdminAttribute>(`/admin/attributes/${encodeURIComponent(name)}`)
  return (
    <Page
      title={name}
      parents={PARENTS}
      actions={
        attribute.data !== undefined && (
          <Button kind="danger" icon="trash" onClick={() => remove(attribute, name)}>
            Delete
          </Button>
        )
      }
    >
      <Await of={attribute} title="This attribute could not be loaded">
        {(found) => (
          <>
            <Section title="Values">
              <Facts
                of={[
                  [word('Type'), found.type],
                  [word('Number'), found.many ? 'Any number, as a set' : 'At most one'],
                  ['In row filters', <code>{`:attribute.${found.name}`}</code>],
                ]}
              />
            </Section>
            <Section title="Claim" about="Where applications get it.">
              <AttributeForm
                key={JSON.stringify(found)}
                draft={{ claim: '', scope: '', scim: '', ...found }}
                action="Save"
                onSave={async ({ claim, scope, scim }) => {
                  const patch = { claim: claim || null, scope: scope || null, scim: scim || null }
                  await attribute.change(patch, `The attribute ${name} was changed`)
                }}
              />
            </Section>
          </>
        )}
      </Await>
    </Page>
  )
}

async function remove(attribute: Tagged<AdminAttribute>, name: string): Promise<void> {
  const isAgreed = await confirm({
    title: `Delete the attribute ${name}?`,
    text: 'All users lose their values.',
    action: 'Delete',
    danger: true,
  })
  if (isAgreed && (await attribute.remove(`The attribute ${name} was deleted`)))
    go(href('people', 'attributes'), { replace: true })
}

export function NewAttribute() {
  const [error, setError] = useState<unknown>()
  const create = async ({ name, type, many, ...claim }: Draft) => {
    setError(undefined)
    const given = Object.fromEntries(Object.entries(claim).filter(([, value]) => value !== ''))
    try {
      await gate.admin.attributes.create({ name, type, many, ...given })
    } catch (failure) {
      setError(failure)
      return
    }
    toast(`The attribute ${name} was created`)
    go(href('people', 'attributes', name))
  }
  return (
    <Page title="New attribute" parents={PARENTS}>
      <AttributeForm
        draft={{ name: '', type: 'Text', many: false, claim: '', scope: '', scim: '' }}
        action="Create the attribute"
        isNew
        error={error}
        onSave={create}
      />
      {isElsewhere(error, ['name', 'claim', 'scope', 'scim']) && (
        <ErrorNotice error={error} title="The attribute was not created" />
      )}
    </Page>
  )
}

const TYPES = ['Text', 'Integer', 'Boolean', 'Date'] as const

function AttributeForm({
  draft: given,
  action,
  isNew = false,
  error,
  onSave,
}: {
  readonly draft: Draft
  readonly action: string
  readonly isNew?: boolean
  readonly error?: unknown
  readonly onSave: (draft: Draft) => Promise<void>
}) {
  const [draft, setDraft] = useState(given)
  const [busy, setBusy] = useState(false)
  const { data: scopes = [] } = useScopes()
  const faults = readFaults(error)
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const submit = async () => {
    setBusy(true)
    await onSave(draft)
    setBusy(false)
  }
  const names = scopes.map(({ name }) => name).filter((name) => name !== 'offline_access')
  return (
    <Form onSubmit={submit}>
      {isNew && (
        <>
          <TextField
            label="Name"
            value={draft.name}
            onValue={(name) => set({ name })}
            hint="Lower-case letters, digits and underscores. It cannot be changed later, nor can the type."
            error={faults?.get('name')}
            required
            autofocus
          />
          <Select
            label="Type"
            value={draft.type}
            onValue={(value) => set({ type: TYPES.find((type) => type === value) ?? 'Text' })}
            choices={TYPES}
          />
          <Checkbox
            label="Several values"
            hint="A set of values instead of at most one."
            checked={draft.many}
            onChecked={(many) => set({ many })}
          />
        </>
      )}
      <TextField
        label="Claim"
        value={draft.claim}
        onValue={(claim) => set({ claim })}
        hint="Its name in tokens and at userinfo. Empty: applications do not get it."
        error={faults?.get('claim')}
      />
      <Select
        label="Scope"
        value={draft.scope}
        onValue={(scope) => set({ scope })}
        choices={[
          { value: '', title: 'none: only on request' },
          ...new Set([...names, ...(draft.scope ? [draft.scope] : [])]),
        ]}
        hint="The scope with which the claim comes."
        error={faults?.get('scope')}
      />
      <TextField
        label="SCIM attribute"
        value={draft.scim}
        onValue={(scim) => set({ scim })}
        hint="The path of the SCIM attribute that writes it."
        error={faults?.get('scim')}
      />
      <div class="row">
        <Button type="submit" kind="primary" busy={busy} disabled={draft.name.trim() === ''}>
          {action}
        </Button>
        <ButtonLink kind="plain" href={href('people', 'attributes')}>
          Cancel
        </ButtonLink>
      </div>
    </Form>
  )
}

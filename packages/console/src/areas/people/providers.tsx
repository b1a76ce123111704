/** The other OpenID providers through which people sign in: which there are, their definitions, and a trial sign-in. */
import { useState } from 'preact/hooks'
import type { AdminProvider } from '../../../../client/src/index.ts'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { type Tagged, useTagged } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { server } from '../../server.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  ButtonLink,
  Empty,
  ErrorNotice,
  Form,
  Page,
  Section,
  TextArea,
  TextField,
} from '../../ui/index.ts'
import { PeopleTabs } from './tabs.tsx'

const PARENTS = [
  { title: 'People', href: href('people') },
  { title: 'Providers', href: href('people', 'providers') },
]

export function Providers() {
  const providers = usePages<AdminProvider>('/admin/providers')
  return (
    <Page
      title="Providers"
      bar={<PeopleTabs current="Providers" />}
      actions={
        <ButtonLink kind="primary" icon="plus" href={href('people', 'providers', 'new')}>
          New provider
        </ButtonLink>
      }
    >
      <PagedTable
        of={providers}
        label="Providers"
        keyOf={({ id }) => id}
        hrefOf={({ id }) => href('people', 'providers', id)}
        columns={[
          { title: 'Provider', cell: ({ name }) => name },
          { title: 'Issuer', wide: true, cell: ({ issuer }) => issuer },
          { title: 'Provision', cell: ({ provision }) => provision },
          { title: '', cell: ({ disabled }) => (disabled ? <Badge>Disabled</Badge> : '') },
        ]}
        empty={
          <Empty icon="shield" title="People sign in with their accounts here">
            Declare a provider, and they can use an account that they have elsewhere.
          </Empty>
        }
      />
    </Page>
  )
}

export function ProviderPage({ id }: { readonly id: string }) {
  const provider = useTagged<AdminProvider>(`/admin/providers/${encodeURIComponent(id)}`)
  const { data } = provider
  return (
    <Page
      title={data?.name ?? id}
      parents={PARENTS}
      actions={
        data !== undefined && (
          <>
            <ButtonLink href={`${server.base}/external/${encodeURIComponent(id)}/trial`} target="_blank">
              Trial sign-in
            </ButtonLink>
            <Button onClick={() => toggle(provider, data)}>{data.disabled ? 'Enable' : 'Disable'}</Button>
            <Button kind="danger" icon="trash" onClick={() => remove(provider, data)}>
              Remove
            </Button>
          </>
        )
      }
    >
      <Await of={provider} title="This provider could not be loaded">
        {(found) => (
          <>
            <Section title="To be registered there">
              <dl class="facts">
                {ADDRESSES.flatMap(([member, title]) =>
                  found[member] === undefined
                    ? []
                    : [<dt key={`${member}-title`}>{title}</dt>, <dd key={member}>{String(found[member])}</dd>],
                )}
              </dl>
            </Section>
            <Section title="Definition">
              <Definition key={JSON.stringify(found)} provider={provider} found={found} />
            </Section>
          </>
        )}
      </Await>
    </Page>
  )
}

const ADDRESSES = [
  ['redirect_uri', 'Redirect URI'],
  ['backchannel_logout_uri', 'Back-channel logout'],
  ['post_logout_redirect_uri', 'After a sign-out'],
  ['jwks_uri', 'Public key'],
] as const

/** What only the server writes. */
const SHOWN_ELSEWHERE = [
  ...['id', 'disabled', 'has_secret', 'redirect_uri', 'backchannel_logout_uri', 'post_logout_redirect_uri'],
  ...['jwks_uri', 'public_key'],
]

function Definition({ provider, found }: { readonly provider: Tagged<AdminProvider>; readonly found: AdminProvider }) {
  const shown = Object.fromEntries(Object.entries(found).filter(([name]) => !SHOWN_ELSEWHERE.includes(name)))
  const [text, setText] = useState(JSON.stringify(shown, undefined, 2))
  const [secret, setSecret] = useState('')
  const [error, setError] = useState<unknown>()
  const submit = async () => {
    setError(undefined)
    try {
      const wanted: object = JSON.parse(text)
      // A member that was deleted in the text returns to its default.
      const gone = Object.keys(shown).filter((name) => !Object.hasOwn(wanted, name))
      await provider.save({
        ...wanted,
        ...Object.fromEntries(gone.map((name) => [name, null])),
        ...(secret !== '' && { client_secret: secret }),
      })
      toast(`The provider ${found.id} was changed`)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Form onSubmit={submit}>
      <TextArea label="Members, as in the declarative file" value={text} onValue={setText} rows={16} />
      <TextField
        label="New client secret"
        type="password"
        autocomplete="off"
        value={secret}
        onValue={setSecret}
        hint={found.has_secret === true ? 'Empty: the secret stays.' : 'There is none yet.'}
      />
      <Button kind="primary" type="submit">
        Save
      </Button>
      {error !== undefined && <ErrorNotice error={error} title="The provider was not changed" />}
    </Form>
  )
}

async function toggle(provider: Tagged<AdminProvider>, { id, disabled }: AdminProvider): Promise<void> {
  await provider.change({ disabled: !disabled }, `The provider ${id} is ${disabled ? 'enabled' : 'disabled'}`)
}

async function remove(provider: Tagged<AdminProvider>, { id, name }: AdminProvider): Promise<void> {
  const isAgreed = await confirm({
    title: `Remove the provider ${name}?`,
    text: 'The identities that users have there are unlinked, the roles that its rules gave are lost, and its sessions end.',
    action: 'Remove',
    danger: true,
  })
  if (isAgreed && (await provider.remove(`The provider ${id} was removed`)))
    go(href('people', 'providers'), { replace: true })
}

export function NewProvider() {
  const [draft, setDraft] = useState({ id: '', name: '', issuer: '', client_id: '', client_secret: '' })
  const [error, setError] = useState<unknown>()
  const create = async () => {
    setError(undefined)
    try {
      const { name, ...rest } = draft
      await gate.admin.providers.create({ ...rest, ...(name.trim() !== '' && { name }) })
    } catch (failure) {
      setError(failure)
      return
    }
    toast(`The provider ${draft.id} was created`)
    go(href('people', 'providers', draft.id))
  }
  const field = (name: keyof typeof draft, label: string, hint: string) => (
    <TextField
      label={label}
      hint={hint}
      value={draft[name]}
      onValue={(value) => setDraft({ ...draft, [name]: value })}
      required={name !== 'name'}
      {...(name === 'client_secret' && ({ type: 'password', autocomplete: 'off' } as const))}
    />
  )
  return (
    <Page title="New provider" parents={PARENTS}>
      <Form onSubmit={create}>
        {field('id', 'Id', 'In addresses: lower-case letters and digits, such as corp.')}
        {field('name', 'Name', 'On the button of the sign-in page.')}
        {field('issuer', 'Issuer', 'Exactly as the provider writes it, such as https://id.example.com/realms/main.')}
        {field('client_id', 'Client id', 'As the provider has registered this server.')}
        {field('client_secret', 'Client secret', 'Stored sealed, and never shown again.')}
        <Button kind="primary" type="submit">
          Create the provider
        </Button>
      </Form>
      {error !== undefined && <ErrorNotice error={error} title="The provider was not created" />}
    </Page>
  )
}

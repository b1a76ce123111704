/** The other OpenID providers through which people sign in: the list, one of them, a new one, and a trial sign-in. */
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
import { Await, Badge, Button, ButtonLink, Copy, Empty, Facts, Page, Section } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { buildRequest, type Draft, draftProvider, EMPTY } from './provider-draft.ts'
import { ProviderForm } from './provider-form.tsx'
import { PeopleTabs } from './tabs.tsx'

const PARENTS = [
  { title: 'People', href: href('people') },
  { title: 'Providers', href: href('people', 'providers') },
]

const PROVISION: Readonly<Record<AdminProvider['provision'], string>> = {
  never: word('None'),
  invited: 'By invitation',
  create: word('Automatic'),
}

export function Providers() {
  const providers = usePages<AdminProvider>('/admin/providers')
  return (
    <Page
      title="Providers"
      bar={<PeopleTabs current="providers" />}
      actions={
        <ButtonLink kind="primary" icon="plus" href={href('people', 'providers', 'new')}>
          New provider
        </ButtonLink>
      }
    >
      <PagedTable
        of={providers}
        label="Providers"
        rowKey={({ id }) => id}
        rowHref={({ id }) => href('people', 'providers', id)}
        columns={[
          { title: 'Provider', cell: ({ name }) => name },
          { title: 'Issuer', wide: true, cell: ({ issuer }) => <code>{issuer}</code> },
          { title: 'New accounts', cell: ({ provision }) => PROVISION[provision] },
          {
            title: 'State',
            cell: ({ disabled }) => (disabled ? <Badge>Disabled</Badge> : <Badge kind="good">Enabled</Badge>),
          },
        ]}
        empty={
          <Empty icon="shield" title="People sign in with their accounts here">
            Declare a provider to let them use an account they have elsewhere.
          </Empty>
        }
      />
    </Page>
  )
}

export function ProviderPage({ id }: { readonly id: string }) {
  const provider = useTagged<AdminProvider>(`/admin/providers/${encodeURIComponent(id)}`)
  const { data } = provider
  // A form that was saved begins anew, without the secret.
  const [saved, setSaved] = useState(0)
  return (
    <Page
      title={data?.name ?? id}
      afterTitle={data?.disabled === true && <Badge>Disabled</Badge>}
      parents={PARENTS}
      actions={
        data !== undefined && (
          <>
            <ButtonLink
              icon="external"
              href={`${server.base}/external/${encodeURIComponent(id)}/trial`}
              target="_blank"
            >
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
            <Section
              title="Addresses to register there"
              about="The provider sends people, and its messages, to these addresses."
            >
              <Facts
                of={ADDRESSES.flatMap(([member, title]) => {
                  const address = found[member]
                  return typeof address === 'string' ? [[title, <Address text={address} title={title} />] as const] : []
                })}
              />
            </Section>
            <ProviderForm
              key={`${saved} ${JSON.stringify(found)}`}
              draft={draftProvider(found)}
              action="Save"
              failed="The provider was not changed"
              hasSecret={found.has_secret === true}
              onSave={async (draft) => {
                await provider.save(buildRequest(draft))
                setSaved(saved + 1)
                toast(`The provider ${found.id} was changed`)
              }}
            />
          </>
        )}
      </Await>
    </Page>
  )
}

const ADDRESSES = [
  ['redirect_uri', 'Redirect URI'],
  ['backchannel_logout_uri', word('Back-channel logout')],
  ['post_logout_redirect_uri', 'After a sign-out'],
  ['jwks_uri', 'Public key'],
] as const

function Address({ text, title }: { readonly text: string; readonly title: string }) {
  return (
    <span class="row tight">
      <code>{text}</code>
      <Copy text={text} label={`Copy: ${title}`} />
    </span>
  )
}

async function toggle(provider: Tagged<AdminProvider>, { id, disabled }: AdminProvider): Promise<void> {
  const done = disabled ? `The provider ${id} is enabled` : `The provider ${id} is disabled`
  await provider.change({ disabled: !disabled }, done)
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
  const create = async (draft: Draft) => {
    const id = draft.id.trim()
    const members = Object.entries(buildRequest(draft)).filter(([, value]) => value !== null)
    await gate.admin.providers.create({ id, issuer: draft.issuer.trim(), ...Object.fromEntries(members) })
    toast(`The provider ${id} was created. Register its addresses there.`)
    go(href('people', 'providers', id))
  }
  return (
    <Page title="New provider" parents={PARENTS}>
      <ProviderForm
        draft={EMPTY}
        action="Create the provider"
        failed="The provider was not created"
        isNew
        onSave={create}
      />
    </Page>
  )
}

/** The page of one application: how it is registered, its secrets, and the code to connect it. */
import { useEffect } from 'preact/hooks'
import { AttributeValues } from '../../admin/attributes.tsx'
import { type Tagged, useTagged } from '../../admin/tagged.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { Await, Menu, Notice, Page, Tabs } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { Authentication } from './authentication.tsx'
import { CodePage } from './code.tsx'
import { type Application, clientKind, hasSecret, kindInfo } from './kinds.ts'
import { ApplicationBadges } from './list.tsx'
import { forgetSecret } from './secret.ts'
import { Secrets } from './secrets.tsx'
import { Settings } from './settings.tsx'

const PARENTS = [{ title: 'Applications', href: href('applications') }]

export function ApplicationPage({ id, part }: { readonly id: string; readonly part: string | undefined }) {
  const client = useTagged<Application>(`/admin/clients/${encodeURIComponent(id)}`)
  useEffect(() => forgetSecret, [])
  const { data } = client
  if (data === undefined)
    return (
      <Page title={id} parents={PARENTS}>
        <Await of={client} title="This application could not be loaded">
          {() => null}
        </Await>
      </Page>
    )
  const isOwn = data.built_in === true
  const isConfidential = kindInfo(clientKind(data)).confidential && !isOwn
  return (
    <Page
      title={data.client_name ?? data.client_id}
      parents={PARENTS}
      afterTitle={<ApplicationBadges client={data} />}
      actions={isOwn ? undefined : <Menu label="More actions" items={listActions(client, data)} />}
      bar={
        <Tabs
          label={data.client_name ?? data.client_id}
          tabs={[
            { title: 'Settings', href: href('applications', id), current: part === undefined },
            ...(isOwn || data.document === true
              ? []
              : [{ title: 'Code', href: href('applications', id, 'code'), current: part === 'code' }]),
          ]}
        />
      }
    >
      {isOwn && (
        <Notice>
          This application is part of the server. It cannot be changed; to remove it, turn off the setting{' '}
          <code>console</code>.
        </Notice>
      )}
      {data.document === true && (
        <Notice>
          This agent publishes its description at its client id. Which rights it can ask for is set under{' '}
          <a href={href('applications', 'agents')}>Agents</a>.
        </Notice>
      )}
      {part === 'code' && !isOwn ? (
        <CodePage client={data} />
      ) : (
        <>
          <Settings key={JSON.stringify(data)} application={client} client={data} />
          {kindInfo(clientKind(data)).kind === 'service' && !isOwn && (
            <AttributeValues
              of={client}
              values={data.attributes ?? {}}
              about="For its tokens without a user. Changes take effect at once."
              done={`The attributes of ${data.client_id} were changed`}
            />
          )}
          {isConfidential && <Authentication key={data.client_id} application={client} client={data} />}
          {isConfidential && hasSecret(data) && <Secrets client={data} onChange={client.reload} />}
        </>
      )}
    </Page>
  )
}

function listActions(application: Tagged<Application>, client: Application) {
  const name = client.client_name ?? client.client_id
  return [
    client.disabled === true
      ? {
          title: 'Enable',
          icon: 'check' as const,
          act: () => void application.change({ disabled: false }, word(`${name} works again`)),
        }
      : { title: 'Disable', icon: 'lock' as const, danger: true, act: () => void disable(application, name) },
    { title: 'Delete', icon: 'trash' as const, danger: true, act: () => void remove(application, client, name) },
  ]
}

async function disable(application: Tagged<Application>, name: string): Promise<void> {
  const isAgreed = await confirm({
    title: `Disable ${name}?`,
    text: 'All its tokens are revoked at once, streaming connections that use them are closed, and users cannot sign in with it until it is enabled again. Its settings and secrets stay.',
    action: 'Disable',
    danger: true,
  })
  if (isAgreed) await application.change({ disabled: true }, word(`${name} was disabled`))
}

async function remove(application: Tagged<Application>, client: Application, name: string): Promise<void> {
  const { length } = client.secrets
  const secrets = length === 0 ? '' : length === 1 ? word(', its secret') : word(`, its ${length} secrets`)
  const isAgreed = await confirm({
    title: `Delete ${name}?`,
    text: `Its registration${secrets} and the consents of its users are deleted, and all its tokens are revoked. This cannot be undone.`,
    action: 'Delete',
    danger: true,
    typed: client.client_id,
  })
  if (isAgreed && (await application.remove(word(`${name} was deleted`)))) go(href('applications'), { replace: true })
}

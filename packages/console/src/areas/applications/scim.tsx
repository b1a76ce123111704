/** The clients that provision users over SCIM: when each was last seen, and its provisioning tokens. */
import { useState } from 'preact/hooks'
import { read } from '../../admin/requests.ts'
import { confirmAndAttempt } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { server } from '../../server.ts'
import { href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  ButtonLink,
  Copy,
  dangerColumn,
  Empty,
  FormDialog,
  Notice,
  Page,
  Section,
  Select,
  Table,
  Time,
  useLoad,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { ApplicationTabs } from './tabs.tsx'

interface ScimClient {
  readonly client_id: string
  readonly client_name: string
  readonly disabled: boolean
  readonly last_seen_at: string | null
  readonly tokens: readonly ProvisioningToken[]
}

interface ProvisioningToken {
  readonly id: string
  readonly created_at: string
  readonly expires_at: string
  readonly last_used_at: string | null
}

const MOST = 2
const DAY = 86_400
const LIFETIMES = [
  { value: String(90 * DAY), title: '90 days' },
  { value: String(365 * DAY), title: 'A year' },
  { value: String(730 * DAY), title: 'Two years' },
] as const

export function ScimClients() {
  const clients = useLoad(
    async (signal) => (await read<{ items: readonly ScimClient[] }>('/admin/scim', signal)).items,
    [],
  )
  return (
    <Page title="Provisioning" bar={<ApplicationTabs current="provisioning" />}>
      <Await of={clients} title="The clients could not be listed">
        {(items) =>
          items.length === 0 ? (
            <Empty
              icon="people"
              title="No client provisions users yet"
              actions={
                <ButtonLink href={`${server.base}/docs/scim`} target="_blank" icon="external">
                  Documentation
                </ButtonLink>
              }
            >
              With SCIM, a directory such as Entra ID or Okta creates users here, keeps them up to date, and disables
              them when they leave. Set <code>scim</code> to true, and register a client with{' '}
              <code>Identity/Provisioning</code>.
            </Empty>
          ) : (
            items.map((client) => <Client key={client.client_id} client={client} onChange={clients.reload} />)
          )
        }
      </Await>
    </Page>
  )
}

function Client({ client, onChange }: { readonly client: ScimClient; readonly onChange: () => void }) {
  const [isAdding, setAdding] = useState(false)
  const [made, setMade] = useState<string>()
  const path = `/admin/scim/${encodeURIComponent(client.client_id)}/tokens`
  const revoke = async ({ id }: ProvisioningToken) => {
    const isRevoked = await confirmAndAttempt(
      {
        title: 'Revoke this provisioning token?',
        text: 'The directory that uses it can no longer change users here.',
        action: 'Revoke',
      },
      () => gate.request(`${path}/${encodeURIComponent(id)}`, { method: 'DELETE' }),
      'The token was revoked',
    )
    if (isRevoked) onChange()
  }
  return (
    <Section
      title={client.client_name}
      about={<Activity client={client} />}
      actions={
        <>
          <ButtonLink size="small" href={href('applications', client.client_id)}>
            Application
          </ButtonLink>
          <Button size="small" icon="plus" disabled={client.tokens.length >= MOST} onClick={() => setAdding(true)}>
            Issue a token
          </Button>
        </>
      }
    >
      {made !== undefined && <ShownOnce token={made} />}
      {client.tokens.length === 0 ? (
        <p class="quiet">No provisioning token: the client fetches access tokens with its secret.</p>
      ) : (
        <Table
          label={`Provisioning tokens of ${client.client_name}`}
          rows={client.tokens}
          rowKey={({ id }) => id}
          columns={[
            { title: 'Token', cell: ({ id }) => <code>{id}</code> },
            { title: 'Issued', wide: true, cell: ({ created_at: at }) => <Time at={at} as="relative" /> },
            { title: 'Expires', cell: ({ expires_at: at }) => <Time at={at} as="relative" /> },
            {
              title: 'Last used',
              cell: ({ last_used_at: at }) => (at === null ? word('never') : <Time at={at} as="relative" />),
            },
            dangerColumn(() => word('Revoke'), revoke),
          ]}
        />
      )}
      {isAdding && (
        <IssueToken
          path={path}
          onClose={() => setAdding(false)}
          onMade={(token) => {
            setMade(token)
            setAdding(false)
            onChange()
          }}
        />
      )}
    </Section>
  )
}

function Activity({ client: { client_id: id, disabled, last_seen_at: at } }: { readonly client: ScimClient }) {
  return (
    <>
      <code>{id}</code> {disabled && <Badge kind="danger">Disabled</Badge>}{' '}
      {at === null ? (
        'It has not connected yet.'
      ) : (
        <>
          Last seen <Time at={at} as="relative" />.
        </>
      )}
    </>
  )
}

function IssueToken({
  path,
  onClose,
  onMade,
}: {
  readonly path: string
  readonly onClose: () => void
  readonly onMade: (token: string) => void
}) {
  const [lifetime, setLifetime] = useState<string>(LIFETIMES[1].value)
  const { isBusy, submit } = useSubmit(async () => {
    const reply = (await gate.json(path, { method: 'POST', body: { expires_in: Number(lifetime) } })) as {
      token: string
    }
    toast('A provisioning token was issued')
    onMade(reply.token)
  }, toastError)
  return (
    <FormDialog
      title="Issue a provisioning token"
      size="small"
      action="Issue"
      busy={isBusy}
      onClose={onClose}
      onSubmit={submit}
    >
      <p>It works for SCIM only, and is shown once.</p>
      <Select label="Valid for" value={lifetime} onValue={setLifetime} choices={LIFETIMES} />
    </FormDialog>
  )
}

/** Gone when the page is left. */
function ShownOnce({ token }: { readonly token: string }) {
  return (
    <div class="shown-once">
      <Notice kind="warning">
        <strong>This is the only time the provisioning token is shown.</strong> Enter it in the directory as the secret
        or API token, with the address <code>{`${server.issuer}/scim/v2`}</code>.
      </Notice>
      <div class="shown-once-secret">
        <code>{token}</code>
        <Copy text={token} label="Copy the token" />
      </div>
    </div>
  )
}

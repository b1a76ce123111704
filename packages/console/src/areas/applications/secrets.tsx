/** The secrets of an application: two may be valid at once, so that one can replace the other without downtime. */
import { useState } from 'preact/hooks'
import { confirmAndAttempt } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Badge,
  Button,
  Copy,
  dangerColumn,
  FormDialog,
  Notice,
  Section,
  Select,
  Table,
  Time,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Application, Secret } from './kinds.ts'

const MOST = 2

const ENDINGS = [
  { value: '', title: 'Valid until it is removed' },
  { value: '3600', title: 'Expires in an hour' },
  { value: '86400', title: 'Expires in a day' },
  { value: '604800', title: 'Expires in a week' },
] as const

export function Secrets({ client, onChange }: { readonly client: Application; readonly onChange: () => void }) {
  const [isAdding, setAdding] = useState(false)
  const [made, setMade] = useState<string>()
  const path = `/admin/clients/${encodeURIComponent(client.client_id)}/secrets`
  const valid = client.secrets.filter(({ expires_at: at }) => at === null || Date.parse(at) > Date.now())
  const remove = async ({ id }: Secret) => {
    const isRemoved = await confirmAndAttempt(
      {
        title: 'Remove this secret?',
        text:
          valid.length > 1
            ? 'Programs that still use it can no longer get tokens. The other secret stays valid.'
            : 'This is the only valid secret: the application cannot get tokens until it has another one.',
        action: 'Remove',
      },
      () => gate.request(`${path}/${encodeURIComponent(id)}`, { method: 'DELETE' }),
      'The secret was removed',
    )
    if (isRemoved) onChange()
  }
  return (
    <Section
      title="Secrets"
      about="Only digests are stored. To replace a secret, add a second one, use it everywhere, then remove the first."
      actions={
        <Button size="small" icon="plus" disabled={valid.length >= MOST} onClick={() => setAdding(true)}>
          Add a secret
        </Button>
      }
    >
      {made !== undefined && <ShownOnce secret={made} />}
      {client.secrets.length === 0 ? (
        <p class="quiet">None: the application cannot get tokens.</p>
      ) : (
        <Table
          label="Secrets"
          rows={client.secrets}
          rowKey={({ id }) => id}
          columns={[
            { title: 'Secret', cell: ({ id }) => <code>{id}</code> },
            { title: 'Added', cell: ({ created_at: at }) => <Time at={at} as="relative" /> },
            {
              title: 'Expires',
              cell: ({ expires_at: at }) => (at === null ? word('never') : <Time at={at} as="relative" />),
            },
            { title: 'From', wide: true, cell: ({ declared }) => (declared ? <Badge>declarative file</Badge> : '') },
            dangerColumn(() => word('Remove'), remove),
          ]}
        />
      )}
      {isAdding && (
        <AddSecret
          path={path}
          hasOther={valid.length > 0}
          onClose={() => setAdding(false)}
          onMade={(secret) => {
            setMade(secret)
            setAdding(false)
            onChange()
          }}
        />
      )}
    </Section>
  )
}

function AddSecret({
  path,
  hasOther,
  onClose,
  onMade,
}: {
  readonly path: string
  readonly hasOther: boolean
  readonly onClose: () => void
  readonly onMade: (secret: string) => void
}) {
  const [ending, setEnding] = useState('')
  const { isBusy, submit } = useSubmit(async () => {
    const body = hasOther && ending !== '' ? { others_expire_in: Number(ending) } : {}
    const reply = (await gate.json(path, { method: 'POST', body })) as { client_secret: string }
    toast('A secret was added')
    onMade(reply.client_secret)
  }, toastError)
  return (
    <FormDialog title="Add a secret" size="small" action="Add" busy={isBusy} onClose={onClose} onSubmit={submit}>
      <p>The server generates it and shows it once.</p>
      {hasOther && <Select label="The existing secret" value={ending} onValue={setEnding} choices={ENDINGS} />}
    </FormDialog>
  )
}

/** Gone when the page is left. */
export function ShownOnce({ secret }: { readonly secret: string }) {
  return (
    <div class="shown-once">
      <Notice kind="warning">
        <strong>This is the only time the client secret is shown.</strong> Store it where the application can find it,
        such as the environment variable <code>CLIENT_SECRET</code>.
      </Notice>
      <div class="shown-once-secret">
        <code>{secret}</code>
        <Copy text={secret} label="Copy the secret" />
      </div>
    </div>
  )
}

/** The entitlements to a product: the list, and the dialog that adds one. */
import { useState } from 'preact/hooks'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { confirmAndAttempt, readFaults } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Button,
  dangerColumn,
  Empty,
  ErrorNotice,
  FormDialog,
  Section,
  Segments,
  Select,
  TextField,
  Time,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Entitlement } from './types.ts'
import { ACCESS_TITLES, AccessBadge, holderKind, holderText, kindText } from './words.tsx'

export function Entitlements({ product }: { readonly product: string }) {
  const entitlements = usePages<Entitlement>(withQuery('/admin/entitlements', { product, limit: 100 }))
  const [isAdding, setAdding] = useState(false)
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
      New entitlement
    </Button>
  )
  return (
    <Section
      title="Entitlements"
      about="The nearest decides: a user or application by name, then an attribute, then a role; among these the highest access."
      actions={add}
    >
      <PagedTable
        of={entitlements}
        label="Entitlements"
        rowKey={({ id }) => id}
        columns={[
          { title: 'Who', cell: (each) => holderText(each) },
          { title: 'Kind', wide: true, cell: (each) => holderKind(each) },
          { title: 'Access', cell: ({ access }) => <AccessBadge of={access} /> },
          { title: 'From', wide: true, cell: ({ from }) => from !== undefined && <Time at={from} as="date" /> },
          { title: 'Until', cell: ({ until }) => until !== undefined && <Time at={until} as="date" /> },
          { title: 'Counted as', wide: true, cell: ({ kind }) => kindText(kind) },
          dangerColumn(
            () => 'Remove',
            (entitlement) => remove(entitlement, entitlements.reload),
          ),
        ]}
        empty={
          <Empty icon="people" title="Nobody is entitled" actions={add}>
            All have what the product gives to all.
          </Empty>
        }
      />
      {isAdding && (
        <NewEntitlement
          product={product}
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false)
            entitlements.reload()
          }}
        />
      )}
    </Section>
  )
}

async function remove(entitlement: Entitlement, reload: () => void): Promise<void> {
  const who = holderText(entitlement)
  const isDone = await confirmAndAttempt(
    {
      title: `Remove the entitlement of ${who}?`,
      text: 'It takes effect at once, also for what is open.',
      action: 'Remove',
    },
    () =>
      gate.request(`/admin/entitlements/${encodeURIComponent(entitlement.id)}`, {
        method: 'DELETE',
        headers: { 'if-match': '*' },
      }),
    'The entitlement was removed',
  )
  if (isDone) reload()
}

const HOLDERS = ['user', 'role', 'attribute', 'client'] as const
type HolderKind = (typeof HOLDERS)[number]

function NewEntitlement({
  product,
  onAdded,
  onClose,
}: {
  readonly product: string
  readonly onAdded: () => void
  readonly onClose: () => void
}) {
  const [holder, setHolder] = useState<HolderKind>('user')
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [access, setAccess] = useState('realtime')
  const [from, setFrom] = useState('')
  const [until, setUntil] = useState('')
  const [kind, setKind] = useState('billable')
  const [note, setNote] = useState('')
  const { isBusy, error, submit } = useSubmit(async () => {
    const given = {
      ...{ product, access, kind },
      [holder]: holder === 'attribute' ? { [name.trim()]: value.trim() } : name.trim(),
      ...(from !== '' && { from }),
      ...(until !== '' && { until }),
      ...(note.trim() !== '' && { note: note.trim() }),
    }
    await gate.request('/admin/entitlements', { method: 'POST', body: given })
    toast('The entitlement was given')
    onAdded()
  })
  const faults = readFaults(error)
  const isShown = faults !== undefined && [...faults.keys()].every((path) => FIELDS.includes(path))
  return (
    <FormDialog
      title="New entitlement"
      action="Give"
      busy={isBusy}
      disabled={name.trim() === '' || (holder === 'attribute' && value.trim() === '')}
      onClose={onClose}
      onSubmit={submit}
    >
      <Segments
        label="Who"
        value={holder}
        onValue={(chosen) => setHolder(HOLDERS.find((each) => each === chosen) ?? 'user')}
        choices={[
          { value: 'user', title: word('User') },
          { value: 'role', title: word('Role') },
          { value: 'attribute', title: word('Attribute') },
          { value: 'client', title: word('Application') },
        ]}
      />
      <div class="market-data-fields">
        <TextField
          label={nameLabel(holder)}
          value={name}
          onValue={setName}
          error={faults?.get(holder)}
          required
          autofocus
        />
        {holder === 'attribute' && <TextField label="Value" value={value} onValue={setValue} required />}
        <Select
          label="Access"
          value={access}
          onValue={setAccess}
          choices={Object.entries(ACCESS_TITLES).map(([id, title]) => ({ value: id, title }))}
          error={faults?.get('access')}
        />
        <Select
          label="Counted as"
          value={kind}
          onValue={setKind}
          choices={['billable', 'trial', 'exempt'].map((id) => ({ value: id, title: kindText(id) }))}
        />
        <TextField
          label="From"
          type="date"
          hint="In UTC. Empty: always."
          value={from}
          onValue={setFrom}
          error={faults?.get('from')}
        />
        <TextField
          label="Until"
          type="date"
          hint="The first day without it. Empty: for ever."
          value={until}
          onValue={setUntil}
          error={faults?.get('until')}
        />
      </div>
      <TextField label="Note" hint="Why it was given." value={note} onValue={setNote} />
      {error !== undefined && !isShown && <ErrorNotice error={error} title="The entitlement was not given" />}
    </FormDialog>
  )
}

const FIELDS: readonly string[] = [...HOLDERS, 'access', 'from', 'until']

function nameLabel(holder: HolderKind): string {
  switch (holder) {
    case 'user':
      return word('Username')
    case 'role':
      return word('Role')
    case 'attribute':
      return word('Attribute')
    case 'client':
      return word('Application')
  }
}

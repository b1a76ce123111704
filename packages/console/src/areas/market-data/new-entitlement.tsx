/** The dialog that gives an entitlement. What the server refuses is shown at its field. */
import { useState } from 'preact/hooks'
import { ACCESS_TITLES, kindText } from '../../admin/licences.tsx'
import { read } from '../../admin/requests.ts'
import { isElsewhere, readFaults } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { toast } from '../../shell/toasts.tsx'
import { ErrorNotice, FormDialog, Segments, Select, TextField, useLoad, useSubmit } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'

const HOLDERS = ['user', 'role', 'attribute', 'client'] as const
type Holder = (typeof HOLDERS)[number]

interface Draft {
  readonly holder: Holder
  readonly name: string
  /** Of the attribute. */
  readonly value: string
  readonly access: string
  readonly from: string
  readonly until: string
  readonly kind: string
  readonly note: string
}

interface Named {
  readonly name: string
  /** Of an attribute. */
  readonly type?: string
}

const NOTHING: readonly Named[] = []

export function NewEntitlement({
  product,
  onAdded,
  onClose,
}: {
  readonly product: string
  readonly onAdded: () => void
  readonly onClose: () => void
}) {
  const [draft, setDraft] = useState<Draft>({
    ...{ holder: 'user', name: '', value: '', access: 'realtime' },
    ...{ from: '', until: '', kind: 'billable', note: '' },
  })
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const { holder, name, value } = draft
  const known = useNames(holder)
  const type = known?.find((each) => each.name === name)?.type
  const { isBusy, error, submit } = useSubmit(async () => {
    await gate.request('/admin/entitlements', { method: 'POST', body: toMembers(product, draft, type) })
    toast('The entitlement was given')
    onAdded()
  })
  const faults = readFaults(error)
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
        onValue={(chosen) => set({ holder: HOLDERS.find((each) => each === chosen) ?? 'user', name: '', value: '' })}
        choices={HOLDERS.map((each) => ({ value: each, title: holderTitle(each) }))}
      />
      <div class="market-data-fields">
        {known === undefined ? (
          <TextField
            label={holder === 'user' ? 'Username' : 'Application'}
            value={name}
            onValue={(given) => set({ name: given })}
            error={faults?.get(holder)}
            required
            autofocus
          />
        ) : (
          <Select
            label={holderTitle(holder)}
            value={name}
            onValue={(given) => set({ name: given })}
            choices={[{ value: '', title: word('none') }, ...known.map((each) => each.name)]}
            error={faults?.get(holder)}
          />
        )}
        {holder === 'attribute' && (
          <TextField label="Value" value={value} onValue={(given) => set({ value: given })} required />
        )}
        <Select
          label="Access"
          value={draft.access}
          onValue={(access) => set({ access })}
          choices={Object.entries(ACCESS_TITLES).map(([id, title]) => ({ value: id, title }))}
          error={faults?.get('access')}
        />
        <Select
          label="Counted as"
          value={draft.kind}
          onValue={(kind) => set({ kind })}
          choices={['billable', 'trial', 'exempt'].map((id) => ({ value: id, title: kindText(id) }))}
        />
        <TextField
          label="From"
          type="date"
          hint="In UTC. Empty: always."
          value={draft.from}
          onValue={(from) => set({ from })}
          error={faults?.get('from')}
        />
        <TextField
          label="Until"
          type="date"
          hint="The first day without it. Empty: for ever."
          value={draft.until}
          onValue={(until) => set({ until })}
          error={faults?.get('until')}
        />
      </div>
      <TextField label="Note" hint="Why it was given." value={draft.note} onValue={(note) => set({ note })} />
      {isElsewhere(error, [holder, 'access', 'from', 'until']) && (
        <ErrorNotice error={error} title="The entitlement was not given" />
      )}
    </FormDialog>
  )
}

/** Roles and attributes are few enough to choose from; undefined for others. */
function useNames(holder: Holder): readonly Named[] | undefined {
  const isListed = holder === 'role' || holder === 'attribute'
  const { data } = useLoad<{ readonly items: readonly Named[] } | readonly Named[]>(
    async (signal) => (isListed ? read(`/admin/${holder}s?limit=1000`, signal) : NOTHING),
    [holder],
  )
  if (!isListed) return undefined
  return data === undefined ? NOTHING : 'items' in data ? data.items : data
}

function toMembers(product: string, draft: Draft, type: string | undefined): object {
  const { holder, name, value, access, from, until, kind, note } = draft
  return {
    ...{ product, access, kind },
    [holder]: holder === 'attribute' ? { [name.trim()]: readValue(value.trim(), type) } : name.trim(),
    ...(from !== '' && { from }),
    ...(until !== '' && { until }),
    ...(note.trim() !== '' && { note: note.trim() }),
  }
}

/** As the attribute has it; the server refuses what it cannot be. */
function readValue(text: string, type: string | undefined): string | number | boolean {
  if (type === 'Integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  return type === 'Boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
}

function holderTitle(holder: Holder): string {
  switch (holder) {
    case 'user':
      return word('User')
    case 'role':
      return word('Role')
    case 'attribute':
      return word('Attribute')
    case 'client':
      return word('Application')
  }
}

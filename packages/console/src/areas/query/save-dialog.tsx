/** The dialog that saves a query under a name, or renames and shares one. */
import { useSignal } from '@preact/signals'
import { userRoles } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { Checkboxes, ErrorNotice, FormDialog, Select, TextField, useSubmit } from '../../ui/index.ts'
import { createSaved, type Shared, updateSaved } from './saved.ts'
import { type QueryTab, savedBody } from './tabs.ts'

export function SaveDialog({
  tab,
  copy = false,
  onClose,
}: {
  readonly tab: QueryTab
  /** Saves another document, and leaves the one that the tab shows as it is. */
  readonly copy?: boolean
  readonly onClose: () => void
}) {
  const before = copy ? undefined : tab.saved
  const name = useSignal(before?.name ?? (tab.saved === undefined ? '' : `${tab.saved.name} (copy)`))
  const shared = useSignal<Shared>(before?.shared ?? 'private')
  const { isBusy, error, submit } = useSubmit(async () => {
    const change = { name: name.value.trim(), shared: shared.value }
    const saved =
      before === undefined
        ? await createSaved(tab, change.name, change.shared)
        : await updateSaved(tab, { ...change, body: savedBody(tab) })
    if (saved !== undefined) {
      toast(saved.shared === 'private' ? `“${saved.name}” was saved` : `“${saved.name}” was saved and is shared`)
      go(href('query', 'saved', saved.id), { replace: true })
    }
    onClose()
  })
  const isNamed = name.value.trim() !== ''
  return (
    <FormDialog
      title={before === undefined ? 'Save the query' : 'Name and sharing'}
      size="small"
      action="Save"
      busy={isBusy}
      disabled={!isNamed}
      onClose={onClose}
      onSubmit={() => isNamed && submit()}
    >
      <TextField
        label="Name"
        value={name.value}
        onValue={(value) => {
          name.value = value
        }}
        maxLength={120}
        autofocus
      />
      <SharedField
        value={shared.value}
        onValue={(value) => {
          shared.value = value
        }}
      />
      {error !== undefined && <ErrorNotice error={error} title="It was not saved" />}
    </FormDialog>
  )
}

function SharedField({ value, onValue }: { readonly value: Shared; readonly onValue: (value: Shared) => void }) {
  const kind = typeof value === 'string' ? value : 'roles'
  const chosen = typeof value === 'string' ? [] : value
  const roles = [...new Set([...userRoles.value, ...chosen])]
  return (
    <>
      <Select
        label="Who can open it"
        value={kind}
        onValue={(wanted) => onValue(wanted === 'roles' ? roles.slice(0, 1) : (wanted as 'private' | 'everyone'))}
        choices={[
          { value: 'private', title: 'Only you' },
          { value: 'everyone', title: 'Everyone with the right to query' },
          ...(roles.length > 0 ? [{ value: 'roles', title: 'Users with one of your roles' }] : []),
        ]}
        hint="Others run it with their own rights, and see the rows that they may read."
      />
      {kind === 'roles' && (
        <fieldset class="query-roles">
          <legend class="visually-hidden">Roles</legend>
          <Checkboxes
            items={roles.map((name) => ({ name, disabled: chosen.length === 1 && chosen.includes(name) }))}
            chosen={chosen}
            onChosen={onValue}
          />
        </fieldset>
      )}
    </>
  )
}

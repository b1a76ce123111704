/** The dialogs of a board: name, sharing, and what to do when another user has saved it. */
import { useState } from 'preact/hooks'
import { gate, may, userRoles } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Button,
  Checkboxes,
  Copy,
  Dialog,
  FormDialog,
  Select,
  TextArea,
  TextField,
  Time,
  useLoad,
  useSubmit,
} from '../../ui/index.ts'
import type { BoardDocument, OpenBoard } from './open-board.ts'

export function NameDialog({
  title,
  action,
  name: before = '',
  description: about,
  onSave,
  onClose,
}: {
  readonly title: string
  readonly action: string
  readonly name?: string
  /** Omitted if the dialog does not ask for it. */
  readonly description?: string
  readonly onSave: (name: string, description: string) => Promise<void> | void
  readonly onClose: () => void
}) {
  const [name, setName] = useState(before)
  const [description, setDescription] = useState(about ?? '')
  const [fault, setFault] = useState<string>()
  const { isBusy, submit } = useSubmit(
    () => onSave(name.trim(), description.trim()),
    (error) => toastError(error, `“${name.trim()}” was not saved`),
  )
  return (
    <FormDialog
      title={title}
      size="small"
      action={action}
      busy={isBusy}
      onClose={onClose}
      onSubmit={() => (name.trim() === '' ? setFault('Give the board a name') : submit())}
    >
      <TextField label="Name" value={name} onValue={setName} error={fault} maxLength={120} autofocus />
      {about !== undefined && (
        <TextArea label="Description" value={description} onValue={setDescription} maxLength={2000} />
      )}
    </FormDialog>
  )
}

export function ShareDialog({ board, onClose }: { readonly board: OpenBoard; readonly onClose: () => void }) {
  const { shared, name, id } = board.document.value
  const [kind, setKind] = useState(typeof shared === 'string' ? shared : 'roles')
  const [chosen, setChosen] = useState<readonly string[]>(typeof shared === 'string' ? [] : shared)
  const [fault, setFault] = useState<string>()
  const roles = useLoad((signal) => loadRoles(signal), [])
  const link = new URL(href('boards', id), location.origin).href
  const save = async () => {
    if (kind === 'roles' && chosen.length === 0) return setFault('Choose at least one role')
    try {
      await board.share(kind === 'roles' ? chosen : (kind as 'private' | 'everyone'))
      toast(kind === 'private' ? `“${name}” is private now` : `“${name}” is shared; send its link`)
      onClose()
    } catch (error) {
      toastError(error, `“${name}” was not shared`)
    }
  }
  return (
    <FormDialog title={`Share “${name}”`} size="small" action="Save" onClose={onClose} onSubmit={save}>
      <Select
        label="Who can open it"
        hint="Everyone sees the rows that their own rights allow."
        value={kind}
        onValue={setKind}
        choices={[
          { value: 'private', title: 'Only you' },
          { value: 'everyone', title: 'Everyone with the right to query' },
          { value: 'roles', title: 'People with certain roles' },
        ]}
      />
      {kind === 'roles' && (
        <fieldset class="tile-columns">
          <legend>Roles</legend>
          <Checkboxes
            items={[...new Set([...(roles.data ?? []), ...chosen])].map((name) => ({ name }))}
            chosen={chosen}
            onChosen={setChosen}
          />
          {fault !== undefined && <p class="fault">{fault}</p>}
        </fieldset>
      )}
      <div class="share-link">
        <TextField label="Link" value={link} onValue={() => {}} readOnly />
        <Copy text={link} label="Copy the link" />
      </div>
    </FormDialog>
  )
}

/** A user can share with their own roles, an administrator with any role. */
async function loadRoles(signal: AbortSignal): Promise<readonly string[]> {
  if (!may('Platform/Admin') || !may('Identity/Admin')) return userRoles.value
  const names: string[] = []
  for await (const role of gate.admin.roles.list({ limit: '100' }, { signal })) {
    names.push(String(role.name))
    if (names.length === 100) break
  }
  return names
}

export function ConflictDialog({
  board,
  theirs,
  onCopy,
}: {
  readonly board: OpenBoard
  readonly theirs: BoardDocument
  /** Saves the own changes as another board. */
  readonly onCopy: () => void
}) {
  const close = () => {
    board.conflict.value = undefined
  }
  const overwrite = async () => {
    try {
      if (await board.save(theirs)) toast(`“${board.document.value.name}” was saved`)
    } catch (error) {
      toastError(error, 'The board was not saved')
    }
  }
  return (
    <Dialog
      title="Another user has changed this board"
      onClose={close}
      actions={
        <>
          <Button onClick={onCopy}>Save my version as a copy</Button>
          <Button kind="danger" onClick={overwrite}>
            Overwrite
          </Button>
          <Button
            kind="primary"
            onClick={() => {
              board.take(theirs)
              toast('The board is shown as last saved')
            }}
          >
            Discard mine
          </Button>
        </>
      }
    >
      <p>
        {`It was saved as version ${theirs.version} on `}
        <Time at={theirs.updated} />, after you opened it. Your changes are not saved.
      </p>
      <p class="quiet">“Overwrite” replaces that version with yours: the other changes are lost.</p>
    </Dialog>
  )
}

/** The page of a board: its tiles, and what can be done with it. */
import { useEffect, useState } from 'preact/hooks'
import { GatehouseError } from '../../../../client/src/index.ts'
import { useCommands } from '../../shell/commands.ts'
import { isKiosk } from '../../shell/kiosk.ts'
import { go, href } from '../../shell/router.ts'
import { toastError } from '../../shell/toasts.tsx'
import { useVisit } from '../../shell/visits.ts'
import {
  Badge,
  Button,
  ButtonLink,
  Empty,
  ErrorNotice,
  IconButton,
  Loading,
  Menu,
  type MenuItem,
  Page,
  useLoad,
} from '../../ui/index.ts'
import { copyBoard, deleteBoard, discardChanges, saveBoard } from './board-actions.ts'
import { ConflictDialog, NameDialog, ShareDialog } from './dialogs.tsx'
import { useKiosk } from './kiosk.ts'
import { type HeldTile, type OpenBoard, openBoard } from './open-board.ts'
import type { TileDialogProps } from './tile-dialog.tsx'
import { Tiles } from './tiles.tsx'
import { collectVariables, currentValues, type Values, VariableFields, valuesIn } from './variables.tsx'

const PARENTS = [{ title: 'Boards', href: href('boards') }]

export function BoardPage({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const { data, error, reload } = useLoad((signal) => openBoard(id, signal), [id])
  if (data !== undefined) return <OpenedBoard board={data} query={query} />
  if (error === undefined) return <Loading />
  return (
    <Page title="Board" parents={PARENTS}>
      {error instanceof GatehouseError && error.code === 'Saved.NotFound' ? (
        <Empty
          icon="board"
          title="This board does not exist, or you have no access to it"
          actions={<ButtonLink href={href('boards')}>All boards</ButtonLink>}
        >
          It was deleted, or its owner has not shared it with you. Ask the person who sent the link.
        </Empty>
      ) : (
        <ErrorNotice error={error} title="The board could not be opened" onRetry={reload} />
      )}
    </Page>
  )
}

/** The dialog that is open: a new tile, a tile to change, or one about the board. */
type Asked = 'tile' | 'name' | 'share' | 'copy' | HeldTile | undefined

interface BoardProps {
  readonly board: OpenBoard
  readonly onAsk: (asked: Asked) => void
}

function OpenedBoard({ board, query }: { readonly board: OpenBoard; readonly query: URLSearchParams }) {
  const [asked, setAsked] = useState<Asked>()
  const isEditing = board.isEditing.value
  const period = query.get('refresh') ?? '60'
  const change = (parameters: Readonly<Record<string, string | undefined>>) =>
    go(href('boards', board.id, { ...Object.fromEntries(query), ...parameters }), { replace: true })
  const enterKiosk = () => {
    document.documentElement.requestFullscreen?.().catch(() => {})
    change({ kiosk: '1' })
  }
  const leaveKiosk = () => {
    if (document.fullscreenElement !== null) void document.exitFullscreen()
    change({ kiosk: undefined })
  }
  const variables = collectVariables(board.edited.value.tiles)
  const setValue = (name: string, value: string) =>
    change({ [`p.${name}`]: value === '' || value === variables.get(name) ? undefined : value })
  const fields = !isEditing && variables.size > 0 && (
    <VariableFields variables={variables} values={valuesIn(query)} onValue={setValue} />
  )
  const choice = isEditing ? undefined : { values: currentValues(variables, valuesIn(query)), onValue: setValue }
  useVisit('board', board.edited.value.name, href('boards', board.id))
  useKiosk(query.has('kiosk') && !isEditing, () => change({ kiosk: undefined }))
  useWarning(board.isChanged.value)
  useCommands(
    () => [
      ...(board.isOwn && !isEditing
        ? [{ id: 'board-edit', title: 'Edit the board', group: 'Board', icon: 'edit' as const, act: () => edit(board) }]
        : []),
      { id: 'board-kiosk', title: 'Full screen', group: 'Board', icon: 'external', words: 'kiosk', act: enterKiosk },
      { id: 'board-copy', title: 'Save a copy', group: 'Board', icon: 'copy', act: () => setAsked('copy') },
    ],
    [board, isEditing],
  )
  const items = [
    ...ownItems(board, setAsked),
    ...(board.edited.value.tiles.some(({ live }) => live !== true)
      ? periodItems(period, (refresh) => change({ refresh }))
      : []),
  ]
  return (
    <Page
      title={board.edited.value.name}
      parents={isKiosk.value ? [] : PARENTS}
      afterTitle={<About board={board} />}
      actions={
        isKiosk.value ? (
          <IconButton icon="close" label="Leave full screen" onClick={leaveKiosk} />
        ) : (
          <>
            {fields}
            {isEditing ? (
              <EditActions board={board} onAsk={setAsked} />
            ) : (
              <>
                <IconButton icon="system" label="Full screen" onClick={enterKiosk} />
                {board.isOwn && <OwnActions board={board} onAsk={setAsked} />}
              </>
            )}
            <Menu label="More" items={items} />
          </>
        )
      }
    >
      {board.edited.value.tiles.length === 0 ? (
        <NoTiles board={board} onAsk={setAsked} />
      ) : (
        <Tiles
          board={board}
          every={Number(period) >= 1 ? Number(period) : undefined}
          values={isEditing ? NO_VALUES : valuesIn(query)}
          choice={choice}
          onEdit={setAsked}
        />
      )}
      <Dialogs board={board} asked={asked} onAsk={setAsked} />
    </Page>
  )
}

const NO_VALUES: Values = new Map()

function edit(board: OpenBoard): void {
  board.isEditing.value = true
}

function ownItems(board: OpenBoard, onAsk: BoardProps['onAsk']): readonly MenuItem[] {
  const copy: MenuItem = { title: 'Save a copy', icon: 'copy', act: () => onAsk('copy') }
  if (!board.isOwn) return [copy]
  return [
    { title: 'Name and description', icon: 'edit', act: () => onAsk('name') },
    copy,
    { title: 'Delete', icon: 'trash', danger: true, act: () => void deleteBoard(board) },
  ]
}

/** Seconds between two runs of statements that are not live. */
const PERIODS = [
  { value: '10', title: 'Every 10 seconds' },
  { value: '60', title: 'Every minute' },
  { value: '300', title: 'Every 5 minutes' },
  { value: 'off', title: 'Only once' },
]

function periodItems(current: string, onPeriod: (period: string) => void): readonly MenuItem[] {
  return [
    'line',
    ...PERIODS.map(({ value, title }) => ({ title, checked: value === current, act: () => onPeriod(value) })),
  ]
}

function About({ board }: { readonly board: OpenBoard }) {
  const { shared, username } = board.document.value
  const { description } = board.edited.value
  return (
    <span class="board-about">
      {board.isChanged.value ? (
        <Badge kind="warning">Not saved</Badge>
      ) : (
        shared !== 'private' && <Badge>{shared === 'everyone' ? 'Shared with everyone' : 'Shared'}</Badge>
      )}
      {!board.isOwn && <span class="quiet wide-only">by {username ?? 'a former user'}</span>}
      {description !== '' && (
        <span class="quiet wide-only board-description" title={description}>
          {description}
        </span>
      )}
    </span>
  )
}

function EditActions({ board, onAsk }: BoardProps) {
  const [isSaving, setSaving] = useState(false)
  const isChanged = board.isChanged.value
  const save = async () => {
    setSaving(true)
    await saveBoard(board)
    setSaving(false)
  }
  return (
    <>
      <Button icon="plus" onClick={() => onAsk('tile')}>
        Add tile
      </Button>
      <Button onClick={() => discardChanges(board)}>{isChanged ? 'Discard' : 'Done'}</Button>
      <Button kind="primary" icon="save" busy={isSaving} disabled={!isChanged} onClick={save}>
        Save
      </Button>
    </>
  )
}

function OwnActions({ board, onAsk }: BoardProps) {
  return (
    <>
      <Button icon="link" onClick={() => onAsk('share')}>
        Share
      </Button>
      <Button icon="edit" onClick={() => edit(board)}>
        Edit
      </Button>
    </>
  )
}

function NoTiles({ board, onAsk }: BoardProps) {
  const add = () => {
    edit(board)
    onAsk('tile')
  }
  return (
    <Empty
      icon="board"
      title="This board has no tiles yet"
      actions={
        board.isOwn && (
          <Button kind="primary" icon="plus" onClick={add}>
            Add tile
          </Button>
        )
      }
    >
      A tile shows the result of a statement as a table or a chart.
    </Empty>
  )
}

function Dialogs({ board, asked, onAsk }: BoardProps & { readonly asked: Asked }) {
  const { name, description } = board.edited.value
  const onClose = () => onAsk(undefined)
  if (asked === 'tile' || typeof asked === 'object')
    return (
      <TileDialog
        tile={typeof asked === 'object' ? asked : undefined}
        onClose={onClose}
        onSave={(tile) => {
          if (typeof asked === 'object') board.put(asked.key, { ...tile, position: asked.position })
          else board.add(tile, { w: 6, h: 6 })
          onClose()
        }}
      />
    )
  if (asked === 'share') return <ShareDialog board={board} onClose={onClose} />
  if (asked === 'name')
    return (
      <NameDialog
        key="name"
        title="Name and description"
        action="Apply"
        name={name}
        description={description}
        onClose={onClose}
        onSave={(newName, newDescription) => {
          board.change({ name: newName, description: newDescription })
          edit(board)
          onClose()
        }}
      />
    )
  if (asked === 'copy')
    return (
      <NameDialog
        key="copy"
        title="Save a copy"
        action="Save"
        name={`${name} (copy)`.slice(0, 120)}
        onClose={onClose}
        onSave={async (copyName) => {
          await copyBoard(board, copyName)
          onClose()
        }}
      />
    )
  const theirs = board.conflict.value
  return theirs === undefined ? null : <ConflictDialog board={board} theirs={theirs} onCopy={() => onAsk('copy')} />
}

/** Loaded when it is first opened: the editor in it is larger than everything else here. */
function TileDialog(props: TileDialogProps) {
  const { data, error } = useLoad(() => import('./tile-dialog.tsx'), [])
  useEffect(() => {
    if (error === undefined) return
    toastError(error, 'The editor could not be loaded')
    props.onClose()
  }, [error])
  return data === undefined ? null : <data.TileDialog {...props} />
}

/** The browser asks before changes are lost. */
function useWarning(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isChanged])
}

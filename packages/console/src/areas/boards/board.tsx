/** The page of a board: its tiles, and what can be done with it. */
import { useEffect, useState } from 'preact/hooks'
import { GatehouseError } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { useCommands } from '../../shell/commands.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { isKiosk } from '../../shell/kiosk.ts'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
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
import { ConflictDialog, NameDialog, ShareDialog } from './dialogs.tsx'
import { createBoard, type HeldTile, type OpenBoard, openBoard } from './open-board.ts'
import type { TileDialogProps } from './tile-dialog.tsx'
import { Tiles } from './tiles.tsx'

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
          title="There is no such board for you"
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

type Asked = 'tile' | 'name' | 'share' | 'copy' | HeldTile | undefined

/** Seconds between two runs of statements that are not live. */
const PERIODS = [
  { value: '10', title: 'Every 10 seconds' },
  { value: '60', title: 'Every minute' },
  { value: '300', title: 'Every 5 minutes' },
  { value: 'off', title: 'Only once' },
]

function OpenedBoard({ board, query }: { readonly board: OpenBoard; readonly query: URLSearchParams }) {
  const [asked, setAsked] = useState<Asked>()
  const [isSaving, setSaving] = useState(false)
  const { shared, username } = board.document.value
  const { name, description, tiles } = board.edited.value
  const [isEditing, isChanged] = [board.isEditing.value, board.isChanged.value]
  const period = query.get('refresh') ?? '60'
  const every = Number(period) >= 1 ? Number(period) : undefined
  useKiosk(query.has('kiosk') && !isEditing, () => go(addressOf({ kiosk: undefined }), { replace: true }))
  useWarning(isChanged)

  const save = async () => {
    setSaving(true)
    try {
      if (await board.save()) toast(`“${name}” was saved`)
    } catch (error) {
      toastError(error, `“${name}” was not saved`)
    }
    setSaving(false)
  }
  const edit = () => {
    board.isEditing.value = true
  }
  const discard = async () => {
    const isSure =
      !isChanged ||
      (await confirm({
        title: 'Discard your changes?',
        text: `“${board.document.value.name}” is shown as it was saved last.`,
        action: 'Discard',
        danger: true,
      }))
    if (isSure) board.discard()
  }
  const enterKiosk = () => {
    document.documentElement.requestFullscreen?.().catch(() => {})
    go(addressOf({ kiosk: '1' }), { replace: true })
  }
  const remove = async () => {
    const { id } = board
    const isSure = await confirm({
      title: `Delete “${name}”?`,
      text: `Its ${tiles.length} tiles are lost, and links to it lead nowhere. The data stays.`,
      action: 'Delete',
      danger: true,
    })
    if (!isSure) return
    try {
      await gate.saved.delete(id)
      board.discard()
      toast(`“${name}” was deleted`)
      go(href('boards'))
    } catch (error) {
      toastError(error, `“${name}” was not deleted`)
    }
  }
  const copyOf = async (copyName: string) => {
    const copy = await createBoard(copyName, board.body)
    board.conflict.value = undefined
    board.discard()
    setAsked(undefined)
    toast(`“${copyName}” was saved, and belongs to you`)
    go(href('boards', copy.id))
  }
  useCommands(
    () => [
      ...(board.isOwn && !isEditing
        ? [{ id: 'board-edit', title: 'Edit the board', group: 'Board', icon: 'edit' as const, act: edit }]
        : []),
      { id: 'board-kiosk', title: 'Full screen', group: 'Board', icon: 'external', words: 'kiosk', act: enterKiosk },
      { id: 'board-copy', title: 'Save a copy', group: 'Board', icon: 'copy', act: () => setAsked('copy') },
    ],
    [board, isEditing],
  )

  const items: MenuItem[] = [
    ...(board.isOwn
      ? ([
          { title: 'Name and description', icon: 'edit', act: () => setAsked('name') },
          { title: 'Save a copy', icon: 'copy', act: () => setAsked('copy') },
          { title: 'Delete', icon: 'trash', danger: true, act: remove },
        ] as const)
      : [{ title: 'Save a copy', icon: 'copy', act: () => setAsked('copy') } as const]),
    ...(tiles.some(({ live }) => live !== true)
      ? (['line', ...PERIODS.map(({ value, title }) => periodItem(title, value))] as const)
      : []),
  ]
  return (
    <Page
      title={name}
      parents={isKiosk.value ? [] : PARENTS}
      beside={
        <span class="board-about">
          {isChanged ? (
            <Badge kind="warning">Not saved</Badge>
          ) : (
            shared !== 'private' && <Badge>{shared === 'everyone' ? 'Shared with everyone' : 'Shared'}</Badge>
          )}
          {!board.isOwn && <span class="quiet wide-only">by {username ?? 'a former user'}</span>}
          {description !== '' && <span class="quiet wide-only board-description">{description}</span>}
        </span>
      }
      actions={
        isKiosk.value ? (
          <IconButton icon="close" label="Leave full screen" onClick={leaveKiosk} />
        ) : isEditing ? (
          <>
            <Button icon="plus" onClick={() => setAsked('tile')}>
              Add tile
            </Button>
            <Button onClick={discard}>{isChanged ? 'Discard' : 'Done'}</Button>
            <Button kind="primary" icon="save" busy={isSaving} disabled={!isChanged} onClick={save}>
              Save
            </Button>
            <Menu label="More" items={items} />
          </>
        ) : (
          <>
            <IconButton icon="system" label="Full screen" onClick={enterKiosk} />
            {board.isOwn && (
              <>
                <Button icon="link" onClick={() => setAsked('share')}>
                  Share
                </Button>
                <Button icon="edit" onClick={edit}>
                  Edit
                </Button>
              </>
            )}
            <Menu label="More" items={items} />
          </>
        )
      }
    >
      {tiles.length === 0 ? (
        <Empty
          icon="board"
          title="This board has no tiles yet"
          actions={
            board.isOwn && (
              <Button
                kind="primary"
                icon="plus"
                onClick={() => {
                  edit()
                  setAsked('tile')
                }}
              >
                Add tile
              </Button>
            )
          }
        >
          A tile shows the result of a statement as a table or a chart.
        </Empty>
      ) : (
        <Tiles board={board} every={every} onEdit={setAsked} />
      )}
      {(asked === 'tile' || typeof asked === 'object') && (
        <TileDialog
          tile={typeof asked === 'object' ? asked : undefined}
          onClose={() => setAsked(undefined)}
          onSave={(tile) => {
            if (typeof asked === 'object') board.put(asked.key, { ...tile, position: asked.position })
            else board.add(tile, { w: 6, h: 6 })
            setAsked(undefined)
          }}
        />
      )}
      {asked === 'share' && <ShareDialog board={board} onClose={() => setAsked(undefined)} />}
      {asked === 'name' && (
        <NameDialog
          title="Name and description"
          action="Apply"
          {...{ name, description }}
          onClose={() => setAsked(undefined)}
          onSave={(changedName, changedDescription) => {
            board.change({ name: changedName, description: changedDescription })
            edit()
            setAsked(undefined)
          }}
        />
      )}
      {asked === 'copy' && (
        <NameDialog
          title="Save a copy"
          action="Save"
          name={`${name} (copy)`.slice(0, 120)}
          onClose={() => setAsked(undefined)}
          onSave={copyOf}
        />
      )}
      {board.conflict.value !== undefined && asked !== 'copy' && (
        <ConflictDialog board={board} theirs={board.conflict.value} onCopy={() => setAsked('copy')} />
      )}
    </Page>
  )

  function addressOf(change: Readonly<Record<string, string | undefined>>): string {
    return href('boards', board.id, { ...Object.fromEntries(query), ...change })
  }

  function periodItem(title: string, value: string): MenuItem {
    return { title, checked: value === period, act: () => go(addressOf({ refresh: value }), { replace: true }) }
  }

  function leaveKiosk(): void {
    if (document.fullscreenElement !== null) void document.exitFullscreen()
    go(addressOf({ kiosk: undefined }), { replace: true })
  }
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

/** Nothing but the board; leaving the full screen of the browser, or Escape, ends it. */
function useKiosk(wanted: boolean, onLeave: () => void): void {
  useEffect(() => {
    isKiosk.value = wanted
    if (!wanted) return
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented) onLeave()
    }
    const onChange = () => {
      if (document.fullscreenElement === null) onLeave()
    }
    document.addEventListener('keydown', onKey)
    document.addEventListener('fullscreenchange', onChange)
    return () => {
      isKiosk.value = false
      document.removeEventListener('keydown', onKey)
      document.removeEventListener('fullscreenchange', onChange)
    }
  }, [wanted])
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

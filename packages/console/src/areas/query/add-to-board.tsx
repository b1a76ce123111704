/** Adds what a tab shows to a board, as a tile below the others. */
import { useSignal } from '@preact/signals'
import { type Board, GatehouseError, type Tile } from '../../../../client/src/index.ts'
import { gate, may, user } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { Await, ErrorNotice, FormDialog, Select, TextField, useLoad, useSubmit } from '../../ui/index.ts'
import type { Outcome } from './run.ts'
import { type QueryTab, savedBody, tabTitle } from './tabs.ts'

const MOST_BOARDS = 100
const NEW_BOARD = ''
/** Of a new tile, on the grid of 12 columns. */
const SIZE = { w: 6, h: 6 }

export interface AddToBoardProps {
  readonly tab: QueryTab
  readonly outcome: Outcome
  readonly onClose: () => void
}

export function AddToBoard({ tab, outcome, onClose }: AddToBoardProps) {
  const boards = useLoad((signal) => listBoards(signal), [])
  const board = useSignal<string | undefined>(undefined)
  const boardName = useSignal('')
  const title = useSignal(tabTitle(tab))
  const chosen = board.value ?? boards.data?.[0]?.id ?? NEW_BOARD
  const { isBusy, error, submit } = useSubmit(async () => {
    const tile = buildTile(tab, outcome, title.value.trim())
    const { id, name } = chosen === NEW_BOARD ? await create(boardName.value.trim(), tile) : await append(chosen, tile)
    toast(`“${tile.title}” was added to “${name}”`, {
      action: { title: 'Open', act: () => go(href('boards', id)) },
    })
    onClose()
  })
  const isComplete = title.value.trim() !== '' && (chosen !== NEW_BOARD || boardName.value.trim() !== '')
  return (
    <FormDialog
      title="Add to a board"
      size="small"
      action="Add"
      busy={isBusy}
      disabled={!isComplete || boards.data === undefined}
      onClose={onClose}
      onSubmit={() => isComplete && submit()}
    >
      <TextField
        label="Title of the tile"
        value={title.value}
        onValue={(value) => {
          title.value = value
        }}
        maxLength={120}
        autofocus
      />
      <Await of={boards} title="The boards could not be listed">
        {(found) => (
          <Select
            label="Board"
            value={chosen}
            onValue={(value) => {
              board.value = value
            }}
            choices={[
              ...found.map(({ id, name }) => ({ value: id, title: name })),
              { value: NEW_BOARD, title: 'A new board' },
            ]}
          />
        )}
      </Await>
      {boards.data !== undefined && chosen === NEW_BOARD && (
        <TextField
          label="Name of the board"
          value={boardName.value}
          onValue={(value) => {
            boardName.value = value
          }}
          maxLength={120}
        />
      )}
      {error !== undefined && <ErrorNotice error={error} title="The tile was not added" />}
    </FormDialog>
  )
}

/** Those that the user may change. */
async function listBoards(signal: AbortSignal): Promise<{ id: string; name: string }[]> {
  const boards: { id: string; name: string }[] = []
  for await (const { id, name, owner } of gate.saved.list({ kind: 'board', limit: MOST_BOARDS }, { signal })) {
    if (owner === user.value?.sub || may('Platform/Admin')) boards.push({ id, name })
    if (boards.length === MOST_BOARDS) break
  }
  return boards
}

function buildTile(tab: QueryTab, { text, parameters }: Outcome, title: string): Omit<Tile, 'position'> {
  const { description: _, view = 'table', ...shown } = savedBody(tab)
  const { parameters: __, ...others } = shown
  return {
    ...others,
    title,
    statement: text.trim(),
    view,
    ...(Object.keys(parameters).length > 0 && { parameters }),
  }
}

async function create(name: string, tile: Omit<Tile, 'position'>): Promise<{ id: string; name: string }> {
  const body: Board = { tiles: [{ ...tile, position: { x: 0, y: 0, ...SIZE } }] }
  return gate.saved.create({ kind: 'board', name, body })
}

/** Again if another user has saved the board in between. */
async function append(id: string, tile: Omit<Tile, 'position'>): Promise<{ id: string; name: string }> {
  for (let attempt = 1; ; attempt++) {
    const { kind, version, name, body } = await gate.saved.get(id)
    if (kind !== 'board' || body === undefined) throw new Error('This is not a board')
    const position = { ...freePlace(body.tiles), ...SIZE }
    const changed: Board = { ...body, tiles: [...body.tiles, { ...tile, position }] }
    try {
      await gate.saved.update(id, { body: changed }, { ifMatch: `"${version}"` })
      return { id, name }
    } catch (error) {
      if (attempt === 3 || !(error instanceof GatehouseError) || error.code !== 'Saved.Changed') throw error
    }
  }
}

/** Next to the last tile if there is room, or else below all. */
function freePlace(tiles: readonly Tile[]): { x: number; y: number } {
  const bottom = Math.max(0, ...tiles.map(({ position: { y, h } }) => y + h))
  const top = bottom - SIZE.h
  const isFree = top >= 0 && tiles.every(({ position: { x, y, w, h } }) => x + w <= SIZE.w || y + h <= top)
  return isFree && tiles.length > 0 ? { x: SIZE.w, y: top } : { x: 0, y: bottom }
}

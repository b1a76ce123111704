/** The grid of tiles. While the board is edited they are moved and resized, by pointer or arrow keys. */
import { useRef } from 'preact/hooks'
import { announce } from '../../shell/announce.tsx'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { classes, copyText, Icon, Menu, type MenuItem } from '../../ui/index.ts'
import { firstFreeRow, moved, resized, type TilePosition } from './layout.ts'
import type { HeldTile, OpenBoard } from './open-board.ts'
import { Tile } from './tile.tsx'
import { type RowChoice, type Values, withValues } from './variables.tsx'

export interface TilesProps {
  readonly board: OpenBoard
  readonly every: number | undefined
  /** Of the variables of the board. */
  readonly values: Values
  readonly choice: RowChoice | undefined
  readonly onEdit: (tile: HeldTile) => void
}

/** As in boards.css. */
const ROW_HEIGHT = 40
const GAP = 12

export function Tiles({ board, every, values, choice, onEdit }: TilesProps) {
  const isEditing = board.isEditing.value
  const { tiles } = board.edited.value
  return (
    <div class={classes('tiles', isEditing && 'editing')} style={{ '--rows': firstFreeRow(tiles) }}>
      {tiles.map((tile) => (
        <PlacedTile
          key={tile.key}
          {...{ board, every, choice, isEditing }}
          tile={withValues(tile, values)}
          onEdit={() => onEdit(tile)}
        />
      ))}
    </div>
  )
}

function PlacedTile({
  tile,
  board,
  every,
  choice,
  isEditing,
  onEdit,
}: Omit<TilesProps, 'onEdit' | 'values'> & {
  readonly tile: HeldTile
  readonly isEditing: boolean
  readonly onEdit: () => void
}) {
  const { title, position, key } = tile
  const place = (changed: TilePosition) => {
    if (changed.x === position.x && changed.y === position.y && changed.w === position.w && changed.h === position.h)
      return
    board.place(key, changed)
    announce(`${title}: column ${changed.x + 1}, row ${changed.y + 1}, ${changed.w} wide, ${changed.h} high`)
  }
  const drag = { position, place }
  return (
    <section
      class={position.w > 6 ? 'tile wide' : 'tile'}
      aria-label={title}
      style={{ '--x': position.x + 1, '--y': position.y + 1, '--w': position.w, '--h': position.h }}
    >
      <Tile
        tile={tile}
        every={every}
        choice={choice}
        before={isEditing && <Handle {...drag} kind="move" label={`Move ${title}`} />}
        after={<Menu label={`Actions for ${title}`} class="button plain icon-button small" items={menuItems()} />}
      />
      {isEditing && <Handle {...drag} kind="resize" label={`Resize ${title}`} />}
    </section>
  )

  function menuItems(): MenuItem[] {
    const copy: MenuItem = { title: 'Copy the statement', icon: 'copy', act: () => void copyStatement(tile.statement) }
    const query: MenuItem = { title: 'Open in Query', icon: 'query', act: () => go(queryHref(tile)) }
    if (!isEditing) return [query, copy]
    const remove = () => {
      const undo = board.remove(key)
      toast(`“${title}” was removed`, { action: { title: 'Undo', act: undo } })
    }
    return [
      { title: 'Edit', icon: 'edit', act: onEdit },
      { title: 'Duplicate', icon: 'plus', act: () => board.duplicate(key) },
      query,
      copy,
      'line',
      { title: 'Remove', icon: 'trash', danger: true, act: remove },
    ]
  }
}

/** A tab with the statement and its parameters, which runs when its user wants it. */
function queryHref({ statement, parameters = {} }: HeldTile): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null)
  return href('query', { q: statement, ...Object.fromEntries(given.map(([name, value]) => [`p.${name}`, `${value}`])) })
}

async function copyStatement(statement: string): Promise<void> {
  await copyText(statement)
  toast('The statement was copied')
}

interface HandleProps {
  readonly kind: 'move' | 'resize'
  readonly label: string
  readonly position: TilePosition
  readonly place: (position: TilePosition) => void
}

const STEPS = new Map([
  ['ArrowLeft', [-1, 0]],
  ['ArrowRight', [1, 0]],
  ['ArrowUp', [0, -1]],
  ['ArrowDown', [0, 1]],
] as const)

/** Dragged by pointer, or moved by the arrow keys. */
function Handle({ kind, label, position, place }: HandleProps) {
  const start = useRef<{ readonly x: number; readonly y: number; readonly position: TilePosition }>(undefined)
  const act = kind === 'move' ? moved : resized
  return (
    <button
      type="button"
      class={`tile-${kind}`}
      aria-label={`${label}: arrow keys`}
      title={kind === 'move' ? 'Drag or use the arrow keys to move' : 'Drag or use the arrow keys to resize'}
      onPointerDown={(event) => {
        if (event.button !== 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        start.current = { x: event.clientX, y: event.clientY, position }
      }}
      onPointerMove={(event) => {
        const from = start.current
        const grid = event.currentTarget.closest('.tiles')
        if (from === undefined || grid === null) return
        const column = (grid.clientWidth + GAP) / 12
        const columns = Math.round((event.clientX - from.x) / column)
        const rows = Math.round((event.clientY - from.y) / (ROW_HEIGHT + GAP))
        place(act(from.position, columns, rows))
      }}
      onLostPointerCapture={() => {
        start.current = undefined
      }}
      onKeyDown={(event) => {
        const step = STEPS.get(event.key as 'ArrowLeft')
        if (step === undefined) return
        event.preventDefault()
        place(act(position, step[0], step[1]))
      }}
    >
      {kind === 'move' && <Icon name="menu" />}
    </button>
  )
}

/** A board that is open: as it was read, and as it is being edited. Edits stay until they are saved or discarded. */
import { computed, signal } from '@preact/signals'
import { type Board, GatehouseError, type SavedDocument, type Tile } from '../../../../client/src/index.ts'
import { gate, may, user } from '../../gate.ts'
import { firstFreeRow, inReadingOrder, type TilePosition, withoutOverlaps } from './layout.ts'

export type BoardDocument = Extract<SavedDocument, { readonly kind: 'board' }>

/** A tile with a key that stays while it is changed. */
export interface HeldTile extends Tile {
  readonly key: number
}

interface Edited {
  readonly name: string
  readonly description: string
  readonly tiles: readonly HeldTile[]
}

let lastKey = 0

export class OpenBoard {
  readonly document
  readonly edited
  readonly isEditing = signal(false)
  readonly isChanged
  /** The version that another user has saved since it was read. */
  readonly conflict = signal<BoardDocument | undefined>(undefined)

  constructor(document: BoardDocument) {
    this.document = signal(document)
    this.edited = signal(startEditing(document))
    this.isChanged = computed(
      () => canonicalText(this.edited.value) !== canonicalText(startEditing(this.document.value)),
    )
  }

  get id(): string {
    return this.document.value.id
  }

  get body(): Board {
    return boardBody(this.edited.value)
  }

  /** Whether the user may change it. */
  get isOwn(): boolean {
    return this.document.value.owner === user.value?.sub || may('Platform/Admin')
  }

  change(change: Partial<Edited>): void {
    this.edited.value = { ...this.edited.value, ...change }
  }

  /** Moves a tile; others make room. */
  place(key: number, position: TilePosition): void {
    const tiles = this.edited.value.tiles.map((tile) => (tile.key === key ? { ...tile, position } : tile))
    this.change({
      tiles: withoutOverlaps(
        tiles,
        tiles.find((tile) => tile.key === key),
      ),
    })
  }

  put(key: number, tile: Tile): void {
    this.change({ tiles: this.edited.value.tiles.map((held) => (held.key === key ? { ...tile, key } : held)) })
  }

  /** Adds a tile below all others. */
  add(tile: Omit<Tile, 'position'>, { w, h }: Pick<TilePosition, 'w' | 'h'>): void {
    const { tiles } = this.edited.value
    this.change({ tiles: [...tiles, { ...tile, position: { x: 0, y: firstFreeRow(tiles), w, h }, key: ++lastKey }] })
  }

  /** Adds a copy to the right of the tile if there is room, or else below it. */
  duplicate(key: number): void {
    const { tiles } = this.edited.value
    const tile = tiles.find((held) => held.key === key)
    if (tile === undefined) return
    const { x, y, w, h } = tile.position
    const position = x + 2 * w <= 12 ? { x: x + w, y, w, h } : { x, y: y + h, w, h }
    const copy = { ...tile, title: `${tile.title} (copy)`.slice(0, 120), position, key: ++lastKey }
    this.change({ tiles: withoutOverlaps([...tiles, copy], tile) })
  }

  /** Removes a tile. The function that it returns brings it back. */
  remove(key: number): () => void {
    const tile = this.edited.value.tiles.find((held) => held.key === key)
    this.change({ tiles: this.edited.value.tiles.filter((held) => held.key !== key) })
    return () => {
      if (tile !== undefined) this.change({ tiles: withoutOverlaps([...this.edited.value.tiles, tile], tile) })
    }
  }

  discard(): void {
    this.edited.value = startEditing(this.document.value)
    this.isEditing.value = false
  }

  /** Replaces the board and its changes by the version of the server. */
  take(document: BoardDocument): void {
    this.document.value = document
    this.conflict.value = undefined
    this.discard()
  }

  /** False if another user saved it first: `conflict` then has that version, and `over` replaces it. */
  async save(over?: BoardDocument): Promise<boolean> {
    const { id, version } = over ?? this.document.value
    const { name } = this.edited.value
    try {
      const saved = await gate.saved.update(id, { name, body: this.body }, { ifMatch: `"${version}"` })
      this.document.value = saved as BoardDocument
      this.conflict.value = undefined
      this.isEditing.value = false
      return true
    } catch (error) {
      if (!(error instanceof GatehouseError) || error.code !== 'Saved.Changed') throw error
      this.conflict.value = await readBoard(id)
      return false
    }
  }

  async share(shared: BoardDocument['shared']): Promise<void> {
    const { id, version } = this.document.value
    this.document.value = (await gate.saved.update(id, { shared }, { ifMatch: `"${version}"` })) as BoardDocument
  }
}

export async function readBoard(id: string, signal?: AbortSignal): Promise<BoardDocument> {
  const document = await gate.saved.get(id, { signal })
  if (document.kind !== 'board') throw new Error('This is a saved query, not a board. Open it in Query.')
  return document
}

export async function createBoard(name: string, body: Board): Promise<BoardDocument> {
  return (await gate.saved.create({ kind: 'board', name, body })) as BoardDocument
}

/** The board that was opened last, so that its unsaved changes are still there when the user returns. */
const kept = new Map<string, OpenBoard>()

/** The board as the server has it now, or as it was left with changes. */
export async function openBoard(id: string, signal: AbortSignal): Promise<OpenBoard> {
  const known = kept.get(id)
  if (known?.isChanged.value === true) return known
  const opened = new OpenBoard(await readBoard(id, signal))
  kept.clear()
  kept.set(id, opened)
  return opened
}

function startEditing({ name, body = { tiles: [] } }: BoardDocument): Edited {
  const tiles = inReadingOrder(withoutOverlaps(body.tiles.map((tile) => ({ ...tile, key: ++lastKey }))))
  return { name, description: body.description ?? '', tiles }
}

function boardBody({ description, tiles }: Edited): Board {
  return {
    ...(description === '' ? {} : { description }),
    tiles: inReadingOrder(tiles).map(({ key: _, ...tile }) => tile),
  }
}

/** Equal for equal content, regardless of the order of members. */
function canonicalText(edited: Edited): string {
  return JSON.stringify([edited.name, boardBody(edited)], (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

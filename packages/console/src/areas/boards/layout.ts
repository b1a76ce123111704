/** Where the tiles of a board are: a grid of 12 columns, without overlaps. */
import type { Tile } from '../../../../client/src/index.ts'

export type TilePosition = Tile['position']

export const COLUMNS = 12
const MOST_ROWS = 1000
const HIGHEST = 50

/** Moves tiles down that overlap with one before them. `first` keeps its place: it is the one being moved. */
export function withoutOverlaps<T extends { readonly position: TilePosition }>(tiles: readonly T[], first?: T): T[] {
  const order = [...tiles].sort(
    (a, b) => Number(b === first) - Number(a === first) || a.position.y - b.position.y || a.position.x - b.position.x,
  )
  const placed = new Map<T, TilePosition>()
  for (const tile of order) {
    let position = tile.position
    for (let other = overlapping(position, placed); other !== undefined; other = overlapping(position, placed))
      position = { ...position, y: other.y + other.h }
    placed.set(tile, position)
  }
  return tiles.map((tile) => {
    const position = placed.get(tile) ?? tile.position
    return position === tile.position ? tile : { ...tile, position }
  })
}

function overlapping(position: TilePosition, placed: ReadonlyMap<unknown, TilePosition>): TilePosition | undefined {
  for (const other of placed.values())
    if (
      position.x < other.x + other.w &&
      other.x < position.x + position.w &&
      position.y < other.y + other.h &&
      other.y < position.y + position.h
    )
      return other
  return undefined
}

/** By a number of columns and rows, inside the grid. */
export function moved({ x, y, w, h }: TilePosition, columns: number, rows: number): TilePosition {
  return { x: between(0, x + columns, COLUMNS - w), y: between(0, y + rows, MOST_ROWS - 1), w, h }
}

export function resized({ x, y, w, h }: TilePosition, columns: number, rows: number): TilePosition {
  return { x, y, w: between(2, w + columns, COLUMNS - x), h: between(2, h + rows, HIGHEST) }
}

/** The first row below everything. */
export function firstFreeRow(tiles: readonly { readonly position: TilePosition }[]): number {
  return Math.max(0, ...tiles.map(({ position }) => position.y + position.h))
}

/** The order in which tiles are read: it is theirs in the document and on a telephone. */
export function inReadingOrder<T extends { readonly position: TilePosition }>(tiles: readonly T[]): T[] {
  return [...tiles].sort((a, b) => a.position.y - b.position.y || a.position.x - b.position.x)
}

function between(least: number, value: number, most: number): number {
  return Math.max(least, Math.min(value, most))
}

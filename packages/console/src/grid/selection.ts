/** The active cell and the range that is selected; places are those on the screen. */

/** Row -1 is the header. `place` is that of the column on the screen. */
export interface Cell {
  readonly row: number
  readonly place: number
}

export interface CellSelection {
  /** Where the range began, and the cell that keys move. */
  readonly from: Cell
  readonly to: Cell
}

export interface CellRange {
  readonly top: number
  readonly bottom: number
  readonly left: number
  readonly right: number
}

export function selectedRange({ from, to }: CellSelection): CellRange {
  return {
    top: Math.max(0, Math.min(from.row, to.row)),
    bottom: Math.max(from.row, to.row),
    left: Math.min(from.place, to.place),
    right: Math.max(from.place, to.place),
  }
}

interface Size {
  readonly rows: number
  readonly columns: number
  /** Rows of a page. */
  readonly page: number
}

/** Where a key leads, or undefined if it is not one that moves. */
export function moved({ row, place }: Cell, event: KeyboardEvent, { rows, columns, page }: Size): Cell | undefined {
  const isFar = event.ctrlKey || event.metaKey
  const at = (toRow: number, toPlace: number): Cell => ({
    row: Math.max(event.shiftKey ? 0 : -1, Math.min(rows - 1, toRow)),
    place: Math.max(0, Math.min(columns - 1, toPlace)),
  })
  switch (event.key) {
    case 'ArrowUp':
      return at(isFar ? 0 : row - 1, place)
    case 'ArrowDown':
      return at(isFar ? rows - 1 : row + 1, place)
    case 'ArrowLeft':
      return at(row, isFar ? 0 : place - 1)
    case 'ArrowRight':
      return at(row, isFar ? columns - 1 : place + 1)
    case 'Home':
      return at(isFar ? 0 : row, 0)
    case 'End':
      return at(isFar ? rows - 1 : row, columns - 1)
    case 'PageUp':
      return at(Math.max(0, row - page), place)
    case 'PageDown':
      return at(row + page, place)
    default:
      return undefined
  }
}

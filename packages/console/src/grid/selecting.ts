/** Selecting cells of the grid with the pointer and the keyboard. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { GridParts } from './layout.ts'
import { type Cell, type CellRange, type CellSelection, moved, selectedRange } from './selection.ts'
import { ROW_HEIGHT, revealRow, rowAt } from './viewport.ts'

export interface Selected {
  /** The cell that keys move. */
  readonly active: Cell | undefined
  readonly activeColumn: number | undefined
  readonly range: CellRange | undefined
  /** Selects a cell and scrolls to it; `extend` keeps the cell where the range began. */
  readonly select: (to: Cell, extend: boolean) => void
  readonly selectAll: () => void
  readonly onPointerDown: (event: PointerEvent) => void
  readonly onPointerMove: (event: PointerEvent) => void
  readonly onPointerUp: () => void
}

/** `onMove` is called when another cell becomes active, `onSelect` when other rows are selected. */
export function useSelection(
  { scroller, model, columns, layout }: GridParts,
  onMove: () => void,
  onSelect: ((range: { readonly top: number; readonly bottom: number } | undefined) => void) | undefined,
): Selected {
  const [selection, setSelection] = useState<CellSelection>()
  const isDragging = useRef(false)
  const [rows, last] = [model.size, model.columns.length - 1]
  const { body, headHeight, gutter } = layout
  const active = selection?.to
  const range = selection && selectedRange(selection)
  useEffect(() => {
    onSelect?.(range === undefined || range.bottom < 0 ? undefined : { top: range.top, bottom: range.bottom })
  }, [range?.top, range?.bottom])
  // Removed rows cannot be selected.
  useEffect(() => {
    if (selection !== undefined && Math.max(selection.from.row, selection.to.row) >= rows) setSelection(undefined)
  }, [rows])

  const select = (to: Cell, extend: boolean) => {
    setSelection((before) => ({ from: extend && before !== undefined ? before.from : to, to }))
    onMove()
    const element = scroller.current
    if (element === null) return
    if (to.row >= 0) element.scrollTop = revealRow(rows, to.row, body)
    element.scrollLeft = columns.reveal(columns.at(to.place), element.scrollLeft, body.width)
  }
  const cellAt = (event: PointerEvent): Cell | undefined => {
    const element = scroller.current
    if (element === null || rows === 0) return undefined
    const bounds = element.getBoundingClientRect()
    const y = event.clientY - bounds.top - headHeight
    const x = event.clientX - bounds.left - gutter
    return { row: rowAt(rows, y, body), place: columns.columnPlace(columns.columnAt(Math.max(0, x), body.left)) }
  }
  return {
    active,
    activeColumn: active && columns.at(active.place),
    range,
    select,
    selectAll: () => setSelection({ from: { row: 0, place: 0 }, to: { row: rows - 1, place: last } }),
    onPointerDown(event) {
      if (event.button !== 0 || !(event.target instanceof Element)) return
      const isCell = event.target.closest('.grid-cell') !== null
      const isNumber = event.target.closest('.grid-row .grid-number') !== null
      const cell = cellAt(event)
      if (cell === undefined || (!isCell && !isNumber)) return
      if (isNumber) {
        const from = event.shiftKey && selection !== undefined ? selection.from.row : cell.row
        setSelection({ from: { row: from, place: last }, to: { row: cell.row, place: 0 } })
      } else {
        select(cell, event.shiftKey)
        isDragging.current = event.pointerType === 'mouse'
      }
    },
    onPointerMove(event) {
      if (!isDragging.current) return
      if (event.buttons === 0) {
        isDragging.current = false
        return
      }
      const to = cellAt(event)
      if (to !== undefined && (to.row !== active?.row || to.place !== active.place)) select(to, true)
    },
    onPointerUp() {
      isDragging.current = false
    },
  }
}

/** What keys do apart from moving. */
export interface KeyActions {
  readonly openCell: () => void
  readonly toggleDetails: () => void
  /** Undefined while no details are shown. */
  readonly closeDetails: (() => void) | undefined
  /** Opens the menu of the column at a place. */
  readonly openMenu: (place: number) => void
}

/** Does what a key stands for; false if it stands for nothing. */
export function pressKey(
  event: KeyboardEvent,
  { model, columns, layout }: GridParts,
  { active, activeColumn, select, selectAll }: Selected,
  { openCell, toggleDetails, closeDetails, openMenu }: KeyActions,
): boolean {
  const rows = model.size
  const current = active ?? { row: 0, place: 0 }
  const isHeader = current.row === -1
  if (isHeader && event.altKey && event.key.startsWith('Arrow') && activeColumn !== undefined) {
    if (event.key === 'ArrowDown') openMenu(current.place)
    else columns.resize(activeColumn, columns.columnWidth(activeColumn) + (event.key === 'ArrowRight' ? 16 : -16))
  } else if (event.key === 'Enter' || event.key === 'F2') openCell()
  else if (event.key === ' ' && !isHeader) toggleDetails()
  else if (event.key === 'Escape' && closeDetails !== undefined) closeDetails()
  else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'a' && rows > 0) selectAll()
  else {
    const page = Math.max(1, Math.floor(layout.body.height / ROW_HEIGHT) - 1)
    const to = moved(current, event, { rows, columns: model.columns.length, page })
    if (to === undefined || event.altKey) return false
    select(active === undefined ? current : to, event.shiftKey)
  }
  return true
}

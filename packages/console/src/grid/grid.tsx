/** The data grid: virtual rows and columns, sort, filter, resize, pin, select, copy, details, editing in place. */
// biome-ignore-all lint/a11y/useSemanticElements: a table cannot leave out the rows that are not in view
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Columns } from './columns.ts'
import { rowsAs } from './copy.ts'
import { Details } from './details.tsx'
import type { Editing } from './editing.tsx'
import './grid.css'
import { count } from '../ui/index.ts'
import type { GridColumn } from './column.ts'
import { fractionsInView, timestampsOf } from './fractions.ts'
import { Header, nextSort } from './header.tsx'
import type { GridModel, GridRow, Sort } from './model.ts'
import { Row } from './row.tsx'
import { type Cell, moved, type Range, rangeOf, type Selection } from './selection.ts'
import {
  canvasHeight,
  FILTER_HEIGHT,
  HEADER_HEIGHT,
  NAMES_HEIGHT,
  ROW_HEIGHT,
  revealRow,
  rowAt,
  rowsInView,
  type Viewport,
} from './viewport.ts'

export interface GridProps {
  readonly model: GridModel
  /** What it shows, for screen readers. */
  readonly label: string
  /** A cell was opened by Enter or a double click; without it, its details are shown. */
  readonly onCell?: ((row: GridRow, column: number) => void) | undefined
  readonly editable?: Editing | undefined
  /** The rows that are selected, from the first to the last; undefined for none. */
  readonly onSelect?: ((range: { readonly top: number; readonly bottom: number } | undefined) => void) | undefined
  /** The last rows have come into view. */
  readonly onEnd?: (() => void) | undefined
  /** Columns that need less than the width fill it. */
  readonly fill?: boolean | undefined
  /** The types below the names of the columns; they are shown unless this is false. */
  readonly types?: boolean | undefined
  /** Sorts elsewhere, for example on the server, instead of the rows that are here. */
  readonly sorting?: { readonly sort: Sort | undefined; readonly onSort: (sort: Sort | undefined) => void } | undefined
}

/** More would make a text that no clipboard takes. */
const MOST_COPIED = 1_000_000

export function Grid(props: GridProps) {
  // Columns belong to their model.
  const key = useMemo(() => ++lastKey, [props.model])
  return <GridOf key={key} {...props} />
}

let lastKey = 0

function GridOf({ model, label, onCell, editable, onSelect, onEnd, fill, types = true, sorting }: GridProps) {
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const columns = useMemo(() => new Columns(model, types), [])
  const [view, setView] = useState<Viewport>({ top: 0, left: 0, width: 0, height: 0 })
  const [selection, setSelection] = useState<Selection>()
  const [filtering, setFiltering] = useState<number>()
  const [isOpen, setOpen] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const [said, setSaid] = useState('')

  model.version.value
  columns.version.value
  const sort = sorting === undefined ? model.sort.value : sorting.sort
  const onSort = sorting?.onSort ?? ((wanted: Sort | undefined) => model.setSort(wanted))
  const rows = model.size
  const headHeight = (types ? HEADER_HEIGHT : NAMES_HEIGHT) + (filtering === undefined ? 0 : FILTER_HEIGHT)
  const gutter = Math.max(44, String(rows).length * 8 + 20)
  const body: Viewport = {
    ...view,
    height: Math.max(0, view.height - headHeight),
    width: Math.max(0, view.width - gutter),
  }
  const shown = rowsInView(rows, body)
  const window = columns.window(body.left, body.width)
  const timestamps = useMemo(() => timestampsOf(model.columns), [])
  const fractions = useRef<readonly number[]>([])
  fractions.current = fractionsInView(fractions.current, model, timestamps, shown)
  const active = selection?.to
  const range = selection && rangeOf(selection)
  const activeColumn = active === undefined ? undefined : columns.at(active.place)

  const readView = () => {
    const element = scroller.current
    if (element === null) return
    const { scrollTop: top, scrollLeft: left, clientWidth: width, clientHeight: height } = element
    setView((before) =>
      before.top === top && before.left === left && before.width === width && before.height === height
        ? before
        : { top, left, width, height },
    )
  }
  useLayoutEffect(() => {
    readView()
    const observer = new ResizeObserver(readView)
    if (scroller.current !== null) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    columns.measure()
    if (fill === true) columns.stretch(body.width)
  }, [rows > 0, body.width])
  useEffect(() => {
    onSelect?.(range === undefined || range.bottom < 0 ? undefined : { top: range.top, bottom: range.bottom })
  }, [range?.top, range?.bottom])
  // Rows that were sorted elsewhere are others: the end of those before must not ask for more of them.
  useLayoutEffect(() => {
    if (sorting !== undefined) scroller.current?.scrollTo({ top: 0 })
  }, [sorting?.sort])
  useEffect(() => {
    if (rows > 0 && shown.last >= rows) onEnd?.()
  }, [shown.last, rows])
  // Rows that are gone cannot be selected.
  useEffect(() => {
    if (selection !== undefined && Math.max(selection.from.row, selection.to.row) >= rows) setSelection(undefined)
  }, [rows])

  const select = (to: Cell, extend: boolean) => {
    setSelection((before) => ({ from: extend && before !== undefined ? before.from : to, to }))
    setEditing(false)
    const element = scroller.current
    if (element === null) return
    if (to.row >= 0) element.scrollTop = revealRow(rows, to.row, body)
    element.scrollLeft = columns.reveal(columns.at(to.place), element.scrollLeft, body.width)
  }
  const openCell = () => {
    if (active === undefined || activeColumn === undefined) return
    if (active.row === -1) onSort(nextSort(activeColumn, sort?.column === activeColumn ? sort : undefined))
    else if (editable?.may(activeColumn) === true) setEditing(true)
    else if (onCell !== undefined) onCell(model.row(active.row), activeColumn)
    else setOpen((before) => !before)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return
    const isMod = event.ctrlKey || event.metaKey
    const current = active ?? { row: 0, place: 0 }
    const page = Math.max(1, Math.floor(body.height / ROW_HEIGHT) - 1)
    const isHeader = current.row === -1
    if (isHeader && event.altKey && event.key.startsWith('Arrow') && activeColumn !== undefined) {
      if (event.key === 'ArrowDown') openMenu(scroller.current, id, current.place)
      else columns.resize(activeColumn, columns.widthOf(activeColumn) + (event.key === 'ArrowRight' ? 16 : -16))
    } else if (event.key === 'Enter' || event.key === 'F2') openCell()
    else if (event.key === ' ' && !isHeader) setOpen((before) => !before)
    else if (event.key === 'Escape' && isOpen) setOpen(false)
    else if (isMod && event.key.toLowerCase() === 'a' && rows > 0)
      setSelection({ from: { row: 0, place: 0 }, to: { row: rows - 1, place: model.columns.length - 1 } })
    else {
      const to = moved(current, event, { rows, columns: model.columns.length, page })
      if (to === undefined || event.altKey) return
      select(active === undefined ? current : to, event.shiftKey)
    }
    event.preventDefault()
  }
  const cellAt = (event: PointerEvent | MouseEvent): Cell | undefined => {
    const element = scroller.current
    if (element === null || rows === 0) return undefined
    const bounds = element.getBoundingClientRect()
    const y = event.clientY - bounds.top - headHeight
    const x = event.clientX - bounds.left - gutter
    return { row: rowAt(rows, y, body), place: columns.placeOf(columns.columnAt(Math.max(0, x), body.left)) }
  }
  const isDragging = useRef(false)
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || !(event.target instanceof Element)) return
    const isCell = event.target.closest('.grid-cell') !== null
    const number = event.target.closest<HTMLElement>('.grid-row .grid-number')
    const cell = cellAt(event)
    if (cell === undefined || (!isCell && number === null)) return
    if (number === null) {
      select(cell, event.shiftKey)
      isDragging.current = event.pointerType === 'mouse'
    } else {
      const from = event.shiftKey && selection !== undefined ? selection.from.row : cell.row
      setSelection({ from: { row: from, place: model.columns.length - 1 }, to: { row: cell.row, place: 0 } })
    }
  }
  const onPointerMove = (event: PointerEvent) => {
    if (!isDragging.current) return
    if (event.buttons === 0) {
      isDragging.current = false
      return
    }
    const to = cellAt(event)
    if (to !== undefined && (to.row !== active?.row || to.place !== active.place)) select(to, true)
  }
  const onCopy = (event: ClipboardEvent) => {
    if (range === undefined || range.bottom < 0) return
    event.preventDefault()
    const cells = (range.bottom - range.top + 1) * (range.right - range.left + 1)
    if (cells > MOST_COPIED) return setSaid(`Not copied: more than ${count(MOST_COPIED)} cells. Export them instead.`)
    event.clipboardData?.setData('text/plain', rowsAs(model, 'tsv', copyRange(range, columns)))
    setSaid(`Copied ${count(cells)} ${cells === 1 ? 'cell' : 'cells'}`)
  }
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => setSaid(''), 2500)
    return () => clearTimeout(timer)
  }, [said])

  const isActiveShown =
    active !== undefined && (active.row === -1 || (active.row >= shown.first && active.row < shown.last))
  return (
    <div class="grid-frame">
      <div
        ref={scroller}
        role="grid"
        class="grid"
        tabIndex={0}
        aria-label={label}
        aria-rowcount={rows + 1}
        aria-colcount={model.columns.length + 1}
        aria-multiselectable
        aria-busy={model.arranging.value}
        aria-activedescendant={isActiveShown ? `${id}-${active.row}-${active.place}` : undefined}
        onScroll={readView}
        onKeyDown={onKeyDown}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={() => {
          isDragging.current = false
        }}
        onDblClick={(event) => event.target instanceof Element && event.target.closest('.grid-cell') && openCell()}
        onCopy={onCopy}
      >
        <div
          role="presentation"
          class="grid-canvas"
          style={{
            height: `${headHeight + canvasHeight(rows)}px`,
            width: `${gutter + window.pinnedWidth + columns.totalWidth}px`,
          }}
        >
          <div
            role="presentation"
            class="grid-view"
            style={{
              width: `${view.width}px`,
              height: `${view.height}px`,
              '--x': `${window.start - body.left}px`,
              '--gutter': `${gutter}px`,
            }}
          >
            <Header
              model={model}
              columns={columns}
              window={window}
              active={active?.row === -1 ? active.place : -1}
              id={id}
              sort={sort}
              onSort={onSort}
              types={types}
              onFit={(column) => columns.fit(column, shown.first, shown.last)}
              filtering={filtering}
              onFilter={setFiltering}
            />
            <div role="rowgroup" class="grid-rows" style={{ height: `${body.height}px` }}>
              <div role="presentation" style={{ transform: `translateY(${shown.offset}px)` }}>
                {Array.from({ length: Math.max(0, shown.last - shown.first) }, (_, at) => {
                  const index = shown.first + at
                  const row = model.row(index)
                  const isIn = range !== undefined && index >= range.top && index <= range.bottom
                  const isActive = active?.row === index
                  return (
                    <Row
                      key={index % shown.slots}
                      row={row}
                      index={index}
                      anchor={shown.anchor}
                      columns={model.columns}
                      fractions={fractions.current}
                      window={window}
                      left={isIn ? range.left : -1}
                      right={isIn ? range.right : -1}
                      active={isActive ? active.place : -1}
                      change={model.changeOf(row)}
                      editing={isActive && isEditing ? editable : undefined}
                      editedPlace={isActive && isEditing ? active.place : -1}
                      onEdited={
                        isActive && isEditing
                          ? () => {
                              setEditing(false)
                              scroller.current?.focus()
                            }
                          : undefined
                      }
                      id={id}
                    />
                  )
                })}
              </div>
            </div>
          </div>
        </div>
      </div>
      {isOpen && active !== undefined && active.row >= 0 && activeColumn !== undefined && (
        <Details
          column={model.columns[activeColumn] as GridColumn}
          value={model.row(active.row)[activeColumn]}
          onClose={() => {
            setOpen(false)
            scroller.current?.focus()
          }}
          onEdit={editable?.may(activeColumn) === true ? () => setEditing(true) : undefined}
        />
      )}
      {model.arranging.value && <div class="grid-working" />}
      <p role="status" class="grid-said">
        {said}
      </p>
    </div>
  )
}

function copyRange({ top, bottom, left, right }: Range, columns: Columns) {
  return { top, bottom, columns: Array.from({ length: right - left + 1 }, (_, at) => columns.at(left + at)) }
}

function openMenu(grid: HTMLElement | null, id: string, place: number): void {
  grid?.querySelector<HTMLElement>(`[id="${id}--1-${place}"] .grid-menu`)?.click()
}

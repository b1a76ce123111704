/** The data grid: virtual rows and columns, sort, filter, resize, pin, select, copy, details, editing in place. */
// biome-ignore-all lint/a11y/useSemanticElements: a table cannot leave out the rows that are not in view
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { classes } from '../ui/index.ts'
import { useScrollEdges } from '../ui/scroll-edges.ts'
import type { GridColumn } from './column.ts'
import { Columns } from './columns.ts'
import { useCopying } from './copying.ts'
import { Details } from './details.tsx'
import type { Editing } from './editing.tsx'
import { useFractions } from './fractions.ts'
import './grid.css'
import { Header, nextSort } from './header.tsx'
import { type GridParts, useLayout } from './layout.ts'
import type { GridModel, GridRow, Sort } from './model.ts'
import { Row } from './row.tsx'
import { pressKey, type Selected, useSelection } from './selecting.ts'
import { canvasHeight, FILTER_HEIGHT, HEADER_HEIGHT, NAMES_HEIGHT } from './viewport.ts'

export interface GridProps {
  readonly model: GridModel
  /** What it shows, for screen readers. */
  readonly label: string
  /** A cell was opened by Enter or a double click; without it, its details are shown. */
  readonly onCell?: ((row: GridRow, column: number) => void) | undefined
  readonly editable?: Editing | undefined
  /** Rows are chosen by a click or by Enter. */
  readonly choosing?: Choosing | undefined
  /** The rows that are selected, from the first to the last; undefined for none. */
  readonly onSelect?: ((range: { readonly top: number; readonly bottom: number } | undefined) => void) | undefined
  /** Another cell is active: undefined for none, and for the names of columns. */
  readonly onActive?: ((cell: ActiveCell | undefined) => void) | undefined
  /** The last rows have come into view. */
  readonly onEnd?: (() => void) | undefined
  /** Columns that need less than the width fill it. */
  readonly fill?: boolean | undefined
  /** The types below the names of the columns; they are shown unless this is false. */
  readonly types?: boolean | undefined
  /** The numbers of the rows; they are shown unless this is false. */
  readonly numbers?: boolean | undefined
  /** Sorts elsewhere, for example on the server, instead of the rows that are here. */
  readonly sorting?: { readonly sort: Sort | undefined; readonly onSort: (sort: Sort | undefined) => void } | undefined
}

export interface ActiveCell {
  readonly column: GridColumn
  readonly value: unknown
}

export interface Choosing {
  readonly onRow: (row: GridRow) => void
  readonly isChosen: (row: GridRow) => boolean
}

export function Grid(props: GridProps) {
  // Columns belong to their model.
  const key = useMemo(() => ++lastKey, [props.model])
  return <GridBody key={key} {...props} />
}

let lastKey = 0

function GridBody({
  model,
  label,
  onCell,
  choosing,
  editable,
  onSelect,
  onActive,
  onEnd,
  fill = false,
  types = true,
  numbers = true,
  sorting,
}: GridProps) {
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const columns = useMemo(() => new Columns(model, types), [])
  const [filtering, setFiltering] = useState<number>()
  const [isOpen, setOpen] = useState(false)
  const [isEditing, setEditing] = useState(false)
  model.version.value
  columns.version.value
  const rows = model.size
  const headHeight = (types ? HEADER_HEIGHT : NAMES_HEIGHT) + (filtering === undefined ? 0 : FILTER_HEIGHT)
  const layout = useLayout({ scroller, model, columns }, headHeight, fill, numbers)
  const { shown } = layout
  const grid: GridParts = { scroller, model, columns, layout }
  const { sort, onSort } = useSorting(grid, sorting)
  const selected = useSelection(grid, () => setEditing(false), onSelect)
  const { active, activeColumn } = selected
  const { said, onCopy } = useCopying(grid, selected.range)
  useEffect(() => {
    const column = activeColumn === undefined ? undefined : model.columns[activeColumn]
    const isCell = active !== undefined && active.row >= 0 && active.row < rows && activeColumn !== undefined
    onActive?.(isCell && column !== undefined ? { column, value: model.row(active.row)[activeColumn] } : undefined)
  }, [active?.row, activeColumn])
  useEffect(() => {
    if (rows > 0 && shown.last >= rows) onEnd?.()
  }, [shown.last, rows])

  const openCell = () => {
    if (active === undefined || activeColumn === undefined) return
    if (active.row === -1) onSort(nextSort(activeColumn, sort?.column === activeColumn ? sort : undefined))
    else if (editable?.may(activeColumn) === true) setEditing(true)
    else if (onCell !== undefined) onCell(model.row(active.row), activeColumn)
    else if (choosing !== undefined) choosing.onRow(model.row(active.row))
    else setOpen((before) => !before)
  }
  const { range } = selected
  const chooseRow = (event: MouseEvent) => {
    const isCell = event.target instanceof Element && event.target.closest('.grid-cell') !== null
    const isOne = range !== undefined && range.top === range.bottom && range.left === range.right
    if (isCell && isOne && range.top >= 0) choosing?.onRow(model.row(range.top))
  }
  const keyActions = {
    openCell,
    toggleDetails: () => setOpen((before) => !before),
    closeDetails: isOpen ? () => setOpen(false) : undefined,
    openMenu: (place: number) =>
      scroller.current?.querySelector<HTMLElement>(`[id="${id}--1-${place}"] .grid-menu`)?.click(),
  }
  const isActiveShown =
    active !== undefined && (active.row === -1 || (active.row >= shown.first && active.row < shown.last))
  useScrollEdges(scroller)
  return (
    <div class="grid-frame">
      <div
        ref={scroller}
        role="grid"
        class={classes('grid', !numbers && 'without-numbers', choosing !== undefined && 'choosing')}
        tabIndex={0}
        aria-label={label}
        aria-rowcount={rows + 1}
        aria-colcount={model.columns.length + 1}
        aria-multiselectable
        aria-busy={model.arranging.value}
        aria-activedescendant={isActiveShown ? `${id}-${active.row}-${active.place}` : undefined}
        onScroll={layout.readView}
        onKeyDown={(event) => {
          if (event.target === scroller.current && pressKey(event, grid, selected, keyActions)) event.preventDefault()
        }}
        onPointerDown={selected.onPointerDown}
        onPointerMove={selected.onPointerMove}
        onPointerUp={selected.onPointerUp}
        onClick={choosing && chooseRow}
        onDblClick={(event) =>
          choosing === undefined &&
          event.target instanceof Element &&
          event.target.closest('.grid-cell') !== null &&
          openCell()
        }
        onCopy={onCopy}
      >
        <Canvas grid={grid}>
          <Header
            model={model}
            columns={columns}
            window={layout.window}
            active={active?.row === -1 ? active.place : -1}
            id={id}
            sort={sort}
            onSort={onSort}
            types={types}
            onFit={(column) => columns.fit(column, shown.first, shown.last)}
            filtering={filtering}
            onFilter={setFiltering}
          />
          <Rows
            id={id}
            grid={grid}
            selected={selected}
            choosing={choosing}
            editing={isEditing ? editable : undefined}
            onEdited={() => {
              setEditing(false)
              scroller.current?.focus()
            }}
          />
        </Canvas>
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

/** As large as all rows and columns, for the scroll bars; its content stays in view. */
function Canvas({
  grid: { model, columns, layout },
  children,
}: {
  readonly grid: GridParts
  readonly children: ComponentChildren
}) {
  const { view, body, gutter, headHeight, window } = layout
  return (
    <div
      role="presentation"
      class="grid-canvas"
      style={{
        height: `${headHeight + canvasHeight(model.size)}px`,
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
        {children}
      </div>
    </div>
  )
}

/** The rows in view. */
function Rows({
  id,
  grid: { model, layout },
  selected: { active, range },
  choosing,
  editing,
  onEdited,
}: {
  readonly id: string
  readonly grid: GridParts
  readonly selected: Selected
  readonly choosing: Choosing | undefined
  /** Undefined unless the active cell is edited. */
  readonly editing: Editing | undefined
  readonly onEdited: () => void
}) {
  const { shown, window, body } = layout
  const fractions = useFractions(model, shown)
  return (
    <div role="rowgroup" class="grid-rows" style={{ height: `${body.height}px` }}>
      <div role="presentation" style={{ transform: `translateY(${shown.offset}px)` }}>
        {Array.from({ length: Math.max(0, shown.last - shown.first) }, (_, at) => {
          const index = shown.first + at
          const row = model.row(index)
          const isIn = range !== undefined && index >= range.top && index <= range.bottom
          const isActive = active?.row === index
          const isEdited = isActive && editing !== undefined
          return (
            <Row
              key={index % shown.slots}
              row={row}
              index={index}
              anchor={shown.anchor}
              columns={model.columns}
              fractions={fractions}
              window={window}
              left={isIn ? range.left : -1}
              right={isIn ? range.right : -1}
              active={isActive ? active.place : -1}
              isChosen={choosing?.isChosen(row) === true}
              change={model.lastChange(row)}
              editing={isEdited ? editing : undefined}
              editedPlace={isEdited ? active.place : -1}
              onEdited={isEdited ? onEdited : undefined}
              id={id}
            />
          )
        })}
      </div>
    </div>
  )
}

/** Sorts the rows of the model, or elsewhere. */
function useSorting({ scroller, model }: GridParts, sorting: GridProps['sorting']) {
  // Rows that were sorted elsewhere are others: being at the end of the former ones must not load more.
  useLayoutEffect(() => {
    if (sorting !== undefined) scroller.current?.scrollTo({ top: 0 })
  }, [sorting?.sort])
  return sorting ?? { sort: model.sort.value, onSort: (sort: Sort | undefined) => model.setSort(sort) }
}

/** The header of the grid: names and types, sorting, filters, pinning and widths. */
// biome-ignore-all lint/a11y/useSemanticElements: a table cannot leave out the rows that are not in view
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell
import { useEffect, useRef } from 'preact/hooks'
import { classes, Icon, Menu } from '../ui/index.ts'
import type { GridColumn } from './column.ts'
import type { Columns, ColumnWindow, PlacedColumn } from './columns.ts'
import { isNumeric } from './compare.ts'
import { parseFilter } from './filter.ts'
import type { GridModel, Sort } from './model.ts'

export interface HeaderProps {
  readonly model: GridModel
  readonly columns: Columns
  readonly window: ColumnWindow
  /** The place of the header cell that is active; -1 for none. */
  readonly active: number
  readonly id: string
  readonly sort: Sort | undefined
  readonly onSort: (sort: Sort | undefined) => void
  readonly onFit: (column: number) => void
  /** The types below the names. */
  readonly types: boolean
  /** The column whose filter was opened; undefined while filters are not shown. */
  readonly filtering: number | undefined
  readonly onFilter: (column: number | undefined) => void
}

export function Header(props: HeaderProps) {
  const { window, filtering, types } = props
  return (
    <div role="rowgroup" class="grid-header">
      <div role="row" class={classes('grid-header-row', !types && 'names')} aria-rowindex={1}>
        <div role="columnheader" class="grid-number" aria-colindex={1}>
          <span aria-hidden="true">#</span>
          <span class="visually-hidden">Row</span>
        </div>
        <div role="presentation" class="grid-pinned">
          {window.pinned.map((column) => (
            <HeaderCell key={column.index} {...props} column={column} />
          ))}
        </div>
        <div role="presentation" class="grid-scrolled">
          <div role="presentation" class="grid-moved">
            {window.scrolled.map((column) => (
              <HeaderCell key={column.index} {...props} column={column} />
            ))}
          </div>
        </div>
      </div>
      {filtering !== undefined && <FilterRow {...props} />}
    </div>
  )
}

function HeaderCell({
  model,
  columns,
  active,
  id,
  sort,
  onSort,
  onFit,
  onFilter,
  types,
  column: { index, place, width },
}: HeaderProps & { readonly column: PlacedColumn }) {
  const { name, type } = model.columns[index] as GridColumn
  const own = sort?.column === index ? sort : undefined
  const isPinned = columns.isPinned(index)
  const isFiltered = model.filters.value.has(index)
  const sortBy = (descending: boolean) => onSort({ column: index, descending })
  return (
    <div
      role="columnheader"
      id={`${id}--1-${place}`}
      class={classes('grid-heading', isNumeric(type) && 'number', place === active && 'active')}
      aria-colindex={place + 2}
      aria-sort={own === undefined ? 'none' : own.descending ? 'descending' : 'ascending'}
      style={{ width: `${width}px` }}
    >
      <button
        type="button"
        class="grid-name"
        tabIndex={-1}
        title={`${name}: ${type}`}
        onClick={() => onSort(nextSort(index, own))}
      >
        <span class="grid-name-text">
          {isPinned && <Icon name="pin" />}
          {isFiltered && <Icon name="filter" />}
          <span>{name}</span>
          {own !== undefined && <Icon name={own.descending ? 'down' : 'up'} />}
        </span>
        {types && <span class="grid-type">{type}</span>}
      </button>
      <Menu
        label={`Column ${name}`}
        class="button plain icon-button small grid-menu"
        tabIndex={-1}
        items={[
          { title: 'Sort ascending', icon: 'up', act: () => sortBy(false) },
          { title: 'Sort descending', icon: 'down', act: () => sortBy(true) },
          ...(own === undefined
            ? []
            : [{ title: 'Do not sort', icon: 'close' as const, act: () => onSort(undefined) }]),
          'line',
          { title: 'Filter…', icon: 'filter', act: () => onFilter(index) },
          { title: isPinned ? 'Unpin' : 'Pin', icon: 'pin', act: () => columns.pin(index, !isPinned) },
          { title: 'Fit the width', icon: 'columns', act: () => onFit(index) },
        ]}
      />
      <Resizer columns={columns} index={index} onFit={() => onFit(index)} />
    </div>
  )
}

/** Ascending, descending, as the rows came. */
export function nextSort(column: number, current: Sort | undefined): Sort | undefined {
  if (current === undefined) return { column, descending: false }
  return current.descending ? undefined : { column, descending: true }
}

function Resizer({ columns, index, onFit }: { columns: Columns; index: number; onFit: () => void }) {
  const start = useRef<{ readonly x: number; readonly width: number }>(null)
  return (
    <div
      class="grid-resizer"
      role="none"
      onPointerDown={(event) => {
        event.stopPropagation()
        event.currentTarget.setPointerCapture(event.pointerId)
        start.current = { x: event.clientX, width: columns.columnWidth(index) }
      }}
      onPointerMove={(event) => {
        if (start.current !== null) columns.resize(index, start.current.width + event.clientX - start.current.x)
      }}
      onPointerUp={() => {
        start.current = null
      }}
      onDblClick={(event) => {
        event.stopPropagation()
        onFit()
      }}
    />
  )
}

function FilterRow(props: HeaderProps) {
  const { window } = props
  const field = (column: PlacedColumn) => <FilterField key={column.index} {...props} column={column} />
  return (
    <div role="presentation" class="grid-filters" onPointerDown={(event) => event.stopPropagation()}>
      <div class="grid-number" />
      <div class="grid-pinned">{window.pinned.map(field)}</div>
      <div class="grid-scrolled">
        <div class="grid-moved">{window.scrolled.map(field)}</div>
      </div>
    </div>
  )
}

function FilterField({
  model,
  filtering,
  onFilter,
  column: { index, width },
}: HeaderProps & { readonly column: PlacedColumn }) {
  const input = useRef<HTMLInputElement>(null)
  const column = model.columns[index] as GridColumn
  const text = model.filters.value.get(index) ?? ''
  const filter = parseFilter(column, text)
  const problem = typeof filter === 'object' ? filter.problem : undefined
  useEffect(() => {
    if (filtering === index) input.current?.focus()
  }, [filtering])
  return (
    <div class="grid-filter" style={{ width: `${width}px` }}>
      <input
        ref={input}
        aria-label={`Filter ${column.name}`}
        aria-invalid={problem === undefined ? undefined : true}
        title={problem ?? 'Text contained in the cell; or = != < <= > >= with a value; or null, not null'}
        placeholder="Filter"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => model.setFilter(index, event.currentTarget.value)}
        onCopy={(event) => event.stopPropagation()}
        onKeyDown={(event) => {
          event.stopPropagation()
          if (event.key !== 'Escape') return
          if (text !== '') model.setFilter(index, '')
          else onFilter(undefined)
        }}
      />
    </div>
  )
}

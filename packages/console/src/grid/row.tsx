/** A row of the grid. It is drawn again only when something about it has changed. */
// biome-ignore-all lint/a11y/useSemanticElements: a table cannot leave out the rows that are not in view
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell
import { Component } from 'preact'
import { classes } from '../ui/index.ts'
import { utcTime } from './cell-text.ts'
import type { GridColumn } from './column.ts'
import type { ColumnWindow, PlacedColumn } from './columns.ts'
import { isNumeric, typeKind } from './compare.ts'
import { CellEditor, type Editing } from './editing.tsx'
import type { Change, GridRow } from './model.ts'
import { changeDirection, isChange, isPrice, isRounded, shownText } from './shown-text.ts'
import { ROW_HEIGHT } from './viewport.ts'

export interface RowProps {
  readonly row: GridRow
  readonly index: number
  readonly anchor: number
  readonly columns: readonly GridColumn[]
  /** By column, the digits that it shows: of a second, or after the decimal point. */
  readonly fractions: readonly number[]
  readonly window: ColumnWindow
  /** Places of the cells that are selected; -1 for none. */
  readonly left: number
  readonly right: number
  readonly active: number
  readonly isChosen: boolean
  readonly change: Change | undefined
  readonly editing: Editing | undefined
  readonly editedPlace: number
  readonly onEdited: (() => void) | undefined
  readonly id: string
}

/** Older changes are not shown when their row comes into view. */
const FLASH_MS = 1000

export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const before = this.props
    return (Object.keys(next) as (keyof RowProps)[]).some((name) => next[name] !== before[name])
  }

  override render() {
    const { index, anchor, window, left, isChosen } = this.props
    return (
      <div
        role="row"
        class={classes('grid-row', index % 2 === 1 && 'odd', isChosen && 'chosen')}
        aria-current={isChosen ? 'true' : undefined}
        aria-rowindex={index + 2}
        aria-selected={left !== -1}
        style={{ transform: `translateY(${(index - anchor) * ROW_HEIGHT}px)` }}
      >
        <div role="rowheader" class="grid-number" aria-colindex={1} data-row={index}>
          {index + 1}
        </div>
        <div role="presentation" class="grid-pinned">
          {window.pinned.map((column) => this.#cell(column))}
        </div>
        <div role="presentation" class="grid-scrolled">
          <div role="presentation" class="grid-moved">
            {window.scrolled.map((column) => this.#cell(column))}
          </div>
        </div>
      </div>
    )
  }

  #cell({ index, place, width }: PlacedColumn) {
    const { row, columns, fractions, left, right, active, id, index: rowIndex } = this.props
    const { editing, editedPlace, onEdited } = this.props
    const column = columns[index] as GridColumn
    const { name, type } = column
    const value = row[index]
    const isNull = value === null || value === undefined
    const isSelected = place >= left && place <= right && left !== -1
    const isEdited = place === editedPlace && editing !== undefined && onEdited !== undefined
    return (
      <div
        key={place}
        role="gridcell"
        id={`${id}-${rowIndex}-${place}`}
        class={classes(
          'grid-cell',
          isNumeric(type) && 'number',
          isNull && 'null',
          isSelected && 'selected',
          place === active && 'active',
          changeDirection(value, column),
          this.#flash(index, column),
        )}
        aria-colindex={place + 2}
        aria-selected={isSelected}
        title={isNull ? undefined : cellTitle(value, column)}
        style={{ width: `${width}px` }}
      >
        {isEdited ? (
          <CellEditor editing={editing} row={row} column={index} name={name} type={type} onDone={onEdited} />
        ) : (
          shownText(value, column, fractions[index])
        )}
      </div>
    )
  }

  /** Two names for the same animation: it begins again when the name changes. Red and green are the direction of a price, and nothing else. */
  #flash(index: number, column: GridColumn): string | false {
    const { change } = this.props
    if (change === undefined || !change.columns.includes(index) || performance.now() - change.at > FLASH_MS)
      return false
    // Its colour is that of its sign.
    if (isChange(column)) return false
    const direction = !isPrice(column)
      ? ''
      : change.rises.includes(index)
        ? 'rises'
        : change.falls.includes(index)
          ? 'falls'
          : ''
    return `${direction} ${change.count % 2 === 0 ? 'flash-even' : 'flash-odd'}`
  }
}

/** What the cell does not show: UTC, or all digits. */
function cellTitle(value: unknown, column: GridColumn): string | undefined {
  if (typeKind(column.type) === 'Timestamp') return utcTime(String(value))
  return isRounded(value, column) ? String(value) : undefined
}

/** The rows of a live result as they are shown: cells as text, and what the last change did to each. */

import { DEFAULT_LIMITS, tokenize } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import type { Live, LiveChange, Row as ResultRow } from '../../../../../client/src/index.ts'
import { type Column, rowCells, tableColumns } from '../result.ts'

export interface Row {
  readonly cells: readonly string[]
  /** What happened to each cell in the change that brought it. */
  readonly moves: readonly Move[]
  readonly changedAt: number
}

export type Move = 'same' | 'changed' | 'up' | 'down'

export interface RowChange {
  readonly sign: '+' | '~' | '-'
  readonly row: Row
}

export class LiveRows {
  /** New rows are at the end, and the result has no order that puts them there. */
  growsAtEnd = false
  readonly #live: Pick<Live, 'columns' | 'rows'>
  readonly #isOrdered: boolean
  readonly #shown = new WeakMap<ResultRow, Row>()
  /** The array that the rows were made from. */
  #current: { readonly of: readonly ResultRow[]; readonly rows: readonly Row[] } | undefined

  constructor(live: Pick<Live, 'columns' | 'rows'>, statement: string) {
    this.#live = live
    this.#isOrdered = isOrdered(statement)
  }

  get columns(): readonly Column[] {
    return tableColumns(this.#live.columns)
  }

  get rows(): readonly Row[] {
    const { rows } = this.#live
    if (this.#current?.of !== rows) this.#current = { of: rows, rows: rows.map((row) => this.#shownRow(row)) }
    return this.#current.rows
  }

  /** The differences; unchanged rows are not listed. */
  apply({ put, remove, before, snapshot }: LiveChange<ResultRow>, now: number): RowChange[] {
    const changes: RowChange[] = remove.map((row) => ({ sign: '-', row: this.#shownRow(row) }))
    // In a first snapshot nothing has changed.
    const changedAt = snapshot && before.size === 0 && remove.length === 0 ? Number.NEGATIVE_INFINITY : now
    for (const row of put) {
      const held = before.get(row)
      const sign = held === undefined ? '+' : '~'
      const shown = this.#show(row, held === undefined ? undefined : this.#shownRow(held), changedAt)
      if (shown !== undefined) changes.push({ sign, row: shown })
      if (sign === '+' && !snapshot && !this.#isOrdered) this.growsAtEnd = true
    }
    this.#current = undefined
    return changes
  }

  /** Undefined if it looks the same as before. */
  #show(row: ResultRow, held: Row | undefined, changedAt: number): Row | undefined {
    const cells = this.#cells(row)
    const isSame = held?.cells.every((cell, index) => cell === cells[index]) === true
    const shown = isSame && held !== undefined ? held : { cells, moves: this.#compareCells(cells, held), changedAt }
    this.#shown.set(row, shown)
    return isSame ? undefined : shown
  }

  /** A row may be in the result before its change is read. */
  #shownRow(row: ResultRow): Row {
    const shown = this.#shown.get(row)
    if (shown !== undefined) return shown
    const cells = this.#cells(row)
    return { cells, moves: cells.map(() => 'same' as const), changedAt: Number.NEGATIVE_INFINITY }
  }

  #cells(row: ResultRow): string[] {
    return rowCells(row, this.#live.columns)
  }

  #compareCells(cells: readonly string[], held: Row | undefined): Move[] {
    const { columns } = this
    return cells.map((cell, index) => {
      const before = held?.cells[index]
      if (before === undefined) return 'changed'
      if (before === cell) return 'same'
      const difference = columns[index]?.isNumeric ? Number(cell) - Number(before) : Number.NaN
      return difference > 0 ? 'up' : difference < 0 ? 'down' : 'changed'
    })
  }
}

/** Whether it has an ORDER BY outside parentheses. */
function isOrdered(statement: string): boolean {
  try {
    let depth = 0
    return tokenize(statement, DEFAULT_LIMITS).some(({ key }) => {
      if (key === '(') depth++
      if (key === ')') depth--
      return key === 'order' && depth === 0
    })
  } catch (error) {
    // The server explains what is wrong.
    if (error instanceof Refusal) return false
    throw error
  }
}

/** The result of a live query as its messages say it: rows by key, in order, and what each message changed. */
import { cellText } from '../../table.ts'
import type { Column } from '../connection.ts'
import type { Entry, Message } from './messages.ts'

export interface Row {
  readonly key: string
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

export class LiveResult {
  columns: readonly Column[] = []
  rows: Row[] = []
  /** Rows were added without a place: the result has no order, and new rows are at the end. */
  growsAtEnd = false
  readonly #byKey = new Map<string, Row>()
  /** The pieces of a message that is not complete yet. */
  #put: Entry[] = []
  #remove: string[] = []

  /** What the message changed; nothing while further pieces are to come. */
  apply(message: Message, now: number): readonly RowChange[] {
    switch (message.kind) {
      case 'progress':
        return []
      case 'reset':
        this.dropPieces()
        return this.#replace([], now)
      case 'snapshot':
        if (message.columns !== undefined) {
          this.dropPieces()
          this.columns = message.columns
        }
        this.#put.push(...message.put)
        return message.more ? [] : this.#replace(this.#takePieces().put, now)
      case 'change': {
        this.#put.push(...message.put)
        this.#remove.push(...message.remove)
        if (message.more) return []
        const { put, remove } = this.#takePieces()
        return this.#change(put, remove, now)
      }
    }
  }

  /** The connection was lost: the pieces of an incomplete message are sent again. */
  dropPieces(): void {
    this.#put = []
    this.#remove = []
  }

  #takePieces(): { put: Entry[]; remove: string[] } {
    const pieces = { put: this.#put, remove: this.#remove }
    this.dropPieces()
    return pieces
  }

  /** Rows that stay as they were are no change. */
  #replace(put: readonly Entry[], now: number): RowChange[] {
    const before = new Map(this.#byKey)
    // In a first snapshot nothing has changed.
    const at = before.size === 0 ? Number.NEGATIVE_INFINITY : now
    this.#byKey.clear()
    const changes: RowChange[] = []
    this.rows = put.map((entry) => {
      const held = before.get(entry.key)
      before.delete(entry.key)
      return this.#hold(entry, held, at, changes)
    })
    return [...[...before.values()].map((row) => ({ sign: '-', row }) as const), ...changes]
  }

  /** Removals, then rows that move, then what is put, by rising place; a row without a place keeps its own. */
  #change(put: readonly Entry[], remove: readonly string[], now: number): RowChange[] {
    const changes: RowChange[] = []
    const leaving = new Set<Row>()
    for (const key of remove) {
      const row = this.#byKey.get(key)
      if (row === undefined) continue
      this.#byKey.delete(key)
      leaving.add(row)
      changes.push({ sign: '-', row })
    }
    const placed: { readonly index: number; readonly row: Row }[] = []
    const changed = new Map<Row, Row>()
    const added: Row[] = []
    for (const entry of put) {
      const held = this.#byKey.get(entry.key)
      const row = this.#hold(entry, held, now, changes)
      if (entry.index !== undefined) {
        if (held !== undefined) leaving.add(held)
        placed.push({ index: entry.index, row })
      } else if (held !== undefined) changed.set(held, row)
      else added.push(row)
    }
    if (leaving.size > 0) this.rows = this.rows.filter((row) => !leaving.has(row))
    if (changed.size > 0) this.rows = this.rows.map((row) => changed.get(row) ?? row)
    if (added.length > 0) this.growsAtEnd = true
    this.rows.push(...added)
    for (const { index, row } of placed.sort((a, b) => a.index - b.index)) this.rows.splice(index, 0, row)
    return changes
  }

  #hold({ key, row: value }: Entry, held: Row | undefined, now: number, changes: RowChange[]): Row {
    const cells = (Array.isArray(value) ? value : [value]).map(cellText)
    const isSame = held !== undefined && cells.every((cell, index) => cell === held.cells[index])
    const row = isSame ? held : { key, cells, moves: this.#movesOf(cells, held), changedAt: now }
    if (!isSame) changes.push({ sign: held === undefined ? '+' : '~', row })
    this.#byKey.set(key, row)
    return row
  }

  #movesOf(cells: readonly string[], held: Row | undefined): Move[] {
    return cells.map((cell, index) => {
      const before = held?.cells[index]
      if (before === undefined) return 'changed'
      if (before === cell) return 'same'
      const difference = this.columns[index]?.isNumeric ? Number(cell) - Number(before) : Number.NaN
      return difference > 0 ? 'up' : difference < 0 ? 'down' : 'changed'
    })
  }
}

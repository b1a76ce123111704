/** A result that keeps itself up to date, in the model of a grid. */
import { type Signal, signal } from '@preact/signals'
import {
  type Column,
  type Live,
  type LiveChange,
  type Row,
  statement as statementOf,
} from '../../../../client/src/index.ts'
import { scan } from '../../editor/scan.ts'
import { gate } from '../../gate.ts'
import { GridModel, type GridRow } from '../../grid/model.ts'
import type { Parameters } from './copy-as.ts'

export type LiveState =
  | { readonly kind: 'opening' }
  | { readonly kind: 'live'; readonly method: string; readonly model: GridModel; readonly changes: number }
  | { readonly kind: 'failed'; readonly error: unknown }

/** What people see and can follow. */
const CHANGES_PER_SECOND = 10

/** Opens it; `close` ends it here and on the server. */
export function openLive(
  text: string,
  parameters: Parameters,
): { readonly state: Signal<LiveState>; readonly close: () => void } {
  const state = signal<LiveState>({ kind: 'opening' })
  const live = gate.live<Row>(statementOf(text, parameters as Readonly<Record<string, string>>), {
    maxRate: CHANGES_PER_SECOND,
  })
  let isClosed = false
  void follow(live, isOrdered(text), state).catch((error) => {
    if (!isClosed) state.value = { kind: 'failed', error }
  })
  return {
    state,
    close() {
      isClosed = true
      live.close()
    },
  }
}

async function follow(live: Live<Row>, ordered: boolean, state: Signal<LiveState>): Promise<void> {
  let shown: LiveRows | undefined
  let changes = 0
  for await (const change of live) {
    if (shown === undefined || !isSame(shown.columns, live.columns)) shown = new LiveRows(live)
    shown.apply(change, ordered)
    if (!change.snapshot) changes++
    state.value = { kind: 'live', method: live.method ?? '', model: shown.model, changes }
  }
}

/** The rows of a live result as the grid has them. */
class LiveRows {
  readonly columns: readonly Column[]
  readonly model: GridModel
  readonly #live: Live<Row>
  readonly #held = new Map<string, GridRow>()

  constructor(live: Live<Row>) {
    this.#live = live
    this.columns = live.columns
    this.model = new GridModel(live.columns)
  }

  apply({ put, remove, snapshot }: LiveChange<Row>, ordered: boolean): void {
    for (const row of remove) {
      const key = this.#keyOf(row)
      this.#held.delete(key)
      this.model.remove(key)
    }
    if (snapshot) for (const [at, row] of this.#live.rows.entries()) this.#put(row, at)
    else if (ordered) this.#place(put)
    else for (const row of put) this.#put(row)
  }

  /** The index of a row is its place when those before it are in theirs: rows that changed leave their places first. */
  #place(put: readonly Row[]): void {
    const places = new Map(this.#live.rows.map((row, at) => [row, at]))
    const entries = put.map((row) => ({ row, at: places.get(row) ?? 0 })).sort((a, b) => a.at - b.at)
    if (entries.length > 1)
      for (const { row } of entries) {
        const key = this.#keyOf(row)
        const held = this.#held.get(key)
        if (held !== undefined) this.model.put(key, held, Number.MAX_SAFE_INTEGER)
      }
    for (const { row, at } of entries) this.#put(row, at)
  }

  #put(row: Row, at?: number): void {
    const key = this.#keyOf(row)
    const values = this.columns.map(({ name }) => row[name])
    this.#held.set(key, values)
    this.model.put(key, values, at)
  }

  #keyOf(row: Row): string {
    return this.#live.keyOf(row) ?? ''
  }
}

function isSame(a: readonly Column[], b: readonly Column[]): boolean {
  return a.length === b.length && a.every(({ name, type }, at) => name === b[at]?.name && type === b[at]?.type)
}

/** Whether the rows have places of their own: the last ORDER BY outside of parentheses. */
function isOrdered(text: string): boolean {
  let depth = 0
  let ordered = false
  for (const { key } of scan(text)) {
    if (key === '(') depth++
    else if (key === ')') depth--
    else if (key === 'order' && depth === 0) ordered = true
  }
  return ordered
}

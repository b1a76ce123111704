/** The rows of a grid: appended as a result streams in, or kept up to date by key; sorted and filtered in slices. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { Arranger, type Work } from './arrange.ts'
import { writeJson } from './cell-text.ts'
import type { GridColumn } from './column.ts'
import { isNumeric } from './compare.ts'
import { parseFilter } from './filter.ts'
import { type GridRow, ListedRows, PackedRows, type Rows } from './rows.ts'

export type { GridRow }

/** `type` as the server says it: `Decimal(18, 4)`. */
export interface Sort {
  readonly column: number
  readonly descending: boolean
}

/** Of a live row: when it was replaced, which of its cells are different, and how often it was changed so far. */
export interface Change {
  readonly at: number
  readonly columns: readonly number[]
  /** Those of them whose number is greater or less than it was. */
  readonly rises: readonly number[]
  readonly falls: readonly number[]
  readonly count: number
}

interface Arranging {
  readonly steps: Work
  readonly rows: Rows
  readonly to: number
}

/** For sorting and filtering in each frame; drawing needs the rest. */
const SLICE_MS = 8
const NO_ROW: GridRow = []

export class GridModel {
  readonly columns: readonly GridColumn[]
  readonly #version = signal(0)
  readonly #sort: Signal<Sort | undefined> = signal(undefined)
  readonly #filters: Signal<ReadonlyMap<number, string>> = signal(new Map())
  readonly #isArranging = signal(false)
  /** In the order of the result. */
  #rows: PackedRows | ListedRows
  /** Of the rows of a live result, parallel to them; where each key was last. */
  #keys: string[] = []
  readonly #places = new Map<string, number>()
  #changes = new WeakMap<GridRow, Change>()
  /** What is shown, if it is not all rows in their order: indexes of `#base`. */
  #order: ArrayLike<number> | undefined
  #base: Rows
  #arranger: Arranger | undefined
  /** How many rows of `#base` the order has taken in. */
  #arranged = 0
  #work: Arranging | undefined
  #isStale = false
  #frame: unknown

  constructor(columns: readonly GridColumn[]) {
    this.columns = columns
    this.#rows = new PackedRows(columns.length)
    this.#base = this.#rows
  }

  /** Rises after a change, at most once in a frame. */
  get version(): ReadonlySignal<number> {
    return this.#version
  }

  get sort(): ReadonlySignal<Sort | undefined> {
    return this.#sort
  }

  /** As typed, by column. */
  get filters(): ReadonlySignal<ReadonlyMap<number, string>> {
    return this.#filters
  }

  /** While it sorts or filters; what was shown before is shown until it is done. */
  get arranging(): ReadonlySignal<boolean> {
    return this.#isArranging
  }

  /** Rows that are shown. */
  get size(): number {
    return this.#order?.length ?? this.#rows.length
  }

  /** Rows that exist, shown or not. */
  get total(): number {
    return this.#rows.length
  }

  /** A row in the order shown. */
  row(index: number): GridRow {
    if (this.#order === undefined) return this.#rows.at(index) ?? NO_ROW
    return this.#base.at(this.#order[index] ?? -1) ?? NO_ROW
  }

  append(rows: readonly GridRow[]): void {
    if (this.#rows instanceof PackedRows) this.#rows.push(rows)
    else for (const row of rows) this.#rows.list.push(row)
    this.#changed()
  }

  /** Adds or replaces a row of a live result; `at` is its place in the result, at the end or where it was by default. */
  put(key: string, row: GridRow, at?: number): void {
    const list = this.#ownList()
    const place = this.#findPlace(key)
    if (place === undefined) this.#insert(list, key, row, at ?? list.length)
    else {
      this.#noteChange(list[place] ?? NO_ROW, row)
      if (at === undefined || at === place) list[place] = row
      else {
        this.#delete(list, place)
        this.#insert(list, key, row, at)
      }
    }
    this.#isStale = true
    this.#changed()
  }

  /** A row without a key that was changed, for example by its user. */
  replace(before: GridRow, after: GridRow): void {
    if (this.#rows instanceof PackedRows) {
      if (!this.#rows.replace(before, after)) return
    } else {
      const list = this.#ownList()
      const place = list.indexOf(before)
      if (place === -1) return
      list[place] = after
    }
    this.#noteChange(before, after)
    this.#isStale = true
    this.#changed()
  }

  remove(key: string): void {
    const place = this.#findPlace(key)
    if (place === undefined) return
    this.#delete(this.#ownList(), place)
    this.#places.delete(key)
    this.#isStale = true
    this.#changed()
  }

  clear(): void {
    this.#rows = new PackedRows(this.columns.length)
    this.#keys = []
    this.#places.clear()
    this.#restart()
    if (this.#order !== undefined) this.#order = []
    this.#changed()
  }

  setSort(sort: Sort | undefined): void {
    this.#sort.value = sort
    this.#restart()
  }

  setFilter(column: number, text: string): void {
    const filters = new Map(this.#filters.value)
    if (text.trim() === '') filters.delete(column)
    else filters.set(column, text)
    this.#filters.value = filters
    this.#restart()
  }

  clearFilters(): void {
    this.#filters.value = new Map()
    this.#restart()
  }

  /** What the last change of a live row was, if there was one. */
  lastChange(row: GridRow): Change | undefined {
    return this.#changes.get(row)
  }

  #insert(list: GridRow[], key: string, row: GridRow, at: number): void {
    const place = Math.min(at, list.length)
    list.splice(place, 0, row)
    this.#keys.splice(place, 0, key)
    this.#places.set(key, place)
  }

  #delete(list: GridRow[], place: number): void {
    list.splice(place, 1)
    this.#keys.splice(place, 1)
  }

  /** Near where it was last: only rows inserted and removed before it have moved it since. */
  #findPlace(key: string): number | undefined {
    const last = this.#places.get(key)
    if (last === undefined) return undefined
    for (let distance = 0; distance <= this.#keys.length; distance++)
      for (const place of [last - distance, last + distance])
        if (this.#keys[place] === key) {
          this.#places.set(key, place)
          return place
        }
    return undefined
  }

  #noteChange(before: GridRow, after: GridRow): void {
    const columns = this.columns.flatMap((_, column) => (isSame(before[column], after[column]) ? [] : [column]))
    const count = (this.#changes.get(before)?.count ?? 0) + 1
    if (columns.length === 0) return
    const difference = (column: number) =>
      isNumeric(this.columns[column]?.type ?? '') ? Number(after[column]) - Number(before[column]) : 0
    const rises = columns.filter((column) => difference(column) > 0)
    const falls = columns.filter((column) => difference(column) < 0)
    this.#changes.set(after, { at: performance.now(), columns, rises, falls, count })
  }

  /** A copy that may be changed: the order that is shown, and the work on the next one, need the rows as they were. */
  #ownList(): GridRow[] {
    if (this.#rows instanceof PackedRows) {
      const rows = this.#rows
      this.#rows = new ListedRows(Array.from({ length: rows.length }, (_, index) => rows.at(index) ?? NO_ROW))
    } else if (this.#rows === this.#base || this.#rows === this.#work?.rows)
      this.#rows = new ListedRows(this.#rows.list.slice())
    return this.#rows.list
  }

  #restart(): void {
    const sort = this.#sort.value
    const tests = [...this.#filters.value].flatMap(([column, text]) => {
      const test = parseFilter(this.columns[column] as GridColumn, text)
      return typeof test === 'function' ? [[column, test] as const] : []
    })
    this.#work = undefined
    this.#isStale = true
    this.#arranger =
      sort === undefined && tests.length === 0
        ? undefined
        : new Arranger({ sort: sort && { ...sort, type: this.columns[sort.column]?.type ?? 'Text' }, tests })
    if (this.#arranger === undefined) this.#order = undefined
    this.#changed()
  }

  #changed(): void {
    this.#frame ??= requestFrame(() => {
      this.#frame = undefined
      this.#arrange(performance.now() + SLICE_MS)
      this.#version.value++
    })
  }

  /** Goes on with sorting and filtering until then. */
  #arrange(until: number): void {
    for (let work = this.#nextWork(); work !== undefined; work = this.#nextWork()) {
      const { steps, rows, to } = work
      let step = steps.next()
      while (!step.done && performance.now() < until) step = steps.next()
      if (!step.done) {
        this.#isArranging.value = true
        this.#changed()
        return
      }
      this.#order = step.value
      this.#base = rows
      this.#arranged = to
      this.#work = undefined
    }
    this.#isArranging.value = false
  }

  #nextWork(): Arranging | undefined {
    if (this.#work !== undefined || this.#arranger === undefined) return this.#work
    const rows = this.#rows
    const isFromStart = this.#isStale || rows !== this.#base
    const from = isFromStart ? 0 : this.#arranged
    if (!isFromStart && from === rows.length) return undefined
    this.#isStale = false
    const before = isFromStart ? [] : (this.#order ?? [])
    this.#work = { steps: this.#arranger.arrange(rows, from, rows.length, before), rows, to: rows.length }
    return this.#work
  }
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b || (typeof a === 'number' && Object.is(a, b))) return true
  return typeof a === 'object' && typeof b === 'object' && writeJson(a) === writeJson(b)
}

/** Outside of browsers, where the tests of the model run, a timer. */
function requestFrame(act: () => void): unknown {
  const { requestAnimationFrame: request } = globalThis as { requestAnimationFrame?: (act: () => void) => unknown }
  return request === undefined ? setTimeout(act, 4) : request(act)
}

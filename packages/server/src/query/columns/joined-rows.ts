/**
 * The right side of an ASOF JOIN in memory: its values by key, in the order of those that are compared. Of rows with the same key and the same
 * compared value only the first can be the closest one.
 */
import { choose, type Evaluate, Filter } from './filters.ts'
import { JoinedColumn } from './joined-column.ts'
import type { JoinPlan } from './plan.ts'
import type { RawValue, Segment, StoredColumn } from './segment.ts'
import { Buffers, type Decoded, SegmentColumns } from './segment-columns.ts'
import type { HeldBytes } from './states/state.ts'

export class JoinedRows {
  readonly #plan: JoinPlan
  readonly #names: readonly string[]
  readonly #filters: readonly Filter[]
  readonly #columns: ReadonlyMap<number, JoinedColumn>
  readonly #buffers = new Buffers()
  #count = 0
  /** The rows of the keys, one key after the other, by what is compared. */
  #places: Places = { starts: new Int32Array(1), near: new Float64Array(0), rows: new Int32Array(0) }
  #keys: ReadonlyMap<RawValue | number, number> = new Map()
  /** Where the last search of each key ended: rows mostly come in the order of their times. */
  #cursors = new Int32Array(0)

  constructor(plan: JoinPlan, names: readonly string[], evaluate: Evaluate, held: HeldBytes) {
    this.#plan = plan
    this.#names = names
    this.#filters = plan.filters.map((filter) => new Filter(filter, evaluate))
    this.#columns = new Map(plan.columns.map((index) => [index, new JoinedColumn(held)]))
  }

  get isOuter(): boolean {
    return this.#plan.outer
  }

  /** Adds rows in the order of their numbers. False if they must be read from the table. */
  addSegment(segment: Segment): boolean {
    const columns = new SegmentColumns(segment, this.#names, this.#buffers)
    for (const filter of this.#filters) {
      const stored = columns.stored(filter.column)
      if (stored === undefined || !filter.canFilter(stored)) return false
    }
    for (const index of this.#columns.keys()) if (!JoinedColumn.canAdd(columns.stored(index))) return false
    if (this.#filters.length > 0) {
      const mask = new Uint8Array(columns.rows).fill(1)
      for (const filter of this.#filters) filter.apply(columns.decode(filter.column), columns.rows, mask)
      columns.choose(choose(mask, columns.rows, undefined, new Int32Array(columns.rows)))
    }
    // Damage is found before anything is added.
    for (const index of this.#columns.keys()) columns.decode(index)
    for (const [index, column] of this.#columns) column.add(columns.decode(index), columns.count)
    this.#count += columns.count
    return true
  }

  /** Their values in the order of the columns of the plan. */
  addRow(row: readonly RawValue[]): void {
    let at = 0
    for (const column of this.#columns.values()) column.addValue(row[at++] ?? null)
    this.#count++
  }

  /** After the last row. */
  finish(): void {
    const { near, key } = this.#plan
    const nears = this.#columns.get(near.right)?.finish()
    if (nears?.kind !== 'numbers') throw new Error('Times that are no numbers')
    const keys = key && this.#columns.get(key.right)?.finish()
    for (const column of this.#columns.values()) column.finish()
    const { ids, known } = numberKeys(keys, this.#count)
    this.#keys = known
    this.#places = sortRows(ids, known.size, nears.values, this.#count)
    this.#cursors = this.#places.starts.slice(0, known.size)
  }

  /** Whether the rows of a segment can be matched. */
  canMatch(columns: SegmentColumns): boolean {
    const { key, near } = this.#plan
    const isKnown = (index: number) => JoinedColumn.canAdd(columns.stored(index))
    return (
      columns.stored(near.left)?.kind === 'numbers' && isKnown(near.left) && (key === undefined || isKnown(key.left))
    )
  }

  /** The row that each row of the left side is joined with; -1 without one. */
  match(columns: SegmentColumns): Int32Array {
    const { near } = this.#plan
    const { starts, near: nears, rows } = this.#places
    const decoded = columns.decode(near.left)
    if (decoded.kind !== 'numbers' || decoded.column.kind !== 'numbers') throw new Error('Times that are no numbers')
    const { least, unit } = decoded.column
    const isBackward = near.operator.startsWith('>')
    // How many come before the place: those that are equal too, or not.
    const isInclusive = near.operator === '>=' || near.operator === '<'
    const keys = this.#leftKeys(columns)
    const matches = new Int32Array(columns.count)
    for (let i = 0; i < matches.length; i++) {
      const [id, distance] = [keys[i] as number, decoded.values[i] as number]
      matches[i] = -1
      if (id < 0 || Number.isNaN(distance)) continue
      const [start, end] = [starts[id] as number, starts[id + 1] as number]
      const value = least + distance * unit
      const place = findPlace(nears, start, end, this.#cursors[id] as number, value, isInclusive)
      this.#cursors[id] = place
      if (isBackward ? place > start : place < end) matches[i] = rows[isBackward ? place - 1 : place] as number
    }
    return matches
  }

  /** The numbers of the keys of the left side; -1 for those that the right side does not have. */
  #leftKeys(columns: SegmentColumns): Int32Array {
    const { key } = this.#plan
    const ids = new Int32Array(columns.count)
    if (key === undefined) return ids
    const decoded = columns.decode(key.left)
    if (decoded.kind === 'texts') {
      const known = Int32Array.from([...decoded.texts.map((text) => this.#keys.get(text) ?? -1), -1])
      for (let i = 0; i < ids.length; i++) ids[i] = known[decoded.codes[i] as number] as number
    } else if (decoded.column.kind === 'numbers') {
      const { least, unit } = decoded.column
      for (let i = 0; i < ids.length; i++) ids[i] = this.#keys.get(least + (decoded.values[i] as number) * unit) ?? -1
    }
    return ids
  }

  has(index: number): boolean {
    return this.#columns.has(index)
  }

  stored(index: number): StoredColumn | undefined {
    return this.#columns.get(index)?.stored(this.#plan.outer)
  }

  /** The values of a column for left rows. */
  decode(index: number, matches: Int32Array, buffers: Buffers): Decoded {
    const column = this.#columns.get(index)
    if (column === undefined) throw new Error('A column of the other side')
    return column.decode(index, matches, buffers, this.#plan.outer)
  }
}

interface Places {
  /** Where the rows of each key begin, and where those of the last one end. */
  readonly starts: Int32Array
  readonly near: Float64Array
  readonly rows: Int32Array
}

/** -1 for NULL. */
function numberKeys(
  keys: ReturnType<JoinedColumn['finish']> | undefined,
  count: number,
): { readonly ids: Int32Array; readonly known: Map<RawValue | number, number> } {
  const ids = new Int32Array(count)
  const known = new Map<RawValue | number, number>()
  if (keys === undefined) return { ids, known: known.set(0, 0) }
  if (keys.kind === 'texts') {
    for (const [rank, text] of keys.texts.entries()) known.set(text, rank)
    for (let row = 0; row < count; row++)
      ids[row] = keys.codes[row] === keys.texts.length ? -1 : (keys.codes[row] as number)
    return { ids, known }
  }
  for (let row = 0; row < count; row++) {
    const value = keys.values[row] as number
    let id = Number.isNaN(value) ? -1 : known.get(value)
    if (id === undefined) {
      id = known.size
      known.set(value, id)
    }
    ids[row] = id
  }
  return { ids, known }
}

function sortRows(ids: Int32Array, keys: number, nears: Float64Array, count: number): Places {
  const ends = new Int32Array(keys + 1)
  const isUsed = (row: number): boolean => (ids[row] as number) >= 0 && !Number.isNaN(nears[row])
  for (let row = 0; row < count; row++) {
    const next = (ids[row] as number) + 1
    if (isUsed(row)) ends[next] = (ends[next] as number) + 1
  }
  for (let id = 0; id < keys; id++) ends[id + 1] = (ends[id + 1] as number) + (ends[id] as number)
  const begins = ends.slice()
  const rows = new Int32Array(ends[keys] as number)
  for (let row = 0; row < count; row++) {
    if (!isUsed(row)) continue
    const id = ids[row] as number
    const place = begins[id] as number
    rows[place] = row
    begins[id] = place + 1
  }
  const starts = new Int32Array(keys + 1)
  let kept = 0
  for (let id = 0; id < keys; id++) {
    const ofKey = rows.subarray(ends[id] as number, ends[id + 1] as number)
    sortByValue(ofKey, nears)
    starts[id] = kept
    for (const row of ofKey)
      if (kept === starts[id] || nears[rows[kept - 1] as number] !== nears[row]) rows[kept++] = row
  }
  starts[keys] = kept
  const near = new Float64Array(kept)
  for (let place = 0; place < kept; place++) near[place] = nears[rows[place] as number] as number
  return { starts, near, rows: rows.slice(0, kept) }
}

/** Rows with the same value stay in the order of their numbers. */
function sortByValue(rows: Int32Array, values: Float64Array): void {
  let isSorted = true
  for (let at = 1; at < rows.length && isSorted; at++)
    isSorted = (values[rows[at - 1] as number] as number) <= (values[rows[at] as number] as number)
  if (!isSorted) rows.sort((one, other) => (values[one] as number) - (values[other] as number) || one - other)
}

/** So many steps from the last place, before the rest is halved. */
const NEAR_STEPS = 8

/** The first place, from `start` to `end`, before which all values come before the given one. */
function findPlace(
  values: Float64Array,
  start: number,
  end: number,
  cursor: number,
  value: number,
  isInclusive: boolean,
): number {
  let [low, high] = [start, end]
  if (cursor > start && !isBefore(values[cursor - 1] as number, value, isInclusive)) high = cursor - 1
  else {
    low = cursor
    for (let step = 0; step < NEAR_STEPS; step++) {
      if (low === end || !isBefore(values[low] as number, value, isInclusive)) return low
      low++
    }
  }
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(values[middle] as number, value, isInclusive)) low = middle + 1
    else high = middle
  }
  return low
}

function isBefore(one: number, value: number, isInclusive: boolean): boolean {
  return isInclusive ? one <= value : one < value
}

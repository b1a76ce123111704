/**
 * Computes the groups of column segments: the values that the same part of the statement computes from the rows, exactly. A segment of
 * which this cannot be said is left to the statement.
 */
import { MAX_INTEGER, MIN_INTEGER } from 'gatehouse-iql'
import { once } from '../../lib/once.ts'
import { ExecutorMemory } from './executor-memory.ts'
import { choose, type Evaluate, Filter } from './filters.ts'
import { sortGroups } from './group-order.ts'
import { Groups } from './groups.ts'
import type { JoinedRows } from './joined-rows.ts'
import { encodeKey, type KeyCodes } from './keys.ts'
import type { ColumnFilter, ColumnPlan, ColumnState, KeyOrder } from './plan.ts'
import type { RawValue, Segment } from './segment.ts'
import { SegmentColumns } from './segment-columns.ts'
import { createState } from './states/create.ts'
import { countRows, type GroupedRows, type HeldBytes, type State, type WriteRun } from './states/state.ts'
import { writeRun } from './states/value-run.ts'

interface FilteredState {
  readonly state: State
  readonly filters: readonly Filter[]
}

export interface ExecutorOptions {
  /** The other table of a join. */
  readonly joined?: JoinedRows | undefined
  readonly memory?: ExecutorMemory | undefined
}

export class ColumnExecutor {
  readonly #plan: ColumnPlan
  readonly #held: HeldBytes
  readonly #evaluate: Evaluate
  readonly #filters: readonly Filter[]
  readonly #states: readonly FilteredState[]
  /** The columns of states and their filters. */
  readonly #used: readonly number[]
  readonly #groups: Groups
  readonly #joined: JoinedRows | undefined
  readonly #memory: ExecutorMemory

  /** Executors that share the memory add segments one after the other. */
  constructor(
    plan: ColumnPlan,
    evaluate: Evaluate,
    held: HeldBytes,
    { joined, memory = new ExecutorMemory() }: ExecutorOptions = {},
  ) {
    this.#held = held
    this.#joined = joined
    this.#memory = memory
    this.#plan = plan
    this.#evaluate = evaluate
    const create = (filter: ColumnFilter) => new Filter(filter, evaluate)
    this.#filters = plan.filters.map(create)
    this.#states = plan.states.map((state) => ({ state: createState(state, held), filters: state.filters.map(create) }))
    this.#used = [...new Set(plan.states.flatMap(stateColumns))]
    this.#groups = new Groups(plan.keys.length, plan.states.length, held)
  }

  /** Whether its groups should be taken, and another executor begin: each segment adds some. */
  get isFull(): boolean {
    return this.#held.isHalfUsed
  }

  /** False if the statement itself must compute this part; then nothing was added, and nothing if the segment turns out to be damaged. */
  add(segment: Segment): boolean {
    const columns = new SegmentColumns(segment, this.#plan.columns, this.#memory.decoded, this.#joined)
    if (!this.#hasColumns(columns)) return false
    if (!this.#chooseRows(columns) || !this.#joinRows(columns)) return true
    const keys = this.#encodeKeys(columns)
    if (keys === undefined) return false
    // Damage is found before anything is added.
    for (const column of this.#used) columns.decode(column)
    const rows = columns.count
    const { slots, combinations, count } = this.#memory.slots.assign(
      keys,
      rows,
      this.#memory.codes.integers(keys.length, columns.rows),
    )
    const groups = this.#findGroups(combinations, count, keys)
    const counts = once(() => countRows(undefined, rows, slots, count))
    const grouped: GroupedRows = { rows, slots, groups, total: this.#groups.count, counts }
    for (const { state, filters } of this.#states) state.add(columns, grouped, createMask(filters, columns))
    return true
  }

  /** Whether its header says that the segment can be added. What is joined is not looked at. */
  canAdd(segment: Segment): boolean {
    if (this.#plan.joined !== undefined) return true
    return this.#hasColumns(new SegmentColumns(segment, this.#plan.columns, this.#memory.decoded))
  }

  #hasColumns(columns: SegmentColumns): boolean {
    const all = [...this.#filters, ...this.#states.flatMap(({ filters }) => filters)]
    return (
      all.every((filter) => canFilter(filter, columns)) &&
      this.#states.every(({ state }) => state.canAdd(columns)) &&
      this.#plan.keys.every(({ column }) => columns.stored(column) !== undefined) &&
      this.#joined?.canMatch(columns) !== false
    )
  }

  /** The filters that the header of a segment does not decide; undefined if it says that no row fits. */
  undecided(segment: Segment): readonly number[] | undefined {
    const columns = new SegmentColumns(segment, this.#plan.columns, this.#memory.decoded)
    const undecided: number[] = []
    for (const [index, filter] of this.#filters.entries()) {
      const stored = columns.stored(filter.column)
      const decided = stored && filter.canFilter(stored) ? filter.decide(stored, columns.rows) : undefined
      if (decided === false) return undefined
      if (decided === undefined) undecided.push(index)
    }
    return undecided
  }

  /** False if no row fits. */
  #chooseRows(columns: SegmentColumns): boolean {
    const undecided: Filter[] = []
    for (const filter of this.#filters) {
      const stored = columns.stored(filter.column)
      const decided = stored && filter.decide(stored, columns.rows)
      if (decided === false) return false
      if (decided !== undefined || stored === undefined) continue
      const range = filter.rangeIn(stored)
      if (range === undefined) undecided.push(filter)
      else columns.narrow(filter.column, range)
    }
    const { count } = columns
    const mask = count > 0 ? createMask(undecided, columns) : undefined
    if (mask !== undefined) columns.choose(choose(mask, count, undefined, this.#memory.chosen(columns.rows)))
    return columns.count > 0
  }

  /** False if no row has a match that must have one. */
  #joinRows(columns: SegmentColumns): boolean {
    if (this.#joined === undefined) return true
    const matches = this.#joined.match(columns)
    const count = this.#joined.isOuter ? matches.length : countMatches(matches)
    if (count === matches.length) columns.join(matches)
    else {
      const fits = new Uint8Array(matches.length)
      for (let i = 0; i < fits.length; i++) fits[i] = (matches[i] as number) < 0 ? 0 : 1
      columns.choose(choose(fits, fits.length, columns.chosen, this.#memory.chosen(columns.rows)))
      columns.join(keepMatches(matches, count))
    }
    return columns.count > 0
  }

  #encodeKeys(columns: SegmentColumns): KeyCodes[] | undefined {
    const keys: KeyCodes[] = []
    for (const [index, key] of this.#plan.keys.entries()) {
      const codes = encodeKey(key, columns, this.#evaluate, this.#memory.codes.integers(index, columns.rows))
      if (codes === undefined) return undefined
      keys.push(codes)
    }
    return keys.reduce((product, { size }) => product * size, 1) <= Number.MAX_SAFE_INTEGER ? keys : undefined
  }

  /** The number of each combination among all groups. */
  #findGroups(combinations: Float64Array, count: number, keys: readonly KeyCodes[]): Int32Array {
    const known = keys.map(() => new Map<number, number>())
    const ids = keys.map(() => 0)
    const groups = new Int32Array(count)
    for (let slot = 0; slot < count; slot++) {
      let rest = combinations[slot] as number
      for (let key = keys.length - 1; key >= 0; key--) {
        const { size } = keys[key] as KeyCodes
        const before = Math.floor(rest / size)
        ids[key] = this.#idOf(rest - before * size, key, keys, known)
        rest = before
      }
      groups[slot] = this.#groups.find(ids)
    }
    return groups
  }

  /** The id of a key's value, once for each code. */
  #idOf(code: number, key: number, keys: readonly KeyCodes[], ids: readonly Map<number, number>[]): number {
    const known = ids[key]?.get(code)
    if (known !== undefined) return known
    const id = this.#groups.addValue(key, keys[key]?.value(code) ?? null)
    ids[key]?.set(code, id)
    return id
  }

  get count(): number {
    return this.#groups.count
  }

  /** All groups, in the order of their keys. */
  sort(order: readonly KeyOrder[]): ArrayLike<number> {
    return sortGroups(this.#groups, order)
  }

  keys(group: number): RawValue[] {
    return this.#groups.keysOf(group)
  }

  /** A part of a group: a sum may exceed 64 bits. */
  part(group: number, index: number, write: WriteRun = writeRun): RawValue {
    const part = this.#plan.parts[index]
    return part === undefined ? null : (this.#states[part.state]?.state.value(group, part.value, write) ?? null)
  }

  /** A row of the table of the parts for each group; more where a sum exceeds 64 bits. */
  *rows(write?: WriteRun): Generator<RawValue[]> {
    for (let group = 0; group < this.#groups.count; group++) {
      const keys = this.#groups.keysOf(group)
      let parts: RawValue[] | undefined = this.#plan.parts.map((_part, index) => this.part(group, index, write))
      while (parts !== undefined) {
        const rest = excessParts(parts)
        yield [...keys, ...(rest === undefined ? parts : parts.map(clamped))]
        parts = rest
      }
    }
  }
}

function clamped(value: RawValue): RawValue {
  if (typeof value !== 'bigint') return value
  return value > MAX_INTEGER ? MAX_INTEGER : value < MIN_INTEGER ? MIN_INTEGER : value
}

/** What is left of sums that exceed 64 bits. */
function excessParts(parts: readonly RawValue[]): RawValue[] | undefined {
  if (!parts.some((value) => typeof value === 'bigint' && (value > MAX_INTEGER || value < MIN_INTEGER)))
    return undefined
  return parts.map((value) => {
    const counted = clamped(value)
    return typeof value === 'bigint' && typeof counted === 'bigint' && counted !== value ? value - counted : null
  })
}

function stateColumns(state: ColumnState): number[] {
  const filtered = state.filters.map(({ column }) => column)
  if (state.kind === 'rows') return filtered
  return [...filtered, state.column, ...('order' in state ? [state.order] : [])]
}

function countMatches(matches: Int32Array): number {
  let count = 0
  for (let i = 0; i < matches.length; i++) if ((matches[i] as number) >= 0) count++
  return count
}

function keepMatches(matches: Int32Array, count: number): Int32Array {
  const kept = new Int32Array(count)
  let at = 0
  for (let i = 0; i < matches.length; i++) if ((matches[i] as number) >= 0) kept[at++] = matches[i] as number
  return kept
}

function canFilter(filter: Filter, columns: SegmentColumns): boolean {
  const column = columns.stored(filter.column)
  return column !== undefined && filter.canFilter(column)
}

function createMask(filters: readonly Filter[], columns: SegmentColumns): Uint8Array | undefined {
  if (filters.length === 0) return undefined
  const mask = new Uint8Array(columns.count).fill(1)
  for (const filter of filters) filter.apply(columns.decode(filter.column), columns.count, mask)
  return mask
}

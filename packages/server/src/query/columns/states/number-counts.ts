/**
 * How many rows of each group have each number. Numbers of a small range have a table, with a cell for each number and group; others are
 * put one after the other, and sorted at the end.
 */
import { findDivisor } from '../segment.ts'
import type { DecodedNumbers } from '../segment-columns.ts'
import { addBySlot, countRows, type GroupedRows, Growing, type HeldBytes } from './state.ts'
import { mergeRuns, NO_VALUES, type Run, type ValueRun } from './value-run.ts'

/** Of the table: 32 MB. */
const MAX_CELLS = 2 ** 23
/** What a number outside the table takes: its group, itself, when it is sorted, and as bytes of a part. */
const NUMBER_BYTES = 48

export class NumberCounts {
  readonly #held: HeldBytes
  readonly #table: CountTable
  readonly #numbers: GroupedNumbers

  constructor(held: HeldBytes) {
    this.#held = held
    this.#table = new CountTable(held)
    this.#numbers = new GroupedNumbers()
  }

  /** `known` has 0 for rows that do not count. */
  add(decoded: DecodedNumbers, known: Uint8Array | undefined, grouped: GroupedRows): void {
    if (this.#numbers.isEmpty && this.#table.include(decoded, grouped.total)) {
      this.#table.add(decoded, known, grouped)
      return
    }
    this.#held.add(grouped.rows * NUMBER_BYTES)
    this.#numbers.add(decoded, known, grouped)
  }

  /** Undefined without any. */
  run(group: number): Run | undefined {
    const cells = this.#table.run(group)
    const run = this.#numbers.isEmpty ? cells : mergeRuns([cells, this.#numbers.run(group)])
    return run.rows === 0 ? undefined : run
  }
}

/** The numbers of a table: `size` of them from the least, each `unit` more than the one before, without a point. */
interface Scale {
  readonly least: number
  readonly unit: number
  readonly size: number
  readonly digits: number
}

class CountTable {
  readonly #held: HeldBytes
  #scale: Scale | undefined
  #cells = new Int32Array(0)
  /** Of each group: the sum of its cells. */
  readonly #rows = new Growing()

  constructor(held: HeldBytes) {
    this.#held = held
  }

  /** Whether there are cells for the numbers of a segment and for all groups; from now on there are. */
  include({ column }: DecodedNumbers, groups: number): boolean {
    if (column.kind !== 'numbers') return false
    const own = { least: column.least, unit: column.unit, size: 0, digits: column.scale }
    const scale = widen(this.#scale, { ...own, size: (column.greatest - column.least) / column.unit + 1 })
    if (scale === undefined || scale.size * groups > MAX_CELLS) return false
    const before = this.#scale
    if (before === scale && scale.size * groups <= this.#cells.length) return true
    const cells = new Int32Array(Math.min(MAX_CELLS, 2 * scale.size * groups))
    this.#held.add((cells.length - this.#cells.length) * cells.BYTES_PER_ELEMENT)
    if (before !== undefined) copyCells(this.#cells, before, cells, scale)
    this.#scale = scale
    this.#cells = cells
    return true
  }

  add({ column, values }: DecodedNumbers, known: Uint8Array | undefined, grouped: GroupedRows): void {
    const { rows, slots, groups } = grouped
    const counts = known === undefined ? grouped.counts() : countRows(known, rows, slots, groups.length)
    addBySlot(counts, groups, this.#rows.include(grouped.total))
    const [scale, cells] = [this.#scale, this.#cells]
    if (scale === undefined || column.kind !== 'numbers') throw new Error('Numbers that are not in the table')
    const shift = (column.least - scale.least) / scale.unit
    const factor = column.unit / scale.unit
    const starts = groups.map((group) => group * scale.size + shift)
    if (known === undefined)
      for (let i = 0; i < rows; i++) {
        const cell = ((starts[slots[i] as number] as number) + (values[i] as number) * factor) | 0
        cells[cell] = (cells[cell] as number) + 1
      }
    else
      for (let i = 0; i < rows; i++) {
        if (known[i] === 0) continue
        const cell = ((starts[slots[i] as number] as number) + (values[i] as number) * factor) | 0
        cells[cell] = (cells[cell] as number) + 1
      }
  }

  run(group: number): Run {
    if (this.#scale === undefined) return NO_VALUES
    const { size, ...scale } = this.#scale
    const cells = this.#cells.subarray(group * size, (group + 1) * size)
    return { ...scale, cells, rows: this.#rows.array[group] ?? 0 }
  }
}

/** The scale of both; the former one if it has all numbers of the other, and undefined if the digits differ. */
function widen(before: Scale | undefined, added: Scale): Scale | undefined {
  if (before === undefined) return added
  if (before.digits !== added.digits) return undefined
  const unit = [before.unit, added.unit, Math.abs(before.least - added.least)].reduce(findDivisor)
  const end = ({ least, unit, size }: Scale): number => least + unit * (size - 1)
  const [least, greatest] = [Math.min(before.least, added.least), Math.max(end(before), end(added))]
  const isKnown = unit === before.unit && least === before.least && greatest === end(before)
  // More than is needed: each segment may have a little more than the one before.
  return isKnown ? before : { ...before, least, unit, size: Math.ceil(((greatest - least) / unit + 1) * 1.25) }
}

function copyCells(from: Int32Array, before: Scale, into: Int32Array, after: Scale): void {
  const shift = (before.least - after.least) / after.unit
  const factor = before.unit / after.unit
  const groups = Math.floor(from.length / before.size)
  for (let group = 0; group < groups; group++)
    for (let at = 0; at < before.size; at++) {
      const count = from[group * before.size + at] as number
      if (count !== 0) into[group * after.size + shift + at * factor] = count
    }
}

/** Numbers as the statement has them, each with its group. */
class GroupedNumbers {
  readonly #parts: { readonly groups: Int32Array; readonly values: Float64Array }[] = []
  #sorted: { readonly values: Float64Array; readonly starts: Float64Array } | undefined

  get isEmpty(): boolean {
    return this.#parts.length === 0
  }

  add({ column, values }: DecodedNumbers, known: Uint8Array | undefined, { rows, slots, groups }: GroupedRows): void {
    const ofRows = new Int32Array(rows)
    const own = new Float64Array(rows)
    const [least, unit, power] = column.kind === 'numbers' ? [column.least, column.unit, 10 ** column.scale] : [0, 1, 1]
    let count = 0
    for (let i = 0; i < rows; i++) {
      if (known !== undefined && known[i] === 0) continue
      ofRows[count] = groups[slots[i] as number] as number
      // There is one zero.
      own[count++] = (least + (values[i] as number) * unit) / power + 0
    }
    this.#parts.push({ groups: ofRows.subarray(0, count), values: own.subarray(0, count) })
  }

  run(group: number): ValueRun {
    if (this.isEmpty) return NO_VALUES
    this.#sorted ??= sortByGroup(this.#parts)
    const { values, starts } = this.#sorted
    return countEqual(values.subarray(starts[group] ?? values.length, starts[group + 1] ?? values.length).sort())
  }
}

/** Of each group the numbers follow those of the group before, in any order. */
function sortByGroup(parts: readonly { readonly groups: Int32Array; readonly values: Float64Array }[]) {
  let [count, most] = [0, 0]
  for (const { groups } of parts)
    for (let i = 0; i < groups.length; i++) {
      count++
      if ((groups[i] as number) > most) most = groups[i] as number
    }
  const starts = new Float64Array(most + 2)
  for (const { groups } of parts)
    for (let i = 0; i < groups.length; i++) {
      const next = (groups[i] as number) + 1
      starts[next] = (starts[next] as number) + 1
    }
  for (let group = 0; group <= most; group++)
    starts[group + 1] = (starts[group + 1] as number) + (starts[group] as number)
  const places = starts.slice()
  const sorted = new Float64Array(count)
  for (const { groups, values } of parts)
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i] as number
      const place = places[group] as number
      sorted[place] = values[i] as number
      places[group] = place + 1
    }
  return { values: sorted, starts }
}

/** Of numbers that rise. */
function countEqual(sorted: Float64Array): ValueRun {
  let different = 0
  for (let i = 0; i < sorted.length; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) different++
  const rows = sorted.length
  if (different === rows) return { values: sorted, counts: undefined, rows }
  const [values, counts] = [new Float64Array(different), new Float64Array(different)]
  let at = -1
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) values[++at] = sorted[i] as number
    counts[at] = (counts[at] as number) + 1
  }
  return { values, counts, rows }
}

/** The groups of a segment's rows: a code for each key of a row, and a place for each combination of codes. */
import { MIN_TIMESTAMP } from 'gatehouse-iql'
import { findZone } from '../zones/zone-file.ts'
import type { Evaluate } from './filters.ts'
import type { ColumnKey } from './plan.ts'
import type { NumberColumn, RawValue } from './segment.ts'
import type { SegmentColumns } from './segment-columns.ts'

/** The codes of a key, from 0 to `size` - 1, and the values that they stand for. */
export interface KeyCodes {
  readonly codes: Int32Array
  readonly size: number
  readonly value: (code: number) => RawValue
  /** Whether there are rows with each code. */
  readonly isFull?: boolean
}

/** More codes than this have no table of their own. */
const MAX_CODES = 2 ** 21
const MAX_WIDTH = 2n ** 50n

/** Undefined if the segment cannot be grouped by this key. */
export function encodeKey(
  key: ColumnKey,
  columns: SegmentColumns,
  evaluate: Evaluate,
  into: Int32Array,
): KeyCodes | undefined {
  const stored = columns.stored(key.column)
  if (stored?.kind === 'texts') {
    const decoded = columns.decode(key.column)
    if (decoded.kind !== 'texts' || key.kind === 'bucket' || key.kind === 'steps') return undefined
    const { codes, texts } = decoded
    const text = (code: number): string | null => texts[code] ?? null
    const value = key.kind === 'column' ? text : (code: number) => evaluate(key.value, text(code))
    const size = texts.length + (stored.nulls > 0 ? 1 : 0)
    return { codes, size, value, isFull: columns.countsAll && !columns.isJoined(key.column) }
  }
  if (stored?.kind !== 'numbers' || key.kind === 'text') return undefined
  if (key.kind === 'steps') return encodeSteps(key, stored, { columns, evaluate, into })
  return encodeNumbers(key, stored, { columns, evaluate, into })
}

function encodeNumbers(
  key: Extract<ColumnKey, { kind: 'column' | 'bucket' }>,
  column: NumberColumn,
  {
    columns,
    evaluate,
    into,
  }: { readonly columns: SegmentColumns; readonly evaluate: Evaluate; readonly into: Int32Array },
): KeyCodes | undefined {
  const { least, greatest, unit, scale } = column
  const isBucket = key.kind === 'bucket'
  // The first value that a code stands for, and the distance to that of the next code.
  const width = isBucket ? bucketWidth(key.width, evaluate) : unit
  if (width === undefined || (isBucket && !isExact(column, Number(key.origin), width))) return undefined
  const start = isBucket ? floorTo(least, Number(key.origin), width) : least
  // The statement refuses what is before the first time.
  if (isBucket && start < Number(MIN_TIMESTAMP)) return undefined
  const none = Math.floor((greatest - start) / width) + 1
  if (none >= MAX_CODES) return undefined
  const decoded = columns.decode(key.column)
  if (decoded.kind !== 'numbers') return undefined
  const { values } = decoded
  const count = columns.count
  if (isBucket) {
    encodeBuckets(values, count, { unit, offset: least - start, width }, into)
  } else for (let i = 0; i < count; i++) into[i] = values[i] as number
  if (column.nulls > 0) for (let i = 0; i < count; i++) if (Number.isNaN(values[i])) into[i] = none
  const value = (code: number): RawValue => {
    if (code === none) return null
    const number = start + code * width
    return scale > 0 || isDouble(column) ? number / 10 ** scale : BigInt(number)
  }
  return { codes: into, size: none + 1, value }
}

/** Times that follow each other are mostly in the same bucket, which takes half of the time of a division. */
function encodeBuckets(
  values: Float64Array,
  count: number,
  { unit, offset, width }: { readonly unit: number; readonly offset: number; readonly width: number },
  into: Int32Array,
): void {
  let [low, high, code] = [1, 0, 0]
  for (let i = 0; i < count; i++) {
    const value = values[i] as number
    if (!(value >= low && value < high)) {
      code = Math.floor((value * unit + offset) / width)
      low = Math.ceil((code * width - offset) / unit)
      high = Math.ceil(((code + 1) * width - offset) / unit)
    }
    into[i] = code
  }
}

/** With more steps the statement is as fast. */
const MAX_STEPS = 512

/** The first distance of each value of the expression, found by bisection: between two times with the same value all have it. */
function encodeSteps(
  { column: index, value, zone }: Extract<ColumnKey, { kind: 'steps' }>,
  column: NumberColumn,
  {
    columns,
    evaluate,
    into,
  }: { readonly columns: SegmentColumns; readonly evaluate: Evaluate; readonly into: Int32Array },
): KeyCodes | undefined {
  const { least, greatest, unit } = column
  const at = (distance: number): RawValue => evaluate(value, BigInt(least + distance * unit))
  const end = (greatest - least) / unit
  const cuts = zone === undefined ? [] : findTransitions(evaluate(zone), column)
  const starts: number[] = []
  const steps: RawValue[] = []
  for (const [index, from] of [0, ...cuts].entries())
    if (!addSteps(at, from, (cuts[index] ?? end + 1) - 1, starts, steps)) return undefined
  const decoded = columns.decode(index)
  if (decoded.kind !== 'numbers') return undefined
  const { values } = decoded
  const first = Float64Array.from(starts)
  const none = steps.length
  let step = 0
  for (let i = 0; i < columns.count; i++) {
    const distance = values[i] as number
    if (Number.isNaN(distance)) {
      into[i] = none
      continue
    }
    // Times that follow each other mostly have the same value.
    if (distance < (first[step] as number) || distance >= (first[step + 1] ?? Number.POSITIVE_INFINITY))
      step = findStep(first, distance)
    into[i] = step
  }
  return { codes: into, size: none + 1, value: (code) => steps[code] ?? null }
}

/** The steps from one distance to another, both included. False if there are too many. */
function addSteps(
  at: (distance: number) => RawValue,
  from: number,
  last: number,
  starts: number[],
  steps: RawValue[],
): boolean {
  const end = at(last)
  let [start, step] = [from, at(from)]
  for (;;) {
    if (steps.length >= MAX_STEPS) return false
    starts.push(start)
    steps.push(step)
    if (step === end) return true
    let [low, high] = [start, last]
    while (high - low > 1) {
      const middle = low + Math.floor((high - low) / 2)
      if (at(middle) === step) low = middle
      else high = middle
    }
    ;[start, step] = [high, at(high)]
  }
}

/** The first distances after the transitions of a zone that are between the ends of the column. */
function findTransitions(name: RawValue, { least, greatest, unit }: NumberColumn): number[] {
  const { transitions = [] } = (typeof name === 'string' ? findZone(name) : undefined) ?? {}
  const distances = transitions.flatMap((instant) => {
    const time = Number(instant)
    return time > least && time <= greatest ? Math.ceil((time - least) / unit) : []
  })
  return [...new Set(distances)]
}

/** The last step that begins at the distance, or before it. */
function findStep(starts: Float64Array, distance: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] as number) <= distance) low = middle
    else high = middle - 1
  }
  return low
}

function isDouble({ isDouble }: NumberColumn): boolean {
  return isDouble
}

/** Undefined for a width that the statement itself must refuse, or compute. */
function bucketWidth(width: bigint | number, evaluate: Evaluate): number | undefined {
  const given = typeof width === 'bigint' ? width : evaluate(width)
  return typeof given === 'bigint' && given > 0n && given < MAX_WIDTH ? Number(given) : undefined
}

/** Whether the quotients of all distances are exact enough as Doubles: they are never rounded up to the next integer. */
function isExact({ least, greatest }: NumberColumn, origin: number, width: number): boolean {
  return Math.abs(least - origin) + (greatest - least) + 2 * width <= Number.MAX_SAFE_INTEGER
}

function floorTo(value: number, origin: number, width: number): number {
  return origin + Math.floor((value - origin) / width) * width
}

/** The rows of a segment in groups. */
export interface Slots {
  /** For each row the number of its group in the segment. */
  readonly slots: Int32Array
  /** For each group the combination of its codes. */
  readonly combinations: Float64Array
  readonly count: number
}

/** A larger table is not kept for the next statement. */
const MAX_KEPT_SLOTS = 2 ** 17

/** Numbers the combinations of codes that occur. */
export class SlotTable {
  #table = new Int32Array(0)
  #combined = new Float64Array(0)
  #short = new Int32Array(0)

  get isSmall(): boolean {
    return this.#table.length + this.#combined.length <= MAX_KEPT_SLOTS
  }

  assign(keys: readonly KeyCodes[], rows: number, slots: Int32Array): Slots {
    const [first, ...others] = keys
    if (first === undefined)
      return { slots: slots.fill(0, 0, rows), combinations: new Float64Array(1), count: rows === 0 ? 0 : 1 }
    const { codes, size: count } = first
    if (others.length === 0 && first.isFull === true)
      return { slots: codes, combinations: Float64Array.from({ length: count }, (_, code) => code), count }
    const size = keys.reduce((product, key) => product * key.size, 1)
    if (size > MAX_CODES) {
      if (this.#combined.length < rows) this.#combined = new Float64Array(rows)
      return byMap(combine(first, others, rows, this.#combined), rows, slots)
    }
    if (others.length > 0 && this.#short.length < rows) this.#short = new Int32Array(rows)
    return this.#byTable(others.length === 0 ? codes : combine(first, others, rows, this.#short), size, rows, slots)
  }

  #byTable(combined: Int32Array, size: number, rows: number, slots: Int32Array): Slots {
    if (this.#table.length < size) this.#table = new Int32Array(size)
    const table = this.#table
    const combinations = new Float64Array(Math.min(size, rows))
    let count = 0
    for (let i = 0; i < rows; i++) {
      const combination = combined[i] as number
      let slot = table[combination] as number
      if (slot === 0) {
        combinations[count++] = combination
        slot = count
        table[combination] = slot
      }
      slots[i] = slot - 1
    }
    for (let i = 0; i < count; i++) table[combinations[i] as number] = 0
    return { slots, combinations, count }
  }
}

/** A number for the codes of each row. */
function combine<Numbers extends Int32Array | Float64Array>(
  { codes }: KeyCodes,
  others: readonly KeyCodes[],
  rows: number,
  into: Numbers,
): Numbers {
  for (let i = 0; i < rows; i++) into[i] = codes[i] as number
  for (const { codes, size } of others)
    for (let i = 0; i < rows; i++) into[i] = (into[i] as number) * size + (codes[i] as number)
  return into
}

function byMap(combined: Float64Array, rows: number, slots: Int32Array): Slots {
  const known = new Map<number, number>()
  for (let i = 0; i < rows; i++) {
    const combination = combined[i] as number
    let slot = known.get(combination)
    if (slot === undefined) {
      slot = known.size
      known.set(combination, slot)
    }
    slots[i] = slot
  }
  return { slots, combinations: Float64Array.from(known.keys()), count: known.size }
}

/**
 * The different values of a group and how many rows have each: what SQLite's functions read of the executor's parts, as bytes, or in memory
 * (run-references.ts).
 */

/** Values rise; without counts each has one row. */
export interface ValueRun {
  readonly values: Float64Array
  readonly counts: Float64Array | undefined
  /** The rows of all values. */
  readonly rows: number
}

/** How many rows have each of the numbers that follow each other: the one at a place is (least + place * unit) / 10 ^ digits. Some have none. */
export interface CellRun {
  readonly cells: Int32Array
  readonly least: number
  readonly unit: number
  readonly digits: number
  /** The rows of all. */
  readonly rows: number
}

export type Run = ValueRun | CellRun

/** The number of values, and that of their rows. */
const HEAD = 2

export function writeRun(run: Run): Uint8Array {
  const { values, counts, rows } = expandRun(run)
  const all = new Float64Array(HEAD + values.length + (rows === values.length ? 0 : values.length))
  all[0] = values.length
  all[1] = rows
  all.set(values, HEAD)
  if (counts !== undefined && rows !== values.length) all.set(counts, HEAD + values.length)
  return new Uint8Array(all.buffer)
}

export function readRun(bytes: Uint8Array): ValueRun {
  // A copy begins at a multiple of eight.
  const all = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  const [length = 0, rows = 0] = all
  const values = all.subarray(HEAD, HEAD + length)
  return { values, counts: rows === length ? undefined : all.subarray(HEAD + length), rows }
}

export function expandRun(run: Run): ValueRun {
  if (!('cells' in run)) return run
  const { cells, least, unit, digits } = run
  const [values, counts] = [new Float64Array(countValues(run)), new Float64Array(countValues(run))]
  const power = 10 ** digits
  let next = 0
  for (let at = 0; at < cells.length; at++) {
    if (cells[at] === 0) continue
    values[next] = (least + at * unit) / power
    counts[next++] = cells[at] as number
  }
  return { values, counts, rows: run.rows }
}

/** How many different ones there are. */
export function countValues(run: Run): number {
  if (!('cells' in run)) return run.values.length
  let count = 0
  for (let at = 0; at < run.cells.length; at++) if (run.cells[at] !== 0) count++
  return count
}

/** The value at an index of the sorted rows. */
export function valueInRun(run: Run, index: number): number {
  if ('cells' in run) {
    const { cells, least, unit, digits } = run
    return (least + findCell(cells, index) * unit) / 10 ** digits
  }
  const { values, counts } = run
  return counts === undefined ? (values[index] ?? 0) : (values[findCell(counts, index)] ?? 0)
}

function findCell(counts: Int32Array | Float64Array, index: number): number {
  let at = 0
  for (let left = index - (counts[0] ?? 0); left >= 0; ) left -= counts[++at] ?? Number.POSITIVE_INFINITY
  return at
}

export const NO_VALUES: ValueRun = { values: new Float64Array(0), counts: undefined, rows: 0 }

/** All values of some runs, each once. */
export function mergeRuns(runs: readonly Run[]): ValueRun {
  let left = runs.map(expandRun).filter(({ values }) => values.length > 0)
  left.sort((one, other) => (one.values[0] as number) - (other.values[0] as number))
  while (left.length > 1) {
    const merged: ValueRun[] = []
    for (let at = 0; at < left.length; at += 2) merged.push(mergeTwo(left[at] as ValueRun, left[at + 1] ?? NO_VALUES))
    left = merged
  }
  return left[0] ?? NO_VALUES
}

function mergeTwo(one: ValueRun, other: ValueRun): ValueRun {
  if (other.values.length === 0) return one
  const most = one.values.length + other.values.length
  const hasCounts = one.counts !== undefined || other.counts !== undefined || mayShare(one, other)
  const [values, counts] = [new Float64Array(most), new Float64Array(hasCounts ? most : 0)]
  let [i, j, at] = [0, 0, 0]
  for (; i < one.values.length || j < other.values.length; at++) {
    const takesOne = j === other.values.length || (one.values[i] as number) <= (other.values[j] as number)
    const takesOther = i === one.values.length || (other.values[j] as number) <= (one.values[i] as number)
    values[at] = (takesOne ? one.values[i] : other.values[j]) as number
    if (hasCounts) counts[at] = (takesOne ? countAt(one, i) : 0) + (takesOther ? countAt(other, j) : 0)
    if (takesOne) i++
    if (takesOther) j++
  }
  const rows = one.rows + other.rows
  return { values: values.subarray(0, at), counts: hasCounts ? counts.subarray(0, at) : undefined, rows }
}

/** Runs of values that rise with time mostly do not. */
function mayShare({ values }: ValueRun, other: ValueRun): boolean {
  return (values.at(-1) as number) >= (other.values[0] as number)
}

function countAt({ counts }: ValueRun, at: number): number {
  return counts === undefined ? 1 : (counts[at] as number)
}

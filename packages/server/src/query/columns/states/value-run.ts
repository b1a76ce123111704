/** The different values of a group and how many rows have each, as bytes: what SQLite's functions read of the executor's parts. */

/** Values rise; without counts each has one row. */
export interface ValueRun {
  readonly values: Float64Array
  readonly counts: Float64Array | undefined
  /** The rows of all values. */
  readonly rows: number
}

/** The number of values, that of their rows, the bytes of a distance, and the first value. */
const HEAD = 4
const HEAD_BYTES = HEAD * 8

/**
 * Integers are written as distances, each from the one before, if those and the counts fit into two bytes, or into four: SQLite copies the
 * bytes of a part several times (bench: columns, percentiles).
 */
export function writeRun(run: ValueRun): Uint8Array {
  const { values, counts, rows } = run
  const width = findWidth(run)
  const length = values.length
  const listed = rows === length || counts === undefined ? length : 2 * length
  const bytes = new Uint8Array(HEAD_BYTES + listed * width)
  new Float64Array(bytes.buffer, 0, HEAD).set([length, rows, width, values[0] as number])
  const into = viewNumbers(bytes.buffer, width)
  if (width === 8) into.set(values)
  else for (let at = 1; at < length; at++) into[at] = (values[at] as number) - (values[at - 1] as number)
  if (counts !== undefined && listed > length) into.set(counts, length)
  return bytes
}

export function readRun(bytes: Uint8Array): ValueRun {
  // A copy begins at a multiple of eight.
  const { buffer } = new Uint8Array(bytes)
  const [length = 0, rows = 0, width = 8, first = 0] = new Float64Array(buffer, 0, HEAD)
  const numbers = viewNumbers(buffer, width)
  const values = Float64Array.from(numbers.subarray(0, length))
  if (width !== 8) {
    values[0] = first
    for (let at = 1; at < length; at++) values[at] = (values[at] as number) + (values[at - 1] as number)
  }
  return { values, counts: rows === length ? undefined : Float64Array.from(numbers.subarray(length)), rows }
}

function findWidth({ values, counts }: ValueRun): 2 | 4 | 8 {
  let most = 0
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number
    if (!Number.isSafeInteger(value)) return 8
    most = Math.max(most, at === 0 ? 0 : value - (values[at - 1] as number), counts?.[at] ?? 1)
  }
  return most <= 0xffff ? 2 : most <= 0xffffffff ? 4 : 8
}

function viewNumbers(buffer: ArrayBuffer, width: number): Float64Array | Uint32Array | Uint16Array {
  const Numbers = width === 8 ? Float64Array : width === 4 ? Uint32Array : Uint16Array
  return new Numbers(buffer, HEAD_BYTES)
}

/** The value at an index of the sorted rows. */
export function valueInRun({ values, counts }: ValueRun, index: number): number {
  if (counts === undefined) return values[index] ?? 0
  let at = 0
  for (let left = index - (counts[0] ?? 0); left >= 0; ) left -= counts[++at] ?? Number.POSITIVE_INFINITY
  return values[at] ?? 0
}

export const NO_VALUES: ValueRun = { values: new Float64Array(0), counts: undefined, rows: 0 }

/** All values of some runs, each once. */
export function mergeRuns(runs: readonly ValueRun[]): ValueRun {
  let left = runs.filter(({ values }) => values.length > 0)
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

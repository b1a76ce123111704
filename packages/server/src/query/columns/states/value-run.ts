/** The different values of a group and how many rows have each, as bytes: what SQLite's functions read of the executor's parts. */

/** Values rise; without counts each has one row. */
export interface ValueRun {
  readonly values: Float64Array
  readonly counts: Float64Array | undefined
  /** The rows of all values. */
  readonly rows: number
}

/** The number of values, and that of their rows. */
const HEAD = 2

export function writeRun({ values, counts, rows }: ValueRun): Uint8Array {
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

/** The value at an index of the sorted rows. */
export function valueInRun({ values, counts }: ValueRun, index: number): number {
  if (counts === undefined) return values[index] ?? 0
  let at = 0
  for (let left = index - (counts[0] ?? 0); left >= 0; ) left -= counts[++at] ?? Number.POSITIVE_INFINITY
  return values[at] ?? 0
}

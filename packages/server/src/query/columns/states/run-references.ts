/**
 * Runs that stay in memory while SQL refers to them by number, for one statement at a time. As bytes they would be copied into the table of
 * the parts, and out of it by each function: percentiles of 345,000 rows in 100 groups take 24 ms of processor time so, not 36 ms.
 */
import { type Run, readRun } from './value-run.ts'

/** Those as bytes have more. */
const REFERENCE_BYTES = 4

let runs: Run[] = []

export function referTo(run: Run): Uint8Array {
  const reference = new Uint8Array(REFERENCE_BYTES)
  new DataView(reference.buffer).setUint32(0, runs.push(run) - 1)
  return reference
}

/** After the statement. */
export function forgetRuns(): void {
  runs = []
}

/** From its bytes, or by its reference. */
export function findRun(bytes: Uint8Array): Run {
  if (bytes.byteLength !== REFERENCE_BYTES) return readRun(bytes)
  const run = runs[new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)]
  if (run === undefined) throw new Error('A reference to no values')
  return run
}

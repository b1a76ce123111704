/** The processor time that a process has used, on Linux. */
import { readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second. */
const TICK_MS = 10

/** In milliseconds, of all its threads; undefined if it is not known. */
export function processorTime(pid: number | undefined): number | undefined {
  if (pid === undefined || process.platform !== 'linux') return undefined
  try {
    // The name of the program, in parentheses, may have spaces in it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
    const ticks = Number(fields[11]) + Number(fields[12])
    return Number.isNaN(ticks) ? undefined : ticks * TICK_MS
  } catch {
    return undefined
  }
}

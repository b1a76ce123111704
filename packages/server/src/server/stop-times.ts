/** How long the steps of a stop may take. */
import type { Config } from '../config/config.ts'

/** How long requests in flight may take once a stopping server accepts no more, in addition to the drain time. */
export const STOP_GRACE_MS = 10_000
/** How long to look for a moment in which no connection waits, to close the port. */
const PORT_MS = 5_000
/** How long closing the databases and everything else may take after that. A database that does not answer would take minutes. */
export const CLOSE_MS = 5_000

/** The longest time from the signal to the end of the process. A supervisor that kills it must wait longer. */
export function longestStop(config: Pick<Config, 'stopDelay' | 'streamDrainTime'>): number {
  return config.stopDelay + PORT_MS + config.streamDrainTime + STOP_GRACE_MS + CLOSE_MS
}

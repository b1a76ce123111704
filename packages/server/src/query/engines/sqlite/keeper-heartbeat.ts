/**
 * How the keeper shows the other processes of a data folder that it goes on: by the time of a file. A commit each second would wake the disk
 * and its readers, and be a segment of a replicated backup.
 */
import { closeSync, openSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning } from '../../../store/cluster/nodes.ts'
import type { HolderProcesses } from '../keeper-lease.ts'

/** Ends in .tmp: the file is no part of the data. */
const FILE = 'keeper.tmp'

export function keeperHeartbeat(dataFolder: string): HolderProcesses {
  const file = join(dataFolder, FILE)
  return {
    isGone: (name) => !isRunning(name),
    beat() {
      try {
        closeSync(openSync(file, 'a', 0o600))
        const now = new Date()
        utimesSync(file, now, now)
        return true
      } catch {
        return false
      }
    },
    lastBeat: () => statSync(file, { throwIfNoEntry: false })?.mtimeMs,
    clear: () => rmSync(file, { force: true }),
  }
}

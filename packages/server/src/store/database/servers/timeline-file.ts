/**
 * The latest timeline that a node has seen, kept in its data folder: at its next start it recognises an old primary. Ends in .tmp: the file is
 * no part of the data, and in no backup.
 */
import { chownSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FILE = 'database-timeline.tmp'

export interface SeenTimeline {
  readonly system: string
  readonly timeline: number
}

/** Undefined if there is none, or it cannot be read. */
export function readSeenTimeline(folder: string): SeenTimeline | undefined {
  try {
    const seen: unknown = JSON.parse(readFileSync(join(folder, FILE), 'utf8'))
    if (typeof seen !== 'object' || seen === null || !('system' in seen) || !('timeline' in seen)) return undefined
    const { system, timeline } = seen
    return typeof system === 'string' && typeof timeline === 'number' ? { system, timeline } : undefined
  } catch {
    return undefined
  }
}

export function writeSeenTimeline(folder: string, seen: SeenTimeline): void {
  const file = join(folder, FILE)
  const next = `${file}.${process.pid}.tmp`
  writeFileSync(next, `${JSON.stringify(seen)}\n`, { mode: 0o600 })
  giveToOwner(next, folder)
  renameSync(next, file)
}

/** A command may run as root; the node, as the user that the folder belongs to, has to read and replace the file. */
function giveToOwner(file: string, folder: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  if (uid !== 0) chownSync(file, uid, gid)
}

/** What the replicating process tells everyone who asks, such as the metrics of each worker: a small file beside the spool. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SPOOL_FOLDER } from './state.ts'

export interface ReplicationStatus {
  /** When the databases were last looked at, in milliseconds like all times here: commits before are stored, unless it is behind. */
  readonly at: number
  readonly location: string
  readonly generation: string | undefined
  /** The last moment that can be restored; undefined before the first base is complete. */
  readonly moment: number | undefined
  /** When the oldest change was noticed that is not stored yet. */
  readonly behindSince: number | undefined
  readonly spoolBytes: number
  readonly base: { readonly at: number; readonly moment: number; readonly bytes: number } | undefined
  readonly verified: { readonly at: number; readonly moment: number } | undefined
  /** What keeps it from storing now. */
  readonly error: string | undefined
  /** Since when changes are no longer kept, because the spool is full. */
  readonly interruptedSince: number | undefined
  /** Whether it was the last word of a process that has ended in order. */
  readonly isStopped?: boolean
}

/** It is written more often than this by a process that runs, also where nothing changes. */
const SILENT_MS = 30_000

const STATUS_FILE = 'status.json'

export function writeStatus(spoolFolder: string, status: ReplicationStatus): void {
  const file = join(spoolFolder, STATUS_FILE)
  writeFileSync(`${file}.tmp`, JSON.stringify(status), { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
}

/** Undefined where nothing was ever replicated. */
export function readStatus(dataFolder: string): ReplicationStatus | undefined {
  const file = join(dataFolder, SPOOL_FOLDER, STATUS_FILE)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** Whether a process replicates the folder now. One that was killed seems to for half a minute. */
export function isReplicating({ at, isStopped }: ReplicationStatus, now: number): boolean {
  return isStopped !== true && now - at <= SILENT_MS
}

/** Milliseconds of commits that would be lost with the machine. A process that was killed falls behind too. */
export function measureLag(status: ReplicationStatus, now: number): number {
  const { at, behindSince, isStopped } = status
  if (isStopped === true && behindSince === undefined) return 0
  const since = isReplicating(status, now) ? (behindSince ?? now) : Math.min(at, behindSince ?? at)
  return Math.max(0, now - since)
}

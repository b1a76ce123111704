/** What an operator asks the replicating process for, by files beside the spool: any process of the data folder can. */
import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { SPOOL_FOLDER } from './state.ts'

export const REQUESTS = ['take', 'verify'] as const
/** `take`: a base now. `verify`: a restore beside the data now. */
export type ReplicationRequest = (typeof REQUESTS)[number]

export function leaveRequest(dataFolder: string, request: ReplicationRequest): void {
  mkdirSync(join(dataFolder, SPOOL_FOLDER), { recursive: true, mode: 0o700 })
  closeSync(openSync(requestFile(join(dataFolder, SPOOL_FOLDER), request), 'a', 0o600))
}

/** True once for each request. */
export function takeRequest(spoolFolder: string, request: ReplicationRequest): boolean {
  const file = requestFile(spoolFolder, request)
  if (!existsSync(file)) return false
  rmSync(file, { force: true })
  return true
}

function requestFile(spoolFolder: string, request: ReplicationRequest): string {
  return join(spoolFolder, `${request}.request`)
}

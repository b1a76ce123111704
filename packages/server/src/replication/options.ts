/** What the server passes to the replicating process. */

import type { AuditEvent } from 'gatehouse-protocol'
import type { UpkeepTiming } from './ship/upkeep.ts'

export interface ReplicationOptions {
  readonly dataFolder: string
  /** The target. */
  readonly url: string
  /** In Base64. */
  readonly key: string
  readonly everyMs: number
  readonly fullMs: number
  /** Bytes a second, of bases. */
  readonly rate: number
  readonly spoolBytes: number
  /** Absent where nothing is deleted. */
  readonly keepMs?: number | undefined
  /** How often it is restored, to check it. */
  readonly verifyMs: number
  /** Those of tests. */
  readonly timing?: Partial<UpkeepTiming>
}

/** Of the process that dumps PostgreSQL. */
export interface DumpOptions
  extends Pick<ReplicationOptions, 'dataFolder' | 'url' | 'key' | 'fullMs' | 'rate' | 'keepMs' | 'verifyMs'> {
  readonly databaseUrl: string
  /** In Base64; absent where it is in the data folder. */
  readonly masterKey?: string | undefined
}

/** What the process says before it ends because another one replicates the folder. */
export const OCCUPIED = 'occupied'

/** What a process of its own does. */
export type ReplicationTask =
  | {
      readonly kind: 'verify'
      readonly dataFolder: string
      readonly url: string
      readonly key: string
      readonly generation: string
    }
  | { readonly kind: 'record'; readonly dataFolder: string; readonly event: AuditEvent }

export interface TaskOutcome {
  /** That was restored. */
  readonly moment?: number
  readonly error?: string
}

/** The execution of a statement: what is known of it from its first message to its last row. */
import type { Principal } from 'gatehouse-protocol'
import type { RunningQuery } from '../../../query/index.ts'
import type { PortalRows } from '../rows/row-stream.ts'

export interface Execution {
  readonly requestId: string
  readonly shown: string
  readonly started: number
  /** Of the caller when it began. */
  readonly scopes: Principal['scopes']
  rows: PortalRows | undefined
  running: RunningQuery | undefined
  timer: NodeJS.Timeout | undefined
  rowCount: number
  /** By a write. */
  affected: number | undefined
  /** Rows that were sent. */
  sent: number
  hasEnded: boolean
  /** The memory that its rows take while they are not sent. */
  kept: number
  /** Why it was stopped while it was suspended. */
  stopped: unknown
  endSuspension: (() => void) | undefined
}

export function newExecution(requestId: string, shown: string, scopes: Principal['scopes']): Execution {
  return {
    requestId,
    shown,
    started: performance.now(),
    scopes,
    rows: undefined,
    running: undefined,
    timer: undefined,
    rowCount: 0,
    affected: undefined,
    sent: 0,
    hasEnded: false,
    kept: 0,
    stopped: undefined,
    endSuspension: undefined,
  }
}

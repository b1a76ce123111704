/** Positions on PostgreSQL: the epoch of a table's change log and a snapshot, as `epoch.xmin:xmax:running`. */
import type { TablePosition } from '../live-source.ts'

/** A snapshot names every transaction that was running. A longer one is replaced by an older state, of which more has changed. */
const MAX_SNAPSHOT_LENGTH = 200
/** Marks the epoch of such a position. */
const OLDER = '~'

interface Parsed {
  readonly epoch: string
  readonly xmin: bigint
  readonly xmax: bigint
  readonly running: number
  /** The position is older than the state that it was made from. */
  readonly isOlder: boolean
}

const FORM = /^([0-9a-f]+)(~?)\.(\d{1,20}):(\d{1,20}):((?:\d{1,20}(?:,\d{1,20})*)?)$/

export function positionOf(epoch: string, snapshot: string): TablePosition {
  if (snapshot.length <= MAX_SNAPSHOT_LENGTH) return `${epoch}.${snapshot}`
  const xmin = snapshot.slice(0, snapshot.indexOf(':'))
  return `${epoch}${OLDER}.${xmin}:${xmin}:`
}

export function parsePosition(position: TablePosition): Parsed | undefined {
  const [, epoch = '', older, xmin = '', xmax = '', running = ''] = FORM.exec(position) ?? []
  if (epoch === '') return undefined
  return {
    epoch,
    xmin: BigInt(xmin),
    xmax: BigInt(xmax),
    running: running === '' ? 0 : running.split(',').length,
    isOlder: older !== '',
  }
}

/** Of two snapshots with the same end the later one has fewer running transactions. */
export function comparePositions(a: TablePosition, b: TablePosition): number | undefined {
  const [left, right] = [parsePosition(a), parsePosition(b)]
  if (left === undefined || right === undefined || left.epoch !== right.epoch) return undefined
  if (left.xmax !== right.xmax) return left.xmax < right.xmax ? -1 : 1
  return Math.sign(right.running - left.running)
}

/** The log rows that the snapshot does not see: those of later transactions, and those of transactions that were running. */
export function loggedSince(log: string, columns: string, position: string): string {
  const snapshot = `(SELECT split_part(${position}::text, '.', 2)::pg_snapshot)`
  const rows = `SELECT ${columns} FROM ${log} WHERE xid`
  return `${rows} >= pg_snapshot_xmax(${snapshot}) UNION ALL ${rows} IN (SELECT pg_snapshot_xip(${snapshot}))`
}

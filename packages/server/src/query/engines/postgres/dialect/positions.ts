/**
 * Positions on PostgreSQL: the epoch of a table's change log, the primary and its snapshot, as `epoch.primary-xmin:xmax:running`. A
 * snapshot consists of transaction numbers, which another primary may use again.
 */
import { logName } from '../../change-log.ts'
import type { Sql } from '../../emit/dialect.ts'
import type { TablePosition } from '../../live-source.ts'
import { SCHEMA } from '../representation.ts'

/** A snapshot names every transaction that was running. A longer one is replaced by an older state, since which more has changed. */
const MAX_SNAPSHOT_LENGTH = 200
/** Marks the epoch of such a position. */
const OLDER = '~'

interface Parsed {
  readonly epoch: string
  /** The primary that the position was read from. */
  readonly incarnation: string
  readonly xmin: bigint
  readonly xmax: bigint
  readonly running: readonly bigint[]
  /** The position is older than the state that it was made from. */
  readonly isOlder: boolean
}

const FORM = /^([0-9a-f]+)(~?)\.([0-9a-f]{6})-(\d{1,18}):(\d{1,18}):((?:\d{1,18}(?:,\d{1,18})*)?)$/

export function writePosition(epoch: string, incarnation: string, snapshot: string): TablePosition {
  if (snapshot.length <= MAX_SNAPSHOT_LENGTH) return `${epoch}.${incarnation}-${snapshot}`
  const xmin = snapshot.slice(0, snapshot.indexOf(':'))
  return `${epoch}${OLDER}.${incarnation}-${xmin}:${xmin}:`
}

/** Undefined if PostgreSQL would not accept the snapshot: a position comes from a client. */
export function parsePosition(position: TablePosition): Parsed | undefined {
  const [, epoch = '', older, incarnation = '', first = '', last = '', list = ''] = FORM.exec(position) ?? []
  if (epoch === '') return undefined
  const [xmin, xmax] = [BigInt(first), BigInt(last)]
  const running = list === '' ? [] : list.split(',').map(BigInt)
  const isOrdered = running.every((xid, index) => xid >= (running[index - 1] ?? xmin) && xid < xmax)
  if (xmin === 0n || xmax < xmin || !isOrdered) return undefined
  return { epoch, incarnation, xmin, xmax, running, isOlder: older !== '' }
}

/** Whether what a snapshot of one primary has seen is also true on a later one; undefined if that is not known. */
export interface PrimaryHistory {
  isContinued(from: string, to: string, seen: Pick<Parsed, 'xmax' | 'running'>): boolean | undefined
}

/** Of two snapshots with the same end the later one has fewer running transactions. */
export function comparePositions(a: TablePosition, b: TablePosition, history: PrimaryHistory): number | undefined {
  const [left, right] = [parsePosition(a), parsePosition(b)]
  if (left === undefined || right === undefined) return undefined
  if (left.epoch !== right.epoch) return undefined
  if (left.incarnation !== right.incarnation) {
    if (history.isContinued(left.incarnation, right.incarnation, left) === true) return -1
    return history.isContinued(right.incarnation, left.incarnation, right) === true ? 1 : undefined
  }
  if (left.xmax !== right.xmax) return left.xmax < right.xmax ? -1 : 1
  return Math.sign(right.running.length - left.running.length)
}

/** The log rows that the snapshot does not see: those of later transactions, and those of transactions that were running. */
export function loggedSince(log: string, columns: string, position: string): string {
  const snapshot = `(SELECT split_part(split_part(${position}::text, '.', 2), '-', 2)::pg_snapshot)`
  const rows = `SELECT ${columns} FROM ${log} WHERE xid`
  return `${rows} >= pg_snapshot_xmax(${snapshot}) UNION ALL ${rows} IN (SELECT pg_snapshot_xip(${snapshot}))`
}

/** The first of these rows for each key. Writers of one row wait for one another, so that the numbers of its changes are in order. */
export function firstChanges(table: string, keyCount: number, position: Sql): Sql {
  const keys = Array.from({ length: keyCount }, (_key, index) => `k${index}`).join(', ')
  const changes = loggedSince(`${SCHEMA}.${logName(table)}`, '*', position)
  return `SELECT DISTINCT ON (${keys}) * FROM (${changes}) AS c ORDER BY ${keys}, seq`
}

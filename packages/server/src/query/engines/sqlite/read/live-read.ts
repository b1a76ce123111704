/** Reads a live statement in one transaction: positions, changed keys, rows. In the server and in reader processes. */
import type { Database } from 'better-sqlite3'
import type { LiveColumns } from '../../../model/live-statement.ts'
import type { TextRowEncoder } from '../../../model/result.ts'
import { createLiveEncoder, liveKeyWriter } from '../../../results/live-rows.ts'
import { LOG_OP, logName } from '../../change-log.ts'
import {
  type ChangedKey,
  type LiveReadRequest,
  type LiveReply,
  sincePositions,
  type TablePosition,
} from '../../live-source.ts'
import { type RawRow, rowDecoder } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'

/** Plain data, which can cross to another process. */
export interface LiveJob
  extends Pick<LiveReadRequest, 'tables' | 'parameters' | 'encoding' | 'since' | 'maxRows' | 'maxBytes'> {
  readonly kind: 'live'
  readonly sql: string
  /** Those that the SQL returns. */
  readonly columns: LiveColumns
}

export interface LiveOutcome extends Pick<LiveReply, 'exceeded' | 'changed'> {
  /** The position of each table; undefined for a table without a log. */
  readonly positions: readonly (TablePosition | undefined)[]
  /** The log does not reach back to the position: nothing was read. */
  readonly isLost: boolean
}

/** `send` is called with every chunk of the rows' text. An integer in one of `longColumns` replaces a value that is too long. */
export function readLive(
  database: Database,
  statements: StatementCache,
  job: LiveJob,
  send: (encoder: TextRowEncoder) => void,
  longColumns: readonly number[] = [],
): LiveOutcome {
  const { tables, encoding, maxRows, maxBytes } = job
  return inTransaction(database, () => {
    const positions = tables.map((table) => readHead(statements, table)?.position)
    if (isLost(statements, job)) return { positions, isLost: true, changed: undefined, exceeded: 'no' }
    const changed = changedKeys(statements, job)
    const encoder = createLiveEncoder(job.columns, encoding)
    const decodeRow = rowDecoder(allColumns(job.columns))
    let [rows, sent] = [0, 0]
    let exceeded: LiveReply['exceeded'] = 'no'
    for (const raw of statements.get(job.sql).iterate(...job.parameters) as Iterable<RawRow>) {
      if (++rows > maxRows) exceeded = 'rows'
      else if (sent + encoder.pending > maxBytes || longColumns.some((index) => typeof raw[index] === 'bigint'))
        exceeded = 'bytes'
      if (exceeded !== 'no') break
      encoder.add(decodeRow(raw))
      if (encoder.pending < CHUNK_LENGTH) continue
      sent += encoder.pending
      send(encoder)
    }
    send(encoder)
    return { positions, isLost: false, changed, exceeded }
  })
}

const CHUNK_LENGTH = 64 * 1024

export function inTransaction<Result>(database: Database, read: () => Result): Result {
  database.exec('BEGIN')
  try {
    return read()
  } finally {
    database.exec('COMMIT')
  }
}

function allColumns({ columns, keyColumns = [], routeColumns }: LiveColumns) {
  return [...columns, ...keyColumns, ...routeColumns]
}

interface Head {
  readonly seq: number
  readonly position: TablePosition
}

/** The last row of the log; undefined if the table has no log. */
export function readHead(statements: StatementCache, table: string): Head | undefined {
  const row = getFrom(statements, table, 'SELECT seq, tag FROM', 'ORDER BY seq DESC LIMIT 1', [])
  if (row === undefined) return undefined
  const [seq, tag] = row
  return { seq, position: `${seq}.${tag.toString(36)}` }
}

const FORM = /^(\d{1,15})\.([0-9a-z]{1,10})$/

/** The number of the log row that the position names; undefined if it is not there. */
export function findSeq(statements: StatementCache, table: string, position: TablePosition): number | undefined {
  const [, seq, tag] = FORM.exec(position) ?? []
  if (seq === undefined || tag === undefined) return undefined
  const values = [Number(seq), Number.parseInt(tag, 36)]
  return getFrom(statements, table, 'SELECT seq, tag FROM', 'WHERE seq = ? AND tag = ?', values)?.[0]
}

export function comparePositions(a: TablePosition, b: TablePosition): number | undefined {
  const [left, right] = [FORM.exec(a), FORM.exec(b)]
  if (left === null || right === null) return undefined
  const difference = Number(left[1]) - Number(right[1])
  // A number with another tag belongs to another epoch.
  return difference === 0 && a !== b ? undefined : difference
}

function getFrom(
  statements: StatementCache,
  table: string,
  select: string,
  rest: string,
  values: readonly number[],
): readonly [number, number] | undefined {
  try {
    const row = statements.get(`${select} main.${logName(table)} ${rest}`).get(...values)
    const [seq, tag] = (row ?? []) as readonly bigint[]
    return seq === undefined ? undefined : [Number(seq), Number(tag)]
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('no such table')) return undefined
    throw error
  }
}

/** Whether the log of a table has more changes since the position that the read goes back to. */
export function hasMoreChanges(statements: StatementCache, { since }: Pick<LiveJob, 'since'>, most: number): boolean {
  for (const [table, position] of sincePositions(since)) {
    const first = findSeq(statements, table, position)
    const last = readHead(statements, table)?.seq
    if (first !== undefined && last !== undefined && last - first > most) return true
  }
  return false
}

/** Whether a position that the read goes back to is not in its log, or a former result cannot be read because a long row has changed. */
function isLost(statements: StatementCache, { since }: Pick<LiveJob, 'since'>): boolean {
  for (const [table, position] of sincePositions(since)) {
    const seq = findSeq(statements, table, position)
    if (seq === undefined) return true
    const unkept = ['SELECT seq, tag FROM', `WHERE seq > ? AND op <> ${LOG_OP.insert} AND NOT kept LIMIT 1`] as const
    if (since?.of === 'former result' && getFrom(statements, table, ...unkept, [seq]) !== undefined) return true
  }
  return false
}

/** Every key in the log since the position, with what is known about its first change. */
function changedKeys(
  statements: StatementCache,
  { since, columns: { keyColumns = [] }, encoding }: Pick<LiveJob, 'since' | 'columns' | 'encoding'>,
): LiveOutcome['changed'] {
  if (since?.of !== 'changed rows') return undefined
  const names = keyColumns.map((_column, index) => `k${index}`)
  const sql = `SELECT ${[...names, 'op', 'kept'].join(', ')} FROM main.${logName(since.table)} WHERE seq > CAST(? AS INTEGER) ORDER BY seq`
  const readKey = rowDecoder(keyColumns)
  const writeKey = liveKeyWriter(keyColumns, encoding)
  const changed = new Map<string, ChangedKey>()
  for (const raw of statements.get(sql).iterate(since.position) as Iterable<RawRow>) {
    const key = writeKey(readKey(raw))
    if (changed.has(key)) continue
    const wasInserted = raw[names.length] === INSERTED
    changed.set(key, wasInserted ? WAS_INSERTED : raw[names.length + 1] === 1n ? IS_KEPT : IS_UNKNOWN)
  }
  return changed
}

const INSERTED = BigInt(LOG_OP.insert)
const WAS_INSERTED: ChangedKey = { wasInserted: true, isFormerKept: false }
const IS_KEPT: ChangedKey = { wasInserted: false, isFormerKept: true }
const IS_UNKNOWN: ChangedKey = { wasInserted: false, isFormerKept: false }

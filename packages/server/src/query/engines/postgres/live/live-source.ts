/** Live queries on PostgreSQL: positions, changed keys and rows of one snapshot, in one round trip. */
import type { Pool, PoolClient } from 'pg'
import { inTurns } from '../../../../lib/turns.ts'
import type { CatalogueRow } from '../../../catalogue/definition.ts'
import { isBounded } from '../../../model/cost-class.ts'
import { createLiveEncoder, liveKeyWriter, readLiveTexts } from '../../../results/live-rows.ts'
import { CHUNK_BYTES } from '../../bounded-rows.ts'
import { LOG_OP, logName } from '../../change-log.ts'
import type { CommitListener, WrittenTable } from '../../commit-listeners.ts'
import { viewsByLog } from '../../kept-state-sql.ts'
import {
  type ChangedKey,
  type LiveReadRequest,
  type LiveReply,
  type LiveSource,
  type LogLimits,
  LostPosition,
  type Positions,
  type Since,
  sincePositions,
  type TableChange,
  type TablePosition,
} from '../../live-source.ts'
import { isCounted, OwnCommits, unloggedNames } from '../../own-commits.ts'
import { boundedRows } from '../dialect/bounded-sql.ts'
import {
  comparePositions,
  loggedSince,
  type PrimaryHistory,
  parsePosition,
  writePosition,
} from '../dialect/positions.ts'
import { asRefusal, isOutdated } from '../failure.ts'
import { type Acquire, borrow } from '../pool.ts'
import { COMMIT, type PipelineStatement, runPipelined } from '../protocol/pipeline.ts'
import type { RawRow } from '../protocol/protocol.ts'
import { rowDecoder, SCHEMA } from '../representation.ts'
import type { CommitSignal } from './commit-signal.ts'
import { EXISTING_LOGS, HEAD_COLUMNS } from './log-heads.ts'
import { LogTrim } from './log-trim.ts'

export interface PostgresLiveOptions {
  readonly signal: CommitSignal
  readonly owner: Pool
  readonly acquire: Acquire
  readonly limits: LogLimits
  readonly history: PrimaryHistory
}

const NEVER = new AbortController().signal
/**
 * The planner does not know how many rows have changed; expecting many, it would read the whole table. The setting lasts until the
 * end of the transaction.
 */
export const BY_KEY = `SELECT ${['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
  .map((name) => `set_config('${name}', 'off', true)`)
  .join(', ')}`
const BEGIN_READ: PipelineStatement = { sql: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', parameters: [] }

const HEADS = `SELECT ${HEAD_COLUMNS} FROM (SELECT) AS one LEFT JOIN ${EXISTING_LOGS}
    ON l.name IN (SELECT n COLLATE "C" FROM jsonb_array_elements_text($1::jsonb) AS n)`

interface LogHead {
  readonly epoch: string
  /** Rows of transactions before this one may have been deleted. */
  readonly floor: bigint
}

interface Heads {
  snapshot: string
  /** The primary. */
  incarnation: string
  readonly logs: Map<string, LogHead>
}

interface Borrower extends Pick<LiveReadRequest, 'owner' | 'background'> {
  /** Undefined if it is short. */
  readonly statement?: string | undefined
  readonly signal: AbortSignal
}

export class PostgresLiveSource implements LiveSource {
  readonly #options: PostgresLiveOptions
  readonly #own = new OwnCommits()
  readonly #trim: LogTrim

  constructor(options: PostgresLiveOptions) {
    this.#options = options
    this.#trim = new LogTrim(options.owner, options.limits)
    options.signal.onElsewhere = (tables) => this.#own.add(tables)
  }

  /** This node has committed writes to these tables. */
  committed(tables: readonly WrittenTable[]): void {
    this.#own.add(unloggedNames(tables))
    this.#options.signal.committed(tables)
  }

  /** The system tables show the catalogue. */
  catalogueLoaded(rows: readonly CatalogueRow[]): void {
    this.#trim.views = viewsByLog(rows)
    if (this.#own.addCatalogue(rows)) this.#options.signal.committed()
  }

  onCommit(listener: CommitListener): () => void {
    return this.#options.signal.onCommit(listener)
  }

  async changedSince(positions: Positions): Promise<ReadonlyMap<string, TableChange>> {
    const changed = new Set<string>()
    const heads = emptyHeads()
    // A malformed position is lost, and PostgreSQL would fail on it.
    const tables = [...positions].filter(([, position]) => parsePosition(position) !== undefined)
    const isWhole = await this.#run({ owner: '', signal: NEVER }, () => {
      changed.clear()
      return [
        BEGIN_READ,
        { sql: BY_KEY, parameters: [] },
        selectHeads([...positions.keys()], heads),
        ...tables.map(([table, position]) => selectAnyChange(table, position, () => changed.add(table))),
        COMMIT,
      ]
    })
    const states = new Map<string, TableChange>()
    for (const [table, position] of positions) {
      const log = heads.logs.get(table.toLowerCase())
      const state =
        log === undefined
          ? this.#own.compareToNow(table, position)
          : comparePosition(log, heads, position, this.#options.history)
      if (state === 'lost' || state === 'undone' || state === 'changed') states.set(table, state)
      else if (log !== undefined && (changed.has(table) || !isWhole)) states.set(table, 'changed')
    }
    return states
  }

  compare(a: TablePosition, b: TablePosition): number | undefined {
    return isCounted(a) ? this.#own.compare(a, b) : comparePositions(a, b, this.#options.history)
  }

  async read(request: LiveReadRequest, signal: AbortSignal): Promise<LiveReply> {
    const { statement, since, tables, owner, background } = request
    const back = sincePositions(since)
    for (const position of back.values()) {
      const parsed = parsePosition(position)
      // PostgreSQL would fail on a malformed position. The result between an older state and this one is not known.
      if (parsed === undefined || (parsed.isOlder && since?.of === 'former result')) throw new LostPosition(tables)
    }
    const isShort = since?.of === 'changed rows' || isBounded(statement.cost)
    // Before the read, which may or may not see concurrent commits.
    const counted = new Map(tables.map((table) => [table, this.#own.position(table)]))
    const heads = emptyHeads()
    let rows = new ResultRows(request)
    let changed: ChangedKeys | undefined
    let isUnkept = false
    const isWhole = await this.#run(
      { owner, statement: isShort ? undefined : statement.sql, signal, background },
      () => {
        rows = new ResultRows(request)
        changed = since?.of === 'changed rows' ? new ChangedKeys(request, since) : undefined
        isUnkept = false
        const named = [...new Set([...tables, ...back.keys()])]
        const byKey = changed === undefined ? [] : [{ sql: BY_KEY, parameters: [] }, changed]
        const unkept = [...(since?.of === 'former result' ? back : [])].map(([table, position]) =>
          selectUnkept(table, position, () => {
            isUnkept = true
          }),
        )
        return [BEGIN_READ, selectHeads(named, heads), ...byKey, ...unkept, rows, COMMIT]
      },
    )
    for (const [table, position] of back) {
      const log = heads.logs.get(table.toLowerCase())
      const state = log === undefined ? 'lost' : comparePosition(log, heads, position, this.#options.history)
      if (!isWhole || isUnkept || state !== 'same') throw new LostPosition(tables, state === 'undone')
    }
    const positions = tables.map((table) => {
      const log = heads.logs.get(table.toLowerCase())
      const position =
        log === undefined ? (counted.get(table) ?? '') : writePosition(log.epoch, heads.incarnation, heads.snapshot)
      return [table, position] as const
    })
    return { positions: new Map(positions), rows: await rows.take(), changed: changed?.byKey, exceeded: rows.exceeded }
  }

  trim(): Promise<void> {
    return this.#trim.run()
  }

  get logged(): readonly number[] {
    return this.#trim.logged
  }

  /** Prepares statements again if their tables have changed. False: a log is missing, because its table has just been dropped. */
  async #run(
    { owner, statement, signal, background }: Borrower,
    statements: () => readonly PipelineStatement[],
  ): Promise<boolean> {
    for (let isLong = false; ; isLong = true) {
      const request = { owner, statement, isLong }
      const { client, slot, giveBack } = await borrow(this.#options.acquire, request, { signal }, background)
      let isBroken = false
      try {
        for (let attempt = 1; ; attempt++) {
          const failure = await runPipelined(client, statements())
          if (failure === undefined) return true
          isBroken = !(await rolledBack(client))
          const { error } = failure
          if (isMissing(error)) return false
          if (isBroken || attempt > 1 || !isOutdated(error)) throw error
        }
      } catch (error) {
        if (!slot.isPreempted) throw signal.aborted ? signal.reason : (asRefusal(error) ?? error)
      } finally {
        await giveBack(isBroken)
      }
    }
  }
}

async function rolledBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query('ROLLBACK')
    return true
  } catch {
    return false
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42P01' && error.message.includes('_gh_log')
}

function emptyHeads(): Heads {
  return { snapshot: '', incarnation: '', logs: new Map() }
}

function selectHeads(tables: readonly string[], heads: Heads): PipelineStatement {
  heads.logs.clear()
  return {
    sql: HEADS,
    parameters: [JSON.stringify(tables.map((table) => table.toLowerCase()))],
    onRow([snapshot, incarnation, name, floor, epoch]) {
      heads.snapshot = snapshot ?? ''
      heads.incarnation = incarnation ?? ''
      if (typeof name === 'string' && typeof floor === 'string' && typeof epoch === 'string')
        heads.logs.set(name, { epoch, floor: BigInt(floor) })
    },
  }
}

/**
 * `same`: the position belongs to this log and was not trimmed. The table may still have changed. `undone`: the database has lost
 * changes that were seen at the position, in a failover or a restore.
 */
function comparePosition(
  log: LogHead,
  heads: Heads,
  position: TablePosition,
  history: PrimaryHistory,
): 'same' | 'lost' | 'undone' {
  const parsed = parsePosition(position)
  const now = parsePosition(writePosition(log.epoch, heads.incarnation, heads.snapshot))
  if (parsed === undefined || now === undefined || parsed.epoch !== log.epoch || parsed.xmin < log.floor) return 'lost'
  if (parsed.incarnation === now.incarnation) return parsed.xmax <= now.xmax ? 'same' : 'lost'
  const isContinued = history.isContinued(parsed.incarnation, now.incarnation, parsed)
  if (isContinued === undefined) return 'lost'
  return isContinued ? 'same' : 'undone'
}

function selectAnyChange(table: string, position: TablePosition, onRow: () => void): PipelineStatement {
  const changes = loggedSince(`${SCHEMA}.${logName(table)}`, '1', '$1')
  return { sql: `SELECT 1 FROM (${changes}) AS c LIMIT 1`, parameters: [position], onRow }
}

/** A row that was too long to be kept has changed. */
function selectUnkept(table: string, position: TablePosition, onRow: () => void): PipelineStatement {
  const changes = loggedSince(`${SCHEMA}.${logName(table)}`, 'op, kept', '$1')
  const sql = `SELECT 1 FROM (${changes}) AS c WHERE op <> ${LOG_OP.insert} AND NOT kept LIMIT 1`
  return { sql, parameters: [position], onRow }
}

class ChangedKeys implements PipelineStatement {
  readonly sql: string
  readonly parameters: readonly string[]
  readonly byKey = new Map<string, ChangedKey>()
  /** The number of the first change of each key. */
  readonly #first = new Map<string, bigint>()
  readonly #rowKey: (row: RawRow) => string
  readonly #isOlder: boolean

  constructor(
    { statement: { keyColumns = [] }, encoding }: LiveReadRequest,
    since: Extract<Since, { of: 'changed rows' }>,
  ) {
    const names = keyColumns.map((_column, index) => `k${index}`)
    this.sql = loggedSince(`${SCHEMA}.${logName(since.table)}`, [...names, 'seq', 'kept', 'op'].join(', '), '$1')
    this.parameters = [since.position]
    const readKey = rowDecoder(keyColumns)
    const writeKey = liveKeyWriter(keyColumns, encoding)
    this.#rowKey = (row) => writeKey(readKey(row))
    this.#isOlder = parsePosition(since.position)?.isOlder ?? true
  }

  onRow = (row: RawRow): void => {
    const op = row.pop()
    const kept = row.pop()
    const seq = BigInt(row.pop() ?? 0)
    const key = this.#rowKey(row)
    const first = this.#first.get(key)
    if (first !== undefined && first < seq) return
    this.#first.set(key, seq)
    // The row may have been inserted, or changed, between the older state and the one that the position was made from.
    this.byKey.set(key, {
      wasInserted: op === INSERTED && !this.#isOlder,
      isFormerKept: kept === 't' && !this.#isOlder,
    })
  }
}

const INSERTED = String(LOG_OP.insert)

/** The rows are encoded as they arrive. */
class ResultRows implements PipelineStatement {
  readonly sql: string
  readonly parameters: LiveReadRequest['parameters']
  readonly maxRows: number
  exceeded: LiveReply['exceeded'] = 'no'
  readonly #encoder: ReturnType<typeof createLiveEncoder>
  readonly #decodeRow: (row: RawRow) => ReturnType<ReturnType<typeof rowDecoder>>
  readonly #maxBytes: number
  #rows = 0
  readonly #chunks: string[] = []
  #length = 0

  constructor({ statement, parameters, encoding, maxRows, maxBytes }: LiveReadRequest) {
    const { sql, columns, keyColumns, routeColumns } = statement
    const further = [...(keyColumns ?? []), ...routeColumns]
    this.sql = boundedRows(sql, columns, further)
    this.parameters = parameters
    this.maxRows = maxRows + 1
    this.#maxBytes = maxBytes
    this.#encoder = createLiveEncoder({ columns, keyColumns, routeColumns }, encoding)
    this.#decodeRow = rowDecoder([...columns, ...further])
  }

  onRow = (row: RawRow): void => {
    if (++this.#rows >= this.maxRows) this.exceeded = 'rows'
    else if (this.#length + this.#encoder.pending > this.#maxBytes) this.exceeded = 'bytes'
    if (this.exceeded !== 'no') return
    this.#encoder.add(this.#decodeRow(row))
    if (this.#encoder.pending < CHUNK_BYTES) return
    this.#length += this.#encoder.pending
    this.#chunks.push(this.#encoder.takeText())
  }

  async take(): Promise<LiveReply['rows']> {
    return inTurns(readLiveTexts([...this.#chunks, this.#encoder.takeText()]))
  }
}

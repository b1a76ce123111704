/** Removes what has expired, a small batch at a time, so that nobody ever waits for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../protocol/clock.ts'
import { pruneAuditLog } from './audit-retention.ts'
import type { Database } from './database.ts'
import { sql } from './kysely.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A row goes when `column` lies more than `kept` back; what is kept longer than it lives still tells a late caller the truth. */
export const EXPIRING = [
  { table: 'codes', column: 'expires_at', kept: DAY },
  { table: 'refresh_tokens', column: 'expires_at', kept: 0 },
  { table: 'grants', column: 'expires_at', kept: 0 },
  { table: 'device_codes', column: 'expires_at', kept: HOUR },
  { table: 'interactions', column: 'expires_at', kept: 0 },
  { table: 'throttles', column: 'updated_at', kept: 7 * DAY },
  { table: 'events', column: 'expires_at', kept: 0 },
  { table: 'client_secrets', column: 'expires_at', kept: 30 * DAY },
  { table: 'rate_counts', column: 'expires_at', kept: 0 },
  { table: 'nodes', column: 'seen_at', kept: HOUR },
  { table: 'node_answers', column: 'expires_at', kept: 0 },
] as const

export interface PruneOptions {
  readonly clock: Clock
  readonly node: string
  /** Milliseconds that audit rows are kept; undefined keeps them for ever. */
  readonly auditKept: number | undefined
  readonly rowsAtOnce?: number
  readonly onPruned?: (table: string, rows: number) => void
}

const ROWS_AT_ONCE = 500
const PAUSE_MS = 20
const EVERY_MS = 60_000

/** One sweep over everything. */
export async function prune(database: Pick<Database, 'db' | 'engine'>, options: PruneOptions): Promise<void> {
  for (const { table, column, kept } of EXPIRING) {
    const rows = await pruneTable(database, table, column, options.clock() - kept, options.rowsAtOnce ?? ROWS_AT_ONCE)
    if (rows > 0) options.onPruned?.(table, rows)
  }
  const sessions = await pruneSessions(database, options.clock() - DAY, options.rowsAtOnce ?? ROWS_AT_ONCE)
  if (sessions > 0) options.onPruned?.('sessions', sessions)
  if (options.auditKept === undefined) return
  const now = options.clock()
  const rows = await pruneAuditLog(database, { before: now - options.auditKept, now, node: options.node })
  if (rows > 0) options.onPruned?.('audit_log', rows)
}

/** Sweeps every minute, at another moment on each node, until stopped. */
export function startPruning(
  database: Pick<Database, 'db' | 'engine'>,
  options: PruneOptions & { readonly onError: (error: unknown) => void },
): { stop(): Promise<void> } {
  let running: Promise<void> | undefined
  const sweep = () => {
    running ??= prune(database, options)
      .catch(options.onError)
      .finally(() => {
        running = undefined
      })
  }
  let interval: NodeJS.Timeout | undefined
  const first = setTimeout(() => {
    sweep()
    interval = setInterval(sweep, EVERY_MS).unref()
  }, Math.random() * EVERY_MS).unref()
  return {
    async stop() {
      clearTimeout(first)
      clearInterval(interval)
      await running
    },
  }
}

/** A session goes with what names its clients; one that has not ended is never touched, for its clients must be told first. */
async function pruneSessions({ db }: Pick<Database, 'db'>, before: number, most: number): Promise<number> {
  let total = 0
  for (;;) {
    const rows = await db.selectFrom('sessions').select('id').where('ended_at', '<', before).limit(most).execute()
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) {
      await db.deleteFrom('session_clients').where('session_id', 'in', ids).execute()
      await db.deleteFrom('sessions').where('id', 'in', ids).execute()
    }
    total += ids.length
    if (ids.length < most) return total
    await sleep(PAUSE_MS)
  }
}

async function pruneTable(
  { db, engine }: Pick<Database, 'db' | 'engine'>,
  table: string,
  column: string,
  before: number,
  most: number,
): Promise<number> {
  const place = sql.ref(engine === 'sqlite' ? 'rowid' : 'ctid')
  // Two nodes that sweep at once take different rows instead of waiting for each other.
  const lock = engine === 'sqlite' ? sql`` : sql`for update skip locked`
  let total = 0
  for (;;) {
    const { numAffectedRows = 0n } = await sql`delete from ${sql.table(table)} where ${place} in (
      select ${place} from ${sql.table(table)} where ${sql.ref(column)} < ${before} limit ${most} ${lock})`.execute(db)
    total += Number(numAffectedRows)
    if (Number(numAffectedRows) < most) return total
    await sleep(PAUSE_MS)
  }
}

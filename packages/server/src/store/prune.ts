/** Deletes expired rows in small batches, so that other writers never wait long. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from 'gatehouse-protocol'
import { sql } from 'kysely'
import { toRow } from './audit/audit.ts'
import { extendChain } from './audit/chain.ts'
import { createClients } from './clients/clients.ts'
import type { Database } from './database/database.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A row is deleted `kept` milliseconds after the time in `column`. Some are kept for a while, so that late requests get a precise error. */
export const EXPIRING = [
  { table: 'codes', column: 'expires_at', kept: DAY },
  { table: 'refresh_tokens', column: 'expires_at', kept: 0 },
  { table: 'grants', column: 'expires_at', kept: 0 },
  { table: 'device_codes', column: 'expires_at', kept: HOUR },
  { table: 'interactions', column: 'expires_at', kept: 0 },
  { table: 'spent_jwts', column: 'expires_at', kept: HOUR },
  // As long as an interaction lives that opened it.
  { table: 'pushed_requests', column: 'expires_at', kept: 2 * HOUR },
  { table: 'throttles', column: 'updated_at', kept: 7 * DAY },
  { table: 'events', column: 'expires_at', kept: 0 },
  { table: 'client_secrets', column: 'expires_at', kept: 30 * DAY },
  { table: 'set_up_links', column: 'expires_at', kept: 30 * DAY },
  { table: 'mail_queue', column: 'ended_at', kept: 7 * DAY },
  { table: 'address_links', column: 'expires_at', kept: DAY },
  { table: 'known_browsers', column: 'seen_at', kept: 90 * DAY },
  { table: 'rate_counts', column: 'expires_at', kept: 0 },
  { table: 'nodes', column: 'seen_at', kept: HOUR },
  { table: 'node_answers', column: 'expires_at', kept: 0 },
  { table: 'provider_states', column: 'expires_at', kept: 0 },
  { table: 'provider_logouts', column: 'expires_at', kept: 0 },
] as const

export interface PruneOptions {
  readonly clock: Clock
  readonly node: string
  /** Milliseconds that audit rows are kept; undefined keeps them indefinitely. */
  readonly auditKept: number | undefined
  readonly rowsAtOnce?: number
  readonly onPruned?: (table: string, rows: number) => void
}

const ROWS_AT_ONCE = 500
const AUDIT_ROWS_AT_ONCE = 5_000
const PAUSE_MS = 20
const EVERY_MS = 60_000

/** One pass over all tables. */
export async function prune(database: Pick<Database, 'db' | 'engine'>, options: PruneOptions): Promise<void> {
  for (const { table, column, kept } of EXPIRING) {
    const rows = await pruneTable(database, table, column, options.clock() - kept, options.rowsAtOnce ?? ROWS_AT_ONCE)
    if (rows > 0) options.onPruned?.(table, rows)
  }
  const sessions = await pruneSessions(database, options.clock() - DAY, options.rowsAtOnce ?? ROWS_AT_ONCE)
  if (sessions > 0) options.onPruned?.('sessions', sessions)
  const clients = await pruneDocumentClients(database, options.clock)
  if (clients > 0) options.onPruned?.('clients', clients)
  if (options.auditKept === undefined) return
  const now = options.clock()
  const rows = await pruneAuditLog(database, { before: now - options.auditKept, now, node: options.node })
  if (rows > 0) options.onPruned?.('audit_log', rows)
}

/** Prunes every minute until stopped. Nodes start at random offsets. */
export function startPruning(
  database: Pick<Database, 'db' | 'engine'>,
  options: PruneOptions & { readonly onError: (error: unknown) => void },
): { stop(): Promise<void> } {
  let running: Promise<void> | undefined
  const run = () => {
    running ??= prune(database, options)
      .catch(options.onError)
      .finally(() => {
        running = undefined
      })
  }
  let interval: NodeJS.Timeout | undefined
  const first = setTimeout(() => {
    run()
    interval = setInterval(run, EVERY_MS).unref()
  }, Math.random() * EVERY_MS).unref()
  return {
    async stop() {
      clearTimeout(first)
      clearInterval(interval)
      await running
    },
  }
}

/** Deletes ended sessions with their clients. A session that has not ended stays, since its clients must be notified first. */
async function pruneSessions({ db }: Pick<Database, 'db'>, before: number, most: number): Promise<number> {
  let total = 0
  for (;;) {
    const rows = await db.selectFrom('sessions').select('id').where('ended_at', '<', before).limit(most).execute()
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) {
      await db.deleteFrom('session_clients').where('session_id', 'in', ids).execute()
      await db.deleteFrom('session_origins').where('session_id', 'in', ids).execute()
      await db.deleteFrom('sessions').where('id', 'in', ids).execute()
    }
    total += ids.length
    if (ids.length < most) return total
    await sleep(PAUSE_MS)
  }
}

const DOCUMENT_CLIENTS_KEPT = 90 * DAY

/** Clients that come from a document go when nobody has consented to them for long, and no grant is left. */
async function pruneDocumentClients({ db }: Pick<Database, 'db'>, clock: Clock): Promise<number> {
  const rows = await db
    .selectFrom('clients')
    .select('client_id')
    .where('document', '=', 1)
    .where('updated_at', '<', clock() - DOCUMENT_CLIENTS_KEPT)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('grants').select('id').whereRef('grants.client_id', '=', 'clients.client_id'))),
    )
    .execute()
  for (const { client_id: id } of rows) await createClients(db, clock).remove(id)
  return rows.length
}

async function pruneTable(
  { db, engine }: Pick<Database, 'db' | 'engine'>,
  table: string,
  column: string,
  before: number,
  most: number,
): Promise<number> {
  const rowId = sql.ref(engine === 'sqlite' ? 'rowid' : 'ctid')
  // Nodes that prune at the same time take different rows instead of waiting for each other.
  const lock = engine === 'sqlite' ? sql`` : sql`for update skip locked`
  let total = 0
  for (;;) {
    const { numAffectedRows = 0n } = await sql`delete from ${sql.table(table)} where ${rowId} in (
      select ${rowId} from ${sql.table(table)} where ${sql.ref(column)} < ${before} limit ${most} ${lock})`.execute(db)
    total += Number(numAffectedRows)
    if (Number(numAffectedRows) < most) return total
    await sleep(PAUSE_MS)
  }
}

/** Deletes audit rows past their retention, from the front only, and leaves a row from which the chain continues. Returns their number. */
export async function pruneAuditLog(
  database: Pick<Database, 'db' | 'engine'>,
  { before, now, node }: { before: number; now: number; node: string },
): Promise<number> {
  let total = 0
  for (;;) {
    const removed = await pruneBatch(database, before, now, node)
    total += removed
    if (removed < AUDIT_ROWS_AT_ONCE) return total
  }
}

async function pruneBatch(
  database: Pick<Database, 'db' | 'engine'>,
  before: number,
  now: number,
  node: string,
): Promise<number> {
  let removed = 0
  await extendChain(database, async (tx) => {
    const rows = await tx
      .selectFrom('audit_log')
      .select(['seq', 'at', 'hash'])
      .orderBy('seq')
      .limit(AUDIT_ROWS_AT_ONCE)
      .execute()
    // Clocks of nodes differ: stop at the first row to keep, so that no gap arises.
    const keep = rows.findIndex((row) => row.at >= before)
    const expired = keep < 0 ? rows : rows.slice(0, keep)
    const last = expired.at(-1)
    if (last === undefined) return []
    removed = expired.length
    await tx.deleteFrom('audit_log').where('seq', '<=', last.seq).execute()
    const details = { through: last.seq, hash: last.hash, removed }
    return [toRow({ event: 'audit.pruned', details }, now, node)]
  })
  return removed
}

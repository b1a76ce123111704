/** Reads the audit log: pages with the newest row first, what follows a position, or an export in order. */
import { CHANGES } from 'gatehouse-protocol'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { AuditRow } from '../database/schema.ts'

export interface AuditFilter {
  /** A full name (`token.refused`) or the part before the dot (`token`). */
  readonly event?: string | undefined
  /** Only what people changed. */
  readonly changes?: boolean | undefined
  readonly outcome?: string | undefined
  readonly actor?: string | undefined
  readonly client?: string | undefined
  /** Any of these. */
  readonly targets?: readonly string[] | undefined
  readonly address?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

const EXPORTED_AT_ONCE = 2_000

/** The most rows that a page reads for a filter without an index: SQLite reads them on the event loop. */
const SCANNED_AT_ONCE = 20_000
const HOUR = 3_600_000

/** Rows before `before` (a sequence number), newest first. */
export async function readAuditPage(
  db: Database['db'],
  filter: AuditFilter,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<AuditRow[]> {
  return (await scanAuditPage(db, filter, { before, limit, scanned: Number.POSITIVE_INFINITY })).rows
}

/** Takes the same time for a log of any size: a page may have few rows, or none, although older ones match. `next` is where to continue. */
export async function scanAuditPage(
  db: Database['db'],
  filter: AuditFilter,
  { before, limit, scanned = SCANNED_AT_ONCE }: { before?: number | undefined; limit: number; scanned?: number },
): Promise<{ rows: AuditRow[]; next: number | undefined }> {
  const end = before ?? (await readHead(db)) + 1
  const start = isIndexed(filter) ? 0 : Math.max(0, end - scanned)
  const newest = (of: AuditFilter) =>
    filtered(db, of).where('seq', '<', end).where('seq', '>=', start).orderBy('seq', 'desc').limit(limit)
  const rows = await (filter.changes === true ? newestPerEvent(CHANGES, filter, newest) : newest(filter)).execute()
  if (rows.length === limit) return { rows, next: rows.at(-1)?.seq }
  const oldest = start === 0 ? undefined : await firstCandidate(db, filter)
  return { rows, next: oldest !== undefined && oldest < start ? start : undefined }
}

/** Rare events may be far apart, and an index has the newest of each. */
function newestPerEvent(
  events: readonly string[],
  filter: AuditFilter,
  newest: (of: AuditFilter) => FilteredRows,
): FilteredRows {
  const named = events.filter((name) => filter.event === undefined || isNamed(name, filter.event))
  const each = named.map((event) => sql`select seq from (${newest({ ...filter, event, changes: false })}) as newest`)
  const seqs = each.length === 0 ? sql`select 0` : sql.join(each, sql` union all `)
  return newest({}).where('seq', 'in', sql<number>`(${seqs})`)
}

/** Before this row none can match. Nodes write rows a little out of order, and their clocks differ. */
async function firstCandidate(db: Database['db'], { since }: AuditFilter): Promise<number | undefined> {
  const rows = db.selectFrom('audit_log').select('seq')
  const first = since === undefined ? rows.orderBy('seq') : rows.where('at', '>=', since - HOUR).orderBy('at')
  return (await first.limit(1).executeTakeFirst())?.seq
}

/** Rows after `after`, oldest first, and the position up to which the log was looked at. */
export async function followAuditLog(
  db: Database['db'],
  filter: AuditFilter,
  { after, limit }: { after: number; limit: number },
): Promise<{ rows: AuditRow[]; position: number }> {
  const end = Math.min(await readHead(db), after + SCANNED_AT_ONCE)
  if (end <= after) return { rows: [], position: after }
  const rows = await filtered(db, filter)
    .where('seq', '>', after)
    .where('seq', '<=', end)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return { rows, position: rows.length === limit ? (rows.at(-1)?.seq ?? end) : end }
}

export async function readHead(db: Database['db']): Promise<number> {
  const head = await db.selectFrom('audit_head').select('seq').where('id', '=', 1).executeTakeFirst()
  return head?.seq ?? 0
}

/** Whether an index leads to the matching rows in the order of the log. */
function isIndexed({ event, actor, changes }: AuditFilter): boolean {
  return actor !== undefined || event?.includes('.') === true || changes === true
}

/** One JSON object per line, oldest first, up to the row that was last when the export began. An error thrown by `check` ends it. */
export async function* exportAuditLog(
  db: Database['db'],
  filter: AuditFilter,
  check: () => Promise<void> = async () => {},
): AsyncGenerator<string> {
  const last = await readHead(db)
  let after = 0
  for (;;) {
    const rows = await filtered(db, filter)
      .where('seq', '>', after)
      .where('seq', '<=', last)
      .orderBy('seq')
      .limit(EXPORTED_AT_ONCE)
      .execute()
    for (const row of rows) yield `${JSON.stringify(presentAuditRow(row))}\n`
    const end = rows.at(-1)
    if (end === undefined || rows.length < EXPORTED_AT_ONCE) return
    after = end.seq
    await check()
  }
}

/** The rows that follow `after`, and where the log begins. Undefined if `after` is not in the log. */
export async function readAuditAfter(
  db: Database['db'],
  after: Pick<AuditRow, 'seq' | 'hash'> | undefined,
  most: number,
): Promise<{ rows: AuditRow[]; first: number } | undefined> {
  const log = db.selectFrom('audit_log')
  const oldest = await log.select('seq').orderBy('seq').limit(1).executeTakeFirst()
  if (after !== undefined) {
    const known = await log.select('hash').where('seq', '=', after.seq).executeTakeFirst()
    if (known?.hash !== after.hash) return undefined
  }
  const rows = await log
    .selectAll()
    .where('seq', '>', after?.seq ?? 0)
    .orderBy('seq')
    .limit(most)
    .execute()
  return { rows, first: oldest?.seq ?? rows[0]?.seq ?? 0 }
}

export function presentAuditRow(row: AuditRow): Readonly<Record<string, unknown>> {
  const { at, request_id, details, actor, client, target, address, ...rest } = row
  return {
    seq: rest.seq,
    at: new Date(at).toISOString(),
    event: rest.event,
    outcome: rest.outcome,
    ...present({ actor, client, target, address, request_id }),
    node: rest.node,
    details: JSON.parse(details),
    hash: rest.hash,
  }
}

function present(values: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null))
}

/** Whether an event has a name, or begins with a part of it. */
export function isNamed(event: string, name: string): boolean {
  return event === name || event.startsWith(`${name}.`)
}

type FilteredRows = ReturnType<typeof filtered>

function filtered(db: Database['db'], filter: AuditFilter) {
  let query = db.selectFrom('audit_log').selectAll()
  if (filter.event !== undefined) {
    query = filter.event.includes('.')
      ? query.where('event', '=', filter.event)
      : query.where('event', 'like', `${filter.event.replaceAll('%', '')}.%`)
  }
  if (filter.changes === true) query = query.where('event', 'in', CHANGES)
  for (const name of ['outcome', 'actor', 'client', 'address'] as const) {
    const value = filter[name]
    if (value !== undefined) query = query.where(name, '=', value)
  }
  if (filter.targets !== undefined) query = query.where('target', 'in', filter.targets)
  if (filter.since !== undefined) query = query.where('at', '>=', filter.since)
  if (filter.until !== undefined) query = query.where('at', '<', filter.until)
  return query
}

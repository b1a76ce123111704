/** Reads the audit log: pages with the newest row first, or an export in order. */
import type { Database } from './database.ts'
import type { AuditRow } from './schema.ts'

export interface AuditFilter {
  /** A full name (`token.refused`) or the part before the dot (`token`). */
  readonly event?: string | undefined
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

/** Rows before `before` (a sequence number), newest first. */
export function readAuditPage(
  db: Database['db'],
  filter: AuditFilter,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<AuditRow[]> {
  let query = filtered(db, filter).orderBy('seq', 'desc').limit(limit)
  if (before !== undefined) query = query.where('seq', '<', before)
  return query.execute()
}

/** One JSON object per line, oldest first, up to the row that was last when the export began. */
export async function* exportAuditLog(db: Database['db'], filter: AuditFilter): AsyncGenerator<string> {
  const head = await db.selectFrom('audit_head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()
  let after = 0
  for (;;) {
    const rows = await filtered(db, filter)
      .where('seq', '>', after)
      .where('seq', '<=', head.seq)
      .orderBy('seq')
      .limit(EXPORTED_AT_ONCE)
      .execute()
    for (const row of rows) yield `${JSON.stringify(presentAuditRow(row))}\n`
    const last = rows.at(-1)
    if (last === undefined || rows.length < EXPORTED_AT_ONCE) return
    after = last.seq
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

function filtered(db: Database['db'], filter: AuditFilter) {
  let query = db.selectFrom('audit_log').selectAll()
  if (filter.event !== undefined) {
    query = filter.event.includes('.')
      ? query.where('event', '=', filter.event)
      : query.where('event', 'like', `${filter.event.replaceAll('%', '')}.%`)
  }
  for (const name of ['outcome', 'actor', 'client', 'address'] as const) {
    const value = filter[name]
    if (value !== undefined) query = query.where(name, '=', value)
  }
  if (filter.targets !== undefined) query = query.where('target', 'in', filter.targets)
  if (filter.since !== undefined) query = query.where('at', '>=', filter.since)
  if (filter.until !== undefined) query = query.where('at', '<', filter.until)
  return query
}

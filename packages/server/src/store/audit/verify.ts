/** Verifies the hash chain of the audit log from its first row to its head and reports where it is broken. */
import { setImmediate } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import type { AuditRow } from '../database/schema.ts'
import { hashRow } from './chain.ts'

export interface AuditVerdict {
  /** Rows that were checked. */
  readonly rows: number
  /** The last hash of the chain. Recorded elsewhere, it can later prove that nothing before it was rewritten. */
  readonly head: AuditPosition
  /** Empty when the log is intact. */
  readonly faults: readonly AuditFault[]
}

export interface AuditFault {
  readonly kind: 'altered' | 'missing' | 'truncated' | 'unexpected' | 'head-mismatch'
  readonly seq: number
  readonly message: string
}

const ROWS_AT_ONCE = 1_000
const MOST_FAULTS = 100

/** A row of the log. Its hash covers all rows before it. */
export interface AuditPosition {
  readonly seq: number
  readonly hash: string
}

/** How far a step has verified the log; the next one continues from there. */
export interface AuditStep extends AuditVerdict {
  readonly next: AuditPosition | undefined
}

export async function verifyAuditLog(database: Pick<Database, 'db'>, recorded?: AuditPosition): Promise<AuditVerdict> {
  return verifyAuditStep(database, { recorded, limit: Number.POSITIVE_INFINITY })
}

/** Verifies at most `limit` rows, from the first row or from where the step before has ended. */
export async function verifyAuditStep(
  { db }: Pick<Database, 'db'>,
  {
    recorded,
    from,
    limit,
  }: {
    readonly recorded?: AuditPosition | undefined
    readonly from?: AuditPosition | undefined
    readonly limit: number
  },
): Promise<AuditStep> {
  const faults: AuditFault[] = []
  const report = (kind: AuditFault['kind'], seq: number, message: string) => {
    if (faults.length < MOST_FAULTS) faults.push({ kind, seq, message })
  }
  const head = await db.selectFrom('audit_head').select(['seq', 'hash']).where('id', '=', 1).executeTakeFirst()
  if (head === undefined) {
    report('head-mismatch', 0, 'The head of the log is missing')
    return { rows: 0, head: { seq: 0, hash: '' }, faults, next: undefined }
  }
  const first = (await db.selectFrom('audit_log').select('seq').orderBy('seq').limit(1).executeTakeFirst())?.seq ?? 1
  // Retention may have removed rows that the previous step has verified.
  const isFirst = from === undefined || from.seq + 1 < first
  let expected = isFirst ? first : from.seq + 1
  let previous: string | undefined = isFirst ? await hashBefore(db, first) : from.hash
  if (previous === undefined)
    report('missing', expected - 1, `Rows up to ${expected - 1} are missing and no row records that they were pruned`)
  if (from === undefined && recorded !== undefined && recorded.seq > 0 && recorded.seq < expected)
    report('missing', recorded.seq, `The recorded row ${recorded.seq} is missing, so its hash cannot be compared`)
  let rows = 0
  for await (const row of rowsBetween(db, expected, head.seq)) {
    if (rows === limit) return { rows, head, faults, next: { seq: expected - 1, hash: previous ?? '' } }
    rows += 1
    if (row.seq !== expected) {
      report('missing', expected, missing(expected, row.seq - 1))
      previous = undefined
    }
    if (previous !== undefined && hashRow(previous, row) !== row.hash)
      report('altered', row.seq, `Row ${row.seq} or the row before it was altered`)
    if (recorded !== undefined && row.seq === recorded.seq && row.hash !== recorded.hash)
      report('head-mismatch', row.seq, `Row ${row.seq} does not have the recorded hash`)
    // Continue with the stored hash, so that one change is one fault and not one for every later row.
    previous = row.hash
    expected = row.seq + 1
  }
  if (expected <= head.seq)
    report('truncated', expected, `Rows ${expected} to ${head.seq} at the end of the log are missing`)
  else if (previous !== undefined && head.seq > 0 && previous !== head.hash)
    report('head-mismatch', head.seq, 'The hash of the last row is not the hash in the head')
  if (recorded !== undefined && recorded.seq > head.seq)
    report('truncated', recorded.seq, `The log ends at ${head.seq}, before the recorded row ${recorded.seq}`)
  for (const { seq } of await db.selectFrom('audit_log').select('seq').where('seq', '>', head.seq).execute()) {
    const now = await db.selectFrom('audit_head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()
    if (seq > now.seq) report('unexpected', seq, `Row ${seq} comes after the head of the log`)
  }
  return { rows, head, faults, next: undefined }
}

/** The hash to which the first row of the log is chained; undefined if nothing records it. */
async function hashBefore(db: Database['db'], first: number): Promise<string | undefined> {
  return first === 1 ? '' : prunedHash(db, first - 1)
}

/** The last hash that retention removed, as its row records it: the only valid reason for a log that does not begin at 1. */
async function prunedHash(db: Database['db'], through: number): Promise<string | undefined> {
  const rows = await db
    .selectFrom('audit_log')
    .select('details')
    .where('event', '=', 'audit.pruned')
    .orderBy('seq', 'desc')
    .execute()
  for (const { details } of rows) {
    const { through: named, hash } = readDetails(details)
    if (named === through && typeof hash === 'string') return hash
  }
  return undefined
}

function missing(first: number, last: number): string {
  return first === last ? `Row ${first} is missing` : `Rows ${first} to ${last} are missing`
}

async function* rowsBetween(db: Database['db'], first: number, last: number): AsyncGenerator<AuditRow> {
  let from = first
  for (;;) {
    const rows = await db
      .selectFrom('audit_log')
      .selectAll()
      .where('seq', '>=', from)
      .where('seq', '<=', last)
      .orderBy('seq')
      .limit(ROWS_AT_ONCE)
      .execute()
    yield* rows
    const end = rows.at(-1)
    if (end === undefined || rows.length < ROWS_AT_ONCE) return
    from = end.seq + 1
    // SQLite reads synchronously: other requests have their turn.
    await setImmediate()
  }
}

function readDetails(text: string): Readonly<Record<string, unknown>> {
  try {
    const details: unknown = JSON.parse(text)
    return typeof details === 'object' && details !== null ? { ...details } : {}
  } catch {
    return {}
  }
}

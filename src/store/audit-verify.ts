/** Walks the audit log from its first row to its head and says where the chain is broken. */
import { hashOf } from './audit-chain.ts'
import type { Database } from './database.ts'
import type { AuditRow } from './schema.ts'

export interface AuditVerdict {
  /** Rows that are present and were checked. */
  readonly rows: number
  /** The chain's last hash: noted elsewhere, it later proves that nothing before it was rewritten. */
  readonly head: { readonly seq: number; readonly hash: string }
  /** Empty when the log is whole. */
  readonly faults: readonly AuditFault[]
}

export interface AuditFault {
  readonly kind: 'altered' | 'missing' | 'truncated' | 'unexpected' | 'head-mismatch'
  readonly seq: number
  readonly message: string
}

const ROWS_AT_ONCE = 2_000
const MOST_FAULTS = 100

export async function verifyAuditLog(
  { db }: Pick<Database, 'db'>,
  noted?: { readonly seq: number; readonly hash: string },
): Promise<AuditVerdict> {
  const faults: AuditFault[] = []
  const report = (kind: AuditFault['kind'], seq: number, message: string) => {
    if (faults.length < MOST_FAULTS) faults.push({ kind, seq, message })
  }
  const head = await db.selectFrom('audit_head').select(['seq', 'hash']).where('id', '=', 1).executeTakeFirst()
  if (head === undefined) {
    report('head-mismatch', 0, 'The head of the log is gone')
    return { rows: 0, head: { seq: 0, hash: '' }, faults }
  }
  const first = await db.selectFrom('audit_log').selectAll().orderBy('seq').limit(1).executeTakeFirst()
  let expected = first?.seq ?? 1
  let previous: string | undefined = expected === 1 ? '' : await prunedHash(db, expected - 1)
  if (previous === undefined)
    report('missing', expected - 1, `Rows up to ${expected - 1} are gone and no row says that they were pruned`)
  if (noted !== undefined && noted.seq > 0 && noted.seq < expected)
    report('missing', noted.seq, `Row ${noted.seq} was noted and is gone: the note proves nothing any more`)
  let rows = 0
  for await (const row of rowsUpTo(db, head.seq)) {
    rows += 1
    if (row.seq !== expected) {
      report('missing', expected, `Row ${expected}${row.seq - 1 > expected ? ` to ${row.seq - 1}` : ''} is gone`)
      previous = undefined
    }
    if (previous !== undefined && hashOf(previous, row) !== row.hash)
      report('altered', row.seq, `Row ${row.seq} is not what was written, or its predecessor is not`)
    if (noted !== undefined && row.seq === noted.seq && row.hash !== noted.hash)
      report('head-mismatch', row.seq, `Row ${row.seq} does not have the hash that was noted`)
    // What the row says of itself carries the walk on: one change is one fault, not one for every later row.
    previous = row.hash
    expected = row.seq + 1
  }
  if (expected <= head.seq)
    report('truncated', expected, `Rows ${expected} to ${head.seq} at the end of the log are gone`)
  else if (previous !== undefined && head.seq > 0 && previous !== head.hash)
    report('head-mismatch', head.seq, 'The last row is not the one that the head names')
  if (noted !== undefined && noted.seq > head.seq)
    report('truncated', noted.seq, `The log ends at ${head.seq}, before the noted row ${noted.seq}`)
  for (const { seq } of await db.selectFrom('audit_log').select('seq').where('seq', '>', head.seq).execute()) {
    const now = await db.selectFrom('audit_head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()
    if (seq > now.seq) report('unexpected', seq, `Row ${seq} stands after the head of the log`)
  }
  return { rows, head, faults }
}

/** Retention leaves a row that names the last removed one; only that may explain a log that does not begin at 1. */
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

async function* rowsUpTo(db: Database['db'], last: number): AsyncGenerator<AuditRow> {
  let after = 0
  for (;;) {
    const rows = await db
      .selectFrom('audit_log')
      .selectAll()
      .where('seq', '>', after)
      .where('seq', '<=', last)
      .orderBy('seq')
      .limit(ROWS_AT_ONCE)
      .execute()
    yield* rows
    const end = rows.at(-1)
    if (end === undefined || rows.length < ROWS_AT_ONCE) return
    after = end.seq
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

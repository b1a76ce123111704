/** Removes audit rows that are past their retention and leaves a row from which the chain goes on. */
import { rowOf } from './audit.ts'
import { extendChain } from './audit-chain.ts'
import type { Database } from './database.ts'

const ROWS_AT_ONCE = 5_000

/** Returns how many rows went. Rows are removed from the front only, a batch at a time, so that writers never wait long. */
export async function pruneAuditLog(
  database: Pick<Database, 'db' | 'engine'>,
  { before, now, node }: { before: number; now: number; node: string },
): Promise<number> {
  let total = 0
  for (;;) {
    const removed = await pruneBatch(database, before, now, node)
    total += removed
    if (removed < ROWS_AT_ONCE) return total
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
      .limit(ROWS_AT_ONCE)
      .execute()
    // Nodes' clocks differ a little: stop at the first row that must stay, never leave a hole.
    const keep = rows.findIndex((row) => row.at >= before)
    const leaving = keep < 0 ? rows : rows.slice(0, keep)
    const last = leaving.at(-1)
    if (last === undefined) return []
    removed = leaving.length
    await tx.deleteFrom('audit_log').where('seq', '<=', last.seq).execute()
    const details = { through: last.seq, hash: last.hash, removed }
    return [rowOf({ event: 'audit.pruned', details }, now, node)]
  })
  return removed
}

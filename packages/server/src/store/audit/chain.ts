/** The hash chain of the audit log: each hash covers the row and the previous hash, so no row can be changed, removed or moved unnoticed. */

import { createHash } from 'node:crypto'
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database } from '../database/database.ts'
import type { AuditRow, Schema } from '../database/schema.ts'
import { transact } from '../database/transaction.ts'

export type UnchainedRow = Omit<AuditRow, 'seq' | 'hash'>

/** Runs `work` as the only writer of the chain on all nodes, and appends the rows it returns in the same transaction. */
export async function extendChain(
  database: Pick<Database, 'db' | 'engine'>,
  work: (tx: Transaction<Schema>, head: Schema['audit_head']) => Promise<readonly UnchainedRow[]>,
): Promise<void> {
  await transact(database.db, async (tx) => {
    const head = await lockHead(tx, database.engine)
    const rows = chain(head, await work(tx, head))
    const last = rows.at(-1)
    if (last === undefined) return
    await insertRows(tx, database.engine, rows)
    await tx.updateTable('audit_head').set({ seq: last.seq, hash: last.hash }).where('id', '=', 1).execute()
  })
}

export function hashRow(previous: string, row: Omit<AuditRow, 'hash'>): string {
  const canonical = JSON.stringify([
    row.seq,
    row.at,
    row.event,
    row.outcome,
    row.actor,
    row.client,
    row.target,
    row.address,
    row.request_id,
    row.node,
    row.details,
  ])
  return createHash('sha256').update(previous).update('\n').update(canonical).digest('hex')
}

/** On SQLite a transaction is the only writer anyway; on PostgreSQL writers queue for the head row. */
async function lockHead(tx: Kysely<Schema>, engine: Database['engine']): Promise<Schema['audit_head']> {
  const query = tx.selectFrom('audit_head').selectAll().where('id', '=', 1)
  return await (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirstOrThrow()
}

function chain(head: Schema['audit_head'], rows: readonly UnchainedRow[]): AuditRow[] {
  let { seq, hash } = head
  return rows.map((row) => {
    seq += 1
    hash = hashRow(hash, { ...row, seq })
    return { ...row, seq, hash }
  })
}

/** All rows are one JSON parameter, so the statement is the same for any number of rows. */
async function insertRows(tx: Kysely<Schema>, engine: Database['engine'], rows: readonly AuditRow[]): Promise<void> {
  const json = JSON.stringify(rows)
  if (engine === 'postgres') {
    await sql`insert into audit_log (seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash)
      select seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash
      from json_to_recordset(${json}::json) as r(seq bigint, at bigint, event text, outcome text, actor text, client text,
        target text, address text, request_id text, node text, details text, hash text)`.execute(tx)
  } else {
    await sql`insert into audit_log (seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash)
      select value ->> 'seq', value ->> 'at', value ->> 'event', value ->> 'outcome', value ->> 'actor', value ->> 'client',
        value ->> 'target', value ->> 'address', value ->> 'request_id', value ->> 'node', value ->> 'details', value ->> 'hash'
      from json_each(${json})`.execute(tx)
  }
}

/** Transactions that are retried as a whole after a serialization failure or deadlock. */
import { type Kysely, sql, Transaction } from 'kysely'
import { retry } from '../../lib/retry.ts'
import type { Engine } from './database.ts'
import { mayTryAgain } from './postgres-dialect.ts'
import type { Schema } from './schema.ts'

/** Advisory lock of PostgreSQL: administrators, directories and declarative files change identity data one at a time, on all nodes. */
export const CHANGE_LOCK = 7_203_519_002

const RETRIES = { attempts: 6, firstMs: 10, longestMs: 160, mayRetry: mayTryAgain }

/** Within a transaction the work is part of it. */
export function transact<T>(db: Kysely<Schema>, work: (tx: Transaction<Schema>) => Promise<T>): Promise<T> {
  if (db instanceof Transaction) return work(db)
  return retry(() => db.transaction().execute(work), RETRIES)
}

/** Until the transaction ends. On SQLite a transaction is the only writer anyway. */
export async function lockChanges(engine: Engine, tx: Transaction<Schema>): Promise<void> {
  if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(CHANGE_LOCK)})`.execute(tx)
}

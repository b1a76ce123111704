/** Transactions that are retried as a whole after a serialization failure or deadlock. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely, Transaction } from 'kysely'
import { mayTryAgain } from './postgres-dialect.ts'
import type { Schema } from './schema.ts'

/** Advisory lock of PostgreSQL: administrators and declarative files change identity data one at a time, on all nodes. */
export const CHANGE_LOCK = 7_203_519_002

const MOST_TRIES = 6
const FIRST_PAUSE_MS = 5

export async function transact<T>(db: Kysely<Schema>, work: (tx: Transaction<Schema>) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      if (tries >= MOST_TRIES || !mayTryAgain(error)) throw error
      await sleep(FIRST_PAUSE_MS * 2 ** tries * Math.random())
    }
  }
}

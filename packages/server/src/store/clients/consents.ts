/** Consents of users to applications, stored so that each is asked for once. */

import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import { splitWords } from '../../lib/words.ts'
import type { Schema } from '../database/schema.ts'
import { transact } from '../database/transaction.ts'

export interface Consent {
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly createdAt: number
  readonly updatedAt: number
}

export type Consents = ReturnType<typeof createConsents>

export function createConsents(db: Kysely<Schema>, clock: Clock) {
  return {
    async find(userId: string, clientId: string): Promise<Consent | undefined> {
      const row = await db
        .selectFrom('consents')
        .selectAll()
        .where('user_id', '=', userId)
        .where('client_id', '=', clientId)
        .executeTakeFirst()
      return row === undefined ? undefined : toConsent(row)
    },

    async listOfUser(userId: string): Promise<Consent[]> {
      const rows = await db
        .selectFrom('consents')
        .selectAll()
        .where('user_id', '=', userId)
        .orderBy('client_id')
        .execute()
      return rows.map(toConsent)
    },

    /** Adds to the scopes allowed before. */
    async allow(userId: string, clientId: string, scopes: readonly string[]): Promise<void> {
      const now = clock()
      await transact(db, async (tx) => {
        const before = await tx
          .selectFrom('consents')
          .select('scopes')
          .where('user_id', '=', userId)
          .where('client_id', '=', clientId)
          .executeTakeFirst()
        const all = [...new Set([...splitWords(before?.scopes ?? ''), ...scopes])].join(' ')
        await tx
          .insertInto('consents')
          .values({ user_id: userId, client_id: clientId, scopes: all, created_at: now, updated_at: now })
          .onConflict((conflict) =>
            conflict.columns(['user_id', 'client_id']).doUpdateSet({ scopes: all, updated_at: now }),
          )
          .execute()
      })
    },

    async withdraw(userId: string, clientId: string): Promise<boolean> {
      const row = await db
        .deleteFrom('consents')
        .where('user_id', '=', userId)
        .where('client_id', '=', clientId)
        .returning('client_id')
        .executeTakeFirst()
      return row !== undefined
    },
  }
}

function toConsent(row: { client_id: string; scopes: string; created_at: number; updated_at: number }): Consent {
  return {
    clientId: row.client_id,
    scopes: splitWords(row.scopes),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

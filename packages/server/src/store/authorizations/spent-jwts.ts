/** JWTs that may be used once: each is a row until it expires, so that no node accepts it again. */
import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'

export type SpentJwts = ReturnType<typeof createSpentJwts>

export function createSpentJwts(db: Kysely<Schema>) {
  return {
    /**
     * False if it was used before. `use` keeps the ids of different purposes apart; `issuer` and `id` are `iss` and `jti`. The times in a
     * JWT may have a fraction.
     */
    async spend(use: string, issuer: string, id: string, expiresAt: number): Promise<boolean> {
      const digest = hashId(use, issuer, id)
      const inserted = await db
        .insertInto('spent_jwts')
        .values({ digest, expires_at: Math.ceil(expiresAt) })
        .onConflict((conflict) => conflict.column('digest').doNothing())
        .executeTakeFirst()
      return inserted.numInsertedOrUpdatedRows === 1n
    },

    async isSpent(use: string, issuer: string, id: string): Promise<boolean> {
      const digest = hashId(use, issuer, id)
      const found = await db.selectFrom('spent_jwts').select('digest').where('digest', '=', digest).executeTakeFirst()
      return found !== undefined
    },
  }
}

function hashId(use: string, issuer: string, id: string): string {
  return hash('sha256', JSON.stringify([use, issuer, id]), 'base64url')
}

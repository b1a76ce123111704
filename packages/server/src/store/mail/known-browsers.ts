/** The browsers in which each user has signed in during the last 90 days. Only digests of their cookies are stored. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { digestSecret } from '../keys/opaque.ts'

export const BROWSER_KNOWN_MS = 90 * 86_400_000

export type KnownBrowsers = ReturnType<typeof createKnownBrowsers>

export function createKnownBrowsers(db: Kysely<Schema>, clock: Clock) {
  return {
    /** Records a sign-in; returns whether the user had signed in with this browser during the last 90 days. */
    async see(userId: string, cookie: string): Promise<boolean> {
      const now = clock()
      const digest = digestSecret(cookie)
      const row = await db
        .selectFrom('known_browsers')
        .select('seen_at')
        .where('user_id', '=', userId)
        .where('digest', '=', digest)
        .executeTakeFirst()
      await db
        .insertInto('known_browsers')
        .values({ user_id: userId, digest, seen_at: now })
        .onConflict((conflict) => conflict.columns(['user_id', 'digest']).doUpdateSet({ seen_at: now }))
        .execute()
      return row !== undefined && row.seen_at > now - BROWSER_KNOWN_MS
    },
  }
}

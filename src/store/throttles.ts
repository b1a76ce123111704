/** Counts of failures that make the next try wait, shared by every node. */
import type { Kysely } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import { sql } from './kysely.ts'
import type { Schema } from './schema.ts'

export interface ThrottlePolicy {
  /** Tries that cost no wait. */
  readonly free: number
  /** The first wait; it doubles with each further try. */
  readonly firstWaitMs: number
  readonly longestWaitMs: number
  /** After so long without a try everything is forgotten. */
  readonly forgetMs: number
}

export interface ThrottleCount {
  readonly key: string
  readonly policy: ThrottlePolicy
}

export type Throttles = ReturnType<typeof createThrottles>

export function createThrottles(db: Kysely<Schema>, clock: Clock) {
  const throttles = {
    /**
     * Counts a try before it is made, so that tries made at once cannot slip through together.
     * Returns 0 when it may be made, otherwise the milliseconds to wait; a try that must wait is not counted.
     */
    async take(key: string, policy: ThrottlePolicy): Promise<number> {
      const now = clock()
      const doublings = Math.ceil(Math.log2(policy.longestWaitMs / policy.firstWaitMs))
      const count = sql<number>`case when throttles.updated_at < ${now - policy.forgetMs} then 1 else throttles.failures + 1 end`
      // No wait is no time at all: a node whose clock is a little behind must not wait for ours.
      const until = sql<number>`case
        when throttles.updated_at < ${now - policy.forgetMs} or throttles.failures < ${policy.free} then 0
        when throttles.failures >= ${policy.free + doublings} then cast(${now + policy.longestWaitMs} as bigint)
        else cast(${now} as bigint) + (cast(${policy.firstWaitMs} as bigint) << (throttles.failures - ${policy.free})) end`
      const taken = await db
        .insertInto('throttles')
        .values({ key, failures: 1, until: 0, updated_at: now })
        .onConflict((conflict) =>
          conflict
            .column('key')
            .doUpdateSet({ failures: count, until, updated_at: now })
            .where('throttles.until', '<=', now),
        )
        .returning('failures')
        .executeTakeFirst()
      if (taken !== undefined) return 0
      const row = await db.selectFrom('throttles').select('until').where('key', '=', key).executeTakeFirst()
      return Math.max(1, (row?.until ?? now) - now)
    },

    /** One try that several counts look at. When one of them makes it wait, no other has counted it. */
    async takeAll(counts: readonly ThrottleCount[]): Promise<number> {
      const waits = await Promise.all(counts.map(({ key, policy }) => throttles.take(key, policy)))
      const wait = Math.max(...waits)
      if (wait > 0) await throttles.giveBack(counts.flatMap(({ key }, index) => (waits[index] === 0 ? [key] : [])))
      return wait
    },

    /** The try did not fail after all. */
    async giveBack(keys: readonly string[]): Promise<void> {
      // PostgreSQL takes no empty list.
      if (keys.length === 0) return
      await db
        .updateTable('throttles')
        .set((eb) => ({ failures: eb('failures', '-', 1), until: 0 }))
        .where('key', 'in', keys)
        .where('failures', '>', 0)
        .execute()
    },

    async clear(keys: readonly string[]): Promise<void> {
      await db.deleteFrom('throttles').where('key', 'in', keys).execute()
    },

    /** A mark that is kept until its time, for example that a person signed in from an address before. */
    async mark(key: string, until: number): Promise<void> {
      const values = { failures: 0, until, updated_at: clock() }
      await db
        .insertInto('throttles')
        .values({ key, ...values })
        .onConflict((conflict) => conflict.column('key').doUpdateSet(values))
        .execute()
    },

    async isMarked(key: string): Promise<boolean> {
      const row = await db
        .selectFrom('throttles')
        .select('until')
        .where('key', '=', key)
        .where('failures', '=', 0)
        .executeTakeFirst()
      return row !== undefined && row.until > clock()
    },
  }
  return throttles
}

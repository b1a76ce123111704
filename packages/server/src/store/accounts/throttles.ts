/** Back-off after failed attempts, shared by all nodes. */

import type { Clock } from 'gatehouse-protocol'
import { type Kysely, sql } from 'kysely'
import type { Schema } from '../database/schema.ts'

export interface ThrottlePolicy {
  /** Attempts without a wait. */
  readonly free: number
  /** The first wait; it doubles with each further attempt. */
  readonly firstWaitMs: number
  readonly longestWaitMs: number
  /** The count restarts after this long without an attempt. */
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
     * Counts an attempt before it is made, so that concurrent attempts cannot pass together.
     * Returns 0 when it may be made, otherwise the milliseconds to wait; an attempt that must wait is not counted.
     */
    async take(key: string, policy: ThrottlePolicy): Promise<number> {
      const now = clock()
      const doublings = Math.ceil(Math.log2(policy.longestWaitMs / policy.firstWaitMs))
      const count = sql<number>`case when throttles.updated_at < ${now - policy.forgetMs} then 1 else throttles.failures + 1 end`
      // 0 rather than now: a node whose clock is behind must not wait either.
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

    /** Counts one attempt against several keys. If any of them requires a wait, none counts it, and `blocked` lists those that do. */
    async takeAll(counts: readonly ThrottleCount[]): Promise<{ waitMs: number; blocked: readonly string[] }> {
      // An attempt that must wait leaves no row. Otherwise a throttled caller could fill the table with other keys, such as invented
      // names.
      const known = await throttles.waiting(counts.map(({ key }) => key))
      if (known.blocked.length > 0) return known
      const waits = await Promise.all(counts.map(({ key, policy }) => throttles.take(key, policy)))
      const keysWhere = (matches: (wait: number) => boolean) =>
        counts.flatMap(({ key }, index) => (matches(waits[index] ?? 0) ? [key] : []))
      const blocked = keysWhere((wait) => wait > 0)
      if (blocked.length > 0) await throttles.refund(keysWhere((wait) => wait === 0))
      return { waitMs: Math.max(...waits), blocked }
    },

    /** Which of the keys require a wait now. */
    async waiting(keys: readonly string[]): Promise<{ waitMs: number; blocked: readonly string[] }> {
      const now = clock()
      const rows = await db
        .selectFrom('throttles')
        .select(['key', 'until'])
        .where('key', 'in', keys)
        .where('until', '>', now)
        .execute()
      return { waitMs: Math.max(0, ...rows.map(({ until }) => until - now)), blocked: rows.map(({ key }) => key) }
    },

    /** Undoes the count of an attempt that did not fail. */
    async refund(keys: readonly string[]): Promise<void> {
      // PostgreSQL rejects an empty list.
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

    /** Sets a flag that expires at `until`, for example that a user signed in from an address before. */
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

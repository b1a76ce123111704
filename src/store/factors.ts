/** Second factors: authenticator apps, passkeys and recovery codes; each proof of one can be used once. */

import type { Kysely, Selectable } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import type { Engine } from './database.ts'
import { newId } from './opaque.ts'
import type { FactorRow, Schema } from './schema.ts'
import { transact } from './transaction.ts'

const FACTOR_KINDS = ['totp', 'passkey', 'recovery'] as const
export type FactorKind = (typeof FACTOR_KINDS)[number]

export interface Factor {
  readonly id: string
  readonly userId: string
  readonly kind: FactorKind
  readonly label: string
  /** Sealed, or a digest, or a public key: nothing here signs anybody in. */
  readonly secret: string
  /** The last time step of an app, or the signature count of a passkey. */
  readonly counter: number
  readonly createdAt: number
  readonly usedAt: number | undefined
}

export type NewFactor = Pick<Factor, 'userId' | 'kind' | 'label' | 'secret' | 'counter'>
export type Removal =
  | { readonly outcome: 'removed'; readonly factor: Factor }
  /** It is the last one, and must stay. */
  | { readonly outcome: 'kept' }
  | { readonly outcome: 'unknown' }

export type Factors = ReturnType<typeof createFactors>

export function createFactors(db: Kysely<Schema>, engine: Engine, clock: Clock) {
  return {
    async listOfUser(userId: string): Promise<Factor[]> {
      const rows = await db
        .selectFrom('factors')
        .selectAll()
        .where('user_id', '=', userId)
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map(toFactor)
    },

    async add(factor: NewFactor): Promise<string> {
      const row = toNewRow(factor, clock())
      await db.insertInto('factors').values(row).execute()
      return row.id
    },

    /** False when this step or count was used before, by whoever: a code seen over a shoulder is worth nothing. */
    async advance(id: string, counter: number): Promise<boolean> {
      const row = await db
        .updateTable('factors')
        .set({ counter, used_at: clock() })
        .where('id', '=', id)
        .where('counter', '<', counter)
        .returning('id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** For passkeys that do not count (their count stays 0). */
    async touch(id: string): Promise<void> {
      await db.updateTable('factors').set({ used_at: clock() }).where('id', '=', id).execute()
    },

    /** True for exactly one of those who spend the same recovery code. */
    async spendRecoveryCode(userId: string, digest: string): Promise<boolean> {
      const row = await db
        .deleteFrom('factors')
        .where('user_id', '=', userId)
        .where('kind', '=', 'recovery')
        .where('secret', '=', digest)
        .returning('id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** The new ones take the place of all that there were. */
    async replaceRecoveryCodes(userId: string, digests: readonly string[]): Promise<void> {
      const now = clock()
      await transact(db, async (tx) => {
        await tx.deleteFrom('factors').where('user_id', '=', userId).where('kind', '=', 'recovery').execute()
        if (digests.length === 0) return
        await tx
          .insertInto('factors')
          .values(digests.map((secret) => toNewRow({ userId, kind: 'recovery', label: '', secret, counter: 0 }, now)))
          .execute()
      })
    },

    /** One step, so that of several which are removed at once one stays where one must. With the last go the recovery codes. */
    async remove(userId: string, id: string, { keepLast = false } = {}): Promise<Removal> {
      return transact(db, async (tx) => {
        const held = await lockHeld(tx, userId)
        const isLast = held.length === 1 && held[0]?.id === id
        if (isLast && keepLast) return { outcome: 'kept' }
        const row = await tx
          .deleteFrom('factors')
          .where('user_id', '=', userId)
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirst()
        if (row === undefined) return { outcome: 'unknown' }
        if (isLast)
          await tx.deleteFrom('factors').where('user_id', '=', userId).where('kind', '=', 'recovery').execute()
        return { outcome: 'removed', factor: toFactor(row) }
      })
    },
  }

  /** A SQLite transaction is the only writer already; on PostgreSQL whoever removes another waits here, and then sees what is left. */
  function lockHeld(tx: Kysely<Schema>, userId: string): Promise<{ id: string }[]> {
    const held = tx
      .selectFrom('factors')
      .select('id')
      .where('user_id', '=', userId)
      .where('kind', '<>', 'recovery')
      .orderBy('id')
    return (engine === 'postgres' ? held.forUpdate() : held).execute()
  }
}

function toNewRow(factor: NewFactor, now: number): FactorRow {
  return {
    id: newId(),
    user_id: factor.userId,
    kind: factor.kind,
    label: factor.label,
    secret: factor.secret,
    counter: factor.counter,
    created_at: now,
    used_at: null,
  }
}

function toFactor(row: Selectable<FactorRow>): Factor {
  const kind = FACTOR_KINDS.find((known) => known === row.kind)
  if (kind === undefined) throw new Error(`A factor of the unknown kind ${row.kind}`)
  return {
    id: row.id,
    userId: row.user_id,
    kind,
    label: row.label,
    secret: row.secret,
    counter: row.counter,
    createdAt: row.created_at,
    usedAt: row.used_at ?? undefined,
  }
}

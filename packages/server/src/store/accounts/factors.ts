/** Second factors: authenticator apps, passkeys and recovery codes. Every code and assertion is accepted once. */

import type { Clock } from 'gatehouse-protocol'
import type { Kysely, Selectable } from 'kysely'
import type { Engine } from '../database/database.ts'
import type { Schema } from '../database/schema.ts'
import { transact } from '../database/transaction.ts'
import { newId } from '../keys/opaque.ts'

const FACTOR_KINDS = ['totp', 'passkey', 'recovery'] as const
export type FactorKind = (typeof FACTOR_KINDS)[number]

export interface Factor {
  readonly id: string
  readonly userId: string
  readonly kind: FactorKind
  readonly label: string
  /** Sealed, a digest, or a public key: not usable to sign in. */
  readonly secret: string
  /** The last time step of a TOTP, or the signature counter of a passkey. */
  readonly counter: number
  readonly createdAt: number
  readonly usedAt: number | undefined
}

export type NewFactor = Pick<Factor, 'userId' | 'kind' | 'label' | 'secret' | 'counter'>
export type Removal =
  | { readonly outcome: 'removed'; readonly factor: Factor }
  /** It is the last one, and one is required. */
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

    /** False when this time step or counter was used before, which prevents replay. */
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

    /** For passkeys without a signature counter (it stays 0). */
    async touch(id: string): Promise<void> {
      await db.updateTable('factors').set({ used_at: clock() }).where('id', '=', id).execute()
    },

    /** True for exactly one of several concurrent calls with the same code. */
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

    /** Replaces all recovery codes of the user. */
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

    /** One transaction, so that concurrent removals cannot remove a required last factor. Recovery codes go with the last one. */
    async remove(userId: string, id: string, { keepLast = false } = {}): Promise<Removal> {
      return transact(db, async (tx) => {
        const present = await lockFactors(tx, userId)
        const isLast = present.length === 1 && present[0]?.id === id
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

  /** On SQLite a transaction is the only writer anyway; on PostgreSQL concurrent removals wait here, then see what is left. */
  function lockFactors(tx: Kysely<Schema>, userId: string): Promise<{ id: string }[]> {
    const query = tx
      .selectFrom('factors')
      .select('id')
      .where('user_id', '=', userId)
      .where('kind', '<>', 'recovery')
      .orderBy('id')
    return (engine === 'postgres' ? query.forUpdate() : query).execute()
  }
}

function toNewRow(factor: NewFactor, now: number): Schema['factors'] {
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

function toFactor(row: Selectable<Schema['factors']>): Factor {
  const kind = FACTOR_KINDS.find((known) => known === row.kind)
  if (kind === undefined) throw new Error(`A second factor has the unknown kind ${row.kind}`)
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

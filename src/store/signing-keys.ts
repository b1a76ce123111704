/** Signing keys: public halves for everyone, private halves sealed. */
import type { JsonWebKey } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

export interface StoredKey {
  readonly kid: string
  readonly publicJwk: JsonWebKey
  /** Empty once the key no longer signs. */
  readonly sealedPrivateKey: string
  readonly createdAt: number
  /** It is published from its creation, and signs from here on. */
  readonly activeFrom: number
  readonly retiredAt: number | undefined
  /** Published until then: the last token that it signed has expired. Not after its retirement when it was withdrawn. */
  readonly removedAfter: number | undefined
}

export type SigningKeys = ReturnType<typeof createSigningKeys>

export function createSigningKeys(db: Kysely<Schema>) {
  return {
    /** Retired keys too: an old ID token is still a hint about who was signed in. */
    async list(): Promise<StoredKey[]> {
      const rows = await db.selectFrom('signing_keys').selectAll().orderBy('active_from').orderBy('kid').execute()
      return rows.map((row) => ({
        kid: row.kid,
        publicJwk: JSON.parse(row.public_jwk),
        sealedPrivateKey: row.sealed_private_key,
        createdAt: row.created_at,
        activeFrom: row.active_from,
        retiredAt: row.retired_at ?? undefined,
        removedAfter: row.removed_after ?? undefined,
      }))
    },

    async add(key: Omit<StoredKey, 'retiredAt' | 'removedAfter'>): Promise<void> {
      await db
        .insertInto('signing_keys')
        .values({
          kid: key.kid,
          public_jwk: JSON.stringify(key.publicJwk),
          sealed_private_key: key.sealedPrivateKey,
          created_at: key.createdAt,
          active_from: key.activeFrom,
          retired_at: null,
          removed_after: null,
        })
        .execute()
    },

    /** Its private half is wiped: it never signs again. */
    async retire(kid: string, retiredAt: number, removedAfter: number): Promise<void> {
      await db
        .updateTable('signing_keys')
        .set({ retired_at: retiredAt, removed_after: removedAfter, sealed_private_key: '' })
        .where('kid', '=', kid)
        .where('retired_at', 'is', null)
        .execute()
    },

    /** Retired already or not: from now on it is as if it had never been ours. */
    async withdraw(kid: string, now: number): Promise<void> {
      await db
        .updateTable('signing_keys')
        .set((eb) => {
          const retiredAt = eb.fn.coalesce('retired_at', eb.val(now))
          return { retired_at: retiredAt, removed_after: retiredAt, sealed_private_key: '' }
        })
        .where('kid', '=', kid)
        .execute()
    },
  }
}

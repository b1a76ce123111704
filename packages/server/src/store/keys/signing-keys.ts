/** Signing keys: the public key as a JWK, the private key sealed. */
import type { JsonWebKey } from 'node:crypto'
import type { Kysely } from 'kysely'
import { isSignatureAlg, type SignatureAlg } from '../../lib/signature-algs.ts'
import type { Schema } from '../database/schema.ts'

export interface StoredKey {
  readonly kid: string
  /** Keys of one algorithm form a ring: each is rotated by itself. */
  readonly alg: SignatureAlg
  readonly publicJwk: JsonWebKey
  /** Empty once the key no longer signs. */
  readonly sealedPrivateKey: string
  readonly createdAt: number
  /** Signs from this time on. It is published from its creation. */
  readonly activeFrom: number
  readonly retiredAt: number | undefined
  /** Published until then, when the last token that it signed has expired. Equal to `retiredAt` for a withdrawn key. */
  readonly removedAfter: number | undefined
}

export type SigningKeys = ReturnType<typeof createSigningKeys>

export function createSigningKeys(db: Kysely<Schema>) {
  return {
    /** Includes retired keys: an expired ID token is still accepted as a hint. */
    async list(): Promise<StoredKey[]> {
      const rows = await db.selectFrom('signing_keys').selectAll().orderBy('active_from').orderBy('kid').execute()
      return rows.map((row) => ({
        kid: row.kid,
        alg: readAlg(row.alg),
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
          alg: key.alg,
          public_jwk: JSON.stringify(key.publicJwk),
          sealed_private_key: key.sealedPrivateKey,
          created_at: key.createdAt,
          active_from: key.activeFrom,
          retired_at: null,
          removed_after: null,
        })
        .execute()
    },

    /** Deletes the private key, so that it can never sign again. */
    async retire(kid: string, retiredAt: number, removedAfter: number): Promise<void> {
      await db
        .updateTable('signing_keys')
        .set({ retired_at: retiredAt, removed_after: removedAfter, sealed_private_key: '' })
        .where('kid', '=', kid)
        .where('retired_at', 'is', null)
        .execute()
    },

    /** For a compromised key, retired or not: nothing that it signed is accepted from now on. */
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

function readAlg(text: string): SignatureAlg {
  if (isSignatureAlg(text)) return text
  throw new Error(`A signing key has the unknown algorithm ${text}: a newer version of gatehouse has made it`)
}
